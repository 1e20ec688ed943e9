package fetcher_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// A lateReader is a base that answers with an error at once, and reads and closes the body of the request
// later: http.RoundTripper permits that.
type lateReader struct {
	http.RoundTripper
	read chan string // what it has read
}

func (b lateReader) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		return b.RoundTripper.RoundTrip(req)
	}
	go func() {
		time.Sleep(time.Second)
		text, _ := io.ReadAll(req.Body)
		req.Body.Close()
		b.read <- string(text)
	}()
	return nil, io.EOF
}

// A caller that gives a request a new body for another try leaves the body of the first try
// alone.
func TestBodyOfAnEarlierTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text)
		base := lateReader{web.Transport(), make(chan string, 1)}
		tr := newTransport(t, &fetcher.Options{Base: base, Pace: &pace.Limits{Gap: time.Second}})
		first, second := &closing{Reader: strings.NewReader("first")}, &closing{Reader: strings.NewReader("second")}
		req, err := http.NewRequest(http.MethodPost, public, first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(req); err == nil {
			t.Fatal("got an answer, want the error of the base")
		}
		req.Body = second
		if got := <-base.read; got != "first" || first.closed.Load() != 1 || second.closed.Load() != 0 {
			t.Errorf("house/body_of_an_earlier_try: the base read %q, the bodies were closed %d and %d times; want %q, 1 and 0",
				got, first.closed.Load(), second.closed.Load(), "first")
		}
	})
}

// A context that ended because another host had no turn in time says nothing about the host
// of the URL: the caller gets an error and no decision.
func TestContextWithTheCauseOfAnotherHost(t *testing.T) {
	cause := &pace.RefusedError{Authority: "http://other.test", RetryAt: time.Now().Add(time.Hour), Reason: pace.ReasonGap}
	for name, f := range map[string]func(ctx context.Context, p *paced) error{
		"check": func(ctx context.Context, p *paced) error {
			_, err := p.tr.Check(ctx, must("http://mute.test/"))
			return err
		},
		"admit": func(ctx context.Context, p *paced) error {
			p.read(public)
			_, _, err := p.tr.Admit(ctx, must(public))
			return err
		},
		"request": func(ctx context.Context, p *paced) error { p.read(public); _, err := p.get(ctx, public); return err },
	} {
		t.Run("house/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{Gap: time.Minute}, fetcher.Options{}, func(p *paced) {
				p.web.Site(site).Robots(text).Path("/*", page)
				p.web.Site("http://mute.test").Robots(httptest.Hang())
				ctx, cancel := context.WithCancelCause(p.t.Context())
				time.AfterFunc(61*time.Second, func() { cancel(cause) })
				if name == "check" {
					time.AfterFunc(time.Second, func() { cancel(cause) })
				}
				err := f(ctx, p)
				time.Sleep(time.Hour) // the fetch ends
				if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || errors.Is(err, fetcher.ErrDeferred) {
					t.Errorf("got %v, want the cause of the context", err)
				}
			})
		})
	}
}

// A caller without a deadline waits for the turn of robots.txt however long a page is in flight,
// and gets a decision.
func TestTurnAfterALongPage(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{}, func(p *paced) {
		p.web.Site(site).Robots(text.Header("Cache-Control", "max-age=60")).Path("/public", slowly(3601))
		p.crowd(public)
		defer p.pages.Wait()
		time.Sleep(2 * time.Minute) // robots.txt expires
		d, err := p.tr.Check(p.t.Context(), must(private))
		if waited := time.Since(p.start); err != nil || short(d) != "disallow 2.2.2" || waited < time.Hour {
			p.t.Errorf("6/long_page: got  %v, %v after %v\nwant disallow 2.2.2 after an hour", d, err, waited)
		}
	})
}

// While a flight waits for the turn of a further fetch, a caller without the time to wait for
// it gets its decision at once.
func TestTurnOfASecondFetch(t *testing.T) {
	again := httptest.Status(412)
	for name, steps := range map[string][]httptest.Step{"2.4/invalidated": {text.After(time.Second)}, "2.4/validators_refused": {text.Header("ETag", `"1"`), again}} {
		t.Run(name, func(t *testing.T) {
			inPace(t, pace.Limits{Gap: time.Minute}, fetcher.Options{}, func(p *paced) {
				p.web.Site(site).Robots(steps...)
				if len(steps) > 1 { // the next fetch has validators
					p.tr.Check(p.t.Context(), must(private))
					time.Sleep(day)
				}
				go p.tr.Check(context.Background(), must(private))
				time.Sleep(500 * time.Millisecond)
				if len(steps) == 1 {
					p.tr.Invalidate(p.t.Context(), must(private))
				}
				time.Sleep(time.Second) // the flight waits for its next turn
				ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
				defer cancel()
				began := time.Now()
				d, err := p.tr.Check(ctx, must(private))
				if took := time.Since(began); took > 0 || err != nil || d.Verdict != policy.Defer {
					t.Errorf("got %v, %v after %v; want defer at once", d, err, took)
				}
				time.Sleep(time.Hour)
			})
		})
	}
}

// A brittleError panics when it is unwrapped, as a nil pointer in an error does.
type brittleError struct{}

func (brittleError) Error() string { return "brittle" }
func (brittleError) Unwrap() error { panic("nil") }

