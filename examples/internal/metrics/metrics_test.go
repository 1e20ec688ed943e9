package metrics

import (
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// TestNames checks that the names follow the rules of Prometheus.
func TestNames(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r)
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
	crawler, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
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
	Watch(r, crawler)
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
