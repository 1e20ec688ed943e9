package fetcher_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

const (
	agent = "ExampleBot/0.1 (+https://example.com/bot)"

	site    = "http://example.com"
	secure  = "https://example.com"
	siteKey = "http://example.com rfc9309" // in a store
	private = "http://example.com/private"
	public  = "http://example.com/public"
	rules   = "User-agent: *\nDisallow: /private\n"

	day = 24 * time.Hour
)

// A row is one line of the decision table: the answers of http://example.com to the
// requests for its robots.txt, and the questions with the decisions that must
// follow.
type row struct {
	name    string // the clause, and what it is about
	robots  []httptest.Step
	asked   []question
	profile string                                  // "" is rfc9309
	also    func(w *httptest.Web, s *httptest.Site) // other sites, and the troubles of the site
	options fetcher.Options                         // Base, Store and Profile are the row's own
	// What is learnt may not be stored, so a crawler that is restarted knows
	// nothing of it.
	unstored bool
}

// A question is a check some time after the row began.
type question struct {
	at       time.Duration
	url      string
	want     string // verdict and clause, with "stale" for a copy past its time
	requests int    // requests that all sites have seen by then
	next     span   // how long after the question the next fetch is due; the zero span is any
	do       action
}

// An action is the call that a question makes.
type action uint8

const (
	check action = iota
	refresh
	crawl // checked at every planned fetch before; requests are not counted
)

// A span is a shortest and a longest time. The time between failed fetches is random.
type span struct{ least, most time.Duration }

func exactly(d time.Duration) span { return span{d, d} }

// backoff returns the span of a doubling step: its upper half, and one second more
// for a second try.
func backoff(step time.Duration) span { return span{step / 2, step + time.Second} }

func steps(s ...httptest.Step) []httptest.Step { return s }

// run puts the row's questions twice: to one Transport, and to a crawler that is
// restarted before each question, so that only its store remembers. The decisions must
// be the same.
func (r row) run(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		name := "one_run"
		if restarts {
			name = "restarted"
		}
		if restarts && r.unstored {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { r.ask(t, restarts) })
		})
	}
}

func (r row) ask(t *testing.T, restarts bool) {
	web := httptest.New(t)
	s := web.Site(site)
	if len(r.robots) > 0 {
		s.Robots(r.robots...)
	}
	if r.also != nil {
		r.also(web, s)
	}
	o := r.options
	o.Base, o.Store = web.Transport(), cache.NewMemory(1<<20)
	if r.profile != "" {
		o.Profile, _ = policy.ByName(r.profile)
	}
	tr := newTransport(t, &o)
	start := time.Now()
	for i, q := range r.asked {
		if restarts {
			tr = newTransport(t, &o)
		}
		if q.do == crawl {
			crawlUntil(t, tr, q.url, start.Add(q.at))
		}
		time.Sleep(time.Until(start.Add(q.at)))
		began := time.Now()
		d, err := q.put(tr)
		if err != nil {
			t.Fatalf("question %d: %s after %v: no decision: %v", i, q.url, q.at, err)
		}
		if q.do == crawl {
			q.requests = len(web.Requests())
		}
		got := fmt.Sprintf("%s, %d requests", short(d), len(web.Requests()))
		want := fmt.Sprintf("%s, %d requests", q.want, q.requests)
		next := d.Expires.Sub(began)
		if q.next == (span{}) {
			q.next = span{next, next}
		}
		if got != want || next < q.next.least || next > q.next.most {
			t.Errorf("question %d: %s after %v\ngot  %s, next fetch after %v\nwant %s, next fetch after %v to %v\n%v",
				i, q.url, q.at, got, next, want, q.next.least, q.next.most, d)
		}
	}
}

// crawlUntil checks at every planned fetch before the time.
func crawlUntil(t *testing.T, tr *fetcher.Transport, page string, until time.Time) {
	for {
		d, err := tr.Check(t.Context(), must(page))
		if err != nil {
			t.Fatal(err)
		}
		if !d.Expires.Before(until) {
			return
		}
		time.Sleep(time.Until(d.Expires))
	}
}

func (q question) put(tr *fetcher.Transport) (policy.Decision, error) {
	if q.do == refresh {
		return tr.Refresh(context.Background(), must(q.url))
	}
	return tr.Check(context.Background(), must(q.url))
}

// short returns a Decision in the form that questions use.
func short(d policy.Decision) string {
	s := d.Verdict.String() + " " + d.Clause
	if d.Stale {
		s += " stale"
	}
	return s
}

func newTransport(t testing.TB, o *fetcher.Options) *fetcher.Transport {
	t.Helper()
	var own fetcher.Options
	if o != nil {
		own = *o
	}
	if own.Pace == nil {
		own.Pace = pace.Unlimited()
	}
	tr, err := fetcher.New(agent, &own)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func must(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// get fetches a page and reads it to its end.
func get(client *http.Client, page string) error {
	resp, err := client.Get(page)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
