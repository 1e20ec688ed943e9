package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
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
	"github.com/rfc9309/polite/pace/pacetest"
	"github.com/rfc9309/polite/policy"
)

// A paced crawler and the web it crawls, by the clock of a bubble.
type paced struct {
	t     *testing.T
	web   *httptest.Web
	tr    *fetcher.Transport
	start time.Time
	pages sync.WaitGroup
}

// inPace runs f with a crawler of these limits and options.
func inPace(t *testing.T, l pace.Limits, o fetcher.Options, f func(p *paced)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		if o.Base == nil {
			o.Base = web.Transport()
		}
		o.Pace = &l
		f(&paced{t: t, web: web, tr: newTransport(t, &o), start: time.Now()})
	})
}

// get requests a page. The answer must be closed.
func (p *paced) get(ctx context.Context, page string) (*http.Response, error) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.tr.RoundTrip(req)
}

// read requests a page and reads it to its end.
func (p *paced) read(page string) {
	p.t.Helper()
	resp, err := p.get(context.Background(), page)
	if err != nil {
		p.t.Errorf("%s after %v: %v", page, time.Since(p.start), err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		p.t.Errorf("%s: %v", page, err)
	}
}

// crowd requests pages at once. They arrive in this order.
func (p *paced) crowd(pages ...string) {
	for _, page := range pages {
		p.pages.Go(func() { p.read(page) })
		synctest.Wait()
	}
}

// saw compares the requests that reached the servers, and their times.
func (p *paced) saw(want ...string) {
	p.t.Helper()
	p.pages.Wait()
	var got []string
	for _, r := range p.web.Requests() {
		got = append(got, fmt.Sprintf("%v %s", r.Time.Sub(p.start), strings.TrimPrefix(r.URL(), "http://")))
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("arrived\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	open   = httptest.Text("User-agent: *\nDisallow: /private\n")
	page   = httptest.Text("a page")
	slowly = func(seconds int) httptest.Step {
		return httptest.Text(strings.Repeat("x", seconds)).Drip(1, time.Second)
	}
	delayed = func(value string) httptest.Step { return httptest.Text("User-agent: *\nCrawl-delay: " + value + "\n") }
)

// A crawler that says nothing of its pace is paced: half a second between requests, but
// for hosts of this machine. With Unlimited it is not paced.
func TestPacedByDefault(t *testing.T) {
	for _, test := range []struct {
		name string
		pace *pace.Limits
		host string
		want []string // times of two pages
	}{
		{"default", nil, "http://a.test", []string{"0s", "500ms", "1s"}},
		{"loopback", nil, "http://localhost", []string{"0s", "0s", "0s"}},
		{"explicit", &pace.Limits{Gap: time.Second}, "http://localhost", []string{"0s", "1s", "2s"}},
		{"unlimited", pace.Unlimited(), "http://a.test", []string{"0s", "0s", "0s"}},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(test.host).Robots(open).Path("/*", page)
				tr, err := fetcher.New(agent, &fetcher.Options{Base: web.Transport(), Pace: test.pace})
				if err != nil {
					t.Fatal(err)
				}
				p := &paced{t: t, web: web, tr: tr, start: time.Now()}
				p.read(test.host + "/1")
				p.read(test.host + "/2")
				var got []string
				for _, r := range web.Requests() {
					got = append(got, r.Time.Sub(p.start).String())
				}
				if off := tr.Stats().Pace.Off; !slices.Equal(got, test.want) || off != (test.name == "unlimited") {
					t.Errorf("requests at %v, pacing off: %t; want %v", got, off, test.want)
				}
			})
		})
	}
}

// A page request for robots.txt does not keep the Crawl-delay, with and without hooks. The request
// before it does.
func TestRobotsAsAPage(t *testing.T) {
	for _, trace := range []*fetcher.Trace{nil, {Decided: func(context.Context, policy.Decision) {}}} {
		inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{Trace: trace}, func(p *paced) {
			p.web.Site("http://a.test").Robots(delayed("10")).Path("/*", page)
			for _, path := range []string{"/1", "/robots.txt", "/robots.txt", "/2"} {
				p.read("http://a.test" + path)
			}
			p.saw("0s a.test/robots.txt", "10s a.test/1", "20s a.test/robots.txt", "21s a.test/robots.txt", "31s a.test/2")
		})
	}
}

