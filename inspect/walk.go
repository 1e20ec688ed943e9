package inspect

import (
	"cmp"
	"context"
	"iter"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/policy"
)

// This file finds one page of rows among all authorities in one walk.
//
// A page is asked for by the row it follows, not by its number. So a walk keeps
// the rows of one page and no others, however deep the page lies; and rows that
// come or go meanwhile shift nothing.

// condition is what a record says of its authority, whatever the URL. The
// target without path asks nothing of the matcher but a lookup.
func condition(rec *policy.Record, now time.Time) policy.Decision {
	return rec.Decide("", &url.URL{}, now)
}

// An entry is one authority and the key it is sorted by.
type entry struct {
	key       int64
	authority string
	rec       *policy.Record
}

// String is the entry as a place in the list, which place reads.
func (e entry) String() string { return strconv.FormatInt(e.key, 36) + "," + e.authority }

func place(s string) (entry, bool) {
	key, authority, ok := strings.Cut(s, ",")
	n, err := strconv.ParseInt(key, 36, 64)
	return entry{key: n, authority: authority}, ok && err == nil
}

// orders are the ways to sort.
var orders = map[string]func(policy.Decision, *policy.Record) int64{
	"authority": func(policy.Decision, *policy.Record) int64 { return 0 },
	"age":       func(d policy.Decision, _ *policy.Record) int64 { return moment(d.Fetched) },
	"next":      func(d policy.Decision, _ *policy.Record) int64 { return moment(d.Expires) },
	"down":      func(d policy.Decision, _ *policy.Record) int64 { return moment(d.DownSince) },
	"size":      func(_ policy.Decision, rec *policy.Record) int64 { return -int64(octets(rec)) },
}

// never is the key of what has no such time.
const never = math.MaxInt64

func moment(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixNano()
}

// octets is what an authority takes in memory; a shared copy counts in full.
func octets(rec *policy.Record) int {
	n := rec.Size()
	if f := rec.File(); f != nil {
		n += f.Size()
	}
	return n
}

// states are what can be said of an authority, in the order they are offered:
// one access result each, and two that cut across these. Stale is that a copy past
// its time governs as the site is down, due that the site is asked before the next
// use.
var states = [...]string{everything, "successful", "unavailable", "unreachable", "restricted", "stale", "due"}

// everything is the state of all authorities.
const everything = "all"

// appendStates appends the states that an authority is in.
func appendStates(in []string, d policy.Decision, due bool) []string {
	in = append(in, everything, d.Access.String())
	if d.Stale {
		in = append(in, "stale")
	}
	if due {
		in = append(in, "due")
	}
	return in
}

// A search is what to look for and which rows of it to keep.
type search struct {
	text  string // part of the authority, in lower case
	state string // one of states
	order string // one of orders
	down  bool   // falling order
	from  *entry // the row next to those wanted; nil: from the start
	back  bool   // the rows before from, not those after it
	rows  int
}

// found is one page of rows.
type found struct {
	entries []entry
	census  map[string]int // by state, of all that contain the text
	before  int            // rows on the pages before this one
}

// compare puts rows into the order that is shown, which has those without a
// time last even when it falls. No two are equal: an authority is there once.
func (s *search) compare(a, b entry) int {
	c := cmp.Or(cmp.Compare(a.key, b.key), strings.Compare(a.authority, b.authority))
	if s.down && (a.key == never) == (b.key == never) {
		return -c
	}
	return c
}

// side is less than zero for a row before the place asked from, zero for the row
// there, and more than zero for one behind it.
func (s *search) side(e entry) int {
	if s.from == nil {
		return 1
	}
	return s.compare(e, *s.from)
}

// walk looks at every authority once. Its time grows with their number and its
// memory with s.rows. The error is that of ctx.
//
// Going back, the rows nearest to from are the last of those before it: they are
// the first in the opposite order, and are turned round at the end. All rows on
// that side count as before, until those of this page are taken off.
func (s *search) walk(ctx context.Context, all iter.Seq2[string, *policy.Record], now time.Time) (found, error) {
	f := found{census: make(map[string]int, len(states))}
	key := orders[s.order]
	best := shortlist{most: s.rows, compare: s.compare}
	if s.back {
		best.compare = func(a, b entry) int { return s.compare(b, a) }
	}
	var in []string // used again for every row
	seen := 0
	for authority, rec := range all {
		if seen++; seen%1024 == 0 && ctx.Err() != nil {
			return found{}, ctx.Err()
		}
		if !strings.Contains(authority, s.text) {
			continue
		}
		d := condition(rec, now)
		in = appendStates(in[:0], d, rec.Due(now))
		for _, state := range in {
			f.census[state]++
		}
		if !slices.Contains(in, s.state) {
			continue
		}
		e := entry{key(d, rec), authority, rec}
		side := s.side(e)
		if side < 0 || side == 0 && !s.back {
			f.before++
		}
		if side < 0 && s.back || side > 0 && !s.back {
			best.add(e)
		}
	}
	f.entries = best.take()
	if s.back {
		slices.Reverse(f.entries)
		f.before -= len(f.entries)
	}
	return f, nil
}

// A shortlist keeps the first most entries in the order of compare. It gathers
// twice as many before it sorts and drops the rest: a heap without a heap.
type shortlist struct {
	most    int
	compare func(a, b entry) int
	kept    []entry
	cut     bool // kept[most-1] is the worst that can still be in
}

func (l *shortlist) add(e entry) {
	if l.cut && l.compare(e, l.kept[l.most-1]) > 0 {
		return
	}
	l.kept = append(l.kept, e)
	if len(l.kept) == 2*l.most {
		l.take()
	}
}

// take sorts what is kept and drops what is too much.
func (l *shortlist) take() []entry {
	slices.SortFunc(l.kept, l.compare)
	if len(l.kept) >= l.most {
		clear(l.kept[l.most:])
		l.kept, l.cut = l.kept[:l.most], true
	}
	return l.kept
}

// walk waits for the page's turn and then searches what the Transport holds.
func (k *desk) walk(ctx context.Context, s *search) (found, error) {
	if err := k.begin(ctx); err != nil {
		return found{}, err
	}
	defer k.end()
	return s.walk(ctx, k.t.All(), time.Now())
}

// find returns the record of one authority, nil if there is none. It asks
// neither the site nor the store, which Transport.Record might.
func (k *desk) find(ctx context.Context, authority string) (*policy.Record, error) {
	if err := k.begin(ctx); err != nil {
		return nil, err
	}
	defer k.end()
	for key, rec := range k.t.All() {
		if key == authority {
			return rec, nil
		}
	}
	return nil, nil
}

// begin waits until no other walk is under way: however often a page is asked
// for, it takes one core from the crawler at most.
func (p *Page) begin(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Page) end() { <-p.turn }
