package fetcher_test

import (
	"fmt"
	"math/rand/v2"
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
	"github.com/rfc9309/polite/policy"
)

// probes are what a site answers for robots.txt, for "/" and for all else, and the
// decision and the requests that must follow.
var probes = []struct {
	name                string
	robots, root, other httptest.Step
	want                string // verdict and clause
	cause               string // its end
	requests            string
}{
	{"4.6/500_for_what_is_not_there", httptest.Status(500), page, httptest.Status(500), "allow house",
		"status 500 Internal Server Error, as for a path that cannot exist; / answers 200", "0s GET /robots.txt, 1s HEAD /, 2s GET ?"},
	{"4.6/a_redirect_of_the_root_shows_no_server", httptest.Status(502), httptest.Redirect(301, "https://elsewhere.test/"), httptest.Status(502), "defer 2.3.1.4",
		"status 502 Bad Gateway", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/bodies_are_not_read", httptest.Status(500), page.Drip(1, time.Hour), httptest.Flood("x").Status(500), "allow house",
		"; / answers 200", "0s GET /robots.txt, 1s HEAD /, 2s GET ?"},
	{"4.6/down", httptest.Status(500), httptest.Status(500), httptest.Status(500), "defer 2.3.1.4",
		"status 500 Internal Server Error", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/down_behind_a_cache_of_the_root", httptest.Status(500), page.Header("Age", "60"), httptest.Status(500), "defer 2.3.1.4",
		"status 500 Internal Server Error", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/the_root_is_not_there", httptest.Status(500), httptest.Status(404), httptest.Status(500), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/the_root_hangs", httptest.Status(500), httptest.Hang(), httptest.Status(500), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/the_root_breaks_off", httptest.Status(500).Header("Connection", "close"), httptest.Reset(), httptest.Status(500), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/the_root_has_an_endless_header", httptest.Status(500), httptest.EndlessHeader(), httptest.Status(500), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /"},
	{"4.6/404_for_what_is_not_there", httptest.Status(500), page, httptest.Status(404), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /, 2s GET ?"},
	{"4.6/another_5xx_for_what_is_not_there", httptest.Status(500), page, httptest.Status(502), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /, 2s GET ?"},
	{"4.6/no_answer_for_what_is_not_there", httptest.Status(500), page, httptest.Close(), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s HEAD /, 2s GET ?"},
	{"4.6/a_turn_that_comes_too_late", httptest.Status(503).Header("Retry-After", "60"), page, httptest.Status(503), "defer 2.3.1.4",
		"status 503 Service Unavailable", "0s GET /robots.txt"},
	{"4.6/a_file_elsewhere", httptest.Redirect(301, "http://b.test/r"), page, httptest.Status(500), "defer 2.3.1.4",
		"status 500 Internal Server Error", "0s GET /robots.txt"},
	{"4.6/no_answer", httptest.Close(), page, httptest.Close(), "defer 2.3.1.4",
		"", "0s GET /robots.txt, 1s GET /robots.txt"},
	{"4.6/429", httptest.Status(429), page, httptest.Status(429), "defer house",
		"", "0s GET /robots.txt"},
}

// A server that answers 5xx for robots.txt is asked for / and for a path that cannot
// exist, each at the host's turn, within Options.Timeout.
func TestProbe(t *testing.T) {
	for _, tt := range probes {
		t.Run(tt.name, func(t *testing.T) {
			inPace(t, pace.Limits{Gap: time.Second}, fetcher.Options{Profile: policy.Google()}, func(p *paced) {
				s := p.web.Site("http://a.test").Robots(tt.robots).Path("/", tt.root).Path("/*", tt.other)
				p.web.Site("http://b.test").Path("/*", httptest.Status(500))
				d, err := p.tr.Check(p.t.Context(), must("http://a.test/page"))
				if err != nil {
					t.Fatal(err)
				}
				if got := short(d); got != tt.want || !strings.HasSuffix(d.Cause, tt.cause) {
					t.Errorf("got  %s (%s)\nwant %s (%s)", got, d.Cause, tt.want, tt.cause)
				}
				if took := time.Since(p.start); took > 31*time.Second {
					t.Errorf("the decision took %v", took)
				}
				if got := p.asked(s); got != tt.requests {
					t.Errorf("got  %s\nwant %s", got, tt.requests)
				}
			})
		})
	}
}

// asked returns the requests to a site. The path that cannot exist is written as "?".
func (p *paced) asked(s *httptest.Site) string {
	var all []string
	for _, r := range s.Requests() {
		target := r.Target
		if target != "/robots.txt" && target != "/" {
			target = "?"
		}
		all = append(all, fmt.Sprintf("%v %s %s", r.Time.Sub(p.start), r.Method, target))
	}
	return strings.Join(all, ", ")
}

// Only the profiles of Google's documentation make these requests.
func TestProbeOfProfiles(t *testing.T) {
	for name, profiles := range map[string][]*policy.Profile{
		"2.3.1.4/profiles_without_a_probe": {policy.RFC9309(), policy.Strict(), policy.Draft2019(), policy.Koster1996()},
		"4.6/profiles_with_a_probe":        {policy.Google(), policy.Google2019()},
	} {
		want, requests := policy.Defer, 1
		if strings.HasPrefix(name, "4.6") {
			want, requests = policy.Allow, 3
		}
		for _, profile := range profiles {
			t.Run(name+"/"+profile.Name, func(t *testing.T) {
				inPace(t, *pace.Unlimited(), fetcher.Options{Profile: profile}, func(p *paced) {
					s := p.web.Site("http://a.test").Path("/", page).Path("/*", httptest.Status(500))
					d, err := p.tr.Check(p.t.Context(), must("http://a.test/page"))
					if got := len(s.Requests()); err != nil || d.Verdict != want || got != requests {
						t.Errorf("%v, %v, %d requests\nwant %v, %d requests", d, err, got, want, requests)
					}
				})
			})
		}
	}
}

// The two requests are made as those for robots.txt are, and no cache may answer them.
// The path that cannot exist is another one each time.
func TestProbeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		s := web.Site(site).Path("/", page).Path("/*", httptest.Status(500))
		var traced []string
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Profile: policy.Google(), Sign: numbered(), Trace: &fetcher.Trace{
			Try:     func(r fetcher.Try) { traced = append(traced, fmt.Sprint(r.Robots, r.URL, r.Number, r.Status)) },
			Fetched: func(a policy.Attempt, _ *policy.Record) { traced = append(traced, fmt.Sprint(*a.Probe)) },
		}})
		for range 2 {
			if d, err := tr.Refresh(t.Context(), must(public)); err != nil || !d.Allowed() {
				t.Fatal(d, err)
			}
		}
		if got := tr.Stats().Requests; got != 6 {
			t.Errorf("4.6/requests: %d are counted, want 6", got)
		}
		var want []string
		missing := map[string]bool{}
		for i, r := range s.Requests() {
			want = append(want, fmt.Sprint(site+"/robots.txt", site+r.Target, 1, []int{500, 200, 500}[i%3]))
			if i%3 == 2 {
				missing[r.Target] = true
				want = append(want, "{200 500}")
			}
			if i%3 > 0 && r.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("4.6/caches: %v", r.Header)
			}
			if r.Header.Get("User-Agent") != agent || r.Header.Get("Signature") == "" || r.Header.Get("Cookie")+r.Header.Get("Referer") != "" {
				t.Errorf("4.6/header: %v", r.Header)
			}
		}
		if !slices.Equal(traced, want) {
			t.Errorf("4.6/trace: got\n%q\nwant\n%q", traced, want)
		}
		if len(missing) != 2 {
			t.Errorf("4.6/path: got %v, want another one each time", missing)
		}
	})
}

