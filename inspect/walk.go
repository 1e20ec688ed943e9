package inspect

import (
	"cmp"
	"context"
	"iter"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/policy"
)

// This file finds one page of rows among all authorities in one walk.
//
// A page is identified by the row before it or after it, not by its number. So a
// walk keeps only the rows of one page, however far down the list the page is, and
// rows that are added or removed meanwhile do not shift the pages.

// An entry is one authority and the key it is sorted by.
type entry struct {
	key       int64
	authority string
	rec       *policy.Record
}

// String returns the entry as text for a link. parseEntry is the inverse.
func (e entry) String() string { return strconv.FormatInt(e.key, 36) + "," + e.authority }

func parseEntry(s string) (entry, bool) {
	key, authority, ok := strings.Cut(s, ",")
	n, err := strconv.ParseInt(key, 36, 64)
	return entry{key: n, authority: authority}, ok && err == nil
}

// orders are the sort orders, each with the function that returns the sort key.
var orders = map[string]func(*policy.Decision, *policy.Record) int64{
	"authority": func(*policy.Decision, *policy.Record) int64 { return 0 },
	"age":       func(d *policy.Decision, _ *policy.Record) int64 { return sortKey(d.Fetched) },
	"next":      func(d *policy.Decision, _ *policy.Record) int64 { return sortKey(d.Expires) },
	"down":      func(d *policy.Decision, _ *policy.Record) int64 { return sortKey(d.DownSince) },
	"size":      func(_ *policy.Decision, rec *policy.Record) int64 { return -int64(memorySize(rec)) },
}

// noTime is the sort key of a zero time.
const noTime = math.MaxInt64

