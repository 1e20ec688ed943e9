package matcher

import (
	"cmp"
	"slices"
	"strings"
)

// This file builds the index of a group: RFC 9309, section 2.2.2.

// prefixes is a sorted list of distinct strings. Those that a text begins with are
// found from the longest one on by going up.
type prefixes struct {
	list []string
	up   []int32 // the longest other string that is a prefix of this one, or -1
	jump []int32 // one further up, or up: skew-binary jump pointers, Myers 1983
	end  []int32 // the first string after it that does not begin with it
}

// newPrefixes takes a sorted list of distinct strings.
func newPrefixes(list []string) prefixes {
	n := len(list)
	p := prefixes{list, make([]int32, n), make([]int32, n), make([]int32, n)}
	depth := make([]int32, n) // how many strings are further up
	for i := range int32(n) {
		j := i - 1
		for j >= 0 && !strings.HasPrefix(list[i], list[j]) {
			j = p.up[j]
		}
		p.up[i], p.jump[i] = j, j
		if j < 0 {
			continue
		}
		depth[i] = depth[j] + 1
		// Two jumps of one length are followed by one over both.
		if k := p.jump[j]; k >= 0 && p.jump[k] >= 0 && depth[j]-depth[k] == depth[k]-depth[p.jump[k]] {
			p.jump[i] = p.jump[k]
		}
	}
	for i := int32(n - 1); i >= 0; i-- {
		p.end[i] = max(p.end[i], i+1)
		if j := p.up[i]; j >= 0 {
			p.end[j] = max(p.end[j], p.end[i])
		}
	}
	return p
}

// find returns the number of the longest string that is a prefix of t, or -1.
// Whatever sorts between a prefix of t and t begins with that prefix; so it is
// up from the last string that is not after t.
func (p *prefixes) find(t string) int32 {
	lo, hi := 0, len(p.list)
	for lo < hi {
		if mid := int(uint(lo+hi) / 2); p.list[mid] <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	i := int32(lo - 1)
	if i < 0 || strings.HasPrefix(t, p.list[i]) {
		return i
	}
	n := commonPrefix(p.list[i], t)
	for i >= 0 && len(p.list[i]) > n {
		if j := p.jump[i]; j >= 0 && len(p.list[j]) > n {
			i = j
		} else {
			i = p.up[i]
		}
	}
	return i
}

// commonPrefix returns how many bytes a and b begin with alike.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (p *prefixes) size() int {
	return bytesOf(p.list) + bytesOf(p.up) + bytesOf(p.jump) + bytesOf(p.end)
}

// A path is a rule on its way into the trie.
type path struct {
	head     string  // what its pattern begins with
	pieces   []int32 // numbers of the pieces after it
	rule     int32   // its number
	anchored bool    // the last part must end the target
}

// newIndexes returns the indexes of rules sorted by rank.
func newIndexes(rules []rule) *indexes {
	var plain, query []int32
	for i := range rules {
		if rules[i].query {
			query = append(query, int32(i))
		} else {
			plain = append(plain, int32(i))
		}
	}
	return &indexes{newIndex(rules, plain), newIndex(rules, query)}
}

// newIndex returns an index of the rules with the given numbers, nil for none.
func newIndex(rules []rule, numbers []int32) *index {
	if len(numbers) == 0 {
		return nil
	}
	x := new(index)
	paths := x.cut(rules, numbers)
	slices.SortFunc(paths, func(a, b path) int {
		return cmp.Or(strings.Compare(a.head, b.head), slices.Compare(a.pieces, b.pieces))
	})
	x.grow(paths)
	return x
}

