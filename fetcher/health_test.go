package fetcher_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// failingBase serves an empty robots.txt, and fails pages by a function.
type failingBase func(req *http.Request) (*http.Response, error)

func (b failingBase) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/robots.txt" {
		return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	}
	return b(req)
}

// brokenBody breaks off.
type brokenBody struct{ error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.error }
func (brokenBody) Close() error               { return nil }

// Three failures of pages in a row begin a rest if they are failures of the host, and
// never if the caller is the reason.
func TestPagesThatFail(t *testing.T) {
	fails := func(err error) failingBase {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	answers := func(status int, body io.ReadCloser) failingBase {
		return func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, Request: req}, nil
		}
	}
	hangs := failingBase(func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	uploads := failingBase(func(req *http.Request) (*http.Response, error) {
		if req.Body == nil {
			return nil, errors.New("no body")
		}
		_, err := io.Copy(io.Discard, req.Body)
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
			trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
		}
		return nil, err
	})
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, test := range []struct {
		name    string
		base    failingBase
		timeout time.Duration // of the caller; 0: none
		cancel  time.Duration // after this the caller leaves; 0: never
		body    io.Reader
		want    string // what the next decision says of the last failure; "": no rest
	}{
		{name: "dns", base: fails(&net.DNSError{}), want: "no complete answer (dns)"},
		{name: "refused", base: fails(refused), want: "no complete answer (connect)"},
		{name: "reset", base: fails(syscall.ECONNRESET), want: "no complete answer (connect)"},
		{name: "certificate", base: fails(x509.UnknownAuthorityError{}), want: "no complete answer (tls)"},
		{name: "alert", base: fails(tls.AlertError(40)), want: "no complete answer (tls)"},
		{name: "timeout", base: fails(os.ErrDeadlineExceeded), want: "no complete answer (timeout)"},
		{name: "body", base: answers(200, brokenBody{io.ErrUnexpectedEOF}), want: "no complete answer (body)"},
		{name: "status", base: answers(502, http.NoBody), want: "status 502"},
		{name: "deadline_of_the_caller", base: hangs, timeout: time.Second, want: "no complete answer (timeout)"},
		{name: "short_deadline_of_the_caller", base: hangs, timeout: 999 * time.Millisecond},
		{name: "caller_left", base: hangs, cancel: 5 * time.Second},
		{name: "caller_left_by_its_base", base: fails(context.Canceled)},
		{name: "bad_request", base: fails(errors.New("net/http: invalid header field value"))},
		{name: "body_of_the_caller", base: uploads, body: brokenBody{errors.New("the disk is full")}},
		{name: "body_of_the_caller_from_the_network", base: uploads, body: brokenBody{refused}},
		{name: "upload_refused", base: fails(refused), body: strings.NewReader("x"), want: "no complete answer (connect)"},
		{name: "neutral_status", base: answers(403, http.NoBody)},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			inPace(t, pace.Limits{MaxWait: time.Second}, fetcher.Options{Base: test.base}, func(p *paced) {
				for range 3 {
					p.fail("http://a.test/", test.timeout, test.cancel, test.body)
				}
				want := ""
				if test.want != "" {
					want = "no turn in time: breaker: 3 failed requests in a row, the last with " + test.want + "; one request tries again at "
				}
				ctx, cancel := context.WithTimeout(p.t.Context(), 500*time.Millisecond)
				defer cancel()
				_, err := p.get(ctx, "http://a.test/")
				var denied *fetcher.DeniedError
				if errors.As(err, &denied) != (want != "") || want != "" && !strings.HasPrefix(denied.Decision.Pacing, want) {
					t.Errorf("the next request: %v; want it deferred: %q", err, want)
				}
			})
		})
	}
}

