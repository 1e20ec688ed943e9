package fetcher_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// ruled returns a file of n rules. None of them matches /page.
func ruled(n int) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "Disallow: /admin%d/\n", i)
		case 1:
			fmt.Fprintf(&b, "Disallow: /*?sort%d=\n", i)
		case 2:
			fmt.Fprintf(&b, "Disallow: /cgi-bin/%d\n", i)
		default:
			fmt.Fprintf(&b, "Allow: /admin%d/public$\n", i)
		}
	}
	return b.String()
}

// A stub is a base that answers without a network. It returns a file for robots.txt
// and always the same response for a page.
type stub struct {
	robots string
	page   http.Response
}

func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path != "/robots.txt" {
		return &s.page, nil
	}
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, ContentLength: int64(len(s.robots)),
		Body: io.NopCloser(strings.NewReader(s.robots)), Request: req,
	}, nil
}

// BenchmarkRoundTrip measures a request through a base that answers at once. The
// difference to bare is the cost of Polite.
func BenchmarkRoundTrip(b *testing.B) {
	named := http.Header{"User-Agent": {agent}}
	run := func(b *testing.B, base http.RoundTripper, header http.Header) {
		u, err := url.Parse("https://www.example.com/catalogue/item-4711.html?ref=home")
		if err != nil {
			b.Fatal(err)
		}
		req := &http.Request{Method: "GET", URL: u, Host: u.Host, Header: header}
		if _, err := base.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := base.RoundTrip(req); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("bare", func(b *testing.B) { run(b, &stub{}, named) })
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			t, err := fetcher.New(agent, &fetcher.Options{Base: &stub{robots: ruled(n)}, Pace: pace.Unlimited()})
			if err != nil {
				b.Fatal(err)
			}
			run(b, t, named)
		})
	}
	b.Run("unnamed", func(b *testing.B) {
		t, err := fetcher.New(agent, &fetcher.Options{Base: &stub{robots: ruled(13)}, Pace: pace.Unlimited()})
		if err != nil {
			b.Fatal(err)
		}
		run(b, t, http.Header{})
	})
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("paced/rules=%d", n), func(b *testing.B) {
			limits := &pace.Limits{Parallel: 1, Gap: 1}
			t, err := fetcher.New(agent, &fetcher.Options{Base: &stub{robots: ruled(n)}, Pace: limits})
			if err != nil {
				b.Fatal(err)
			}
			run(b, t, named)
		})
	}
}

// BenchmarkBody measures a paced request whose answer has a body that the caller closes, without
// and with a context that can end.
func BenchmarkBody(b *testing.B) {
	for _, name := range []string{"background", "cancel", "deadline"} {
		b.Run(name, func(b *testing.B) {
			body := io.NopCloser(strings.NewReader(""))
			base := &stub{robots: ruled(10), page: http.Response{StatusCode: 200, Header: http.Header{}}}
			t, err := fetcher.New(agent, &fetcher.Options{Base: base, Pace: &pace.Limits{Parallel: 1}})
			if err != nil {
				b.Fatal(err)
			}
			req := &http.Request{Method: "GET", URL: must(site + "/page"), Header: http.Header{"User-Agent": {agent}}}
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.Background(), func() {}
				switch name {
				case "cancel":
					ctx, cancel = context.WithCancel(ctx)
				case "deadline":
					ctx, cancel = context.WithTimeout(ctx, time.Minute)
				}
				base.page.Body = body
				resp, err := t.RoundTrip(req.WithContext(ctx))
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
				cancel()
			}
		})
	}
}

// BenchmarkCold measures the first request to a host through a base that answers at once:
// the fetch of its robots.txt, and a page.
func BenchmarkCold(b *testing.B) {
	for name, limits := range map[string]*pace.Limits{"unpaced": pace.Unlimited(), "traced": {Parallel: 2, Gap: 1}} {
		b.Run(name, func(b *testing.B) {
			page := http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}
			t, err := fetcher.New(agent, &fetcher.Options{Base: &stub{robots: ruled(60), page: page}, Pace: limits})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				u := &url.URL{Scheme: "https", Host: fmt.Sprintf("host%d.example", i), Path: "/page"}
				req := &http.Request{Method: "GET", URL: u, Host: u.Host, Header: http.Header{"User-Agent": {agent}}}
				if _, err := t.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheck measures a whole decision from memory.
func BenchmarkCheck(b *testing.B) {
	t, err := fetcher.New(agent, &fetcher.Options{Base: &stub{robots: ruled(13)}, Pace: pace.Unlimited()})
	if err != nil {
		b.Fatal(err)
	}
	u, err := url.Parse("https://www.example.com/admin0/users")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := t.Check(context.Background(), u); err != nil || d.Allowed() {
			b.Fatalf("%v, %v; want a refusal", d, err)
		}
	}
}

// TestPagesAllocate bounds the allocations of a warm page request whose answer has a body.
// In a turn there are the turn, a copy of the request, which is also the body of the answer, a
// context and a hook. context.AfterFunc allocates three times, and three times more for the first
// request of a context.
func TestPagesAllocate(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits *pace.Limits
		ends   bool // the context can end
		want   float64
	}{
		{"unpaced", pace.Unlimited(), true, 0},
		{"unpaced_without_a_name", pace.Unlimited(), true, 3},
		{"paced", &pace.Limits{Parallel: 1, Gap: 1}, false, 4},
		{"with_a_context_that_can_end", &pace.Limits{Parallel: 1}, true, 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			body := io.NopCloser(strings.NewReader(""))
			base := &stub{robots: ruled(13), page: http.Response{StatusCode: 200, Header: http.Header{}}}
			tr := newTransport(t, &fetcher.Options{Base: base, Pace: test.limits})
			req := &http.Request{Method: "GET", URL: must(site + "/page"), Header: http.Header{"User-Agent": {agent}}}
			if test.name == "unpaced_without_a_name" {
				delete(req.Header, "User-Agent")
			}
			if test.ends {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req = req.WithContext(ctx)
			}
			got := testing.AllocsPerRun(100, func() {
				time.Sleep(time.Nanosecond) // the gap
				base.page.Body = body
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			})
			if got > test.want {
				t.Errorf("6/%s: %v allocations, want at most %v", test.name, got, test.want)
			}
		})
	}
}
