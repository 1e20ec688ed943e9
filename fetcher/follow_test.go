package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// TestACrawlOverRedirectsEnds lets a pool of workers crawl a site whose Crawl-delay
// is longer than MaxWait and whose pages redirect within the site. Every URL is
// requested once, at its turn.
func TestACrawlOverRedirectsEnds(t *testing.T) {
	for name, client := range map[string]func(http.RoundTripper) func(string) (*http.Response, error){
		"net/http": func(rt http.RoundTripper) func(string) (*http.Response, error) {
			return (&http.Client{Transport: rt, Timeout: time.Hour}).Get
		},
		"go-retryablehttp": func(rt http.RoundTripper) func(string) (*http.Response, error) {
			c := retrying(rt)
			c.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
				if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
					return false, err
				}
				return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
			}
			return c.Get
		},
	} {
		t.Run("6/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 1, MaxWait: time.Second}, fetcher.Options{}, func(p *paced) {
				s := p.web.Site(site).Robots(httptest.Text("User-agent: *\nCrawl-delay: 10\n"))
				todo := make(chan string, 5)
				want := []string{"/robots.txt"}
				for i := range 5 {
					from, to := fmt.Sprintf("/%d", i), fmt.Sprintf("/page/%d", i)
					s.Path(from, httptest.Redirect(302, to)).Path(to, httptest.Text("page"))
					todo <- site + from
					want = append(want, from, to)
				}
				close(todo)
				get := client(p.tr)
				var pool sync.WaitGroup
				for range 3 {
					pool.Go(func() {
						for page := range todo {
							patiently(t, get, page)
						}
					})
				}
				pool.Wait()
				var got []string
				var last time.Time
				for _, r := range p.web.Requests() {
					got = append(got, r.Target)
					if since := r.Time.Sub(last); since < 10*time.Second {
						t.Errorf("%s came %v after the request before it, want 10s or more", r.Target, since)
					}
					last = r.Time
				}
				slices.Sort(got)
				if slices.Sort(want); !slices.Equal(got, want) {
					t.Errorf("got  %q\nwant %q", got, want)
				}
			})
		})
	}
}

// patiently gets a page and retries at the time that a refusal names.
func patiently(t *testing.T, get func(string) (*http.Response, error), page string) {
	for range 100 {
		resp, err := get(page)
		var denied *fetcher.DeniedError
		switch {
		case err == nil:
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return
		case !errors.As(err, &denied):
			t.Errorf("%s: %v", page, err)
			return
		}
		time.Sleep(time.Until(denied.Decision.RetryAt))
	}
	t.Errorf("%s: no answer after 100 requests", page)
}

// TestRedirectOfAnAdmission follows a redirect by Admit and Redirect at a site whose Crawl-delay is
// longer than MaxWait, with one request in flight at a time.
func TestRedirectOfAnAdmission(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 1, MaxWait: time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site(site).Robots(delayed("2"))
		time.Sleep(2 * time.Second)
		var a *fetcher.Admission
		for range 2 { // the first call fetches robots.txt
			a, _ = p.admit(p.t.Context(), site+"/")
			time.Sleep(2 * time.Second)
		}
		a.Answer(http.StatusFound, nil)
		began := time.Now()
		b, d, err := a.Redirect(p.t.Context(), must(site+"/home"))
		if took := time.Since(began); b == nil || err != nil || took > 2*time.Second {
			t.Errorf("4.7/redirect: got %v, %v, %v after %v; want an Admission within 2s", b, d, err, took)
		}
		c, d, err := b.Redirect(p.t.Context(), must(site+"/private"))
		if c == nil || err != nil || time.Since(began) < 2*time.Second {
			t.Errorf("4.7/second_redirect: got %v, %v, %v; want an Admission at its turn", c, d, err)
		}
		if n := p.tr.Stats().Pace.InFlight; n != 1 {
			t.Errorf("4.7/redirect: %d in flight, want 1", n)
		}
		c.Done()
		if a, _, err := (*fetcher.Admission)(nil).Redirect(p.t.Context(), must(site)); a != nil || err == nil {
			t.Errorf("4.7/nil: got %v, %v; want an error", a, err)
		}
	})
}

