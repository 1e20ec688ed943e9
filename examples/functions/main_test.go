package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/examples/internal/localredis"
	"github.com/rfc9309/polite/examples/internal/web"
)

// TestDispatch checks that functions that share nothing but Redis fetch each robots.txt
// once, visit each page once, and keep the gap of the host, redirects included.
func TestDispatch(t *testing.T) {
	server, address, err := localredis.Start()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("POLITE_REQUIRE_REDIS") != "1" {
		t.Skip("no redis-server on this machine")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	local := web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /cart\n"), Moved: "/old"},
		"busy.example": {Robots: web.Status(503)},
		"away.example": {Moved: "/old", MovedTo: "http://busy.example/away"},
	})
	defer local.Close()
	queue := []string{"http://away.example/old", "http://shop.example/cart", "http://busy.example/1", "http://busy.example/2"}
	for i := range 5 {
		queue = append(queue, fmt.Sprintf("http://shop.example/%d", i))
	}
	queue = append(queue, "http://shop.example/old")
	var out bytes.Buffer
	if err := dispatch(&out, queue, address, local); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "fetched http://shop.example/"); got != 6 {
		t.Errorf("output:\n%s\ngot %d pages, want 6", out.String(), got)
	}
	for _, want := range []string{"dropped http://shop.example/cart\n", "later http://busy.example/2\n", "later http://busy.example/away\n", " 3 requests for robots.txt\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant %q", out.String(), want)
		}
	}
	requests := local.Requests("shop.example", "")
	if len(requests) != 8 { // robots.txt, five pages, a redirect and its target
		t.Errorf("got %d requests to shop.example, want 8", len(requests))
	}
	for i := 1; i < len(requests); i++ {
		if gap := requests[i].At.Sub(requests[i-1].At); gap < 50*time.Millisecond { // of 200, less what a busy machine takes
			t.Errorf("%s came %v after %s, want about 200 ms", requests[i].Path, gap, requests[i-1].Path)
		}
	}
}
