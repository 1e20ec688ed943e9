package fetcher_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
	"github.com/rfc9309/polite/policy"
)

// admit calls Admit for a page and returns the admission and the verdict.
func (p *paced) admit(ctx context.Context, page string) (*fetcher.Admission, policy.Decision) {
	p.t.Helper()
	a, d, err := p.tr.Admit(ctx, parse(page))
	if err != nil {
		p.t.Fatal(err)
	}
	if (a != nil) != d.Allowed() {
		p.t.Errorf("Admit(%s): admission %v with %v", page, a, d)
	}
	return a, d
}

func TestAdmit(t *testing.T) {
	t.Run("6/rules_and_gap", func(t *testing.T) {
		inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules))
			if a, d := p.admit(context.Background(), private); a != nil || d.Verdict != policy.Disallow {
				t.Errorf("private: %v, want Disallow", d)
			}
			for i := range 3 { // robots.txt has had the turn at 0 s
				a, _ := p.admit(context.Background(), public)
				if since, want := time.Since(p.start), time.Duration(i+1)*time.Second; since != want {
					t.Errorf("turn %d after %v, want %v", i, since, want)
				}
				a.Answer(http.StatusOK, nil)
				a.Done()
			}
		})
	})

	t.Run("6/pause_holds_for_requests_of_the_transport", func(t *testing.T) {
		inPace(t, pace.Limits{}, fetcher.Options{}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules)).Path("/public", httptest.Text("x"))
			a, _ := p.admit(context.Background(), public)
			a.Answer(http.StatusTooManyRequests, http.Header{"Retry-After": {"60"}})
			a.Done()
			p.read(public)
			if since := time.Since(p.start); since != time.Minute {
				t.Errorf("the page was requested after %v, want 1m0s", since)
			}
		})
	})

	t.Run("6/freed_after_the_timeout", func(t *testing.T) {
		inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{Timeout: 10 * time.Second}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules))
			lost, _ := p.admit(context.Background(), public)
			a, _ := p.admit(context.Background(), public)
			if since := time.Since(p.start); since != 10*time.Second {
				t.Errorf("next turn after %v, want 10s", since)
			}
			lost.Done() // too late to do anything
			if n := p.tr.Stats().Pace.InFlight; n != 1 {
				t.Errorf("%d in flight, want 1", n)
			}
			a.Fail(context.DeadlineExceeded)
			if n := p.tr.Stats().Pace.InFlight; n != 0 {
				t.Errorf("%d in flight, want 0", n)
			}
		})
	})

	t.Run("6/gap_counts_from_the_return", func(t *testing.T) {
		slow := &fetcher.Trace{Decided: func(context.Context, policy.Decision) { time.Sleep(700 * time.Millisecond) }}
		inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{Trace: slow}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules))
			a, _ := p.admit(context.Background(), public)
			a.Done()
			returned := time.Now()
			a, _ = p.admit(context.Background(), public)
			a.Done()
			if since, want := time.Since(returned), 1700*time.Millisecond; since != want {
				t.Errorf("the next Admit returned after %v, want %v: the gap and the hook", since, want)
			}
		})
	})

	t.Run("6/caller_gone_before", func(t *testing.T) {
		for _, l := range []pace.Limits{{}, *pace.Unlimited()} {
			inPace(t, l, fetcher.Options{}, func(p *paced) {
				p.web.Site(site).Robots(httptest.Text(rules))
				p.tr.Check(context.Background(), must(public))
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if a, _, err := p.tr.Admit(ctx, must(public)); a != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%+v: got %v, %v; want %v", l, a, err, context.Canceled)
				}
			})
		}
	})

	t.Run("6/too_late", func(t *testing.T) {
		inPace(t, pace.Limits{Gap: time.Minute, MaxWait: time.Second}, fetcher.Options{}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules))
			p.read("http://example.com/robots.txt")
			p.admit(context.Background(), public)
			a, d := p.admit(context.Background(), public)
			if a != nil || d.Verdict != policy.Defer || !d.RetryAt.After(time.Now()) {
				t.Errorf("got %v, want Defer", d)
			}
		})
	})

	t.Run("6/caller_gone", func(t *testing.T) {
		inPace(t, pace.Limits{Gap: time.Minute}, fetcher.Options{}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules))
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			if a, _, err := p.tr.Admit(ctx, parse(public)); a != nil || err == nil {
				t.Errorf("got %v, %v; want an error", a, err)
			}
			if n := p.tr.Stats().Pace.InFlight; n != 0 {
				t.Errorf("%d in flight, want 0", n)
			}
		})
	})

	t.Run("6/audit", func(t *testing.T) {
		inPace(t, pace.Limits{}, fetcher.Options{Audit: true}, func(p *paced) {
			p.web.Site(site).Robots(httptest.Text(rules))
			a, d, err := p.tr.Admit(context.Background(), parse(private))
			if a == nil || d.Verdict != policy.Disallow || err != nil {
				t.Errorf("got %v, %v, %v; want an admission with a Disallow", a, d, err)
			}
			a.Done()
		})
	})

	t.Run("6/nil", func(t *testing.T) {
		var a *fetcher.Admission
		a.Answer(http.StatusOK, nil)
		a.Fail(nil)
		a.Done()
	})
}

