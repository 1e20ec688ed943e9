package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/examples/internal/localredis"
	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
)

// TestMain runs a process of the fleet if the environment has its pages.
func TestMain(m *testing.M) {
	pages := os.Getenv("FLEET_PAGES")
	if pages == "" {
		os.Exit(m.Run())
	}
	// The server and all processes share one machine, which may be busy.
	patient := &redis.Options{Timeout: 2 * time.Second}
	o := &fetcher.Options{Base: web.Transport(os.Getenv("FLEET_WEB"))}
	if err := run(os.Stdout, os.Getenv("FLEET_REDIS"), patient, o, strings.Fields(pages)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// TestRun runs four processes, and then four more. Together they fetch each robots.txt once.
func TestRun(t *testing.T) {
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
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /page/3\n"), Moved: "/page/2"},
		// All processes need this file while one of them fetches it.
		"news.example": {Robots: web.Late(200*time.Millisecond, web.Text("User-agent: *\nDisallow:\n"))},
		"busy.example": {Robots: web.Status(503)},
	})
	defer local.Close()

	out := launch(t, address, local.Addr()) // process 3 has the disallowed page
	if want := "3 fetched, 1 disallowed, 2 deferred, 0 failed; "; !strings.HasPrefix(out[2], want) {
		t.Errorf("got  %s\nwant %s", out[2], want)
	}
	again := launch(t, address, local.Addr())
	if want := "4 fetched, 0 disallowed, 2 deferred, 0 failed; robots.txt: 0 fetched, 3 read from the store\n"; again[0] != want {
		t.Errorf("got  %s\nwant %s", again[0], want)
	}
	// The page that redirects makes one more.
	for host, pages := range map[string]int{"shop.example": 16, "news.example": 16, "busy.example": 0} {
		all, robots := len(local.Requests(host, "")), len(local.Requests(host, "/robots.txt"))
		if robots != 1 || all-robots != pages {
			t.Errorf("%s: got %d requests for robots.txt and %d for pages, want 1 and %d", host, robots, all-robots, pages)
		}
	}
}

// launch runs four processes at the same time, each with every fourth page of each site, and
// returns their output.
func launch(t *testing.T, server, addr string) []string {
	const members, pages = 4, 8
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var processes sync.WaitGroup
	out := make([]string, members)
	for m := range members {
		var own []string
		for _, host := range []string{"shop.example", "news.example", "busy.example"} {
			for i := m + 1; i <= pages; i += members {
				own = append(own, fmt.Sprintf("http://%s/page/%d", host, i))
			}
		}
		c := exec.CommandContext(ctx, os.Args[0])
		c.Env = append(os.Environ(), "FLEET_PAGES="+strings.Join(own, " "), "FLEET_REDIS=redis://"+server, "FLEET_WEB="+addr)
		processes.Go(func() {
			text, err := c.CombinedOutput()
			if out[m] = string(text); err != nil {
				t.Errorf("process %d: %v\n%s", m+1, err, text)
			}
		})
	}
	processes.Wait()
	return out
}
