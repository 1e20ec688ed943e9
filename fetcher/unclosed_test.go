package fetcher_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
)

// open requests a page and leaves its body open until the test is over.
func (p *paced) open(ctx context.Context, page string) *http.Response {
	p.t.Helper()
	resp, err := p.get(ctx, page)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// Bodies that are never closed do not stop a host. Each row says when the next page starts after
// the robots.txt and two pages at 0 s, whose bodies stay open.
func TestUnclosedBodies(t *testing.T) {
	const timeout = 10 * time.Second
	background := func(f func(p *paced, ctx context.Context, page string)) func(p *paced, page string) {
		return func(p *paced, page string) { f(p, context.Background(), page) }
	}
	for _, test := range []struct {
		name  string
		fetch func(p *paced, page string)
		want  time.Duration
	}{
		{"never_read", background(func(p *paced, ctx context.Context, page string) { p.open(ctx, page) }), timeout},
		{"read_a_little", background(func(p *paced, ctx context.Context, page string) {
			body := p.open(ctx, page).Body
			time.AfterFunc(3*time.Second, func() { body.Read(make([]byte, 1)) })
		}), 3*time.Second + timeout},
		{"canceled", func(p *paced, page string) {
			ctx, cancel := context.WithCancel(context.Background())
			p.open(ctx, page)
			time.AfterFunc(2*time.Second, cancel)
		}, 2 * time.Second},
		{"deadline", func(p *paced, page string) {
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
			p.t.Cleanup(cancel)
			p.open(ctx, page)
		}, 4 * time.Second},
		{"client_with_a_timeout", func(p *paced, page string) {
			client := http.Client{Transport: p.tr, Timeout: 5 * time.Second}
			resp, err := client.Get(page)
			if err != nil {
				p.t.Fatal(err)
			}
			p.t.Cleanup(func() { resp.Body.Close() })
		}, 5 * time.Second},
		{"closed_late", background(func(p *paced, ctx context.Context, page string) {
			body := p.open(ctx, page).Body
			time.AfterFunc(9*time.Second, func() { body.Close() })
		}), 9 * time.Second},
	} {
		t.Run("4.7/"+test.name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 2}, fetcher.Options{Timeout: timeout}, func(p *paced) {
				p.web.Site("http://a.test").Robots(open).Path("/*", page)
				test.fetch(p, "http://a.test/1")
				test.fetch(p, "http://a.test/2")
				p.read("http://a.test/3")
				if since := time.Since(p.start); since != test.want {
					t.Errorf("the next page started after %v, want %v", since, test.want)
				}
				synctest.Wait() // for the other body
				if n := p.tr.Stats().Pace.InFlight; n != 0 {
					t.Errorf("%d in flight, want 0", n)
				}
			})
		})
	}
}

// A body that is read keeps its turn, however slowly: a Read that waits for the server counts.
func TestBodiesReadSlowly(t *testing.T) {
	for name, step := range map[string]httptest.Step{
		"slowly":      slowly(35),
		"in_one_read": httptest.Text(strings.Repeat("x", 2)).Drip(1, 30*time.Second),
	} {
		t.Run("4.7/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{Timeout: 10 * time.Second}, func(p *paced) {
				p.web.Site("http://a.test").Robots(open).Path("/slow", step).Path("/*", page)
				ended := make(chan time.Duration, 1)
				go func() {
					p.read("http://a.test/slow")
					ended <- time.Since(p.start)
				}()
				time.Sleep(time.Second)
				p.read("http://a.test/2")
				if since := time.Since(p.start); since != <-ended || since < 30*time.Second {
					t.Errorf("the next page started after %v, want the end of the slow one", since)
				}
			})
		})
	}
}

// A crawler that tries again after each 429, and closes no body, comes to an end.
func TestRetriesWithoutClose(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 2}, fetcher.Options{}, func(p *paced) {
		busy := httptest.Status(429)
		p.web.Site("http://a.test").Robots(open).Path("/1", busy, busy, busy, busy, page)
		for range 4 {
			p.open(context.Background(), "http://a.test/1")
		}
		if resp := p.open(context.Background(), "http://a.test/1"); resp.StatusCode != 200 || time.Since(p.start) > 2*time.Minute {
			t.Errorf("4.7/retries: status %d after %v, want 200 within two minutes", resp.StatusCode, time.Since(p.start))
		}
	})
}