// A probe is made at most once in 24 hours of the outage, also by crawlers that are started anew and by
// a fleet.
func TestProbeOnceADay(t *testing.T) {
	for _, tt := range []struct {
		name     string
		store    cache.Store
		crawlers int
		restarts bool
	}{
		{"4.6/one_run", nil, 1, false},
		{"4.6/restarts", cache.NewMemory(1 << 20), 1, true},
		{"4.6/a_fleet", newUnion(), 3, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(site).Robots(httptest.Status(503).After(time.Second)).Path("/", page.After(time.Second)).Path("/*", httptest.Status(404))
				o := &fetcher.Options{Base: web.Transport(), Profile: policy.Google(), Store: tt.store}
				all, start := make([]*fetcher.Transport, tt.crawlers), time.Now()
				for hour := range 71 {
					var refreshed sync.WaitGroup
					for i := range all {
						if hour == 0 || tt.restarts {
							all[i] = newTransport(t, o)
						}
						refreshed.Go(func() {
							if _, err := all[i].Refresh(t.Context(), must(public)); err != nil {
								t.Error(err)
							}
						})
					}
					refreshed.Wait()
					time.Sleep(time.Until(start.Add(time.Duration(hour+1) * time.Hour)))
				}
				var hours []int
				for _, r := range s.Requests("/") {
					hours = append(hours, int(r.Time.Sub(start)/time.Hour))
				}
				if want := []int{0, 25, 50}; !slices.Equal(hours, want) {
					t.Errorf("HEAD / in the hours %v, want %v", hours, want)
				}
			})
		})
	}
}