// TestARedirectThatNeverHasATurn gives a client a deadline that is shorter than the Crawl-delay. A
// redirect within the site ends in an error: with a Defer, the client would begin again for ever.
func TestARedirectThatNeverHasATurn(t *testing.T) {
	for name, get := range map[string]func(*paced) error{
		"client": func(p *paced) error {
			resp, err := (&http.Client{Transport: p.tr, Timeout: 10 * time.Second}).Get(site + "/")
			if err == nil {
				resp.Body.Close()
			}
			return err
		},
		"admission": func(p *paced) error {
			ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
			defer cancel()
			a, d, err := p.tr.Admit(ctx, must(site+"/"))
			if err == nil && d.Allowed() {
				_, d, err = a.Redirect(ctx, must(site+"/home"))
			}
			if err == nil {
				err = &fetcher.DeniedError{Decision: d}
			}
			return err
		},
	} {
		t.Run("4.7/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{}, fetcher.Options{}, func(p *paced) {
				s := p.web.Site(site).Robots(delayed("11")).Path("/", httptest.Redirect(302, "/home"))
				err := get(p)
				for range 10 {
					if !errors.Is(err, fetcher.ErrDeferred) {
						break
					}
					time.Sleep(11 * time.Second)
					err = get(p)
				}
				const want = "no turn before your deadline (in 10s): the next one is in 11s, because of the Crawl-delay"
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fetcher.ErrDeferred) || !strings.Contains(err.Error(), want) {
					t.Errorf("got  %v\nwant %s", err, want)
				}
				if n := len(s.Requests("/")); name == "client" && n != 1 {
					t.Errorf("%d requests for /, want 1", n)
				}
			})
		})
	}
}

// TestARedirectWaitsForRobots redirects a page to a busy host whose robots.txt is
// due. The request waits for the turn of that file, too, and only as long as its
// context lasts.
func TestARedirectWaitsForRobots(t *testing.T) {
	for _, tt := range []struct {
		name        string
		limit       time.Duration
		least, most time.Duration
		want        error
	}{
		{"as_long_as_it_takes", time.Hour, 85 * time.Second, 95 * time.Second, nil},
		{"not_past_its_context", time.Minute, 57 * time.Second, time.Minute, fetcher.ErrDeferred},
	} {
		t.Run("6/"+tt.name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 1, MaxWait: time.Second}, fetcher.Options{}, func(p *paced) {
				p.web.Site(site).Robots(httptest.Status(404)).Path("/from", httptest.Redirect(302, "http://b.test/to"))
				p.web.Site("http://b.test").Robots(open.Header("Cache-Control", "no-store")).
					Path("/slow", slowly(150)).Path("/to", page)
				p.crowd("http://b.test/slow")
				time.Sleep(time.Minute)
				began := time.Now()
				ctx, cancel := context.WithTimeout(p.t.Context(), tt.limit)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, site+"/from", nil)
				resp, err := (&http.Client{Transport: p.tr}).Do(req)
				if err == nil {
					resp.Body.Close()
				}
				if took := time.Since(began); !errors.Is(err, tt.want) || took < tt.least || took > tt.most {
					t.Errorf("got  %v after %v\nwant %v after %v to %v", err, took, tt.want, tt.least, tt.most)
				}
				p.pages.Wait()
			})
		})
	}
}

// TestRedirectsOfRobotsWaitForTheirTurn checks that MaxWait does not refuse a hop
// of robots.txt, because it continues a fetch that was let in.
func TestRedirectsOfRobotsWaitForTheirTurn(t *testing.T) {
	inPace(t, pace.Limits{Gap: 5 * time.Second, MaxWait: time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site(site).Robots(httptest.Redirect(301, "/r.txt")).Path("/r.txt", text)
		d, err := p.tr.Check(p.t.Context(), must(private))
		if err != nil || !errors.Is(&fetcher.DeniedError{Decision: d}, fetcher.ErrDisallowed) {
			t.Errorf("6: got %v, %v; want the rule at the end of the redirect", d, err)
		}
		p.saw("0s example.com/robots.txt", "5s example.com/r.txt")
	})
}

