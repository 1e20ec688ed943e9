package matcher

import (
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
	head     int32   // number of the head
	rule     int32   // number of the rule
	pieces   []int32 // numbers of the pieces after the head
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
	keys := make([]sortKey, len(paths))
	for i := range paths {
		keys[i] = sortKey{uint64(paths[i].head) << 32, int32(i)}
		if len(paths[i].pieces) > 0 {
			keys[i].first |= uint64(paths[i].pieces[0] + 1)
		}
	}
	sortByKey(keys, func(a, b int32) int { return slices.Compare(paths[a].pieces, paths[b].pieces) })
	sorted := make([]path, len(paths))
	for i, k := range keys {
		sorted[i] = paths[k.at]
	}
	x.grow(sorted)
	return x
}

// A sortKey stands for an element of a list that is sorted. To sort keys takes half
// the time of sorting long elements.
type sortKey struct {
	first uint64 // mostly decides where the element goes
	at    int32  // place of the element in the list
}

// sortByKey sorts keys by their numbers, and keys of one number as compare says of
// the places of their elements.
func sortByKey(keys []sortKey, compare func(a, b int32) int) {
	slices.SortFunc(keys, func(a, b sortKey) int {
		switch {
		case a.first < b.first:
			return -1
		case a.first > b.first:
			return 1
		}
		return compare(a.at, b.at)
	})
}

// cut cuts the patterns of rules into heads and pieces, and numbers both.
func (x *index) cut(rules []rule, numbers []int32) []path {
	paths, heads := make([]path, len(numbers)), make([]string, len(numbers))
	var ids []int32                     // of all pieces of all rules
	var pieces []string                 // by id
	var known map[string]int32          // id of a piece
	ends := make([]int32, len(numbers)) // where the ids of a rule end
	for i, n := range numbers {
		r := &rules[n]
		paths[i] = path{rule: n, anchored: r.anchored}
		heads[i] = r.literal()
		if r.starred {
			if known == nil {
				known = make(map[string]int32, (len(numbers)-i)/2)
			}
			var rest string
			heads[i], rest, _ = strings.Cut(r.literal(), "*")
			paths[i].anchored = r.anchored && !strings.HasSuffix(r.literal(), "*")
			for piece := range strings.SplitSeq(rest, "*") {
				if piece == "" {
					continue
				}
				id, ok := known[piece]
				if !ok {
					id = int32(len(pieces))
					known[piece], pieces = id, append(pieces, piece)
				}
				ids = append(ids, id)
			}
		}
		ends[i] = int32(len(ids))
	}
	sorted, pieceOf := number(pieces)
	x.pieces = newPrefixes(sorted)
	x.noteStarts()
	for i, id := range ids {
		ids[i] = pieceOf[id]
	}
	sorted, headOf := number(heads)
	x.heads = newPrefixes(sorted)
	begin := int32(0)
	for i := range paths {
		paths[i].head, paths[i].pieces = headOf[i], ids[begin:ends[i]]
		begin = ends[i]
	}
	return paths
}

// noteStarts notes how the pieces start.
func (x *index) noteStarts() {
	for _, piece := range x.pieces.list {
		if len(piece) == 1 {
			x.starts[piece[0]] = ^uint64(0)
		} else {
			x.starts[piece[0]] |= 1 << (piece[1] % 64)
		}
	}
}

// number returns the distinct strings of a list in order, and the number that
// each string of the list has among them.
func number(list []string) (sorted []string, numbers []int32) {
	keys := make([]sortKey, len(list))
	for i, s := range list {
		keys[i] = sortKey{firstBytes(s), int32(i)}
	}
	sortByKey(keys, func(a, b int32) int { return strings.Compare(list[a], list[b]) })
	sorted, numbers = make([]string, 0, len(list)), make([]int32, len(list))
	for _, k := range keys {
		if n := len(sorted); n == 0 || sorted[n-1] != list[k.at] {
			sorted = append(sorted, list[k.at])
		}
		numbers[k.at] = int32(len(sorted) - 1)
	}
	return sorted, numbers
}

// firstBytes returns the first eight bytes of s as a number that sorts as s does.
// Bytes that s lacks are zero.
func firstBytes(s string) uint64 {
	n := uint64(0)
	for i := range min(len(s), 8) {
		n |= uint64(s[i]) << (56 - 8*i)
	}
	return n
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
	for i := 0; i < len(paths); {
		j := i + 1
		for j < len(paths) && paths[j].head == paths[i].head {
			j++
		}
		spans = append(spans, span{int32(i), int32(j), 0})
		x.nodes = append(x.nodes, node{})
		i = j
	}
	var stack []int32 // of nodes
	for i := range x.heads.list {
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
