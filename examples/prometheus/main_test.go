package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRun checks that a scrape has the numbers of the crawl, and names no host.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`polite_decisions_total{clause="2.2.2",verdict="allow"} 4`,
		`polite_decisions_total{clause="2.2.2",verdict="disallow"} 2`,
		`polite_decisions_total{clause="2.3.1.3",verdict="allow"} 6`,
		`polite_decisions_total{clause="2.3.1.4",verdict="defer"} 6`,
		`polite_robots_retrievals_total{result="200"} 2`,
		`polite_robots_retrievals_total{result="503"} 1`,
		`polite_robots_retrievals_total{result="dns"} 1`,
		`polite_robots_request_duration_seconds_count{status="302"} 1`,
		`polite_crawl_delays_cut_total 2`,
		`polite_authorities 6`,
		`polite_paced_hosts{reason="breaker"} 1`,
		`polite_waiting{reason="breaker"} 0`,
		`polite_in_flight 0`,
	} {
		if !strings.Contains(out.String(), want+"\n") {
			t.Errorf("output:\n%s\nwant the line %q", out.String(), want)
		}
	}
	for _, host := range []string{"shop.example", "lost.test"} {
		if strings.Contains(out.String(), host) {
			t.Errorf("output:\n%s\nwant no %q", out.String(), host)
		}
	}
}