// TestTheEndOfAWait checks that a request which waits for robots.txt or for its
// turn ends with its context, whose cause is in the error, and with its Cancel
// channel.
func TestTheEndOfAWait(t *testing.T) {
	errStop := errors.New("the operator stopped the crawl")
	for name, tt := range map[string]struct {
		limits *pace.Limits
		url    string
	}{
		"for_robots": {nil, "http://mute.test/"},
		"for_a_turn": {&pace.Limits{Gap: time.Minute}, public},
	} {
		for how, end := range map[string]func(*http.Request) (*http.Request, error){
			"cause": func(req *http.Request) (*http.Request, error) {
				ctx, cancel := context.WithCancelCause(req.Context())
				time.AfterFunc(5*time.Second, func() { cancel(errStop) })
				return req.WithContext(ctx), errStop
			},
			"cause_that_is_a_cancellation": func(req *http.Request) (*http.Request, error) {
				ctx, cancel := context.WithCancelCause(req.Context())
				time.AfterFunc(5*time.Second, func() { cancel(fmt.Errorf("%w: %w", errStop, context.Canceled)) })
				return req.WithContext(ctx), errStop
			},
			"cancel": func(req *http.Request) (*http.Request, error) {
				ended := make(chan struct{})
				time.AfterFunc(5*time.Second, func() { close(ended) })
				req.Cancel = ended //lint:ignore SA1019 net/http honours it as well
				return req, context.Canceled
			},
		} {
			t.Run("7/"+name+"_"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tr := newTransport(t, &fetcher.Options{Base: sites(t).Transport(), Pace: tt.limits})
					req, _ := http.NewRequest(http.MethodGet, tt.url, nil)
					req, want := end(req)
					began := time.Now()
					resp, err := tr.RoundTrip(req)
					if took := time.Since(began); resp != nil || !errors.Is(err, want) || !errors.Is(err, context.Canceled) || took != 5*time.Second {
						t.Errorf("got  %v, %v after %v\nwant %v and %v after 5s", resp, err, took, want, context.Canceled)
					}
					time.Sleep(time.Minute) // the retrieval that the caller left ends by itself
				})
			})
		}
	}
}

// The Timeout of an http.Client ends a wait, too: net/http sets it as the deadline of the request.
func TestTheTimeoutOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTransport(t, &fetcher.Options{Base: sites(t).Transport()})
		client := &http.Client{Transport: tr, Timeout: 5 * time.Second}
		began := time.Now()
		err := get(client, "http://mute.test/")
		var failed interface{ Timeout() bool }
		if took := time.Since(began); !errors.As(err, &failed) || !failed.Timeout() || took != 5*time.Second {
			t.Errorf("7/timeout_of_the_client: got %v after %v, want a timeout after 5s", err, took)
		}
		time.Sleep(time.Minute) // the retrieval that the caller left ends by itself
	})
}

// TestACrawlOverAShortLifetimeEnds uses a robots.txt that expires before the
// Crawl-delay is over, so that each page needs another fetch. The request that
// fetched it waits for its own turn, too, although that is later than MaxWait.
func TestACrawlOverAShortLifetimeEnds(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 1, MaxWait: 30 * time.Second}, fetcher.Options{}, func(p *paced) {
		s := p.web.Site(site).Robots(httptest.Text("User-agent: *\nCrawl-delay: 60\n").Header("Cache-Control", "no-store"))
		for i := range 3 {
			path := fmt.Sprintf("/%d", i)
			s.Path(path, page)
			patiently(t, (&http.Client{Transport: p.tr}).Get, site+path)
		}
		if n := len(s.Requests()); n > 6 {
			t.Errorf("6/lifetime_under_crawl_delay: %d requests for three pages, want at most 6", n)
		}
	})
}

// TestOnlyTheRequestThatFetchesWaits has two requests wait for one fetch of
// robots.txt. The request that began the fetch waits longer than MaxWait, the other
// is deferred. If the file does not expire before the turn, both are deferred.
func TestOnlyTheRequestThatFetchesWaits(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 1, MaxWait: 30 * time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site(site).Robots(httptest.Text("User-agent: *\nCrawl-delay: 60\n").Header("Cache-Control", "max-age=90").After(time.Second)).Path("/*", page)
		p.web.Site("http://b.test").Robots(delayed("60"))
		p.pages.Go(func() { p.read(site + "/1") })
		synctest.Wait()
		if _, err := p.get(p.t.Context(), site+"/2"); !errors.Is(err, fetcher.ErrDeferred) {
			t.Errorf("6/joined: got %v, want ErrDeferred", err)
		}
		if _, err := p.get(p.t.Context(), "http://b.test/"); !errors.Is(err, fetcher.ErrDeferred) {
			t.Errorf("6/file_outlives_the_wait: got %v, want ErrDeferred", err)
		}
		p.saw("0s example.com/robots.txt", "1s b.test/robots.txt", "1m0s example.com/1")
	})
}
