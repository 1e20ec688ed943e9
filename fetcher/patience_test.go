package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// TestPatience requests a page, or admits it, while robots.txt is unreachable. Its second fetch
// comes after 30 to 60 s, the third one to two minutes later.
func TestPatience(t *testing.T) {
	busy := httptest.Status(503)
	for _, tt := range []struct {
		name        string
		robots      []httptest.Step
		options     fetcher.Options
		limit       time.Duration // of the caller's context; 0: none
		least, most time.Duration
		want        error
		fetches     int
	}{
		{"zero_refuses_at_once", steps(busy, text), fetcher.Options{}, 0, 0, 0, fetcher.ErrDeferred, 1},
		{"once", steps(busy, text), fetcher.Options{Patience: time.Minute}, 0, 30 * time.Second, time.Minute, nil, 2},
		{"several_times", steps(busy, busy, httptest.Reset(), text), fetcher.Options{Patience: time.Hour}, 0, 90 * time.Second, 3 * time.Minute, nil, 4},
		{"retry_after", steps(busy.Header("Retry-After", "20"), text), fetcher.Options{Patience: 20 * time.Second}, 0, 20 * time.Second, 20 * time.Second, nil, 2},
		{"then_disallowed", steps(busy, httptest.Text("User-agent: *\nDisallow: /\n")), fetcher.Options{Patience: time.Minute}, 0, 30 * time.Second, time.Minute, fetcher.ErrDisallowed, 2},
		{"too_short", steps(busy, text), fetcher.Options{Patience: 29 * time.Second}, 0, 0, 0, fetcher.ErrDeferred, 1},
		{"used_up", steps(busy), fetcher.Options{Patience: 85 * time.Second}, 0, 30 * time.Second, time.Minute, fetcher.ErrDeferred, 2},
		{"not_past_the_deadline", steps(busy, text), fetcher.Options{Patience: time.Hour}, 29 * time.Second, 0, 0, fetcher.ErrDeferred, 1},
		{"a_turn_is_for_max_wait", steps(busy.Header("Retry-After", "5"), text),
			fetcher.Options{Patience: time.Hour, Pace: &pace.Limits{Gap: 20 * time.Second, MaxWait: time.Second}}, 0, 0, time.Minute, fetcher.ErrDeferred, 1},
		{"audit_never_waits", steps(busy, text), fetcher.Options{Patience: time.Hour, Audit: true}, 0, 0, 0, nil, 1},
	} {
		for _, how := range []string{"request", "admit"} {
			t.Run("4.7/"+tt.name+"_"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					s := web.Site(site).Robots(tt.robots...).Path("/*", page)
					o := tt.options
					o.Base = web.Transport()
					tr := newTransport(t, &o)
					ctx, cancel := context.WithTimeout(t.Context(), max(tt.limit, time.Duration(1-min(tt.limit, 1))*day))
					defer cancel()
					began := time.Now()
					err := visit(ctx, tr, how, public)
					took := time.Since(began)
					if n := len(s.Requests("/robots.txt")); !isErr(err, tt.want) || took < tt.least || took > tt.most || n != tt.fetches {
						t.Errorf("got  %v after %v and %d fetches\nwant %v after %v to %v and %d", err, took, n, tt.want, tt.least, tt.most, tt.fetches)
					}
				})
			})
		}
	}
}

// visit requests a page, or admits it, and returns the refusal as an error.
func visit(ctx context.Context, tr *fetcher.Transport, how, page string) error {
	if how == "request" {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return err
		}
		resp, err := tr.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	a, d, err := tr.Admit(ctx, must(page))
	if err == nil && a == nil {
		err = &fetcher.DeniedError{Decision: d}
	}
	a.Done()
	return err
}

// TestPatienceOfMany lets a hundred callers wait for one host. The file is fetched once for all
// of them. They continue at once if another caller fetches it, or invalidates it. Those who leave end
// nobody else's wait.
func TestPatienceOfMany(t *testing.T) {
	for name, recover := range map[string]func(tr *fetcher.Transport){
		"next_fetch": func(*fetcher.Transport) { time.Sleep(time.Minute) },
		"refresh": func(tr *fetcher.Transport) {
			time.Sleep(10 * time.Second)
			tr.Refresh(context.Background(), must(site))
		},
		"invalidate": func(tr *fetcher.Transport) {
			time.Sleep(10 * time.Second)
			tr.Invalidate(context.Background(), must(site))
		},
	} {
		t.Run("4.7/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(site).Robots(httptest.Status(503), text).Path("/*", page)
				var waits atomic.Int64
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Patience: time.Minute, Trace: &fetcher.Trace{
					Waited: func(authority string, wait time.Duration, reason string) {
						if authority == site && wait > 0 && reason == "unreachable" {
							waits.Add(1)
						}
					},
				}})
				var all sync.WaitGroup
				began, ctx := time.Now(), t.Context()
				leave, cancel := context.WithTimeoutCause(ctx, day, errors.New("gone"))
				for i := range 100 {
					all.Go(func() {
						if err := visit(ctx, tr, "request", fmt.Sprint(site, "/", i)); err != nil {
							t.Error(err)
						}
					})
				}
				all.Go(func() {
					if err := visit(leave, tr, "request", public); !errors.Is(err, context.Canceled) || time.Since(began) != 5*time.Second {
						t.Errorf("who leaves: got %v after %v, want %v after 5s", err, time.Since(began), context.Canceled)
					}
				})
				time.Sleep(5 * time.Second)
				cancel()
				all.Go(func() { recover(tr) })
				synctest.Wait()
				if name != "next_fetch" {
					time.Sleep(10 * time.Second)
					synctest.Wait()
					if n := len(s.Requests()); n != 102 {
						t.Errorf("%d requests at once, want 102", n)
					}
				}
				all.Wait()
				if n := len(s.Requests("/robots.txt")); n != 2 || tr.Stats().Waits != 101 || waits.Load() != 101 {
					t.Errorf("got %d fetches, %d waits, %d calls of the hook; want 2, 101, 101", n, tr.Stats().Waits, waits.Load())
				}
			})
		})
	}
}

// TestPatienceInAFleet lets callers wait in two processes that share a store. If one process brings
// the file back, the callers of the other continue at RetryAt, by the record in the store.
func TestPatienceInAFleet(t *testing.T) {
	for name, recover := range map[string]func(other *fetcher.Transport) error{
		"both_wait": func(other *fetcher.Transport) error { return visit(context.Background(), other, "request", public) },
		"other_refreshes": func(other *fetcher.Transport) error {
			time.Sleep(10 * time.Second)
			_, err := other.Refresh(context.Background(), must(site))
			return err
		},
	} {
		t.Run("4.7/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(site).Robots(httptest.Status(503), text).Path("/*", page)
				o := &fetcher.Options{Base: web.Transport(), Store: newUnion(), Patience: time.Minute}
				first, second := newTransport(t, o), newTransport(t, o)
				began := time.Now()
				d, err := first.Check(t.Context(), must(public))
				if err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				for range 10 {
					all.Go(func() {
						if err := visit(t.Context(), second, "admit", public); err != nil || time.Since(began) > d.RetryAt.Sub(began)+time.Second {
							t.Errorf("got %v after %v, want none at %v", err, time.Since(began), d.RetryAt.Sub(began))
						}
					})
				}
				if err := recover(first); err != nil {
					t.Error(err)
				}
				all.Wait()
				if n := len(s.Requests("/robots.txt")); n != 2 {
					t.Errorf("%d fetches of the fleet, want 2", n)
				}
			})
		})
	}
}
