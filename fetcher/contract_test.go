package fetcher_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// A closing body counts how often it is closed and how much of it is read.
type closing struct {
	io.Reader
	closed atomic.Int32
}

func (c *closing) Close() error {
	c.closed.Add(1)
	return nil
}

// outcomes are all the ways in which a request can end: allowed, refused for each
// reason, and cut off. The site at http://example.com has the rules, and
// http://down.test is down.
var outcomes = []struct {
	name    string
	url     string
	options fetcher.Options
	ctx     func(context.Context) context.Context
	host    string // of the request, where it has one of its own
	want    error  // errors.Is; nil: an answer
}{
	{name: "allowed", url: public},
	{name: "robots.txt_itself", url: site + "/robots.txt"},
	{name: "allowed_by_override", url: private, options: fetcher.Options{Override: says(policy.Allow)}},
	{name: "audited", url: private, options: fetcher.Options{Audit: true}},
	{name: "audited_without_a_host", url: "ftp://example.com/x", options: fetcher.Options{Audit: true}, want: errAny},
	{name: "paced", url: public, options: fetcher.Options{Pace: &pace.Limits{Gap: time.Second}}},
	{name: "disallowed", url: private, want: fetcher.ErrDisallowed},
	{name: "disallowed_by_the_host_field", url: "http://10.0.0.1/private", host: "example.com", want: fetcher.ErrDisallowed},
	{name: "disallowed_by_override", url: public, options: fetcher.Options{Override: says(policy.Disallow)}, want: fetcher.ErrDisallowed},
	{name: "deferred", url: "http://down.test/", want: fetcher.ErrDeferred},
	{name: "deferred_by_override", url: public, options: fetcher.Options{Override: says(policy.Defer)}, want: fetcher.ErrDeferred},
	{name: "disallowed_as_an_answer", url: private, options: fetcher.Options{AsResponse: true}},
	{name: "deferred_as_an_answer", url: "http://down.test/", options: fetcher.Options{AsResponse: true}},
	{name: "no_turn_in_time", url: public, options: fetcher.Options{Pace: &pace.Limits{Gap: time.Hour, MaxWait: time.Minute}}, want: fetcher.ErrDeferred},
	{name: "no_scheme", url: "//example.com/", want: fetcher.ErrURL},
	{name: "another_scheme", url: "ftp://example.com/", want: fetcher.ErrURL},
	{name: "no_host", url: "http:///x", want: fetcher.ErrURL},
	{name: "cancelled_before", url: public, ctx: func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
	}, want: context.Canceled},
	{name: "cancelled_while_waiting", url: "http://mute.test/", ctx: func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(5*time.Second, cancel)
		return ctx
	}, want: context.Canceled},
	{name: "past_the_deadline_while_waiting", url: "http://mute.test/", ctx: func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		context.AfterFunc(ctx, cancel)
		return ctx
	}, want: context.DeadlineExceeded},
	{name: "no_page_server", url: "http://gone.test/", want: errAny},
	{name: "the_page_is_reset", url: site + "/reset", want: errAny},
}

// errAny is an error of the base.
var errAny = errors.New("any error")

// says returns an Override that gives one verdict for every URL.
func says(v policy.Verdict) func(*url.URL) (policy.Verdict, string, bool) {
	return func(*url.URL) (policy.Verdict, string, bool) { return v, "the operator said so", true }
}

// sites makes the web that the outcomes use.
func sites(t *testing.T) *httptest.Web {
	web := httptest.New(t)
	web.Site(site).Robots(text).Path("/public", httptest.Text("page")).Path("/reset", httptest.Reset())
	web.Site("http://down.test").Robots(httptest.Status(503))
	web.Site("http://mute.test").Robots(httptest.Hang())
	web.Site("http://gone.test").Robots(httptest.Status(404).Header("Connection", "close")).Connect(httptest.Open, httptest.Refused)
	web.Site("http://10.0.0.1").Robots(httptest.Status(404))
	return web
}

