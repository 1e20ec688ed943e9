package main

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// filesOnce is readFiles for all tests.
var filesOnce = sync.OnceValues(func() ([]*file, error) { files, _, err := readFiles(); return files, err })

// TestLab replays a week of a crawl of 100,000 hosts.
func TestLab(t *testing.T) {
	s := settings{hosts: 100_000, days: 7, pages: 1.5, seed: 1, least: time.Minute, restart: 5000}
	if testing.Short() {
		s.hosts = 5000
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
	s := settings{hosts: 2000, days: 7, pages: 5, seed: 3, least: time.Minute, bytes: 512 << 10}
	c := replay(t, &world{seed: s.seed, files: files, span: 7 * day}, s)
	t.Log("\n" + c.table())
	if all := c.total(); !c.evicts || all.wrong+all.gaps > 0 || all.bytes > s.bytes+64<<10 {
		t.Errorf("dropped: %v, memory %d of %d, %d wrong, %d too early", c.evicts, all.bytes, s.bytes, all.wrong, all.gaps)
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
		{"2.4/least", false, func(p *policy.Profile, _ *pace.Limits) { p.Fresh.Least = time.Hour }},
		{"2.4/html", false, func(p *policy.Profile, _ *pace.Limits) { p.Fresh.HTML = 2 * time.Hour }},
		{"2.3.1.2/hops", false, func(p *policy.Profile, _ *pace.Limits) { p.Hops = 1 }},
		{"2.3.1.3/strict", false, func(p *policy.Profile, _ *pace.Limits) { p.Status = policy.Strict().Status }},
		{"2.3.1.4/copy", false, func(p *policy.Profile, _ *pace.Limits) { p.Outage = policy.Strict().Outage }},
		{"2.3.1.4/retry", false, func(p *policy.Profile, _ *pace.Limits) { p.Retry.First = 5 * time.Minute }},
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