// robotsPaces are webs, the pages requested one after the other, and the requests
// that must arrive.
var robotsPaces = []struct {
	name  string
	gap   time.Duration
	web   func(*httptest.Web)
	pages []string
	want  []string
}{
	{"house/first_page_waits_the_gap_after_robots", 1234 * time.Millisecond, func(w *httptest.Web) {
		w.Site("http://a.test").Robots(open).Path("/*", page)
	}, []string{"http://a.test/1", "http://a.test/2"},
		[]string{"0s a.test/robots.txt", "1.234s a.test/1", "2.468s a.test/2"}},
	{"house/first_page_waits_the_crawl_delay_after_robots", time.Second, func(w *httptest.Web) {
		w.Site("http://a.test").Robots(delayed("2.5")).Path("/*", page)
	}, []string{"http://a.test/1", "http://a.test/2"},
		[]string{"0s a.test/robots.txt", "2.5s a.test/1", "5s a.test/2"}},
	{"2.3.1.2/each_hop_at_its_own_host", time.Second, func(w *httptest.Web) {
		w.Site("http://a.test").Robots(httptest.Redirect(301, "http://b.test/1")).Path("/3", open).Path("/*", page)
		w.Site("http://b.test").
			Path("/1", httptest.Redirect(302, "/2")).
			Path("/2", httptest.Redirect(302, "http://a.test/3"))
	}, []string{"http://a.test/page"},
		[]string{"0s a.test/robots.txt", "0s b.test/1", "1s b.test/2", "1s a.test/3", "2s a.test/page"}},
	{"2.3.1.2/each_hop_after_a_gap_of_a_minute", time.Minute, func(w *httptest.Web) {
		w.Site("http://a.test").Robots(httptest.Redirect(301, "/1")).Path("/5", open).Path("/*", page).
			Path("/1", httptest.Redirect(301, "/2")).Path("/2", httptest.Redirect(301, "/3")).
			Path("/3", httptest.Redirect(301, "/4")).Path("/4", httptest.Redirect(301, "/5"))
	}, []string{"http://a.test/page"},
		[]string{"0s a.test/robots.txt", "1m0s a.test/1", "2m0s a.test/2", "3m0s a.test/3", "4m0s a.test/4", "5m0s a.test/5", "6m0s a.test/page"}},
	{"house/a_second_try_takes_a_turn", 3 * time.Second, func(w *httptest.Web) {
		w.Site("http://a.test").Robots(httptest.Reset(), open).Path("/*", page)
	}, []string{"http://a.test/1"},
		[]string{"0s a.test/robots.txt", "3s a.test/robots.txt", "6s a.test/1"}},
	{"2.4/next_retrieval_waits_after_a_page", time.Minute, func(w *httptest.Web) {
		w.Site("http://a.test").Robots(open.Header("Cache-Control", "max-age=90")).Path("/*", page)
	}, []string{"http://a.test/1", "http://a.test/2", "", "http://a.test/3"},
		[]string{"0s a.test/robots.txt", "1m0s a.test/1", "2m0s a.test/2", "3m0s a.test/robots.txt", "4m0s a.test/3"}},
}

// The robots.txt request and each of its hops take their turn at their own host,
// and the first page waits the gap after it.
func TestPaceOfRobots(t *testing.T) {
	for _, test := range robotsPaces {
		t.Run(test.name, func(t *testing.T) {
			inPace(t, pace.Limits{Gap: test.gap}, fetcher.Options{}, func(p *paced) {
				test.web(p.web)
				for _, page := range test.pages {
					if page == "" {
						p.pages.Wait()
						continue
					}
					p.crowd(page)
				}
				p.saw(test.want...)
			})
		})
	}
}

