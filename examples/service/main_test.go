package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	politeprom "github.com/rfc9309/polite/contrib/prometheus"
	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/inspect"
	"github.com/rfc9309/polite/policy"
)

// endAfter calls end after so many lines, as a SIGTERM does.
type endAfter struct {
	io.Writer
	lines int
	end   func()
}

func (w *endAfter) Write(p []byte) (int, error) {
	if w.lines--; w.lines == 0 {
		w.end()
	}
	return w.Writer.Write(p)
}

// TestTwoLives runs the service twice over a small web. The first process is told to end
// after three pages, one of which redirects. The second visits what the first one left, and
// reads no robots.txt.
func TestTwoLives(t *testing.T) {
	local := web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 0.05\n"), Moved: "/old"},
	})
	defer local.Close()
	s := service{dir: t.TempDir(), addr: "127.0.0.1:0", base: local.Transport()}
	for _, path := range []string{"/1", "/old", "/cart", "/4", "/5"} {
		s.seeds = append(s.seeds, "http://shop.example"+path)
	}
	var out bytes.Buffer
	for _, pages := range []int{3, 100} {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		s.out = &endAfter{&out, pages, end}
		if err := run(ctx, s); err != nil {
			t.Fatal(err)
		}
		out.WriteString("restart\n")
	}
	t.Logf("both processes:\n%s", out.String())
	first, second, _ := strings.Cut(out.String(), "restart\n")
	for _, want := range []struct{ in, line string }{
		{first, "fetched http://shop.example/old "}, {first, `line 2 "Disallow: /cart"`}, {first, "end: 2 pages left; robots.txt: 1 fetched, 0 read from disk\n"},
		{second, "fetched http://shop.example/5 "}, {second, "end: 0 pages left; robots.txt: 0 fetched, 1 read from disk\n"},
	} {
		if !strings.Contains(want.in, want.line) {
			t.Errorf("want %q in %q", want.line, want.in)
		}
	}
	if n := len(local.Requests("", "/robots.txt")); n != 1 {
		t.Errorf("%d requests for robots.txt by both, want 1", n)
	}
}

// TestDeferredRedirect checks that a page whose redirect is deferred is not requested again:
// what is left is the URL that it leads to.
func TestDeferredRedirect(t *testing.T) {
	local := web.Start(map[string]web.Site{"shop.example": {Moved: "/old", MovedTo: "http://dead.test/new"}})
	defer local.Close()
	ctx, end := context.WithTimeout(t.Context(), 3*time.Second)
	defer end()
	dir := t.TempDir()
	s := service{dir: dir, addr: "127.0.0.1:0", base: local.Transport(), seeds: []string{"http://shop.example/old"}, out: io.Discard}
	if err := run(ctx, s); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(filepath.Join(dir, "frontier.txt"))
	if err != nil || string(left) != "http://dead.test/new" {
		t.Errorf("left %q, %v; want the URL after the redirect", left, err)
	}
	if n := len(local.Requests("shop.example", "/old")); n != 1 {
		t.Errorf("got %d requests for the page that redirects, want 1", n)
	}
}

// TestIsDead checks when a deferred page is dropped.
func TestIsDead(t *testing.T) {
	for down, want := range map[time.Duration]bool{0: false, time.Minute: false, time.Hour: true} {
		var d policy.Decision
		if down > 0 {
			d.DownSince = time.Now().Add(-down)
		}
		if got := isDead(d); got != want {
			t.Errorf("down for %v: got %v, want %v", down, got, want)
		}
	}
}

// TestOperators reads the metrics and the page.
func TestOperators(t *testing.T) {
	tr, err := fetcher.New(agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	metrics, err := politeprom.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	if err := metrics.Watch(tr); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(operators(tr, inspect.New(nil), registry))
	defer server.Close()
	for at, want := range map[string]string{
		"/metrics":       "polite_authorities 0",
		"/debug/polite":  "since start",
		"/debug/polite/": "since start",
	} {
		resp, err := http.Get(server.URL + at)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %d %s, %v, want %q", at, resp.StatusCode, text, err, want)
		}
	}
}