// An error of the base that panics does not keep the turn of a redirect's host.
func TestTurnAfterABrittleError(t *testing.T) {
	web := func(w *httptest.Web) {
		w.Site(site).Robots(httptest.Redirect(301, "http://b.test/robots.txt"))
		w.Site("http://b.test").Robots(text).Path("/*", page)
	}
	inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{}, func(p *paced) {
		web(p.web)
		broken := true
		p.tr = newTransport(t, &fetcher.Options{Pace: &pace.Limits{Parallel: 1}, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			if broken && r.URL.Host == "b.test" {
				return nil, brittleError{}
			}
			return p.web.Transport().RoundTrip(r)
		})})
		if d, err := p.tr.Check(p.t.Context(), must(public)); err != nil || d.Verdict != policy.Defer {
			t.Fatalf("got %v, %v", d, err)
		}
		broken = false
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Hour)
		defer cancel()
		if _, err := p.get(ctx, "http://b.test/page"); err != nil {
			t.Errorf("6/brittle_error: got %v, want a turn", err)
		}
	})
}

// A hook Decided that ends its goroutine does not keep the turn, and the body of the request
// is closed.
func TestTurnAfterTheHookEnded(t *testing.T) {
	for _, name := range []string{"request", "page_egress", "admit"} {
		t.Run("6/"+name, func(t *testing.T) {
			end := true
			trace := &fetcher.Trace{Decided: func(context.Context, policy.Decision) {
				if end {
					runtime.Goexit()
				}
			}}
			inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{Trace: trace, PageEgress: name == "page_egress"}, func(p *paced) {
				p.tr.SetLookup(p.web.LookupNetIP)
				p.web.Site(site).Robots(text).Path("/*", page)
				body := &closing{Reader: strings.NewReader("x")}
				ended := make(chan bool)
				go func() {
					defer close(ended)
					if name == "admit" {
						p.tr.Admit(p.t.Context(), must(public))
						return
					}
					req, _ := http.NewRequest(http.MethodPost, public, body)
					p.tr.RoundTrip(req)
				}()
				<-ended
				if end = false; name != "admit" && body.closed.Load() != 1 {
					t.Errorf("the body was closed %d times, want once", body.closed.Load())
				}
				ctx, cancel := context.WithTimeout(p.t.Context(), time.Hour)
				defer cancel()
				a, d, err := p.tr.Admit(ctx, must(public))
				if err != nil || a == nil {
					t.Errorf("got %v, %v; want a turn", d, err)
				}
				a.Done()
			})
		})
	}
}

// Under PageEgress the body of a request is closed once, by the base that refuses its address.
func TestBodyAtARefusedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).At("192.0.2.1").Robots(text)
		tr := newTransport(t, &fetcher.Options{PageEgress: true, Egress: func(netip.Addr) error { return nil },
			Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Body == nil {
					return web.Transport().RoundTrip(r)
				}
				r.Body.Close()
				return nil, &egress.RefusedError{}
			})})
		tr.SetLookup(web.LookupNetIP)
		body := &closing{Reader: strings.NewReader("x")}
		req, err := http.NewRequest(http.MethodPost, public, body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(req); !errors.Is(err, fetcher.ErrDisallowed) || body.closed.Load() != 1 {
			t.Errorf("house/refused_address: got %v, the body was closed %d times; want ErrDisallowed, once", err, body.closed.Load())
		}
	})
}

// The error of a wait that was cut short says what the request waited for: bodies that are never
// closed would otherwise look like a slow site.
func TestErrorOfAWait(t *testing.T) {
	for name, c := range map[string]struct{ page, want string }{
		"parallel":   {public, "waiting for a turn at http://example.com (because of the requests in flight): context deadline exceeded: patience"},
		"robots.txt": {"http://mute.test/", "waiting for robots.txt of http://mute.test: context deadline exceeded: patience"},
	} {
		t.Run("house/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{}, func(p *paced) {
				p.web.Site(site).Robots(text).Path("/*", page)
				p.web.Site("http://mute.test").Robots(httptest.Hang())
				resp, err := p.get(p.t.Context(), public)
				if err != nil {
					p.t.Fatal(err)
				}
				defer resp.Body.Close() // only at the end
				ctx, cancel := context.WithTimeoutCause(p.t.Context(), time.Second, errors.New("patience"))
				defer cancel()
				_, got := p.get(ctx, c.page)
				if timeout := (&url.Error{Err: got}).Timeout(); !timeout {
					t.Errorf("%v is no timeout for http.Client", got)
				}
				_, _, admitted := p.tr.Admit(ctx, must(c.page))
				if !errors.Is(got, context.DeadlineExceeded) || !strings.Contains(got.Error(), c.want) || !errors.Is(admitted, context.DeadlineExceeded) {
					t.Errorf("got  %v, and %v\nwant %s", got, admitted, c.want)
				}
				time.Sleep(time.Hour) // the fetch ends
			})
		})
	}
}

// Without pacing nothing waits, so the base answers if the context has ended: callers of net/http may compare its error
// with ==.
func TestEndedContextWithoutPacing(t *testing.T) {
	inPace(t, *pace.Unlimited(), fetcher.Options{}, func(p *paced) {
		p.web.Site(site).Robots(text).Path("/*", page)
		p.tr.Check(p.t.Context(), must(public))
		ctx, cancel := context.WithCancel(p.t.Context())
		cancel()
		if resp, err := p.get(ctx, public); err != context.Canceled {
			p.t.Errorf("got %v, %v; want %v", resp, err, context.Canceled)
		}
	})
}