// A request is in flight until its body is closed or read to its end, and not
// only until its head arrives.
func TestPaceInFlight(t *testing.T) {
	const one = "http://a.test/1"
	for _, test := range []struct {
		name string
		then func(resp *http.Response) // what the caller does 2 s after the head
		want string                    // when the next request arrives
	}{
		{"closed_unread", func(resp *http.Response) { resp.Body.Close() }, "2s"},
		{"read_to_its_end", func(resp *http.Response) { io.Copy(io.Discard, resp.Body) }, "10s"},
		{"read_in_part_then_closed", func(resp *http.Response) {
			io.ReadFull(resp.Body, make([]byte, 5))
			resp.Body.Close()
		}, "4s"},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{}, func(p *paced) {
				p.web.Site("http://a.test").Robots(open).Path("/1", slowly(11)).Path("/2", page)
				resp, err := p.get(context.Background(), one)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				p.crowd("http://a.test/2")
				time.Sleep(2 * time.Second)
				test.then(resp)
				p.saw("0s a.test/robots.txt", "0s a.test/1", test.want+" a.test/2")
			})
		})
	}
	for _, test := range []struct {
		name  string
		step  httptest.Step
		tries int // of net/http: two if a kept connection ends without an answer
	}{
		{"no_answer", httptest.Reset(), 2},
		{"no_body", httptest.Status(204), 1},
		{"no_page", httptest.Status(404), 1},
		{"broken_body", page.ResetAfter(3), 1},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{}, func(p *paced) {
				p.web.Site("http://a.test").Robots(open).Path("/1", test.step).Path("/2", page)
				if resp, err := p.get(context.Background(), one); err == nil {
					io.Copy(io.Discard, resp.Body)
					defer resp.Body.Close()
				}
				p.crowd("http://a.test/2")
				p.saw(slices.Concat([]string{"0s a.test/robots.txt"}, slices.Repeat([]string{"0s a.test/1"}, test.tries), []string{"0s a.test/2"})...)
			})
		})
	}
}

// The gap counts from when the request was written, also where its connection takes
// long.
func TestPaceCountsFromTheWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		base := web.Transport()
		base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			time.Sleep(700 * time.Millisecond)
			return web.DialContext(ctx, network, address)
		}
		base.DisableKeepAlives = true // each request dials
		p := &paced{t: t, web: web, start: time.Now(), tr: newTransport(t, &fetcher.Options{Base: base, Pace: &pace.Limits{Gap: time.Second}})}
		web.Site("http://a.test").Robots(open).Path("/*", page)
		if _, err := p.tr.Check(context.Background(), must("http://a.test/")); err != nil {
			t.Fatal(err)
		}
		p.crowd("http://a.test/1", "http://a.test/2")
		// Each starts to dial a second after the one before was written.
		p.saw("700ms a.test/robots.txt", "2.4s a.test/1", "4.1s a.test/2")
	})
}

// A host that answers 429 with Retry-After gets no request before the end of that
// time: no page of a caller that waits or comes later, and no robots.txt.
func TestPaceOfAHostThatIsBusy(t *testing.T) {
	t.Run("house/429_of_a_page", func(t *testing.T) {
		inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{}, func(p *paced) {
			p.web.Site("http://a.test").Robots(open).Path("/1", httptest.Status(429).Header("Retry-After", "30")).Path("/*", page)
			p.crowd("http://a.test/1", "http://a.test/2")
			time.Sleep(10 * time.Second)
			p.pages.Go(func() { p.tr.Refresh(context.Background(), must("http://a.test/")) })
			synctest.Wait()
			p.crowd("http://a.test/3")
			p.saw("0s a.test/robots.txt", "1s a.test/1", "31s a.test/2", "32s a.test/robots.txt", "33s a.test/3")
			if s := p.tr.Stats().Pace; s.Pauses != 1 {
				t.Errorf("Stats().Pace.Pauses = %d, want 1", s.Pauses)
			}
		})
	})
	t.Run("house/429_of_robots_pauses_pages", func(t *testing.T) {
		inPace(t, pace.Limits{}, fetcher.Options{}, func(p *paced) {
			p.web.Site("http://a.test").Robots(open.Header("Cache-Control", "max-age=60"), httptest.Status(429).Header("Retry-After", "90")).Path("/*", page)
			p.read("http://a.test/1")
			time.Sleep(2 * time.Minute)
			p.crowd("http://a.test/2") // fetches the file, and follows the copy
			p.saw("0s a.test/robots.txt", "0s a.test/1", "2m0s a.test/robots.txt", "3m30s a.test/2")
		})
	})
}