// TestContract checks the contract of http.RoundTripper for every outcome: the
// request is unchanged, its body is closed once, and exactly one of response and
// error is returned.
func TestContract(t *testing.T) {
	for _, tt := range outcomes {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := sites(t)
				o := tt.options
				o.Base = web.Transport()
				tr := newTransport(t, &o)
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}
				body := &closing{Reader: strings.NewReader("posted")}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, tt.url, body)
				req.ContentLength, req.Host = 6, tt.host
				req.Header = http.Header{"Cookie": {"a=b"}, "X-Empty": nil, "Accept": {"text/html", "*/*"}}
				before, copied := *req, copyOf(req)
				resp, err := tr.RoundTrip(req)

				if (resp == nil) == (err == nil) {
					t.Errorf("got  response %v and error %v\nwant exactly one", resp, err)
				}
				if !isErr(err, tt.want) {
					t.Errorf("got  error %v\nwant %v", err, tt.want)
				}
				if !reflect.DeepEqual(&before, req) || !reflect.DeepEqual(copied, copyOf(req)) {
					t.Errorf("the request was changed:\ngot  %+v\nwant %+v", req, copied)
				}
				if resp != nil {
					if resp.Body == nil || resp.Request == nil {
						t.Fatalf("got  an answer without a body or request: %+v", resp)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				time.Sleep(time.Minute) // the flight that a caller left ends by itself
				if body.closed.Load() == 0 {
					t.Error("the body of the request was left open")
				}
			})
		})
	}
}

// The body of a request is closed even if a function of the options panics.
func TestContractAndAPanic(t *testing.T) {
	for name, o := range map[string]*fetcher.Options{
		"7/override": {Override: func(*url.URL) (policy.Verdict, string, bool) { panic("override") }},
		"7/scopes":   {Scopes: func(*url.URL) []pace.Scope { panic("scopes") }},
	} {
		t.Run(name, func(t *testing.T) {
			body := &closing{Reader: strings.NewReader("posted")}
			req, _ := http.NewRequest(http.MethodPost, site+"/robots.txt", body)
			defer func() {
				if x := recover(); x == nil || body.closed.Load() != 1 {
					t.Errorf("got the panic %v and a body closed %d times, want a panic and once", x, body.closed.Load())
				}
			}()
			newTransport(t, o).RoundTrip(req) //nolint:bodyclose // it panics
		})
	}
}

// A base that breaks the contract and returns an answer with its error leaves no body open.
func TestAnswerWithAnError(t *testing.T) {
	for name, pacing := range map[string]*pace.Limits{"7/unpaced": pace.Unlimited(), "7/paced": {Gap: time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := &closing{Reader: strings.NewReader("page")}
				tr := newTransport(t, &fetcher.Options{Pace: pacing, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
					resp := answerOf(r, 404, nil, "")
					if r.URL.Path == "/robots.txt" {
						return resp, nil
					}
					resp.Body = body
					return resp, io.ErrUnexpectedEOF
				})})
				req, _ := http.NewRequest(http.MethodGet, public, nil)
				resp, err := tr.RoundTrip(req)
				if resp != nil || err != io.ErrUnexpectedEOF || body.closed.Load() != 1 {
					t.Errorf("got %v, %v and a body closed %d times; want the error alone and one", resp, err, body.closed.Load())
				}
			})
		})
	}
}

func isErr(got, want error) bool {
	if want == errAny {
		return got != nil
	}
	return errors.Is(got, want)
}

// copyOf returns a deep copy of what a RoundTripper must not change.
func copyOf(r *http.Request) *http.Request {
	u := *r.URL
	return &http.Request{Method: r.Method, URL: &u, Header: r.Header.Clone(), Host: r.Host, ContentLength: r.ContentLength, Proto: r.Proto, Close: r.Close}
}

// TestNothingOfARefusalReachesTheSite counts the requests: for a refused page there
// is one request for robots.txt and no other.
func TestNothingOfARefusalReachesTheSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := sites(t)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
		for _, u := range []string{private, private, "http://down.test/", "http://down.test/x"} {
			req, _ := http.NewRequest(http.MethodGet, u, nil)
			if resp, err := tr.RoundTrip(req); err == nil {
				resp.Body.Close()
				t.Errorf("%s: got an answer, want a refusal", u)
			}
		}
		got := fmt.Sprint(web.Requests())
		if want := "[GET http://example.com/robots.txt GET http://down.test/robots.txt]"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestPageAnswersAreTheSites checks that the answer to an allowed page has the
