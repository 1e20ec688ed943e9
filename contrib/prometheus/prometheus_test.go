package prometheus

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// watch returns a Transport and the registry that has its metrics.
func watch(t *testing.T, o *fetcher.Options) (*fetcher.Transport, *prometheus.Registry) {
	r := prometheus.NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	o.Trace = m.Trace()
	crawler, err := fetcher.New("ExampleBot/0.1", o)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Watch(crawler); err != nil {
		t.Fatal(err)
	}
	return crawler, r
}

// gather returns the values of the metrics whose names have a prefix, by name and label values.
func gather(t *testing.T, r *prometheus.Registry, prefix string) map[string]float64 {
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			if value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()); value != 0 && strings.HasPrefix(name, prefix) {
				got[name] = value
			}
		}
	}
	return got
}

// TestCrawl checks the numbers of a crawl of four sites, and that no label names a host.
func TestCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://shop.example").Robots(httptest.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 600\n"))
		web.Site("http://busy.example").Robots(httptest.Status(503))
		web.Site("http://plain.example").Robots(httptest.Status(404))
		limits := pace.Default()
		limits.DelayCap = 0
		crawler, r := watch(t, &fetcher.Options{Base: web.Transport(), Pace: limits})
		for _, host := range []string{"shop.example", "busy.example", "plain.example"} {
			for _, path := range []string{"/1", "/cart"} {
				if resp, err := (&http.Client{Transport: crawler}).Get("http://" + host + path); err == nil {
					resp.Body.Close()
				}
			}
		}
		want := map[string]float64{
			"polite_decisions_total 2.2.2 allow": 1, "polite_decisions_total 2.2.2 disallow": 1,
			"polite_decisions_total 2.3.1.3 allow": 2, "polite_decisions_total 2.3.1.4 defer": 2,
		}
		if got := gather(t, r, "polite_decisions"); !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		want = map[string]float64{"polite_robots_fetches_total 200": 1, "polite_robots_fetches_total 404": 1, "polite_robots_fetches_total 503": 1}
		if got := gather(t, r, "polite_robots_fetches"); !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		if got := gather(t, r, "polite_authorities")["polite_authorities"]; got != 3 {
			t.Errorf("got %v authorities, want 3", got)
		}
		for name := range gather(t, r, "") {
			if strings.Contains(name, ".example") {
				t.Errorf("%s names a host", name)
			}
		}
		// testutil knows the rules for names.
		if problems, err := testutil.GatherAndLint(r); err != nil || len(problems) > 0 {
			t.Errorf("got %v, %v; want no problem", problems, err)
		}
	})
}

// TestHosts checks that queued requests are counted by their reason.
func TestHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://a.example").Robots(httptest.Status(404))
		crawler, r := watch(t, &fetcher.Options{Base: web.Transport(), Pace: &pace.Limits{Parallel: 1}})
		u := &url.URL{Scheme: "http", Host: "a.example"}
		a, _, err := crawler.Admit(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		const waiting = 3
		for range waiting {
			go func() {
				if a, _, err := crawler.Admit(t.Context(), u); err == nil {
					a.Done()
				}
			}()
		}
		synctest.Wait()
		want := map[string]float64{"polite_paced_hosts parallel": 1, "polite_waiting parallel": waiting}
		got := gather(t, r, "polite_paced_hosts")
		maps.Copy(got, gather(t, r, "polite_waiting"))
		if !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
		a.Done()
	})
}

// TestTwice checks that each of two crawlers needs a label of its own.
func TestTwice(t *testing.T) {
	r := prometheus.NewRegistry()
	label := func(name string) prometheus.Registerer {
		return prometheus.WrapRegistererWith(prometheus.Labels{"crawler": name}, r)
	}
	for i, c := range []struct {
		r    prometheus.Registerer
		good bool
	}{{label("pages"), true}, {label("pages"), false}, {label("news"), true}} {
		if _, err := New(c.r); (err == nil) != c.good {
			t.Errorf("%d: got %v, want success: %v", i, err, c.good)
		}
	}
}