// A wait that cannot end in time is refused at once, with Defer and RetryAt. The
// Decision gives the reason.
func TestPaceRefusal(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits pace.Limits
		left   time.Duration // of the caller's context; 0: no deadline
		why    string
	}{
		{"over_max_wait", pace.Limits{Gap: time.Minute, MaxWait: 59 * time.Second}, 0,
			"no turn within MaxWait: the next one is in 1m0s, because of the gap between requests"},
		{"over_the_deadline", pace.Limits{Gap: time.Minute}, 9500 * time.Millisecond,
			"no turn before your deadline (in 9.5s): the next one is in 1m0s, because of the gap between requests"},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			inPace(t, test.limits, fetcher.Options{}, func(p *paced) {
				p.web.Site("http://a.test").Robots(open).Path("/*", page)
				if _, err := p.tr.Check(context.Background(), must("http://a.test/")); err != nil {
					t.Fatal(err)
				}
				ctx := context.Background()
				if test.left > 0 {
					mine, cancel := context.WithTimeout(ctx, test.left)
					defer cancel()
					ctx = mine
				}
				_, err := p.get(ctx, "http://a.test/1")
				var denied *fetcher.DeniedError
				if !errors.As(err, &denied) || !errors.Is(err, fetcher.ErrDeferred) || time.Since(p.start) != 0 {
					t.Fatalf("RoundTrip = %v after %v, want at once a *DeniedError that is ErrDeferred", err, time.Since(p.start))
				}
				want := policy.Decision{
					Verdict: policy.Defer, URL: "http://a.test/1", Clause: "house", Profile: "rfc9309",
					RetryAt: p.start.Add(time.Minute), Pacing: test.why,
				}
				if got := denied.Decision; got != want {
					t.Errorf("Decision\ngot  %+v\nwant %+v", got, want)
				}
				text := "DEFER http://a.test/1: " + test.why + " [house rule; profile rfc9309]; not before 2000-01-01T00:01:00Z"
				if got := denied.Decision.String(); got != text {
					t.Errorf("got  %s\nwant %s", got, text)
				}
				if s := p.tr.Stats(); s.Deferred != 1 || s.Pace.Refused != 1 || s.Pace.Waits != 0 {
					t.Errorf("Stats() = %+v, want one Deferred, one Refused and no wait", s)
				}
				p.saw("0s a.test/robots.txt")
			})
		})
	}
}

// A caller that leaves gives its turn back.
func TestPaceCancellation(t *testing.T) {
	inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site("http://a.test").Robots(open).Path("/*", page)
		p.read("http://a.test/1")
		ctx, leave := context.WithCancel(context.Background())
		p.pages.Go(func() {
			if _, err := p.get(ctx, "http://a.test/2"); !errors.Is(err, context.Canceled) {
				t.Errorf("RoundTrip = %v, want %v", err, context.Canceled)
			}
		})
		synctest.Wait()
		p.crowd("http://a.test/3")
		time.Sleep(500 * time.Millisecond)
		leave()
		p.saw("0s a.test/robots.txt", "1s a.test/1", "2s a.test/3")
		if s := p.tr.Stats().Pace; s.Cancelled != 1 || s.Turns != 3 || s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("Stats().Pace = %+v, want 1 cancelled, 3 turns, nothing left", s)
		}
	})
}