// status, the header and the bytes that the site sent.
func TestPageAnswersAreTheSites(t *testing.T) {
	for name, pacing := range map[string]*pace.Limits{"unpaced": nil, "paced": {Gap: time.Second, Parallel: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(site).Robots(text)
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Pace: pacing})
				for i, tt := range []struct {
					answer httptest.Step
					status int
					body   string
				}{
					{httptest.Text("page").Header("Set-Cookie", "a=b"), 200, "page"},
					{httptest.Status(404), 404, ""},
					{httptest.Redirect(302, "/private"), 302, ""},
					{httptest.Text("down").Status(500), 500, "down"},
					{httptest.Text(strings.Repeat("x", 1<<20)), 200, strings.Repeat("x", 1<<20)},
				} {
					path := fmt.Sprint("/", i)
					s.Path(path, tt.answer)
					req, _ := http.NewRequest(http.MethodGet, site+path, nil)
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if resp.StatusCode != tt.status || string(body) != tt.body || err != nil || resp.Request != req {
						t.Errorf("%s: got  %d, %d bytes, %v\nwant %d, %d bytes", path, resp.StatusCode, len(body), err, tt.status, len(tt.body))
					}
				}
			})
		})
	}
}

// TestAsResponse checks the response that stands for a refusal.
func TestAsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := sites(t)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), AsResponse: true})
		for _, tt := range []struct {
			url     string
			status  int
			verdict string
			says    string
		}{
			{private, 403, "disallow", `DISALLOW http://example.com/private: line 2 "Disallow: /private"`},
			{"http://down.test/", 503, "defer", "DEFER http://down.test/"},
		} {
			req, _ := http.NewRequest(http.MethodGet, tt.url, nil)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var wire bytes.Buffer
			if err := resp.Write(&wire); err != nil {
				t.Errorf("%s: the answer cannot be written: %v", tt.url, err)
			}
			after := resp.Header.Get("Retry-After")
			if resp.StatusCode != tt.status || resp.Header.Get("Polite-Verdict") != tt.verdict || !strings.Contains(wire.String(), tt.says) ||
				(after != "") != (tt.verdict == "defer") || resp.Request != req {
				t.Errorf("%s:\ngot  %s\nwant %d, Polite-Verdict: %s, %q", tt.url, wire.String(), tt.status, tt.verdict, tt.says)
			}
		}
	})
}

// idler is a base that counts calls of CloseIdleConnections.
type idler struct {
	http.RoundTripper
	closed int
}

func (i *idler) CloseIdleConnections() { i.closed++ }

// TestCloseIdleConnections checks that the call reaches the base, also from
// http.Client, and that the Transport never makes it: a failure of one site must
// not close the connections to others.
func TestCloseIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := sites(t)
		base := &idler{RoundTripper: web.Transport()}
		tr := newTransport(t, &fetcher.Options{Base: base})
		for _, u := range []string{public, "http://down.test/", "http://gone.test/", "http://mute.test/"} {
			tr.Check(t.Context(), must(u))
		}
		if base.closed != 0 {
			t.Errorf("after four retrievals: got %d calls, want 0", base.closed)
		}
		(&http.Client{Transport: tr}).CloseIdleConnections()
		if base.closed != 1 {
			t.Errorf("after http.Client.CloseIdleConnections: got %d calls, want 1", base.closed)
		}
	})
}

// TestWaitingHonoursTheContext calls a site that never answers, with a deadline in
// every phase of the wait. The caller returns exactly at its deadline.
func TestWaitingHonoursTheContext(t *testing.T) {
	for name, limits := range map[string]*pace.Limits{"retrieval": nil, "turn": {Parallel: 1}} {
		for _, end := range []time.Duration{1, time.Second, 29 * time.Second} {
			t.Run(fmt.Sprint(name, "/", end), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := sites(t)
					tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Pace: limits})
					ctx, cancel := context.WithTimeout(t.Context(), end)
					defer cancel()
					began := time.Now()
					_, err := tr.Check(ctx, must("http://mute.test/"))
					if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != end {
						t.Errorf("got  %v after %v\nwant %v after %v", err, took, context.DeadlineExceeded, end)
					}
					time.Sleep(time.Minute) // the flight that the caller left ends by itself
				})
			})
		}
	}
}

// TestRequestsOfNoURL makes requests that only a mistaken caller makes.
func TestRequestsOfNoURL(t *testing.T) {
	for _, audit := range []bool{false, true} {
		tr := newTransport(t, &fetcher.Options{Audit: audit, Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.EOF })})
		for name, req := range map[string]*http.Request{
			"zero": {}, "no_host": {URL: must("/x")}, "opaque": {URL: must("http:example.com/private")}, "host_alone": {Host: "example.com"},
		} {
			if resp, err := tr.RoundTrip(req); resp != nil || err == nil {
				t.Errorf("%s, audit %v: got  %v, %v\nwant an error", name, audit, resp, err)
			}
		}
	}
}
