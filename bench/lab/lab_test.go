package main

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// filesOnce is readFiles for all tests.
var filesOnce = sync.OnceValues(func() ([]*file, error) { files, _, err := readFiles(); return files, err })

// TestLab replays a week of a crawl: of 5,000 hosts, and with POLITE_NIGHTLY of 100,000.
func TestLab(t *testing.T) {
	s := settings{hosts: 5000, days: 7, pages: 1.5, seed: 1, least: time.Minute, restart: 5000}
	if os.Getenv("POLITE_NIGHTLY") != "" {
		s.hosts = 100_000
	}
	t.Log("\n" + run(t, s))
}

// TestSeed replays the same week twice.
func TestSeed(t *testing.T) {
	files, err := filesOnce()
	if err != nil {
		t.Fatal(err)
	}
	s := settings{hosts: 2000, days: 2, pages: 5, seed: 7, least: time.Minute}
	w := &world{seed: s.seed, files: files, span: 2 * day}
	first, second := replay(t, w, s), replay(t, w, s)
	for i := range first.days {
		// The order of evictions and the size of tables depend on a random hash.
		first.days[i].bytes, second.days[i].bytes = 0, 0
	}
	if !slices.Equal(first.days, second.days) {
		t.Errorf("two runs with one seed differ:\n%s\n%s", first.table(), second.table())
	}
}

// TestMemory replays a week with too little memory.
func TestMemory(t *testing.T) {
	files, err := filesOnce()
	if err != nil {
		t.Fatal(err)
	}
	s := settings{hosts: 2000, days: 7, pages: 5, seed: 3, least: time.Minute, bytes: 256 << 10}
	c := replay(t, &world{seed: s.seed, files: files, span: 7 * day}, s)
	t.Log("\n" + c.table())
	if all := c.total(); all.causes[dropped] == 0 || all.wrong+all.gaps > 0 || all.bytes > s.bytes+64<<10 {
		t.Errorf("%d fetches of dropped records, memory %d of %d, %d wrong, %d too early", all.causes[dropped], all.bytes, s.bytes, all.wrong, all.gaps)
	}
}

// TestCauses replays two days with enough memory. Each fetch must have one cause, and each
// cause but one must occur.
func TestCauses(t *testing.T) {
	files, err := filesOnce()
	if err != nil {
		t.Fatal(err)
	}
	s := settings{hosts: 2000, days: 2, pages: 20, seed: 4, least: time.Minute}
	all := replay(t, &world{seed: s.seed, files: files, span: 2 * day}, s).total()
	sum := 0
	for i, n := range all.causes {
		sum += n
		if (n > 0) != (cause(i) != dropped) {
			t.Errorf("%d fetches with the cause %d", n, i)
		}
	}
	if sum != all.fetches || all.causes[firstToday] > all.hostDays {
		t.Errorf("%d fetches on %d days of hosts, want a sum of %d: %v", all.fetches, all.hostDays, sum, all.causes)
	}
}

// TestCause gives a cause to single fetches.
func TestCause(t *testing.T) {
	const now, today = 30 * time.Hour, 2
	tests := []struct {
		name string
		host host
		site site
		want cause
	}{
		{"2.4/first", host{file: -1}, site{}, firstToday},
		{"2.4/expired", host{known: true, next: now, fetched: 1}, site{}, firstToday},
		{"2.4/dropped", host{known: true, next: now + 1, fetched: 1}, site{}, dropped},
		{"2.3.1.4/again", host{known: true, next: now, fetched: today, down: true}, site{}, failed},
		{"2.4/short", host{known: true, next: now, fetched: today}, site{lifetime: lifetime{control: "max-age=300"}}, declared},
		{"2.4/expires", host{known: true, next: now, fetched: today}, site{lifetime: lifetime{expires: time.Hour}}, declared},
		{"2.4/html", host{known: true, next: now, fetched: today}, site{lifetime: lifetime{control: "max-age=86400"}}, isPage},
		{"2.3.1.3/denied", host{file: -1, known: true, next: now, fetched: today}, site{fault: denied}, refusal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.host.cause(now, today, &tt.site); got != tt.want {
				t.Errorf("%+v: got %d, want %d", tt.host, got, tt.want)
			}
		})
	}
}

