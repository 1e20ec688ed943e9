package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

// TestMain is also the start of the processes of a fleet, which are this test binary.
func TestMain(m *testing.M) {
	if !isChild() {
		os.Exit(m.Run())
	}
}

// TestFleet measures small fleets.
func TestFleet(t *testing.T) {
	s := settings{processes: []int{2}, hosts: 100, time: time.Second, callers: 20, cluster: true, program: cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server")}
	if err := s.check(); err != nil {
		if os.Getenv("POLITE_REQUIRE_REDIS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	var text strings.Builder
	rows, err := measureAll(&text, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	if len(rows) != 3 {
		t.Fatalf("%d rows, want one without Redis, one with a server and one with a cluster", len(rows))
	}
	for _, r := range rows {
		permitted := float64(s.hosts) * (r.took.Seconds()/pace.Default().Gap.Seconds() + float64(r.processes))
		if r.pages == 0 || r.failed > 0 || float64(r.pages) > permitted {
			t.Errorf("%s: %d pages in %v, %d failed: %s; want some, at most %.0f, and no failure", r.store, r.pages, r.took, r.failed, r.failure, permitted)
		}
		if r.unpaced > 0 {
			continue // the machine is too busy for its own servers
		}
		if r.fetches != s.hosts {
			t.Errorf("%s: %d fetches of robots.txt of %d hosts, want one of each", r.store, r.fetches, s.hosts)
		}
		if scripts := r.calls["evalsha"]; r.store != "no Redis" && scripts < 2*r.pages {
			t.Errorf("%s: %d scripts for %d pages, want at least two for a page", r.store, scripts, r.pages)
		}
	}
}

// TestRate measures a fleet that fetches as many pages as -rate permits. It has more
// callers than that, and they must not wait for pages beyond the end: the last of them
// would be due after 100 s.
func TestRate(t *testing.T) {
	s := settings{hosts: 100, time: time.Second, rate: 20, callers: 2000}
	r, err := measure(s, store{"no Redis", 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if r.pages == 0 || r.pages > 40 || r.took > time.Minute {
		t.Errorf("%d pages of two processes in %v, want at most 20 of each in little more than a second", r.pages, r.took)
	}
}

// TestNoServer starts the command where there is no server.
func TestNoServer(t *testing.T) {
	s := settings{processes: []int{1}, hosts: 1, time: time.Second, callers: 1, program: filepath.Join(t.TempDir(), "none")}
	var text strings.Builder
	if err := run(&text, s); err == nil || !strings.Contains(err.Error(), "no Redis server") || text.Len() > 0 {
		t.Errorf("run without a server: %q, %v; want only an error that says so", &text, err)
	}
}

// TestReasons checks the sentence below the table.
func TestReasons(t *testing.T) {
	s := settings{hosts: 1000, callers: 1}
	base := row{store: "one server", processes: 1, rate: 500, pages: 500, took: time.Second}
	for _, tt := range []struct {
		name string
		flag float64 // -rate
		r    row
		want string
	}{
		{"straight", 0, row{rate: 950}, "a straight line"},
		{"gap", 0, row{rate: 1990}, "the gap at each host is the bound: it permits 2000 pages a second"},
		{"rate", 500, row{rate: 990, machine: time.Hour}, "a straight line, by -rate: 990 of 1000"},
		{"processor", 500, row{rate: 600, machine: time.Hour}, "the processor is the bound"},
		{"idle", 0, row{rate: 600, workers: time.Millisecond}, "the processor is not the bound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, s := tt.r, s
			s.rate = tt.flag
			r.store, r.processes, r.pages, r.took = base.store, 2, int(r.rate), time.Second
			if tt.name == "gap" {
				r.processes = 8
			}
			var text strings.Builder
			if end(&text, s, []row{base, r}); !strings.Contains(text.String(), tt.want) {
				t.Errorf("end of the page %s\nwant %q", &text, tt.want)
			}
		})
	}
}

// TestProcesses reads the flag -processes.
func TestProcesses(t *testing.T) {
	for list, want := range map[string][]int{"1,2,4": {1, 2, 4}, "3": {3}, "": nil, "2,0": nil, "two": nil} {
		var s settings
		err := s.setProcesses(list)
		if (err == nil) != (want != nil) || err == nil && !slices.Equal(s.processes, want) {
			t.Errorf("-processes %q\ngot  %v, %v\nwant %v", list, s.processes, err, want)
		}
	}
}