// A body whose turn was given back can be read and closed, and does nothing to the turns of others.
func TestUnclosedBodyIsReadLater(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{Timeout: 10 * time.Second}, func(p *paced) {
		p.web.Site("http://a.test").Robots(open).Path("/*", page)
		late := p.open(context.Background(), "http://a.test/1")
		other := p.open(context.Background(), "http://a.test/2")
		if text, err := io.ReadAll(late.Body); string(text) != "a page" || err != nil {
			t.Errorf("4.7/late: read %q, %v; want the page", text, err)
		}
		late.Body.Close()
		late.Body.Close()
		if n := p.tr.Stats().Pace.InFlight; n != 1 {
			t.Errorf("4.7/late: %d in flight, want 1", n)
		}
		other.Body.Close()
		if n := p.tr.Stats().Pace.InFlight; n != 0 {
			t.Errorf("4.7/late: %d in flight, want 0", n)
		}
	})
}

// In a fleet the host of a forgotten body goes to the next process, too.
func TestUnclosedBodiesInAFleet(t *testing.T) {
	store := &fleetStore{Memory: &pacetest.Memory{}}
	limits := pace.Limits{Parallel: 1}
	inPace(t, limits, fetcher.Options{Store: store, Timeout: 10 * time.Second}, func(p *paced) {
		store.Store = cache.NewMemory(1 << 20)
		p.web.Site("http://a.test").Robots(open).Path("/*", page)
		p.open(context.Background(), "http://a.test/1")
		other := newTransport(t, &fetcher.Options{Base: p.web.Transport(), Store: store, Pace: &limits})
		began := time.Now()
		if err := requestPage(other, "http://a.test/2"); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 9*time.Second || waited > 13*time.Second {
			t.Errorf("4.7/fleet: the other process waited %v, want about 10s", waited)
		}
		other.CloseIdleConnections()
	})
}

// The first body of a host that is forgotten is reported, also if its context has ended the turn.
func TestUnclosedBodiesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		trace := &fetcher.Trace{Unclosed: func(url string, since time.Time) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(url, " ", since.Second()))
		}}
		log := new(strings.Builder)
		web := httptest.New(t)
		for _, host := range []string{"a", "b", "c"} {
			web.Site("http://"+host+".test").Robots(open).Path("/*", page)
		}
		p := &paced{t: t, web: web, start: time.Now(), tr: newTransport(t, &fetcher.Options{
			Base: web.Transport(), Pace: &pace.Limits{}, Timeout: 10 * time.Second, Trace: trace, Logger: slog.New(slog.NewTextHandler(log, nil)),
		})}
		p.open(context.Background(), "http://u:secret@a.test/1?q")
		time.Sleep(time.Second)
		p.open(context.Background(), "http://a.test/2")
		ctx, cancel := context.WithCancel(context.Background())
		p.open(ctx, "http://b.test/3")
		cancel()
		p.read("http://c.test/4")
		time.Sleep(time.Minute)
		synctest.Wait()
		slices.Sort(got)
		if want := []string{"http://b.test/3 1", "http://u:xxxxx@a.test/1?q 0"}; !slices.Equal(got, want) {
			t.Errorf("4.7/reported: got %q, want %q", got, want)
		}
		if n := strings.Count(log.String(), `level=WARN msg="a body is neither read nor closed"`); n != 2 {
			t.Errorf("4.7/reported: %d warnings, want 2:\n%s", n, log)
		}
	})
}

// A body that hangs until the deadline of its caller is a failure of the host, though the turn has
// ended with the context. A caller that just does not read says nothing of the host.
func TestBodiesUntilTheDeadline(t *testing.T) {
	for name, reads := range map[string]bool{"read": true, "not_read": false} {
		t.Run("4.7/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{Failures: 1}, fetcher.Options{}, func(p *paced) {
				p.web.Site("http://a.test").Robots(open).Path("/*", httptest.Text("a page").HangAfter(1))
				ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Second)
				defer cancel()
				resp := p.open(ctx, "http://a.test/1")
				if reads {
					io.Copy(io.Discard, resp.Body)
				}
				<-ctx.Done()
				synctest.Wait()
				d, err := p.tr.Check(p.t.Context(), must("http://a.test/"))
				if err != nil || strings.HasPrefix(d.Pacing, "waits for the rest of a host that fails") != reads {
					t.Errorf("the next request: %q, %v; want a rest: %t", d.Pacing, err, reads)
				}
			})
		})
	}
}