// Check reports when a request would have its turn and what it waits for. Without
// pacing it reports neither.
func TestPaceInTheDecision(t *testing.T) {
	inPace(t, pace.Limits{Gap: time.Second, DelayCap: 10 * time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site("http://a.test").Robots(open).Path("/*", page)
		p.web.Site("http://b.test").Robots(delayed("86400"))
		for _, test := range []struct {
			name   string
			sleep  time.Duration
			target string
			turn   time.Duration // from the start; 0: none
			pacing string
		}{
			{"first_page", 0, "http://a.test/1", time.Second, "waits for the gap between requests"},
			{"the_file_itself", 0, "http://a.test/robots.txt", time.Second, "waits for the gap between requests"},
			{"disallowed", 0, "http://a.test/private", 0, ""},
			{"capped", 0, "http://b.test/", 10 * time.Second, "waits for the Crawl-delay, Crawl-delay 24h0m0s obeyed as 10s"},
			{"capped_and_free", 10 * time.Second, "http://b.test/", 0, "Crawl-delay 24h0m0s obeyed as 10s"},
			{"free", 0, "http://a.test/1", 0, ""},
		} {
			time.Sleep(test.sleep)
			d, err := p.tr.Check(context.Background(), must(test.target))
			if err != nil {
				t.Fatal(err)
			}
			peeked, ok := p.tr.Peek(must(test.target))
			var turn time.Duration
			if !d.Turn.IsZero() {
				turn = d.Turn.Sub(p.start)
			}
			if turn != test.turn || d.Pacing != test.pacing || !ok || peeked != d {
				t.Errorf("%s: Check says %v, %q, and Peek %+v\nwant %v, %q, and the same", test.name, turn, d.Pacing, peeked, test.turn, test.pacing)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://a.test").Robots(delayed("10"))
		d, err := newTransport(t, &fetcher.Options{Base: web.Transport()}).Check(context.Background(), must("http://a.test/"))
		if err != nil || !d.Turn.IsZero() || d.Pacing != "" {
			t.Errorf("without pacing: Check = %+v, %v; want neither Turn nor Pacing", d, err)
		}
	})
}

// Each wait is reported with its reason. A Crawl-delay that is cut short or ignored
// is reported once for each authority.
func TestPaceTrace(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits pace.Limits
		want   []string
	}{
		{"capped", pace.Limits{Gap: time.Second, DelayCap: 5 * time.Second}, []string{
			"0s http://a.test: 1h0m0s obeyed as 5s", "5s http://a.test waited 5s for crawl_delay", "10s http://a.test waited 10s for crawl_delay",
			"10s http://b.test: 2h0m0s obeyed as 5s", "15s http://b.test waited 5s for crawl_delay",
		}},
		{"ignored", pace.Limits{Gap: time.Second, Delay: pace.Ignore}, []string{
			"0s http://a.test: 1h0m0s obeyed as 0s", "1s http://a.test waited 1s for gap", "2s http://a.test waited 2s for gap",
			"2s http://b.test: 2h0m0s obeyed as 0s", "3s http://b.test waited 1s for gap",
		}},
		{"honoured", pace.Limits{Gap: time.Second, Delay: pace.Honour}, []string{
			"1h0m0s http://a.test waited 1h0m0s for crawl_delay", "2h0m0s http://a.test waited 2h0m0s for crawl_delay",
			"4h0m0s http://b.test waited 2h0m0s for crawl_delay",
		}},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			var got []string
			var p *paced
			add := func(format string, args ...any) {
				got = append(got, time.Since(p.start).String()+" "+fmt.Sprintf(format, args...))
			}
			inPace(t, test.limits, fetcher.Options{Trace: &fetcher.Trace{
				Waited: func(authority string, wait time.Duration, reason string) {
					add("%s waited %v for %s", authority, wait, reason)
				},
				Delay: func(authority string, asked, obeyed time.Duration) {
					add("%s: %v obeyed as %v", authority, asked, obeyed)
				},
			}}, func(q *paced) {
				p = q
				p.web.Site("http://a.test").Robots(delayed("3600")).Path("/*", page)
				p.web.Site("http://b.test").Robots(delayed("7200")).Path("/*", page)
				p.crowd("http://a.test/1", "http://a.test/2")
				p.pages.Wait()
				p.crowd("http://b.test/1")
				p.pages.Wait()
				if !slices.Equal(got, test.want) {
					t.Errorf("reported\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
				}
			})
		})
	}
}

