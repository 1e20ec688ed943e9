package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// named is a base that notes its name with each URL.
type named struct {
	http.RoundTripper
	name string
	log  *[]string
}

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	*n.log = append(*n.log, n.name+" "+r.URL.Host+r.URL.Path)
	return n.RoundTripper.RoundTrip(r)
}

// TestOver sends requests through the bases of three siblings, which share the cache, the pace and
// the counts.
func TestOver(t *testing.T) {
	var log []string
	inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site("http://*.test").Robots(text).Path("/*", page)
		base := func(name string) http.RoundTripper { return named{p.web.Transport(), name, &log} }
		tr := newTransport(t, &fetcher.Options{Base: base("a"), Pace: &pace.Limits{Gap: time.Second}})
		b := tr.Over(base("b"))
		c, err := b.As("ExampleBot-Image")
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range []struct {
			tr   *fetcher.Transport
			page string
		}{{b, "http://x.test/1"}, {tr, "http://x.test/2"}, {c, "http://x.test/3"}, {c.Over(nil), "http://x.test/4"}, {tr, "http://y.test/5"}} {
			if err := requestPage(r.tr, r.page); err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		}
		want := []string{"b x.test/robots.txt", "b x.test/1", "a x.test/2", "b x.test/3", "a x.test/4", "a y.test/robots.txt", "a y.test/5"}
		if took := time.Since(p.start); !slices.Equal(log, want) || took != 5*time.Second || b.Stats() != tr.Stats() {
			t.Errorf("4.7/over: got  %q after %v\nwant %q after 5s", log, took, want)
		}
	})
}

// Callers over two bases wait for one fetch, through the base of the first caller.
func TestOverInAFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text.After(time.Second))
		var log []string
		tr := newTransport(t, &fetcher.Options{Base: named{web.Transport(), "a", &log}})
		var both sync.WaitGroup
		both.Go(func() { tr.Check(t.Context(), must(public)) })
		synctest.Wait()
		both.Go(func() { tr.Over(named{web.Transport(), "b", &log}).Check(t.Context(), must(public)) })
		both.Wait()
		if want := []string{"a example.com/robots.txt"}; !slices.Equal(log, want) {
			t.Errorf("4.7/one_flight: got %q, want %q", log, want)
		}
	})
}

// TestOverABaseThatIsRefused checks that nothing is sent over a base that New refuses, and that the
// shared cache and the host learn nothing of it.
func TestOverABaseThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := sites(t)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		for _, base := range []http.RoundTripper{(*http.Transport)(nil), &retryablehttp.RoundTripper{Client: retryablehttp.NewClient()}} {
			_, want := fetcher.New(agent, &fetcher.Options{Base: base})
			over := tr.Over(base)
			over.CloseIdleConnections()
			_, check := over.Check(t.Context(), must(public))
			_, record := over.Record(t.Context(), must(public))
			_, refresh := over.Refresh(t.Context(), must(public))
			_, _, admit := over.Admit(t.Context(), must(public))
			body := &closing{Reader: strings.NewReader("posted")}
			req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, public, body)
			_, request := over.RoundTrip(req)
			for i, err := range []error{check, record, refresh, admit, request} {
				if err == nil || want == nil || err.Error() != want.Error() || errors.Is(err, fetcher.ErrDeferred) {
					t.Errorf("4.7/refused: call %d: got %v, want %v", i, err, want)
				}
			}
			if body.closed.Load() != 1 {
				t.Errorf("4.7/refused: the body of the request was closed %d times, want 1", body.closed.Load())
			}
		}
		if s := fmt.Sprint(web.Requests(), tr.Stats().Authorities); s != "[] 0" {
			t.Errorf("4.7/refused: got %s, want no request and no authority", s)
		}
	})
}
