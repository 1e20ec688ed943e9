package retrieve_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

const (
	site   = "http://example.com"
	secure = "https://example.com"
	rules  = "User-agent: *\nDisallow: /private\n"

	day = 24 * time.Hour
)

// text serves the rules.
var text = httptest.Text(rules)

func steps(s ...httptest.Step) []httptest.Step { return s }

// A crawler makes fetches over one network.
type crawler struct {
	retrieve.Settings
	network *egress.Network
}

// over returns a crawler with the settings that package fetcher has by default.
func over(base http.RoundTripper) *crawler {
	return &crawler{
		retrieve.Settings{
			Profile: policy.RFC9309(), Header: http.Header{"User-Agent": {"ExampleBot/0.1"}, "Accept-Encoding": {"gzip"}},
			Timeout: 30 * time.Second, Attempts: 2, Log: slog.New(slog.DiscardHandler),
		},
		egress.New(base, egress.Options{}),
	}
}

// get fetches the robots.txt of an origin.
func (c *crawler) get(t testing.TB, origin string) policy.Attempt {
	t.Helper()
	f, err := c.Begin(c.network, must(origin+"/robots.txt"))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := f.Get(nil, pace.Turn{})
	return a
}

// hasClass reports whether the failure of a fetch has a class.
func hasClass(a policy.Attempt, class policy.Class) bool {
	f, ok := a.Err.(*policy.Failure)
	return ok && f.Class == class
}

func must(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// A roundTripper is a base without a server.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answerOf makes an answer without a server.
func answerOf(r *http.Request, status int, h http.Header, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
	}
}

// What a profile decides by a fetch, on the private and the public page.
const (
	obeyed  = "disallow, allow" // the rules are there
	nothing = "allow, allow"    // there is no rule, or no file
	down    = "defer, defer"    // nobody knows
)

// A trial is an answer of http://example.com to every request for its robots.txt,
// and the decisions that must follow. Its name begins with the clause.
type trial struct {
	name     string
	answer   httptest.Step // of robots.txt; nothing is said of it if also says all
	want     string        // obeyed, nothing or down
	requests int           // requests that arrive at all sites
	also     func(w *httptest.Web, s *httptest.Site)
}

// raw is an answer given byte by byte.
func raw(name, answer, want string, requests int) trial {
	return trial{name: name, answer: httptest.Raw(answer), want: want, requests: requests}
}

// run runs a trial. Nothing may keep running after it, or the bubble fails the test.
func (tt trial) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		s := web.Site(site).Robots(tt.answer)
		if tt.also != nil {
			tt.also(web, s)
		}
		tt.hold(t, over(web.Transport()), site)
		if got := len(web.Requests()); got != tt.requests {
			t.Errorf("got  %d requests\nwant %d\n%v", got, tt.requests, web.Requests())
		}
	})
}

// hold fetches the file of an origin, and checks what must be true of every fetch: it ends in
// time, its failure has a class, and the words of a Decision by it can be printed as they are.
func (tt trial) hold(t *testing.T, c *crawler, origin string) policy.Attempt {
	t.Helper()
	began := time.Now()
	a := c.get(t, origin)
	if took := time.Since(began); took > 31*time.Second || a.Received.Sub(a.Sent) != took {
		t.Errorf("got  a fetch of %v that took %v\nwant one within its 30 s", a.Received.Sub(a.Sent), took)
	}
	if _, ok := a.Err.(*policy.Failure); a.Err != nil && !ok {
		t.Errorf("got  an error of type %T, want a *policy.Failure", a.Err)
	}
	if got := decided(t, a, "/private", "/public"); got != tt.want {
		t.Errorf("/private, /public:\ngot  %s\nwant %s\n%v, %v", got, tt.want, a.Status, a.Err)
	}
	return a
}

// decided returns what the profile decides on paths by a fetch.
func decided(t *testing.T, a policy.Attempt, paths ...string) string {
	t.Helper()
	rec := policy.RFC9309().Learn(nil, a)
	var got []string
	for _, path := range paths {
		d := rec.Decide("ExampleBot", must(strings.TrimSuffix(a.Robots, "/robots.txt")+path), time.Now())
		got = append(got, d.Verdict.String())
		for _, text := range []string{d.String(), d.Cause} {
			if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || len(text) > 2000 {
				t.Errorf("%s: the words of the decision cannot be printed (byte %d of %d): %.300q", path, i, len(text), text)
			}
		}
	}
	return strings.Join(got, ", ")
}

// runAll runs a table of trials under one name.
func runAll(t *testing.T, name string, table []trial) {
	seen := map[string]int{}
	for _, tt := range table {
		if seen[tt.name]++; seen[tt.name] > 1 {
			t.Errorf("%s/%s is in the table twice", name, tt.name)
		}
		t.Run(tt.name, tt.run)
	}
}
