package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const pause = time.Second // each site asks for it with its second page

// TestMain makes this binary a worker if the router started it.
func TestMain(m *testing.M) {
	router := os.Getenv("ROUTING_ROUTER")
	if router == "" {
		os.Exit(m.Run())
	}
	err := work(os.Stdout, router, &fetcher.Options{Base: web.Transport(os.Getenv("ROUTING_WEB")), Pace: pace.Default()})
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// TestRun lets a worker join and kills another while all hosts pause, and checks that no host
// notices that its owner has changed.
func TestRun(t *testing.T) {
	const sites, pagesOfSite = 30, 5
	var names, hosts, pages []string
	served, tired := map[string]web.Site{}, make([]tiredSite, sites)
	for i := range sites {
		name := fmt.Sprintf("site-%02d.example", i+1)
		names, hosts = append(names, name), append(hosts, "http://"+name)
		served[name] = web.Site{Robots: web.Text("User-agent: *\nDisallow: /page/3\n"), Page: tired[i].page, Moved: "/page/4"}
		for page := range pagesOfSite {
			pages = append(pages, fmt.Sprintf("http://%s/page/%d", name, page+1))
		}
	}
	local := web.Start(served)
	defer local.Close()
	t.Setenv("ROUTING_WEB", local.Addr())
	r := newRouter(t.Context())
	defer r.close()
	for _, name := range []string{"a", "b", "c"} {
		if err := r.join(name); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	var crawl sync.WaitGroup
	crawl.Go(func() {
		if err := r.crawlAll(&out, pages); err != nil {
			t.Error(err)
		}
	})
	r.await(2 * sites)
	for _, step := range []struct {
		what string
		do   func(string) error
		name string
	}{{"joins", r.join, "d"}, {"is killed", r.kill, "b"}} {
		before := r.owners(hosts)
		if err := step.do(step.name); err != nil {
			t.Fatal(err)
		}
		got := 0
		for i, owner := range r.owners(hosts) {
			if owner != before[i] {
				got++
			}
		}
		if got == 0 || got > sites/2 {
			t.Errorf("%s %s: %d of %d hosts move, want about a fourth", step.name, step.what, got, sites)
		}
	}
	crawl.Wait()
	if want := fmt.Sprintf("%d pages fetched, %d disallowed\n", sites*(pagesOfSite-1), sites); out.String() != want {
		t.Errorf("got %s want %s", out.String(), want)
	}
	near := 0
	for i, name := range names {
		if n := len(local.Requests(name, "/robots.txt")); n != 1 || tired[i].early > 0 {
			t.Errorf("%s: %d requests for robots.txt, want 1; %d during its pause, want 0", name, n, tired[i].early)
		}
		// A request may be on its way for longer than the one after it: half a gap counts as a gap.
		all := local.Requests(name, "")
		for i := 1; i < len(all); i++ {
			if all[i].At.Sub(all[i-1].At) < pace.Default().Gap/2 {
				near++
			}
		}
	}
	if near > 0 {
		t.Errorf("%d requests after less than the gap, want 0", near)
	}
}

// A tiredSite answers the second request for a page with a 429.
type tiredSite struct {
	mu    sync.Mutex
	n     int
	until time.Time
	early int // requests during the pause
}

func (s *tiredSite) page(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if time.Now().Before(s.until) {
		s.early++
	}
	if s.n == 2 {
		s.until = time.Now().Add(pause)
		w.Header().Set("Retry-After", fmt.Sprint(int(pause.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// TestOwner checks that a worker that joins takes hosts from all others alike, and that
// its hosts go to all others alike when it leaves. No other host moves.
func TestOwner(t *testing.T) {
	const hosts = 10_000
	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("host-%d.example", i)
	}
	r := &router{workers: map[string]*worker{"a": nil, "b": nil, "c": nil}}
	before := r.owners(names)
	r.workers["d"] = nil
	took := map[string]int{}
	for i, owner := range r.owners(names) {
		if owner != before[i] {
			took[before[i]+owner]++
		}
	}
	for _, pair := range []string{"ad", "bd", "cd"} {
		if got, want := took[pair], hosts/12; got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d hosts moved, want about %d", pair, got, want)
		}
	}
	if len(took) != 3 {
		t.Errorf("hosts moved: %v; want only to d", took)
	}
}

// TestStore checks that the store for the workers keeps the promises of a cache.Store.
func TestStore(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store {
		server := httptest.NewServer(storeHandler(cache.NewMemory(1 << 24)))
		t.Cleanup(server.Close)
		return &remote{url: server.URL}
	})
}