// In audit mode pacing delays requests and refuses none.
func TestPaceAudit(t *testing.T) {
	var decisions []string
	inPace(t, pace.Limits{Gap: time.Minute, MaxWait: time.Second}, fetcher.Options{Audit: true, Trace: &fetcher.Trace{
		Decided: func(_ context.Context, d policy.Decision) {
			decisions = append(decisions, d.Verdict.String()+" "+d.Pacing)
		},
	}}, func(p *paced) {
		p.web.Site("http://a.test").Robots(open).Path("/*", page)
		p.read("http://a.test/1")
		p.saw("0s a.test/robots.txt", "0s a.test/1")
		if want := []string{"defer no turn within MaxWait: the next one is in 1m0s, because of the gap between requests"}; !slices.Equal(decisions, want) {
			t.Errorf("decisions %q, want %q", decisions, want)
		}
	})
}

// A leaseStore is a store with leases that does not pace the fleet.
type leaseStore struct {
	cache.Store
	mu   sync.Mutex
	ends map[string]time.Time
}

func (s *leaseStore) Lease(_ context.Context, key string, ttl time.Duration) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := time.Now().Add(ttl)
	if time.Now().Before(s.ends[key]) {
		return nil, cache.ErrHeld
	}
	s.ends[key] = end
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ends[key].Equal(end) {
			delete(s.ends, key)
		}
	}, nil
}

// A process whose turn to fetch robots.txt comes after its lease has ended does not
// fetch a file that another process has fetched meanwhile.
func TestPaceOutlastsTheLease(t *testing.T) {
	for _, test := range []struct {
		name, fresh string
		gap         time.Duration
		want        []string
	}{
		{"learnt_by_another", "max-age=150", 2 * time.Minute,
			[]string{"0s a.test/robots.txt", "2m0s a.test/1", "3m10s a.test/robots.txt", "6m0s a.test/2"}},
		{"learnt_by_another_and_due_again", "max-age=60", 4 * time.Minute,
			[]string{"0s a.test/robots.txt", "4m0s a.test/1", "5m10s a.test/robots.txt", "8m0s a.test/robots.txt", "12m0s a.test/2"}},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			store := &leaseStore{ends: map[string]time.Time{}}
			inPace(t, pace.Limits{Gap: test.gap}, fetcher.Options{Store: store}, func(p *paced) {
				store.Store = cache.NewMemory(1 << 20)
				p.web.Site("http://a.test").Robots(open.Header("Cache-Control", test.fresh)).Path("/*", page)
				p.read("http://a.test/1")
				time.Sleep(31 * time.Second)
				p.crowd("http://a.test/2") // the file is due, and its turn a gap after the page
				time.Sleep(39 * time.Second)
				other := newTransport(t, &fetcher.Options{Base: p.web.Transport(), Store: store})
				if _, err := other.Check(context.Background(), must("http://a.test/")); err != nil {
					t.Fatal(err)
				}
				p.saw(test.want...)
			})
		})
	}
}

// An answer that switches protocols keeps its connection and ends its turn: what
// follows are no requests.
func TestPaceOfAnUpgrade(t *testing.T) {
	inPace(t, pace.Limits{Parallel: 1}, fetcher.Options{}, func(p *paced) {
		p.web.Site("http://a.test").Robots(open).
			Path("/1", httptest.Status(101).Header("Connection", "Upgrade").Header("Upgrade", "echo")).
			Path("/2", page)
		resp, err := p.get(context.Background(), "http://a.test/1")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, ok := resp.Body.(io.Writer); !ok || resp.StatusCode != 101 {
			t.Errorf("status %d with a body of type %T, want 101 with one to write to", resp.StatusCode, resp.Body)
		}
		p.crowd("http://a.test/2")
		p.saw("0s a.test/robots.txt", "0s a.test/1", "0s a.test/2")
	})
}

// A fleetStore is a store by which processes share hosts, too, or fail to.
type fleetStore struct {
	cache.Store
	*pacetest.Memory
	down atomic.Bool
}

func (s *fleetStore) Pace() pace.Store { return s }

func (s *fleetStore) Lease(ctx context.Context, c pace.Claim, life time.Duration) (pace.Lease, error) {
	if s.down.Load() {
		return pace.Lease{}, errors.New("down")
	}
	return s.Memory.Lease(ctx, c, life)
}

