package fetcher_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// The requests of a fetch, each try by itself, are reported before Fetched and name its
// file.
func TestHopsBelongToTheirRetrieval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://a.test").Robots(httptest.Redirect(302, "http://b.test/robots.txt"))
		web.Site("http://b.test").Robots(httptest.Reset(), text)
		var got []string
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Trace: &fetcher.Trace{
			Try: func(h fetcher.Try) {
				var f *policy.Failure
				got = append(got, fmt.Sprintf("%s: %s try %d: %d, failed %t", h.Robots, h.URL, h.Number, h.Status, errors.As(h.Err, &f)))
			},
			Fetched: func(a policy.Attempt, r *policy.Record) {
				got = append(got, fmt.Sprintf("%s: %d from %s", a.Robots, a.Status, a.Served))
			},
		}})
		for _, u := range []string{"http://a.test/", "http://a.test/x", "http://b.test/"} {
			if _, err := tr.Check(context.Background(), must(u)); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{
			"http://a.test/robots.txt: http://a.test/robots.txt try 1: 302, failed false",
			"http://a.test/robots.txt: http://b.test/robots.txt try 1: 0, failed true",
			"http://a.test/robots.txt: http://b.test/robots.txt try 2: 200, failed false",
			"http://a.test/robots.txt: 200 from http://b.test/robots.txt",
			"http://b.test/robots.txt: 200 from http://b.test/robots.txt", // by the same request
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// badStore fails with a text that must not be logged as it is.
type badStore struct{}

var errBad = errors.New("no\nlevel=ERROR msg=forged\x1b[31m")

func (badStore) Get(context.Context, string) ([]byte, error)              { return nil, errBad }
func (badStore) Put(context.Context, string, []byte, time.Duration) error { return errBad }
func (badStore) Delete(context.Context, string) error                     { return errBad }

// The messages and keys of the log are stable, and no text of others ends a line.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://a.test").Robots(httptest.Text("User-agent: *\nCrawl-delay: 90\n"))
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		tr := newTransport(t, &fetcher.Options{
			Base: web.Transport(), Store: badStore{}, Pace: &pace.Limits{DelayCap: time.Second}, Logger: log,
			Trace: &fetcher.Trace{Fetched: func(policy.Attempt, *policy.Record) { panic("oh\nno") }},
		})
		req, err := http.NewRequest("GET", "http://a.test/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := tr.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
		if _, err := tr.Check(context.Background(), must("http://lost.test/")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`level=DEBUG msg="robots.txt fetched" robots=http://a.test/robots.txt served=http://a.test/robots.txt status=200 hops=0 took=0s next=2000-01-02T00:00:00.000Z` + "\n",
			`level=DEBUG msg="robots.txt fetched" robots=http://lost.test/robots.txt served=http://lost.test/robots.txt status=0 hops=0 took=`,
			` error="dns: `,
			`level=WARN msg="error of the robots.txt store" op=get authority=http://a.test error="no?level=ERROR msg=forged?[31m" failures=1` + "\n",
			`level=INFO msg="crawl-delay not obeyed in full" authority=http://a.test asked=1m30s obeyed=1s` + "\n",
			`level=WARN msg="panic caught" panic=oh?no stack="goroutine `,
			`level=WARN msg="a hook did not return" hook=Fetched error="panic: oh?no"` + "\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("log\n%swant\n%s", out.String(), want)
			}
		}
	})
}

// A store that is down is one warning, and then a count a minute. The hook gets each failure.
func TestLogOfStoreThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		var out bytes.Buffer
		failures := 0
		tr := newTransport(t, &fetcher.Options{
			Base: web.Transport(), Store: badStore{}, Logger: slog.New(slog.NewTextHandler(&out, nil)),
			Trace: &fetcher.Trace{Store: func(string, string, error) { failures++ }},
		})
		for i := range 5 {
			if _, err := tr.Check(t.Context(), must(fmt.Sprintf("http://a%d.test/", i))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second)
		}
		var counts []string
		for line := range strings.Lines(out.String()) {
			if _, n, ok := strings.Cut(line, " failures="); ok {
				counts = append(counts, strings.TrimSpace(n))
			}
		}
		// Each site fails at get and at put: one warning at 0 s, one at 60 s.
		if want := []string{"1", "6"}; !slices.Equal(counts, want) || failures != 10 {
			t.Errorf("log\n%s\ngot warnings of %q failures, and %d calls of the hook; want %q and 10", out.String(), counts, failures, want)
		}
	})
}