// TestOracle runs crawlers that do wrong. The oracle must object.
func TestOracle(t *testing.T) {
	files, err := filesOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		early bool // in its requests; else in its decisions
		spoil func(*policy.Profile, *pace.Limits)
	}{
		{"6/gap", true, func(_ *policy.Profile, l *pace.Limits) { l.Gap = 499 * time.Millisecond }},
		{"6/crawl_delay", true, func(_ *policy.Profile, l *pace.Limits) { l.DelayCap = 900 * time.Millisecond }},
		{"6/pause", true, func(_ *policy.Profile, l *pace.Limits) { l.Pause = 20 * time.Second }},
		{"6/rest", true, func(_ *policy.Profile, l *pace.Limits) { l.Failures = 5 }},
		{"6/rest_too_early", false, func(_ *policy.Profile, l *pace.Limits) { l.Gap = 2 * time.Second }},
		{"2.2/dialect", false, func(p *policy.Profile, _ *pace.Limits) { p.Dialect = matcher.Koster1996() }},
		{"2.4/lifetime", false, func(p *policy.Profile, _ *pace.Limits) { p.Fresh.Default = 23 * time.Hour }},
		{"2.4/least", false, func(p *policy.Profile, _ *pace.Limits) { p.Fresh.Min = time.Hour }},
		{"2.4/html", false, func(p *policy.Profile, _ *pace.Limits) { p.Fresh.MaxHTML = 2 * time.Hour }},
		{"2.3.1.2/hops", false, func(p *policy.Profile, _ *pace.Limits) { p.Hops = 1 }},
		{"2.3.1.3/strict", false, func(p *policy.Profile, _ *pace.Limits) { p.Status = policy.Strict().Status }},
		{"2.3.1.4/copy", false, func(p *policy.Profile, _ *pace.Limits) { p.Outage = policy.Strict().Outage }},
		{"2.3.1.4/retry", false, func(p *policy.Profile, _ *pace.Limits) { p.Retry.Min = 5 * time.Minute }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := settings{hosts: 1000, days: 3, pages: 20, seed: 2, least: time.Minute, spoil: tt.spoil}
			all := replay(t, &world{seed: s.seed, files: files, span: 3 * day}, s).total()
			if tt.early && all.gaps == 0 || !tt.early && all.wrong == 0 {
				t.Errorf("%d wrong decisions and %d requests before their turn, want some", all.wrong, all.gaps)
			}
		})
	}
}

// TestTimeIn adds up the samples that have a function on their stack, called or inlined.
func TestTimeIn(t *testing.T) {
	sample := func(nanoseconds int64, stack ...[]string) *profile.Sample {
		s := &profile.Sample{Value: []int64{1, nanoseconds}}
		for _, names := range stack {
			l := &profile.Location{}
			for _, n := range names {
				l.Line = append(l.Line, profile.Line{Function: &profile.Function{Name: n}})
			}
			s.Location = append(s.Location, l)
		}
		return s
	}
	p := &profile.Profile{Sample: []*profile.Sample{
		sample(10, []string{"runtime.mallocgc"}, []string{"x/fetcher.(*Transport).Admit"}, []string{"main.(*crawl).admitKnown"}),
		sample(200, []string{"x/fetcher.(*Transport).Admit", "main.(*crawl).admitKnown"}),
		sample(3000, []string{"x/fetcher.(*Transport).Admit"}, []string{"main.(*crawl).admit"}),
		sample(40000, []string{"runtime.gcBgMarkWorker"}),
	}}
	if got := timeIn(p, ".(*crawl).admitKnown"); got != 210 {
		t.Errorf("%v, want 210ns", got)
	}
}

// TestProbe has a host that failed, rested for as long as a rest can be, and is tried again.
// Another request must have a reason to wait meanwhile, although no failure is counted.
func TestProbe(t *testing.T) {
	q := newQueue()
	now := moment(0)
	for range failMax {
		now += time.Second
		q.start(now, 0)
		q.end(now, now, failing)
	}
	now += pauseMax
	if wrong := q.start(now, 0); wrong != "" || !q.waits(now+time.Second, 0) {
		t.Errorf("the probe is wrong: %q; waits after a second: %v, want true", wrong, q.waits(now+time.Second, 0))
	}
}
