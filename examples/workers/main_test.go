package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/policy"
)

// TestCrawl checks that every page and one redirect are fetched once, and that no host gets
// requests faster than its Crawl-delay permits.
func TestCrawl(t *testing.T) {
	const hosts, pages = 6, 8
	sites, s := map[string]web.Site{}, &schedule{giveUp: time.Second / 2, seen: map[string]bool{}}
	for i := range hosts {
		name := fmt.Sprintf("site-%d.example", i+1)
		// The higher the number, the longer the Crawl-delay: 0, 20, 40 ... ms.
		robots := fmt.Sprintf("User-agent: *\nDisallow: /private\nCrawl-delay: %.2f\n", float64(i)*0.02)
		sites[name] = web.Site{Robots: web.Text(robots), Pages: pages, Links: []string{"/private", "/old"}, Moved: "/old"}
		s.add("http://" + name + "/")
	}
	// One page of this site has moved to a site that is down.
	sites["moved.example"] = web.Site{Pages: 2, Links: []string{"/old"}, Moved: "/old", MovedTo: "http://dead.test/new"}
	s.add("http://moved.example/")
	local := web.Start(sites)
	defer local.Close()
	o := options()
	o.Base, o.Pace.Gap, o.Pace.Parallel = local.Transport(), 10*time.Millisecond, 1
	o.Profile = policy.RFC9309()
	o.Profile.Retry.Min = time.Second // a minute is better for the web
	var out bytes.Buffer
	if err := s.crawl(&out, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"63 pages by 3 workers in ", "http://dead.test: given up, 1 page dropped\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant %q", out.String(), want)
		}
	}
	// The page of moved.example is requested once, and its host does not wait for the host that
	// is down: robots.txt, three pages and the redirect. The crawl ends without that host.
	want := map[string]int{"moved.example": 5}
	for site := 1; site <= hosts; site++ {
		want[fmt.Sprintf("site-%d.example", site)] = 12
	}
	for name, requests := range want {
		if all, robots := len(local.Requests(name, "")), len(local.Requests(name, "/robots.txt")); all != requests || robots != 1 {
			t.Errorf("%s: got %d requests, %d of them for robots.txt; want %d, 1", name, all, robots, requests)
		}
	}
	// The times at a server vary with the time of a connection. The whole crawl cannot
	// be faster than the slowest site permits.
	m := regexp.MustCompile(` in (\S+);`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("output:\n%s\nwant how long it took", out.String())
	}
	if took, err := time.ParseDuration(m[1]); err != nil || took < 1100*time.Millisecond {
		t.Errorf("output:\n%s\ngot %v, %v; want at least 11 times the Crawl-delay of 100 ms", out.String(), took, err)
	}
}
