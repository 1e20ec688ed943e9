package fetcher_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
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
	plain := errors.New("http: ContentLength=1 with Body length 2")
	uploads := failingBase(func(req *http.Request) (*http.Response, error) {
		if req.Body == nil {
			return nil, errors.New("no body")
		}
		_, err := io.Copy(io.Discard, req.Body)
		return nil, cmp.Or(err, plain)
	})
	closesUpload := failingBase(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			req.Body.Close()
			io.Copy(io.Discard, req.Body)
		}
		return nil, plain
	})
	pipe, _ := io.Pipe()
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, test := range []struct {
		name    string
		base    failingBase
		timeout time.Duration // of the caller; 0: none
		cancel  time.Duration // after this the caller leaves; 0: never
		body    io.Reader
		edit    func(*http.Request)
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
		{name: "short_deadline_of_the_caller", base: hangs, timeout: 20 * time.Millisecond, want: "no complete answer (timeout)"},
		{name: "caller_left", base: hangs, cancel: 5 * time.Second},
		{name: "canceled_by_the_base", base: fails(context.Canceled), want: "no complete answer (protocol)"},
		{name: "plain_error", base: fails(errors.New("connection reset by peer")), want: "no complete answer (protocol)"},
		{name: "neither_answer_nor_error", base: fails(nil), want: "no complete answer (protocol)"},
		{name: "method_no_token", base: fails(plain), edit: func(r *http.Request) { r.Method = "GET /" }},
		{name: "header_that_cannot_be_written", base: fails(plain), edit: func(r *http.Request) { r.Header.Set("Cookie", "a\nb") }},
		{name: "trailer_that_cannot_be_written", base: fails(plain), edit: func(r *http.Request) { r.Trailer = http.Header{"a b": nil} }},
		{name: "body_longer_than_declared", base: uploads, body: strings.NewReader("xy"), edit: func(r *http.Request) { r.ContentLength = 1 }},
		{name: "body_shorter_than_declared", base: uploads, body: strings.NewReader("xy"), edit: func(r *http.Request) { r.ContentLength = 3 }},
		{name: "declared_length_without_body", base: fails(plain), edit: func(r *http.Request) { r.ContentLength = 1 }},
		{name: "body_of_undeclared_length", base: uploads, body: strings.NewReader("xy"), edit: func(r *http.Request) { r.ContentLength = 0 }, want: "no complete answer (protocol)"},
		{name: "body_of_the_caller", base: uploads, body: brokenBody{errors.New("the disk is full")}},
		{name: "body_of_the_caller_from_the_network", base: uploads, body: brokenBody{refused}},
		{name: "upload_closed_by_the_base", base: closesUpload, body: pipe, want: "no complete answer (protocol)"},
		{name: "upload_refused", base: fails(refused), body: strings.NewReader("x"), want: "no complete answer (connect)"},
		{name: "neutral_status", base: answers(403, http.NoBody)},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			inPace(t, pace.Limits{MaxWait: time.Second}, fetcher.Options{Base: test.base}, func(p *paced) {
				for range 3 {
					p.fail("http://a.test/", test.timeout, test.cancel, test.body, test.edit)
				}
				want := ""
				if test.want != "" {
					want = "no turn before your deadline (in 500ms), because of the rest of a host that fails: 3 failed requests in a row, the last with " + test.want + "; one request tries again at "
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

// Requests that net/http cannot send are no failures of the host, over HTTP/1.1 and HTTP/2.
func TestRequestsThatNobodyCanSend(t *testing.T) {
	for name, edit := range map[string]func(*http.Request){
		"long_body":  func(r *http.Request) { r.ContentLength = 1 },
		"short_body": func(r *http.Request) { r.ContentLength = 9 },
		"method":     func(r *http.Request) { r.Method = "PO ST" },
		"header":     func(r *http.Request) { r.Header["X"] = []string{"a\x00"} },
		"connection": func(r *http.Request) { r.Header.Set("Connection", "upgrade") },
	} {
		for _, host := range []string{"http://a.test", "https://a.test"} {
			t.Run("6/"+name+"/"+host[:5], func(t *testing.T) {
				inPace(t, pace.Limits{Failures: 1}, fetcher.Options{}, func(p *paced) {
					site := p.web.Site(host).Robots(open).Path("/*", page)
					if strings.HasPrefix(host, "https") {
						site.HTTP2()
					}
					p.fail(host, 0, 0, strings.NewReader("xy"), edit)
					if d, err := p.tr.Check(p.t.Context(), must(host)); err != nil || d.Pacing != "" {
						t.Errorf("the next request: %q, %v; want a free turn", d.Pacing, err)
					}
					if p.tr.Stats().Pace.Turns != 2 {
						t.Error("no request was made")
					}
				})
			})
		}
	}
}

// A host that hangs gets a few requests in an hour, however short the deadlines of its visitors are.
// With 600 ms and the default gap, each of several workers has only 100 ms left when its turn comes.
func TestHangingHostAndShortDeadlines(t *testing.T) {
	for _, workers := range []int{1, 4} {
		for _, deadline := range []time.Duration{100 * time.Millisecond, 501 * time.Millisecond, 600 * time.Millisecond, 900 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprintf("6/%d_workers/%v", workers, deadline), func(t *testing.T) {
				var sent atomic.Int32
				hangs := failingBase(func(req *http.Request) (*http.Response, error) {
					sent.Add(1)
					<-req.Context().Done()
					return nil, req.Context().Err()
				})
				inPace(t, *pace.Default(), fetcher.Options{Base: hangs}, func(p *paced) {
					for range workers {
						p.pages.Go(func() { p.crawl(time.Hour, deadline) })
					}
					p.pages.Wait()
				})
				if n := sent.Load(); n > 15 {
					t.Errorf("%d requests in an hour, want about twelve", n)
				}
			})
		}
	}
}

// crawl requests one page again and again with a deadline, and comes back when a refusal says.
func (p *paced) crawl(until, deadline time.Duration) {
	for time.Since(p.start) < until {
		ctx, cancel := context.WithTimeout(p.t.Context(), deadline)
		_, err := p.get(ctx, "http://a.test/")
		cancel()
		var denied *fetcher.DeniedError
		if errors.As(err, &denied) {
			time.Sleep(time.Until(denied.Decision.RetryAt))
		}
	}
}

// fail requests a page and expects no whole answer.
func (p *paced) fail(page string, timeout, leave time.Duration, body io.Reader, edit func(*http.Request)) {
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
	if edit != nil {
		edit(req)
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
		if want := "waits for the rest of a host that fails: 3 failed requests in a row, the last with status 500; one request tries again at 00:00:10Z"; err != nil || d.Pacing != want || d.Turn.Sub(p.start) != 10*time.Second {
			t.Errorf("6/robots: %q at %v, %v\nwant %q after 10s", d.Pacing, d.Turn, err, want)
		}
		if d, err = p.tr.Refresh(p.t.Context(), must("http://a.test/")); err != nil || !strings.HasPrefix(d.Pacing, "no turn within MaxWait, because of the rest of a host that fails: 3 failed") {
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
		if want := "no turn within MaxWait, because of the rest of a host that fails: 2 failed requests in a row, the last with no complete answer (connect)"; err != nil || !strings.HasPrefix(d.Pacing, want) {
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
	}{
		{"host", syscall.ECONNRESET, pace.ReasonBreaker},
		{"canceled", context.Canceled, pace.ReasonBreaker},
		{"plain", errors.New("the tab crashed"), pace.ReasonBreaker},
		{"egress", &policy.Failure{Class: policy.Egress}, pace.ReasonNone},
		{"none", nil, pace.ReasonNone},
	} {
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
				if d, _ := tr.Peek(must("http://a.test/2")); strings.HasPrefix(d.Pacing, "waits for the rest of a host that fails") != (test.want == pace.ReasonBreaker) {
					t.Errorf("the next page: %q, want a wait for %q", d.Pacing, test.want)
				}
			})
		})
	}
}

// TestACrawlOfADeadHostEnds crawls a hundred pages of a host that dies after the third one. The
// crawl gives a host up 15 minutes after Decision.DownSince, as the documentation says.
func TestACrawlOfADeadHostEnds(t *testing.T) {
	for name, maxWait := range map[string]time.Duration{"waits": 0, "max_wait": 100 * time.Millisecond} {
		t.Run("4.7/"+name, func(t *testing.T) {
			l := pace.Default()
			l.MaxWait = maxWait
			inPace(t, *l, fetcher.Options{}, func(p *paced) {
				s := p.web.Site(site).Robots(text).Path("/*", page, page, page, httptest.Reset())
				client := &http.Client{Transport: p.tr, Timeout: 3 * time.Minute}
				queue := make([]string, 100)
				for i := range queue {
					queue[i] = fmt.Sprintf("%s/%d", site, i)
				}
				for len(queue) > 0 {
					resp, err := client.Get(queue[0])
					queue = queue[1:]
					var denied *fetcher.DeniedError
					switch {
					case err == nil:
						resp.Body.Close()
					case errors.As(err, &denied):
						d := denied.Decision
						if !d.DownSince.IsZero() && time.Since(d.DownSince) >= 15*time.Minute {
							queue = nil
							break
						}
						queue = append(queue, d.URL)
						time.Sleep(time.Until(d.RetryAt))
					}
				}
				if took, n := time.Since(p.start), len(s.Requests()); took > time.Hour || n > 20 {
					t.Errorf("the crawl took %v and %d requests, want an hour and 20 at most", took, n)
				}
			})
		})
	}
}
