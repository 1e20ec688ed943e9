package polite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// These tests use the whole module over real loopback TCP, with real servers and
// real time. Package policy tests the decision table, in virtual time.

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// site is a server that counts the requests for robots.txt and for pages.
type site struct {
	*httptest.Server
	robots, pages atomic.Int32
}

// newSite starts a site whose robots.txt is answered by robots. All other paths are
// pages. A page redirects to the URL in its query "to", if there is one.
func newSite(t *testing.T, robots http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			s.robots.Add(1)
			robots(w, r)
			return
		}
		s.pages.Add(1)
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		io.WriteString(w, "page "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

func answerText(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

func answerStatus(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// cutBody declares a longer body than it sends, and closes the connection.
func cutBody(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nUser-agent: *\nAllow: /\n")
	conn.Close()
}

// resetConnection closes the connection without an answer.
func resetConnection(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// neverAnswer does not answer before the client closes the connection.
func neverAnswer(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func transport(t *testing.T, o *fetcher.Options) *fetcher.Transport {
	t.Helper()
	tr, err := fetcher.New(agent, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func mustParse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestAnswers checks a URL of sites that give each kind of answer.
func TestAnswers(t *testing.T) {
	rules := "User-agent: ExampleBot\nDisallow: /private\n"
	elsewhere := newSite(t, answerText(rules))
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/robots.txt", http.StatusMovedPermanently)
	}
	tests := []struct {
		name   string
		robots http.HandlerFunc
		path   string
		want   policy.Verdict
		clause string
	}{
		{"2.2.2/disallowed", answerText(rules), "/private/x", policy.Disallow, "2.2.2"},
		{"2.2.2/allowed", answerText(rules), "/public", policy.Allow, "2.2.2"},
		{"2.2.1/html_page", answerText("<!doctype html><title>Hello</title>"), "/private", policy.Allow, "2.2.1"},
		{"2.3.1.2/redirected", redirect, "/private", policy.Disallow, "2.2.2"},
		{"2.3.1.3/missing", answerStatus(404), "/private", policy.Allow, "2.3.1.3"},
		{"2.3.1.3/forbidden", answerStatus(403), "/private", policy.Allow, "2.3.1.3"},
		{"2.3.1.4/server_error", answerStatus(503), "/public", policy.Defer, "2.3.1.4"},
		{"2.3.1.4/too_many_requests", answerStatus(429), "/public", policy.Defer, "house"},
		{"2.3.1.4/cut_body", cutBody, "/public", policy.Defer, "2.3.1.4"},
		{"2.3.1.4/reset", resetConnection, "/public", policy.Defer, "2.3.1.4"},
		{"2.3.1.4/slow", neverAnswer, "/public", policy.Defer, "2.3.1.4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.robots)
			o := &fetcher.Options{Timeout: 2 * time.Minute}
			if tt.name == "2.3.1.4/slow" {
				o.Timeout = time.Second
			}
			client := &http.Client{Transport: transport(t, o)}
			resp, err := client.Get(s.URL + tt.path)
			if err == nil {
				resp.Body.Close()
			}
			var denied *fetcher.DeniedError
			if tt.want == policy.Allow {
				if err != nil || s.pages.Load() != 1 {
					t.Fatalf("GET %s: got error %v and %d page requests, want the page", tt.path, err, s.pages.Load())
				}
				return
			}
			if !errors.As(err, &denied) || s.pages.Load() != 0 {
				t.Fatalf("GET %s: got error %v and %d page requests, want a DeniedError and none", tt.path, err, s.pages.Load())
			}
			if d := denied.Decision; d.Verdict != tt.want || d.Clause != tt.clause {
				t.Errorf("GET %s: got %v, want %v [%s]", tt.path, d, tt.want, tt.clause)
			}
			if want := tt.want == policy.Disallow; errors.Is(err, fetcher.ErrDisallowed) != want || errors.Is(err, fetcher.ErrDeferred) == want {
				t.Errorf("GET %s: %v matches the wrong one of ErrDisallowed and ErrDeferred", tt.path, err)
			}
		})
	}
}

// TestDeadPort checks a URL at a port where no server listens (section 2.3.1.4).
func TestDeadPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String() + "/"
	l.Close()
	d, err := transport(t, nil).Check(context.Background(), mustParse(t, dead))
	if err != nil || d.Verdict != policy.Defer || d.RetryAt.IsZero() || d.DownSince.IsZero() {
		t.Errorf("Check %s:\ngot  %v, %v\nwant a Defer with RetryAt and DownSince", dead, d, err)
	}
}

// TestOneRetrieval checks that one retrieval serves all callers, even if half of them
// cancel their calls.
func TestOneRetrieval(t *testing.T) {
	asked, release := make(chan struct{}, 1), make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{} // a second request for robots.txt would wait here
		<-release
		io.WriteString(w, "User-agent: *\nDisallow: /private\n")
	})
	tr := transport(t, nil)
	u := mustParse(t, s.URL+"/public")
	leaving, leave := context.WithCancel(context.Background())
	var stay, left sync.WaitGroup
	for range 100 {
		stay.Go(func() {
			if d, err := tr.Check(context.Background(), u); err != nil || !d.Allowed() {
				t.Errorf("a caller that stays: got %v, %v, want allow", d, err)
			}
		})
		left.Go(func() {
			if d, err := tr.Check(leaving, u); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that leaves: got %v, %v, want its context's error", d, err)
			}
		})
	}
	<-asked
	leave()
	left.Wait()
	close(release)
	stay.Wait()
	if n := s.robots.Load(); n != 1 {
		t.Errorf("got %d requests for robots.txt, want 1", n)
	}
}

// TestPageRedirects checks that every redirect of a page is decided by the robots.txt
// of its own authority (section 2.3.1.2).
func TestPageRedirects(t *testing.T) {
	closed := newSite(t, answerText("User-agent: *\nDisallow: /\n"))
	open := newSite(t, answerText("User-agent: *\nDisallow:\n"))
	client := &http.Client{Transport: transport(t, nil)}
	_, err := client.Get(open.URL + "/go?to=" + url.QueryEscape(closed.URL+"/x"))
	var denied *fetcher.DeniedError
	if !errors.As(err, &denied) || !strings.HasPrefix(denied.Decision.URL, closed.URL) || closed.pages.Load() != 0 {
		t.Errorf("a redirect into a closed site: got %v and %d page requests there, want a DeniedError for it and none", err, closed.pages.Load())
	}
}

// TestStoreServesTheNextProcess checks that the next process uses stored copies without
// a request (section 2.4).
func TestStoreServesTheNextProcess(t *testing.T) {
	s := newSite(t, answerText("User-agent: *\nDisallow: /private\n"))
	store := cache.NewMemory(1 << 20)
	for range 2 {
		d, err := transport(t, &fetcher.Options{Store: store}).Check(context.Background(), mustParse(t, s.URL+"/private"))
		if err != nil || d.Verdict != policy.Disallow {
			t.Fatalf("got %v, %v, want disallow", d, err)
		}
	}
	if n := s.robots.Load(); n != 1 {
		t.Errorf("got %d requests for robots.txt, want 1", n)
	}
}

// TestRevalidation checks that an expired copy is revalidated, and that it is used while
// the site is down (section 2.4).
func TestRevalidation(t *testing.T) {
	var down atomic.Bool
	var conditional atomic.Int32
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Header.Get("If-None-Match") == `"1"`:
			conditional.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			io.WriteString(w, "User-agent: *\nDisallow: /private\n")
		}
	})
	tr := transport(t, nil)
	u := mustParse(t, s.URL+"/private")
	ctx := context.Background()
	for _, ask := range []func(context.Context, *url.URL) (policy.Decision, error){tr.Check, tr.Refresh} {
		if d, err := ask(ctx, u); err != nil || d.Verdict != policy.Disallow || d.Stale {
			t.Fatalf("got %v, %v, want disallow by a fresh copy", d, err)
		}
	}
	if conditional.Load() != 1 {
		t.Errorf("got %d conditional requests, want 1", conditional.Load())
	}
	down.Store(true)
	if d, err := tr.Refresh(ctx, u); err != nil || d.Verdict != policy.Disallow || d.DownSince.IsZero() {
		t.Errorf("while down: got %v, %v, want disallow by the copy, and DownSince", d, err)
	}
}
