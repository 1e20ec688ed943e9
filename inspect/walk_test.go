package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// manyRecords returns the records of more than a hundred authorities, in all states and with
// many equal times.
func manyRecords(now time.Time) map[string]*policy.Record {
	all := make(map[string]*policy.Record)
	for i := range 137 {
		site := fmt.Sprintf("https://www-%d.example.%s", i, []string{"com", "net", "org"}[i%3])
		s := demoSite{origin: site, age: time.Duration(i%11) * time.Hour, status: []int{200, 404, 200, 503, 200, 403}[i%6], body: "User-agent: *\n" + strings.Repeat("Disallow: /x\n", i%5)}
		if s.status == 503 {
			s.down = s.age + time.Duration(i%4)*time.Hour + 1
			if i%2 == 1 && i%5 == 0 {
				s.was = "User-agent: *\nDisallow: /old\n"
			}
		}
		all[site], _ = s.learn(now)
	}
	return all
}

// sortedRows returns the whole list, made in the simplest way.
func sortedRows(s search, all map[string]*policy.Record, now time.Time) []string {
	type known struct {
		name string
		at   time.Time
		size int
	}
	var rows []known
	for name, rec := range all {
		d := rec.State(now)
		state := map[string]bool{"all": true, d.Access.String(): true, "stale": d.Stale, "due": rec.Due(now)}
		if !strings.Contains(name, s.text) || !state[s.state] {
			continue
		}
		at := map[string]time.Time{"age": d.Fetched, "next": d.Expires, "down": d.DownSince}[s.order]
		row := known{name, at, 0}
		if s.order == "size" {
			row.size = memorySize(rec)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b known) int {
		if a.at.IsZero() != b.at.IsZero() {
			if a.at.IsZero() {
				return 1
			}
			return -1
		}
		c := a.at.Compare(b.at)
		if c == 0 {
			c = b.size - a.size
		}
		if c == 0 {
			c = strings.Compare(a.name, b.name)
		}
		if s.down {
			c = -c
		}
		return c
	})
	var names []string
	for _, r := range rows {
		names = append(names, r.name)
	}
	return names
}

// TestPaging reads all pages of all lists, forward and back, and compares them with
// the whole list.
func TestPaging(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	all := manyRecords(now)
	for _, order := range slices.Sorted(maps.Keys(orders)) {
		for _, state := range states {
			for _, s := range []search{{rows: 10}, {rows: 10, down: true}, {rows: 1, text: "-1"}, {rows: 137}, {rows: 500, down: true}, {rows: 9, text: "example.net"}} {
				s.order, s.state = order, state.name
				name := fmt.Sprintf("order %s, falling %v, state %q, text %q, %d rows", s.order, s.down, s.state, s.text, s.rows)
				want := sortedRows(s, all, now)
				if got := readPages(t, s, all, now, false); !slices.Equal(got, want) {
					t.Errorf("%s, forth:\n got %v\nwant %v", name, got, want)
				}
				if got := readPages(t, s, all, now, true); !slices.Equal(got, want) {
					t.Errorf("%s, back:\n got %v\nwant %v", name, got, want)
				}
			}
		}
	}
}

// readPages reads the pages from the first to the last, or from the last to the
// first, and returns all rows in the order of the list.
func readPages(t *testing.T, s search, all map[string]*policy.Record, now time.Time, back bool) []string {
	t.Helper()
	var pages [][]string
	if s.back = back; back { // begin after the last row
		s.from = &entry{key: noTime, authority: "~"}
		if s.down {
			s.from.authority = ""
		}
	}
	for {
		f, err := s.walk(context.Background(), maps.All(all), now)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range f.entries {
			names = append(names, e.authority)
		}
		before := f.before
		if back {
			before = f.census[s.state] - f.before - len(names)
		}
		if got := len(slices.Concat(pages...)); before != got {
			t.Errorf("page %d: got %d rows on the pages before, want %d", len(pages), before, got)
		}
		if len(names) == 0 {
			break
		}
		pages = append(pages, names)
		// The entry is written to a link and read from it.
		e := f.entries[len(f.entries)-1]
		if back {
			e = f.entries[0]
		}
		at, ok := parseEntry(e.String())
		if !ok {
			t.Fatalf("%v: the entry cannot be parsed", e)
		}
		s.from = &at
	}
	if back {
		slices.Reverse(pages)
	}
	return slices.Concat(pages...)
}

// TestPagingByLinks follows the links on the pages to the end and back.
func TestPagingByLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, nil, 40)
		type list struct {
			Prev, Next string
			Matched    int
			Before     int
			Rows       []struct{ Authority string }
		}
		at := "?view=authorities&rows=7&sort=down&dir=down&q=example&state="
		var forth, back [][]struct{ Authority string }
		for at != "" {
			var v list
			decode(t, sendRequest(page.Handler(ft), "GET", "/"+at+"&format=json", ""), &v)
			forth = append(forth, v.Rows)
			if at = v.Next; at == "" {
				at = v.Prev
				break
			}
		}
		for at != "" {
			var v list
			decode(t, sendRequest(page.Handler(ft), "GET", "/"+at+"&format=json", ""), &v)
			back = append(back, v.Rows)
			at = v.Prev
		}
		slices.Reverse(back)
		if got, want := mustJSON(back), mustJSON(forth[:len(forth)-1]); got != want {
			t.Errorf("back: got %s, want the same as forward: %s", got, want)
		}
		rows := slices.Concat(forth...)
		if len(rows) != 52 || len(forth) != 8 {
			t.Errorf("got %d rows on %d pages, want 52 on 8", len(rows), len(forth))
		}
	})
}

