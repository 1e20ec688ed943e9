package main

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMain is also the start of the other processes, which are this test binary.
func TestMain(m *testing.M) {
	if !isChild() {
		os.Exit(m.Run())
	}
}

// TestQuick runs every scenario with few hosts. All pages must arrive, and the counts that
// do not depend on the machine must be right.
func TestQuick(t *testing.T) {
	var text strings.Builder
	s := settings{hosts: 4, rounds: 1, quick: true, only: regexp.MustCompile(""), redis: cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server")}
	results, err := s.run(t.Context(), &text)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
	if len(results) != len(scenarios) {
		t.Errorf("%d results, want one for each of %d scenarios", len(results), len(scenarios))
	}
	for i, r := range results {
		sc := s.adapt(scenarios[i])
		for _, row := range r.Rows {
			p := row.Report
			switch {
			case row.Skipped != "":
				if os.Getenv("POLITE_REQUIRE_REDIS") == "1" {
					t.Errorf("%s: %s: skipped: %s", r.Scenario, row.Client, row.Skipped)
				}
			case p.Failed > 0 || p.CPU == 0 || p.Allocs == 0 || p.First < 3*sc.server.RTT:
				t.Errorf("%s: %s: %+v\nwant pages, figures and a first page after three round trips", r.Scenario, row.Client, p)
			case sc.memory:
			case p.Connections < 4 || sc.scheme == "https" && p.Handshakes < 4 || p.Lookups+p.Dials < 4 || p.Requests < int64(4*sc.pages):
				t.Errorf("%s: %s: %+v\nwant a connection of each of 4 hosts, and %d requests", r.Scenario, row.Client, p, sc.pages)
			case row.Client == bare && !sc.server.Redirects && p.counts != (counts{4, p.Handshakes, 0, int64(4 * sc.pages), p.Bytes}):
				t.Errorf("%s: %s: %+v\nwant one connection a host, one request a page and no look-up of its own", r.Scenario, row.Client, p.counts)
			}
		}
	}
}

// TestMissingRedis runs the scenario with the Redis store where there is no Redis server. No folder
// is left behind.
func TestMissingRedis(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	var text strings.Builder
	s := settings{hosts: 4, rounds: 1, quick: true, only: regexp.MustCompile("options"), redis: "no-such-server"}
	if _, err := s.run(t.Context(), &text); err != nil || !strings.Contains(text.String(), "skipped: there is no no-such-server on this machine") {
		t.Errorf("run: %v\n%s\nwant a line that says that the store was skipped", err, &text)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v left in the folder for temporary files, %v; want nothing", left, err)
	}
}