// An Admission keeps its host from the other processes of a fleet until it ends, or its process is lost.
func TestAdmitInAFleet(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(p *paced, a *fetcher.Admission, store *fleetStore) // a second after Admit
		want []time.Duration                                         // when another process may visit a.test and then b.test
	}{
		"done":   {func(_ *paced, a *fetcher.Admission, _ *fleetStore) { a.Done() }, []time.Duration{1050 * time.Millisecond, 1050 * time.Millisecond}},
		"failed": {func(_ *paced, a *fetcher.Admission, _ *fleetStore) { a.Fail(io.EOF) }, []time.Duration{1050 * time.Millisecond, 1050 * time.Millisecond}},
		"redirected": {func(p *paced, a *fetcher.Admission, _ *fleetStore) {
			a.Answer(http.StatusFound, nil)
			next, d, err := a.Redirect(context.Background(), parse("http://b.test/1"))
			if err != nil || next == nil {
				p.t.Errorf("Redirect: %v, %v", d, err)
			}
			time.AfterFunc(9*time.Second, next.Done)
		}, []time.Duration{1050 * time.Millisecond, 10050 * time.Millisecond}},
		"never_ended":  {func(*paced, *fetcher.Admission, *fleetStore) {}, []time.Duration{30 * time.Second, 30 * time.Second}},
		"process_lost": {func(_ *paced, _ *fetcher.Admission, store *fleetStore) { store.down.Store(true) }, []time.Duration{5100 * time.Millisecond, 5100 * time.Millisecond}},
	} {
		t.Run("6.1/"+name, func(t *testing.T) {
			store, memory := &pacetest.Memory{}, cache.NewMemory(1<<20)
			first, second := &fleetStore{Store: memory, Memory: store}, &fleetStore{Store: memory, Memory: store}
			inPace(t, pace.Limits{}, fetcher.Options{Store: first}, func(p *paced) {
				other := &paced{t: t, tr: newTransport(t, &fetcher.Options{Base: p.web.Transport(), Store: second, Pace: &pace.Limits{}})}
				for _, site := range []string{"http://a.test", "http://b.test"} {
					p.web.Site(site).Robots(open)
				}
				a, _ := p.admit(context.Background(), "http://a.test/1")
				time.AfterFunc(time.Second, func() { test.end(p, a, first) })
				var got []time.Duration
				for _, page := range []string{"http://a.test/2", "http://b.test/2"} {
					b, _ := other.admit(context.Background(), page)
					got = append(got, time.Since(p.start).Round(time.Millisecond))
					b.Done()
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("another process may visit the sites after %v, want %v", got, test.want)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}