// A probe that has no turn in time is left to the next fetch.
func TestProbeLater(t *testing.T) {
	inPace(t, pace.Limits{}, fetcher.Options{Profile: policy.Google()}, func(p *paced) {
		s := p.web.Site("http://a.test").Robots(httptest.Status(503).Header("Retry-After", "60"), httptest.Status(503)).Path("/", page).Path("/*", httptest.Status(503))
		d, err := p.tr.Check(p.t.Context(), must("http://a.test/page"))
		if err != nil || d.Verdict != policy.Defer || len(s.Requests()) != 1 {
			t.Errorf("4.6/no_turn_in_time: %v, %v, %v; want Defer after one request", d, err, s.Requests())
		}
		time.Sleep(5 * time.Minute) // the next pause begins at a second again
		if d, err = p.tr.Check(p.t.Context(), must("http://a.test/page")); err != nil || !d.Allowed() || len(s.Requests()) != 4 {
			t.Errorf("4.6/no_turn_in_time: then %v, %v, %v; want Allow after three more", d, err, s.Requests())
		}
	})
}

// The requests count for the health of the host like all others.
func TestProbeAndHealth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		root  httptest.Step
		rests bool
	}{{"down", httptest.Status(500), true}, {"in_place_of_a_404", page, false}} {
		t.Run("4.6/"+tt.name, func(t *testing.T) {
			inPace(t, pace.Limits{Failures: 2}, fetcher.Options{Profile: policy.Google()}, func(p *paced) {
				p.web.Site("http://a.test").Path("/", tt.root).Path("/*", httptest.Status(500))
				if _, err := p.tr.Check(p.t.Context(), must("http://a.test/page")); err != nil {
					t.Fatal(err)
				}
				rests := 0
				for h := range p.tr.Hosts() {
					rests += len(h.Trouble)
				}
				if (rests > 0) != tt.rests {
					t.Errorf("the host rests: %v, want %v", rests > 0, tt.rests)
				}
			})
		})
	}
}

// A site that is down answers everything with a failure or a 5xx, at random. It never
// counts as a site without a robots.txt.
func TestProbeOfSitesThatAreDown(t *testing.T) {
	for seed := range 30 {
		draw := rand.New(rand.NewPCG(uint64(seed), 46))
		synctest.Test(t, func(t *testing.T) {
			web := httptest.New(t)
			answer := httptest.Handler(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" || draw.IntN(3) > 0 {
					w.WriteHeader(500 + draw.IntN(5))
					return
				}
				panic(http.ErrAbortHandler)
			})
			web.Site(site).Path("/*", answer)
			tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Profile: policy.Google()})
			for range 5 {
				d, err := tr.Refresh(t.Context(), must(public))
				if err != nil || d.Access != policy.Unreachable {
					t.Errorf("4.6/seed_%d: %v, %v; want unreachable", seed, d, err)
				}
				time.Sleep(25 * time.Hour)
			}
		})
	}
}
