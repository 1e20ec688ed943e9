package main

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
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

// TestNames checks that the names follow the rules of Prometheus.
func TestNames(t *testing.T) {
	r := prometheus.NewRegistry()
	m := newMetrics(r)
	m.decisions.WithLabelValues("allow", "2.2.2")
	m.retrievals.WithLabelValues("200")
	m.requests.WithLabelValues("200")
	m.waits.WithLabelValues("gap")
	m.store.WithLabelValues("get")
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v; want no problem", problems, err)
	}
}

// TestHosts checks that requests in line are counted by their reason.
func TestHosts(t *testing.T) {
	crawler, err := fetcher.New(agent, &fetcher.Options{
		Base: http.NewFileTransport(http.Dir(t.TempDir())), // each robots.txt is 404
		Pace: &pace.Limits{Parallel: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	const waiting = 3
	if _, _, err := crawler.Admit(t.Context(), &url.URL{Scheme: "http", Host: "a.example"}); err != nil {
		t.Fatal(err)
	}
	for range waiting {
		go crawler.Admit(t.Context(), &url.URL{Scheme: "http", Host: "a.example"})
	}
	for crawler.Stats().Pace.Waiting < waiting {
		time.Sleep(time.Millisecond)
	}
	got := map[string]float64{}
	r := prometheus.NewRegistry()
	watch(r, crawler)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if len(m.Label) == 1 && m.Gauge.GetValue() != 0 {
				got[f.GetName()+" "+m.Label[0].GetValue()] = m.Gauge.GetValue()
			}
		}
	}
	if want := map[string]float64{"polite_paced_hosts parallel": 1, "polite_waiting parallel": waiting}; !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
		t.Errorf("names: got %v, %v; want no problem", problems, err)
	}
}