// cut cuts the patterns of rules into heads and pieces, and lists the pieces.
func (x *index) cut(rules []rule, numbers []int32) []path {
	paths := make([]path, len(numbers))
	var ids []int32               // of all pieces of all rules
	var list []string             // by id
	known := map[string]int32{}   // id of a piece
	begins := make([]int, 0, 256) // where the ids of a starred rule begin
	for i, n := range numbers {
		r := &rules[n]
		paths[i] = path{head: r.literal(), rule: n, anchored: r.anchored}
		if !r.starred {
			continue
		}
		var rest string
		paths[i].head, rest, _ = strings.Cut(r.literal(), "*")
		paths[i].anchored = r.anchored && !strings.HasSuffix(r.literal(), "*")
		begins = append(begins, len(ids))
		for more := true; more; {
			var piece string
			if piece, rest, more = strings.Cut(rest, "*"); piece == "" {
				continue
			}
			id, ok := known[piece]
			if !ok {
				id = int32(len(list))
				known[piece], list = id, append(list, piece)
			}
			ids = append(ids, id)
		}
	}
	x.number(list, ids)
	begins = append(begins, len(ids))
	for i, n := range numbers {
		if rules[n].starred {
			paths[i].pieces = ids[begins[0]:begins[1]]
			begins = begins[1:]
		}
	}
	return paths
}

// number lists the pieces in order, and turns ids, which are places in list, into
// their numbers.
func (x *index) number(list []string, ids []int32) {
	order := make([]int32, len(list))
	for i, piece := range list {
		order[i] = int32(i)
		if len(piece) == 1 {
			x.starts[piece[0]] = ^uint64(0)
		} else {
			x.starts[piece[0]] |= 1 << (piece[1] % 64)
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(list[a], list[b]) })
	sorted, number := make([]string, len(list)), make([]int32, len(list))
	for n, id := range order {
		sorted[n], number[id] = list[id], int32(n)
	}
	for i, id := range ids {
		ids[i] = number[id]
	}
	x.pieces = newPrefixes(sorted)
}

// A span is the paths that lead through a node: paths[from:to].
type span struct {
	from, to int32
	depth    int32 // pieces before the node
}

// grow makes the nodes of sorted paths. The nodes that follow one stand side by
// side, and below each other as far as can be, for patterns of many stars.
func (x *index) grow(paths []path) {
	most := len(paths)
	for i := range paths {
		most += len(paths[i].pieces)
	}
	x.nodes = make([]node, 0, most)
	spans := make([]span, 0, most) // by node
	var heads []string
	for i := 0; i < len(paths); {
		j := i + 1
		for j < len(paths) && paths[j].head == paths[i].head {
			j++
		}
		heads = append(heads, paths[i].head)
		spans = append(spans, span{int32(i), int32(j), 0})
		x.nodes = append(x.nodes, node{})
		i = j
	}
	x.heads = newPrefixes(heads)
	var stack []int32 // of nodes
	for i := range heads {
		stack = append(stack, int32(i))
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			spans = x.fork(paths, spans, n)
			for c := x.nodes[n].to - 1; c >= x.nodes[n].from; c-- {
				stack = append(stack, c)
			}
		}
	}
	for i := len(x.nodes) - 1; i >= 0; i-- {
		n := &x.nodes[i]
		n.least = min(n.open, n.anchored)
		for c := n.from; c < n.to; c++ {
			n.least = min(n.least, x.nodes[c].least)
		}
	}
	if len(x.nodes) < most*3/4 {
		x.nodes = slices.Clone(x.nodes)
	}
}

// fork notes the rules that end at node n and appends the nodes that follow it.
func (x *index) fork(paths []path, spans []span, n int32) []span {
	s, end := spans[n], node{piece: x.nodes[n].piece, open: noRule, anchored: noRule}
	i := s.from
	for ; i < s.to && len(paths[i].pieces) == int(s.depth); i++ {
		if paths[i].anchored {
			end.anchored = min(end.anchored, paths[i].rule)
		} else {
			end.open = min(end.open, paths[i].rule)
		}
	}
	end.from = int32(len(x.nodes))
	for i < s.to {
		piece, j := paths[i].pieces[s.depth], i+1
		for j < s.to && paths[j].pieces[s.depth] == piece {
			j++
		}
		x.nodes = append(x.nodes, node{piece: piece})
		spans = append(spans, span{i, j, s.depth + 1})
		i = j
	}
	end.to = int32(len(x.nodes))
	x.nodes[n] = end
	return spans
}