func (s *fleetStore) Keep(ctx context.Context, c pace.Claim, life time.Duration, state pace.State, tell bool) (pace.Lease, error) {
	if s.down.Load() {
		return pace.Lease{}, errors.New("down")
	}
	return s.Memory.Keep(ctx, c, life, state, tell)
}

// Count knows of one process, so that the share of the limits does not depend on which call
// is answered first.
func (s *fleetStore) Count(context.Context, string, time.Duration) (int, error) { return 1, nil }

// A Transport shares hosts by the store of its options. Without the store it keeps its limits, and
// reports that.
func TestPaceOfAFleet(t *testing.T) {
	store := &fleetStore{Memory: &pacetest.Memory{}}
	var mu sync.Mutex
	var reported []string
	inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{Store: store, Trace: &fetcher.Trace{
		Fleet: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, fmt.Sprint(err))
		},
	}}, func(p *paced) {
		store.Store = cache.NewMemory(1 << 20)
		p.web.Site("http://a.test").Robots(delayed("5")).Path("/busy", httptest.Status(429).Header("Retry-After", "60")).Path("/*", page)
		p.read("http://a.test/1")
		p.read("http://a.test/busy")
		other := newTransport(t, &fetcher.Options{Base: p.web.Transport(), Store: store, Pace: &pace.Limits{}})
		if resp, err := (&http.Client{Transport: other}).Get("http://a.test/2"); err != nil {
			t.Error(err)
		} else {
			resp.Body.Close()
		}
		store.down.Store(true)
		time.Sleep(10 * time.Second)
		p.read("http://a.test/3")
		store.down.Store(false)
		time.Sleep(10 * time.Second)
		p.read("http://a.test/4")
		if got := p.tr.Stats().Pace; got.Unshared != 1 || got.Turns != 5 {
			t.Errorf("Stats().Pace = %+v, want 5 turns, one of them unshared", got)
		}
		mu.Lock()
		if want := []string{"down", "<nil>"}; !slices.Equal(reported, want) {
			t.Errorf("Fleet got %q, want %q", reported, want)
		}
		mu.Unlock()
		p.saw("0s a.test/robots.txt", "5s a.test/1", "10s a.test/busy", "1m10s a.test/2", "1m20s a.test/3", "1m30s a.test/4")
		time.Sleep(time.Minute)
	})
}

// TestHosts checks that the Transport and its siblings list who waits.
func TestHosts(t *testing.T) {
	inPace(t, pace.Limits{Gap: time.Minute}, fetcher.Options{}, func(p *paced) {
		p.web.Site(site).Path("/public", httptest.Text("page"))
		p.read(public)
		p.crowd(public, public)
		images, err := p.tr.As("ImageBot")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		want := []pace.HostStatus{{Authority: site, Waiting: 2, Since: now, Next: now.Add(time.Minute), Reason: pace.ReasonGap}}
		if got := slices.Collect(images.Hosts()); !slices.Equal(got, want) {
			t.Errorf("6/hosts:\ngot  %+v\nwant %+v", got, want)
		}
		p.pages.Wait()
	})
}

// Another HTTP stack may keep the lower case of the field names of HTTP/2. The fields mean
// the same.
func TestFieldNamesInLowerCase(t *testing.T) {
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return answerOf(r, 200, http.Header{}, rules), nil
		}
		return answerOf(r, 503, http.Header{"retry-after": {"60"}}, ""), nil
	})
	for name, request := range map[string]func(p *paced){
		"page": func(p *paced) { p.read(public) },
		"admission": func(p *paced) {
			a, _ := p.admit(p.t.Context(), public)
			a.Answer(503, http.Header{"retry-after": {"60"}})
			a.Done()
		},
	} {
		t.Run("6/pause_after_"+name, func(t *testing.T) {
			inPace(t, pace.Limits{}, fetcher.Options{Base: base}, func(p *paced) {
				request(p)
				p.read(public)
				if waited := time.Since(p.start); waited != time.Minute {
					t.Errorf("the next page was requested after %v, want 1m0s", waited)
				}
			})
		})
	}
}
