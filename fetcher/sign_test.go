package fetcher_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strconv"
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

// numbered is an Options.Sign that numbers the requests.
func numbered() func(*http.Request) error {
	var n atomic.Int64
	return func(r *http.Request) error {
		r.Header.Set("Signature", strconv.FormatInt(n.Add(1), 10)+" "+r.URL.Host+r.URL.Path+" "+r.Header.Get("User-Agent"))
		return nil
	}
}

// Every hop and try of a robots.txt and every page is signed, each by itself, after all
// that changes the request.
func TestSign(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run("10/"+proto, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				a := web.Site("https://a.test").Robots(httptest.Close(), httptest.Redirect(302, "https://b.test/r")).Path("/page", httptest.Text("page"))
				b := web.Site("https://b.test").Path("/r", httptest.Text("User-agent: *\nDisallow: /private\n"))
				if proto == "HTTP/2.0" {
					a.HTTP2()
					b.HTTP2()
				}
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Sign: numbered()})
				req, _ := http.NewRequest(http.MethodGet, "https://a.test/page", nil)
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if len(req.Header) != 0 || resp.Request != req || resp.Proto != proto {
					t.Errorf("the caller's request has the header %v, and the answer in %s another request", req.Header, resp.Proto)
				}
				var got []string
				for _, r := range web.Requests() {
					got = append(got, r.Header.Get("Signature"))
				}
				agent := " " + web.Requests()[0].Header.Get("User-Agent")
				want := []string{"1 a.test/robots.txt" + agent, "2 a.test/robots.txt" + agent, "3 b.test/r" + agent, "4 a.test/page" + agent}
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		})
	}
}

// A base may send a request again, with the signature that it has: an *http.Transport
// does so if a connection that was kept alive ends without an answer.
func TestSignAndABaseThatSendsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("https://a.test").Robots(httptest.Text("")).Path("/page", httptest.Text("page"), httptest.Close(), httptest.Text("page"))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Sign: numbered()})
		for range 2 {
			if err := requestPage(tr, "https://a.test/page"); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, r := range web.Requests() {
			n, _, _ := strings.Cut(r.Header.Get("Signature"), " ")
			got = append(got, n)
		}
		if want := "1 2 3 3"; strings.Join(got, " ") != want {
			t.Errorf("got  signatures %v\nwant %v", got, want)
		}
	})
}

// Nothing is sent without a signature, and the site is not to blame.
func TestSignFails(t *testing.T) {
	for _, test := range []struct {
		name string
		fail string // the path that is not signed
		want int    // requests of a.test
	}{
		{"robots", "/robots.txt", 0},
		{"page", "/page", 1},
		{"second_hop", "/r", 1},
	} {
		t.Run("10/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				site := web.Site("https://a.test").Robots(httptest.Text("")).Path("/page", httptest.Text("page"))
				if test.name == "second_hop" {
					site.Robots(httptest.Redirect(302, "/r")).Path("/r", httptest.Text(""))
				}
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Sign: func(r *http.Request) error {
					if r.URL.Path == test.fail {
						return errNoKey
					}
					return nil
				}})
				body := &closing{Reader: strings.NewReader("text")}
				req, _ := http.NewRequest(http.MethodPost, "https://a.test/page", body)
				resp, err := tr.RoundTrip(req)
				if err == nil {
					resp.Body.Close()
				}
				var failure *policy.Failure
				var denied *fetcher.DeniedError
				switch {
				case test.name == "page" && errors.As(err, &failure) && failure.Class == policy.Sign && errors.Is(err, errNoKey):
				case test.name != "page" && errors.As(err, &denied) && denied.Decision.Verdict == policy.Defer && strings.Contains(denied.Decision.Cause, "no key"):
				default:
					t.Errorf("got  %v\nwant a failure of class Sign, or for robots.txt a Defer", err)
				}
				if n := len(site.Requests()); n != test.want || body.closed.Load() == 0 {
					t.Errorf("%d requests were sent, want %d; the body was closed %d times", n, test.want, body.closed.Load())
				}
				if waiting := tr.Stats().Pace.Rests; waiting != 0 {
					t.Error("the host rests, though nothing was sent to it")
				}
			})
		})
	}
}

// A header that cannot be sent is a failure to sign, too.
func TestSignLeavesABadHeader(t *testing.T) {
	for name, sign := range map[string]func(r *http.Request){
		"line_break": func(r *http.Request) { r.Header.Set("Signature", "sig1=:abc\ndef:") },
		"name":       func(r *http.Request) { r.Header["Signature Input"] = []string{"x"} },
		"nil":        func(r *http.Request) { r.Header = nil },
	} {
		t.Run("10/"+name, func(t *testing.T) {
			limits := pace.Limits{Gap: time.Second}
			bad := func(r *http.Request) error { sign(r); return nil }
			inPace(t, limits, fetcher.Options{Sign: bad}, func(p *paced) {
				p.web.Site(site).Robots(text)
				for range 5 {
					d, err := p.tr.Refresh(p.t.Context(), must(private))
					if err != nil || d.Verdict != policy.Defer || !strings.HasPrefix(d.Cause, "sign: ") {
						p.t.Errorf("got  %v, %v\nwant a Defer because of class sign", d, err)
					}
				}
				if rests := p.tr.Stats().Pace.Rests; rests != 0 {
					p.t.Error("the host rests, though nothing was sent to it")
				}
			})
		})
	}
}