// TestPagesMove adds and removes authorities between two pages. No other row may be
// shown twice or left out.
func TestPagesMove(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	all := manyRecords(now)
	s := search{rows: 20, order: "authority", state: everything}
	first, _ := s.walk(context.Background(), maps.All(all), now)
	last := first.entries[19]
	delete(all, last.authority)
	delete(all, first.entries[3].authority)
	rec, _ := demoSite{origin: "https://aaa.example", status: 200}.learn(now)
	all["https://aaa.example"] = rec
	s.from = &last
	second, _ := s.walk(context.Background(), maps.All(all), now)
	want := sortedRows(search{state: everything}, manyRecords(now), now)[20:40]
	for i, e := range second.entries {
		if e.authority != want[i] {
			t.Errorf("row %d: got %s, want %s", i, e.authority, want[i])
		}
	}
	if second.before != 19 {
		t.Errorf("rows before: got %d, want 19", second.before)
	}
}

func TestCensus(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	all := manyRecords(now)
	s := search{order: "authority", rows: 5, state: "stale"}
	f, err := s.walk(context.Background(), maps.All(all), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		want := len(sortedRows(search{state: state.name}, all, now))
		if got := f.census[state.name]; got != want || want == 0 && state.name != "restricted" {
			t.Errorf("%q: got %d, want %d and not none", state.name, got, want)
		}
	}
}

// TestWalkEnds ends the request during a walk, and while it waits for another walk.
func TestWalkEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	rec, _ := demoSites[0].learn(time.Now())
	seen := 0
	endless := func(yield func(string, *policy.Record) bool) {
		for ; yield("https://x.example", rec); seen++ {
			if seen == 5000 {
				cancel()
			}
		}
	}
	s := search{order: "authority", rows: 3, state: everything}
	if _, err := s.walk(ctx, endless, time.Now()); !errors.Is(err, context.Canceled) || seen > 7000 {
		t.Errorf("got %v after %d records, want the end of the request soon after 5000", err, seen)
	}
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	seen, s.text = 0, "no authority has this text"
	if _, err := s.walk(ctx, endless, time.Now()); !errors.Is(err, context.Canceled) || seen > 7000 {
		t.Errorf("without a row: got %v after %d records, want the end of the request soon after 5000", err, seen)
	}
	page, ft := demoPage(t, nil, 0)
	k := page.Handler(ft).(*handler)
	page.walking <- struct{}{}
	if _, err := k.walk(ctx, &s); !errors.Is(err, context.Canceled) {
		t.Errorf("before its walking: got %v, want the end of the request", err)
	}
}

// millionSites returns a crawler with a million authorities in memory.
func millionSites(b *testing.B) *fetcher.Transport {
	b.Helper()
	if os.Getenv("POLITE_MILLION") == "" {
		b.Skip("POLITE_MILLION is not set: a million authorities take a while to retrieve")
	}
	ft, err := fetcher.New(agent, &fetcher.Options{Base: cannedBase{}, MaxBytes: 2 << 30, Pace: pace.Unlimited()})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1_000_000 {
		target := &url.URL{Scheme: "https", Host: fmt.Sprintf("site-%06d.example.com", i), Path: "/"}
		if _, err := ft.Record(context.Background(), target); err != nil {
			b.Fatal(err)
		}
	}
	if n := ft.Stats().Authorities; n != 1_000_000 {
		b.Fatalf("got %d authorities, want a million", n)
	}
	runtime.GC()
	return ft
}

// BenchmarkMillion makes pages for a crawler with a million authorities.
func BenchmarkMillion(b *testing.B) {
	ft := millionSites(b)
	h := New(nil).Handler(ft)
	for _, row := range []struct{ name, query string }{
		{"list", "?view=authorities"},
		{"deep", "?view=authorities&after=0,https://site-777777.example.com"},
		{"outages", "?view=authorities&state=unreachable&sort=down&dir=down"},
		{"size", "?view=authorities&sort=size"},
		{"search", "?view=authorities&q=4242"},
		{"authority", "?authority=https://site-424242.example.com"},
		{"ask", "?url=https://site-424242.example.com/private/x"},
		{"overview", ""},
	} {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if res := sendRequest(h, "GET", "/"+row.query, ""); res.StatusCode != 200 {
					b.Fatal(res.Status)
				}
			}
		})
	}
}

// BenchmarkDecided measures what the hook adds to a decision.
func BenchmarkDecided(b *testing.B) {
	h := newHistory(defaultRecent)
	rec, _ := demoSites[0].learn(time.Now())
	d := rec.Decide("ExampleBot", &url.URL{Scheme: "https", Host: "shop.example.com", Path: "/search"}, time.Now())
	b.ReportAllocs()
	for b.Loop() {
		h.decided(d, time.Now())
	}
}