func sortKey(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

// memorySize returns the bytes of memory that a record takes. A shared copy is
// counted in full for each record.
func memorySize(rec *policy.Record) int { return rec.Size() + rec.Text().Size() }

// states are the states that the list can be filtered by: all authorities, the four
// access results, "stale" for an expired copy that is used because the site is down,
// and "due" for a record that must be fetched before its next use.
var states = [...]state{
	{everything, func(*policy.Decision, bool) bool { return true }},
	{"successful", func(d *policy.Decision, _ bool) bool { return d.Access == policy.Successful }},
	{"unavailable", func(d *policy.Decision, _ bool) bool { return d.Access == policy.Unavailable }},
	{"unreachable", func(d *policy.Decision, _ bool) bool { return d.Access == policy.Unreachable }},
	{"restricted", func(d *policy.Decision, _ bool) bool { return d.Access == policy.Restricted }},
	{"stale", func(d *policy.Decision, _ bool) bool { return d.Stale }},
	{"due", func(_ *policy.Decision, due bool) bool { return due }},
}

// A state is a name, and whether an authority is in the state.
type state struct {
	name  string
	holds func(d *policy.Decision, due bool) bool
}

// everything is the state that all authorities are in.
const everything = "all"

// stateByName returns the index of a state in states, or -1.
func stateByName(name string) int {
	return slices.IndexFunc(states[:], func(s state) bool { return s.name == name })
}

// A search selects one page of rows.
type search struct {
	text  string // part of the authority, in lower case
	state string // name of one of states
	order string // one of orders
	down  bool   // sort in descending order
	from  *entry // the row before the page, or after it if back is set; nil for the first page
	back  bool   // the page ends before from
	rows  int    // number of rows on a page
}

// searchResult is one page of rows.
type searchResult struct {
	entries []entry
	census  map[string]int // number of authorities that contain the text, by state
	before  int            // number of rows on the pages before this one
}

// compare compares two rows in the order of the list. Rows without a time are last
// even in descending order. No two rows are equal.
func (s *search) compare(a, b entry) int {
	c := cmp.Or(cmp.Compare(a.key, b.key), strings.Compare(a.authority, b.authority))
	if s.down && (a.key == noTime) == (b.key == noTime) {
		return -c
	}
	return c
}

// side is negative for a row before s.from, zero for s.from itself, and positive for
// a row after it.
func (s *search) side(e entry) int {
	if s.from == nil {
		return 1
	}
	return s.compare(e, *s.from)
}

// walk looks at every authority once. Its time grows with the number of authorities,
// its memory with s.rows. It returns the error of ctx if ctx ends.
//
// If s.back is set, the page has the last rows before s.from. They are the first
// rows in the opposite order, so they are found in that order and reversed at the
// end. All rows before s.from count as before; the rows of the page are subtracted
// at the end.
func (s *search) walk(ctx context.Context, all iter.Seq2[string, *policy.Record], now time.Time) (searchResult, error) {
	f := searchResult{census: make(map[string]int, len(states))}
	var census [len(states)]int
	var d policy.Decision
	key, wanted := orders[s.order], stateByName(s.state)
	best := shortlist[entry]{most: s.rows, compare: s.compare}
	if s.back {
		best.compare = func(a, b entry) int { return s.compare(b, a) }
	}
	for authority, rec := range withText(ctx, all, s.text) {
		d = rec.State(now)
		due, in := rec.Due(now), false
		for i := range states {
			if states[i].holds(&d, due) {
				census[i]++
				in = in || i == wanted
			}
		}
		if !in {
			continue
		}
		e := entry{key(&d, rec), authority, rec}
		side := s.side(e)
		if side < 0 || side == 0 && !s.back {
			f.before++
		}
		if side < 0 && s.back || side > 0 && !s.back {
			best.add(e)
		}
	}
	if ctx.Err() != nil {
		return searchResult{}, ctx.Err()
	}
	for i, n := range census {
		if n > 0 {
			f.census[states[i].name] = n
		}
	}
	f.entries = best.take()
	if s.back {
		slices.Reverse(f.entries)
		f.before -= len(f.entries)
	}
	return f, nil
}

// withText yields the authorities that contain text, until ctx ends. It loads the first bytes of the next
// 128 records, which fit the cache of one core, right after each other, so that the processor
// waits for many of them at the same time. This halves the time of a walk over a million.
func withText(ctx context.Context, all iter.Seq2[string, *policy.Record], text string) iter.Seq2[string, *policy.Record] {
	return func(yield func(string, *policy.Record) bool) {
		batch, loaded, seen := make([]entry, 0, 128), 0, 0
		yieldBatch := func() bool {
			for _, e := range batch {
				if e.rec.Text() != nil && e.authority != "" {
					loaded += int(e.authority[0])
				}
			}
			runtime.KeepAlive(loaded)
			for _, e := range batch {
				if !yield(e.authority, e.rec) {
					return false
				}
			}
			batch = batch[:0]
			return true
		}
		for authority, rec := range all {
			if seen++; seen%1024 == 0 && ctx.Err() != nil {
				return
			}
			if !strings.Contains(authority, text) {
				continue
			}
			batch = append(batch, entry{authority: authority, rec: rec})
			if len(batch) == cap(batch) && !yieldBatch() {
				return
			}
		}
		yieldBatch()
	}
}

// A shortlist keeps the first most entries in the order of compare. It collects
// twice as many entries, then sorts them and drops the second half.
type shortlist[E any] struct {
	most    int
	compare func(a, b E) int
	kept    []E
	cut     bool // kept[most-1] is the last entry that can be in the result
}

func (l *shortlist[E]) add(e E) {
	if l.cut && l.compare(e, l.kept[l.most-1]) > 0 {
		return
	}
	l.kept = append(l.kept, e)
	if len(l.kept) == 2*l.most {
		l.take()
	}
}

// take sorts the entries and drops all but the first most.
func (l *shortlist[E]) take() []E {
	slices.SortFunc(l.kept, l.compare)
	if len(l.kept) >= l.most {
		clear(l.kept[l.most:])
		l.kept, l.cut = l.kept[:l.most], true
	}
	return l.kept
}

// walk waits until no other walk runs and then searches the Transport's memory.
func (k *handler) walk(ctx context.Context, s *search) (searchResult, error) {
	if err := k.acquireWalk(ctx); err != nil {
		return searchResult{}, err
	}
	defer k.releaseWalk()
	return s.walk(ctx, k.t.Records(), time.Now())
}

// acquireWalk waits until no other walk runs, so that pages take at most one core
// from the crawler.
func (p *Page) acquireWalk(ctx context.Context) error {
	select {
	case p.walking <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *Page) releaseWalk() { <-p.walking }