// An error that is not of the network counts if the request was written: the host then
// answered in a way that is not HTTP. Without a gap, a request is traced only after one that
// had no answer, so the first such error does not count.
func TestPagesWithoutHTTP(t *testing.T) {
	written := failingBase(func(req *http.Request) (*http.Response, error) {
		if trace := httptrace.ContextClientTrace(req.Context()); trace != nil {
			trace.WroteRequest(httptrace.WroteRequestInfo{})
		}
		return nil, errors.New("malformed HTTP response")
	})
	for _, test := range []struct {
		name   string
		limits pace.Limits
		pages  int // the last of them begins the rest
	}{
		{"with_a_gap", pace.Limits{Gap: 1, MaxWait: time.Second}, 3},
		{"without_a_gap", pace.Limits{MaxWait: time.Second}, 4},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			inPace(t, test.limits, fetcher.Options{Base: written}, func(p *paced) {
				for i := range test.pages {
					if d, _ := p.tr.Check(p.t.Context(), must("http://a.test/")); strings.Contains(d.Pacing, "one request tries again at") {
						t.Fatalf("page %d of %d: %s; want no rest yet", i+1, test.pages, d.Pacing)
					}
					p.fail("http://a.test/", 0, 0, nil)
				}
				d, err := p.tr.Check(p.t.Context(), must("http://a.test/"))
				if want := "waits for breaker: 3 failed requests in a row, the last with no complete answer (protocol)"; err != nil || !strings.HasPrefix(d.Pacing, want) {
					t.Errorf("the next request: %q, %v; want %q", d.Pacing, err, want)
				}
			})
		})
	}
}

// fail requests a page and expects no whole answer.
func (p *paced) fail(page string, timeout, leave time.Duration, body io.Reader) {
	ctx, cancel := context.WithCancel(p.t.Context())
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	if leave > 0 {
		time.AfterFunc(leave, cancel)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, page, body)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp, err := p.tr.RoundTrip(req); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// A robots.txt that fails counts like a page. The decision says why a page waits and when the next request tries.
func TestRobotsThatFails(t *testing.T) {
	inPace(t, pace.Limits{MaxWait: time.Second}, fetcher.Options{}, func(p *paced) {
		p.web.Site("http://a.test").Robots(open, httptest.Status(500)).Path("/*", httptest.Status(500))
		p.read("http://a.test/1")
		p.read("http://a.test/2")
		p.tr.Refresh(p.t.Context(), must("http://a.test/")) // keeps the copy
		d, err := p.tr.Check(p.t.Context(), must("http://a.test/3"))
		if want := "waits for breaker: 3 failed requests in a row, the last with status 500; one request tries again at 00:00:10Z"; err != nil || d.Pacing != want || d.Turn.Sub(p.start) != 10*time.Second {
			t.Errorf("6/robots: %q at %v, %v\nwant %q after 10s", d.Pacing, d.Turn, err, want)
		}
		if d, err = p.tr.Refresh(p.t.Context(), must("http://a.test/")); err != nil || !strings.HasPrefix(d.Pacing, "no turn in time: breaker: 3 failed") {
			t.Errorf("6/robots: Refresh in the rest: %v, %v; want it deferred", d, err)
		}
		time.Sleep(10 * time.Second)
		p.read("http://a.test/4")
		p.saw("0s a.test/robots.txt", "0s a.test/1", "0s a.test/2", "0s a.test/robots.txt", "10s a.test/4")
	})
}

// Each try of a robots.txt that gets no answer counts.
func TestRobotsWithoutAnAnswerThatFails(t *testing.T) {
	inPace(t, pace.Limits{MaxWait: time.Second, Failures: 2}, fetcher.Options{}, func(p *paced) {
		p.web.Site("http://a.test").Robots(httptest.Reset())
		p.tr.Check(p.t.Context(), must("http://a.test/"))
		d, err := p.tr.Refresh(p.t.Context(), must("http://a.test/"))
		if want := "no turn in time: breaker: 2 failed requests in a row, the last with no complete answer (connect)"; err != nil || !strings.HasPrefix(d.Pacing, want) {
			t.Errorf("6/robots: %v, %v\nwant %q", d, err, want)
		}
	})
}

// The requests of an admission count as well.
func TestAdmissionsThatFail(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want pace.Reason
	}{{"host", syscall.ECONNRESET, pace.ReasonBreaker}, {"caller", context.Canceled, pace.ReasonNone}, {"none", nil, pace.ReasonNone}} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("http://a.test").Robots(open)
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Pace: &pace.Limits{Failures: 1}})
				a, d, err := tr.Admit(t.Context(), must("http://a.test/1"))
				if err != nil || a == nil {
					t.Fatalf("Admit = %v, %v, %v; want an Admission", a, d, err)
				}
				a.Fail(test.err)
				if d, _ := tr.Peek(must("http://a.test/2")); strings.HasPrefix(d.Pacing, "waits for breaker") != (test.want == pace.ReasonBreaker) {
					t.Errorf("the next page: %q, want a wait for %q", d.Pacing, test.want)
				}
			})
		})
	}
}