// A signature changes no more than the header.
func TestSignLeadsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("https://a.test").Robots(httptest.Text("User-agent: *\nDisallow: /private\n")).
			Path("/page", httptest.Text("page")).Path("/private", httptest.Text("private"))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Sign: func(r *http.Request) error {
			if r.URL.Path == "/page" {
				r.URL.Path, r.Host, r.Method = "/private", "b.test", http.MethodPost
			}
			return nil
		}})
		if err := requestPage(tr, "https://a.test/page"); err != nil {
			t.Fatal(err)
		}
		r := web.Requests()[1]
		if got, want := r.String(), "GET https://a.test/page"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// The address rule holds for a crawler that signs.
func TestSignAndTheAddressRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("https://a.test").Robots(httptest.Redirect(302, "http://inside.test/robots.txt"))
		inside := web.Site("http://inside.test").At("10.0.0.7").Robots(httptest.Text(""))
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Sign: numbered()})
		tr.SetLookup(web.LookupNetIP)
		d, err := tr.Check(context.Background(), &url.URL{Scheme: "https", Host: "a.test", Path: "/page"})
		if err != nil || d.Verdict != policy.Defer || len(inside.Requests()) != 0 {
			t.Errorf("got  %v, %v, %d requests inside\nwant a Defer, and none", d, err, len(inside.Requests()))
		}
	})
}

var errNoKey = errors.New("no key")

// withoutSignature are the ways in which an Options.Sign has no signature.
var withoutSignature = map[string]func(*http.Request) error{
	"error":  func(*http.Request) error { return errNoKey },
	"panic":  func(*http.Request) error { panic("no key") },
	"exit":   func(*http.Request) error { runtime.Goexit(); return nil },
	"blocks": func(r *http.Request) error { time.Sleep(time.Hour); r.Header.Set("Signature", "late"); return nil },
}

// A page waits for its signature no longer than its context, and is not sent without one.
func TestSignOfAPageFails(t *testing.T) {
	for name, sign := range withoutSignature {
		t.Run("10/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				site := web.Site("https://a.test").Robots(httptest.Text("")).Path("/page", httptest.Text("page"))
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Pace: pace.Default(), Sign: func(r *http.Request) error {
					if r.URL.Path == "/page" {
						return sign(r)
					}
					return nil
				}})
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				body := &closing{Reader: strings.NewReader("text")}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "https://a.test/page", body)
				began := time.Now()
				_, err := tr.RoundTrip(req)
				var failure *policy.Failure
				if !errors.As(err, &failure) || failure.Class != policy.Sign || ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got  %v\nwant a failure of class Sign", err)
				}
				if took := time.Since(began); took > 5*time.Second || body.closed.Load() == 0 || len(site.Requests()) != 1 {
					t.Errorf("took %v, closed the body %d times, sent %d requests", took, body.closed.Load(), len(site.Requests()))
				}
				if hosts := slices.Collect(tr.Hosts()); tr.Stats().Pace.Rests != 0 || len(hosts) != 0 {
					t.Errorf("got  %+v\nwant no host that rests, and no turn in use", hosts)
				}
				time.Sleep(2 * time.Hour) // a signature that comes late is not used
				if len(site.Requests()) != 1 {
					t.Error("the page was requested")
				}
			})
		})
	}
}

// The time for which a crawler has no signatures is no part of an outage of the site,
// which would allow everything in the end: nothing is sent, so nothing is observed.
func TestSignFailsForLong(t *testing.T) {
	for _, p := range []*policy.Profile{policy.RFC9309(), policy.Strict(), policy.Google(), policy.Google2019(), policy.Draft2019(), policy.Koster1996()} {
		for name, sign := range withoutSignature {
			for _, answers := range []bool{true, false} {
				t.Run("2.3.1.4/"+p.Name+"_"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						web := httptest.New(t)
						web.Site("https://a.test").Robots(httptest.Status(503)).Path("/", httptest.Status(503))
						var broken atomic.Bool
						broken.Store(!answers)
						tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Profile: p, Sign: func(r *http.Request) error {
							if broken.Load() {
								return sign(r)
							}
							return nil
						}})
						target := &url.URL{Scheme: "https", Host: "a.test", Path: "/page"}
						for range 40 * 24 {
							if d, err := tr.Check(t.Context(), target); err != nil || d.Allowed() {
								t.Fatalf("got  %v, %v\nwant a Defer", d, err)
							}
							broken.Store(true)
							time.Sleep(time.Hour)
						}
						time.Sleep(time.Hour)
					})
				})
			}
		}
	}
}
