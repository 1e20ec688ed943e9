package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// A gate is a base that knows which requests for a robots.txt are under way. One whose context
// has ended is not, although the base may not have returned yet.
type gate struct {
	http.RoundTripper
	mu      sync.Mutex
	flying  map[*http.Request]bool
	crowded []string // hosts with two requests for it at once
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/robots.txt" {
		return g.RoundTripper.RoundTrip(r)
	}
	g.begin(r)
	defer g.end(r)
	return g.RoundTripper.RoundTrip(r)
}

func (g *gate) begin(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.flying {
		if other.URL.Host == r.URL.Host && other.Context().Err() == nil {
			g.crowded = append(g.crowded, r.URL.Host)
		}
	}
	g.flying[r] = true
}

func (g *gate) end(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.flying, r)
}

// chaos has calls of a Transport that may happen at any time. Each reports what was
// wrong with its result.
var chaos = []func(ctx context.Context, tr *fetcher.Transport, u *url.URL) error{
	func(ctx context.Context, tr *fetcher.Transport, u *url.URL) error {
		d, err := tr.Check(ctx, u)
		return sound(d, err, u)
	},
	func(ctx context.Context, tr *fetcher.Transport, u *url.URL) error {
		d, err := tr.Refresh(ctx, u)
		return sound(d, err, u)
	},
	func(_ context.Context, tr *fetcher.Transport, u *url.URL) error {
		if d, ok := tr.Peek(u); ok {
			return sound(d, nil, u)
		}
		return nil
	},
	func(ctx context.Context, tr *fetcher.Transport, u *url.URL) error {
		rec, err := tr.Record(ctx, u)
		if err == nil && rec.Robots() != "http://"+u.Host+"/robots.txt" {
			return fmt.Errorf("%s got the record of %s", u, rec.Robots())
		}
		return nil
	},
	func(ctx context.Context, tr *fetcher.Transport, u *url.URL) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return err
		}
		resp, err := tr.RoundTrip(req)
		if (resp == nil) == (err == nil) {
			return fmt.Errorf("%s got %v and %v", u, resp, err)
		}
		if resp != nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return nil
	},
	func(ctx context.Context, tr *fetcher.Transport, u *url.URL) error {
		tr.Invalidate(ctx, u)
		return nil
	},
	func(_ context.Context, tr *fetcher.Transport, _ *url.URL) error {
		for key, rec := range tr.Records() {
			if rec.Robots() != key+"/robots.txt" {
				return fmt.Errorf("%s holds the record of %s", key, rec.Robots())
			}
		}
		tr.CloseIdleConnections()
		return nil
	},
}

// sound checks a decision against what is true of all sites of this test: nobody
// may fetch /private, and only a caller that leaves gets an error.
func sound(d policy.Decision, err error, u *url.URL) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return fmt.Errorf("%s: no decision: %w", u, err)
	case d.URL != u.String() || u.Path == "/private" && d.Allowed():
		return fmt.Errorf("%s: got %v", u, d)
	}
	return nil
}

// TestEverythingAtOnce makes all calls from many goroutines, for days, on a few
// sites that fail in every way. No site gets two requests for one file at a time,
// the private page is never requested, and every call returns.
func TestEverythingAtOnce(t *testing.T) {
	for name, limits := range map[string]*pace.Limits{"unpaced": nil, "paced": {Gap: time.Second, Parallel: 2}} {
		t.Run("house/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const sites, workers, turns = 8, 24, 60
				web := httptest.New(t)
				for i := range sites {
					web.Site(fmt.Sprintf("http://s%d.test", i)).Path("/*", httptest.Text("page")).Robots(answersOf(i)...)
				}
				web.Site("http://hub.test").Path("/r", text)
				base := &gate{RoundTripper: web.Transport(), flying: map[*http.Request]bool{}}
				var decided atomic.Int32
				tr := newTransport(t, &fetcher.Options{
					Base: base, Store: cache.NewMemory(1 << 16), MaxBytes: 1 << 16, Pace: limits,
					Trace: &fetcher.Trace{Fetched: func(policy.Attempt, *policy.Record) {
						if decided.Add(1)%5 == 0 {
							panic("a hook")
						}
					}},
				})
				tr.SetLookup(web.LookupNetIP)
				var all sync.WaitGroup
				for w := range workers {
					all.Go(func() {
						dice := rand.New(rand.NewPCG(9309, uint64(w)))
						for range turns {
							u := must(fmt.Sprintf("http://s%d.test/%s", dice.IntN(sites), []string{"private", "public"}[dice.IntN(2)]))
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(dice.ExpFloat64()*float64(20*time.Second)))
							if err := chaos[dice.IntN(len(chaos))](ctx, tr, u); err != nil {
								t.Error(err)
							}
							cancel()
							time.Sleep(time.Duration(dice.ExpFloat64() * float64(time.Hour)))
						}
					})
				}
				all.Wait()
				time.Sleep(time.Hour) // what callers left ends by itself
				if len(base.crowded) > 0 {
					t.Errorf("two requests at once: %q", base.crowded)
				}
				pages := 0
				for _, r := range web.Requests() {
					if r.Target == "/private" {
						t.Errorf("got the request %v", r)
					}
					if r.Target == "/public" {
						pages++
					}
				}
				if s := tr.Stats(); pages == 0 || s.Bytes > 1<<16 || s.Retrievals == 0 {
					t.Errorf("got  %d pages, %+v\nwant some pages, some retrievals, and at most %d bytes", pages, s, 1<<16)
				}
			})
		})
	}
}

// answersOf is the list of answers of a site's robots.txt. The rules are always the
// same, and the file is never missing.
func answersOf(i int) []httptest.Step {
	all := steps(
		text.Header("Cache-Control", "no-store"), httptest.Status(503), httptest.Reset(), httptest.Hang(), text.ETag(`"1"`), text.Cut(10),
		httptest.Redirect(302, "http://hub.test/r"), text.After(10*time.Second), httptest.Status(429).Header("Retry-After", "3600"),
		text.Gzip(), httptest.Status(999), httptest.Raw(strings.Repeat("rubbish", 1000)), text.Header("Content-Encoding", "br"),
	)
	var story []httptest.Step
	for n := range 200 {
		story = append(story, all[(n*(2*i+1)+i)%len(all)])
	}
	return story
}
