//go:build unix

package fleettest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
)

// The tests of this file count the requests for robots.txt that a fleet makes.

// ownRules disallow one page of each site. A process that had the rules of another site would
// fetch it.
const ownRules = "User-agent: *\nDisallow: /of/SITE\n"

// twoPages are two pages of each of some sites, of which the rules allow the second.
func twoPages(from, to int) (all []string) {
	for i := from; i < to; i++ {
		s := fmt.Sprintf("http://host%d.test", i)
		all = append(all, fmt.Sprintf("%s/of/host%d.test", s, i), s+"/of/others")
	}
	return all
}

// size returns the number of processes of the fleet and the number of sites: more with POLITE_NIGHTLY.
func size() (processes, sites int) {
	switch {
	case testing.Short():
		return 3, 150
	case os.Getenv("POLITE_NIGHTLY") != "":
		return 8, 1000
	}
	return 4, 300
}

// decided fails the test unless each process has fetched one page of each site, and not the other. It
// returns the number of calls of the store that have failed, and the longest time of a request.
func decided(t *testing.T, w *Web, all []Report, sites int) (failures int64, longest time.Duration) {
	t.Helper()
	for _, r := range all {
		if r.Pages != sites || r.Failed != sites {
			t.Errorf("4.2/decisions: a process fetches %d pages, and %d are refused: %s; want %d and %d", r.Pages, r.Failed, r.Failure, sites, sites)
		}
		failures, longest = failures+r.Stats.StoreFailures, max(longest, r.Longest)
	}
	for _, v := range w.Visits() {
		if v.Site+v.Path != v.Site+"/of/others" {
			t.Errorf("4.2/decisions: %s%s is fetched, though it is not allowed", v.Site, v.Path)
		}
	}
	return failures, longest
}

// askedOnce fails the test unless each site had one request for its robots.txt.
func askedOnce(t *testing.T, files []Visit, from, to int) {
	t.Helper()
	per := map[string]int{}
	for _, v := range files {
		per[v.Site]++
	}
	for i := from; i < to; i++ {
		if n := per[fmt.Sprintf("http://host%d.test", i)]; n != 1 {
			t.Errorf("4.2/once: the robots.txt of site %d is fetched %d times; want once in the fleet", i, n)
		}
	}
}

// Processes that know nothing visit many sites. Each site gets one request for its robots.txt.
func TestFleetAsksOnce(t *testing.T) {
	processes, sites := size()
	w := StartWeb(t)
	w.Robots = ownRules
	fleet := w.Start(Job{Store: redistest.Start(t).URL(), Limits: pace.Limits{Off: true}}, processes)
	Begin(fleet, Task{Pages: twoPages(0, sites), Count: 2 * sites, Callers: 6, Shuffle: true})
	failures, longest := decided(t, w, End(fleet), sites)
	t.Logf("%d fetches, longest request %v", len(w.Files()), longest)
	if failures > 0 {
		t.Skipf("this machine is too busy for its own redis-server: %d calls failed", failures)
	}
	askedOnce(t, w.Files(), 0, sites)
}

// The redis-server is killed with all its data and comes back, or its connections are cut for three
// seconds. No decision is wrong, missing or much delayed. When the server is back, each site gets one
// request again. While it is away there may be more.
func TestFleetLosesItsServer(t *testing.T) {
	for _, killed := range []bool{true, false} {
		t.Run(fmt.Sprint("4.2/killed_", killed), func(t *testing.T) {
			processes, sites := size()
			w := StartWeb(t)
			w.Robots = ownRules
			srv := redistest.Start(t)
			proxy := StartProxy(t, srv, 0, 0)
			fleet := w.Start(Job{Store: proxy.URL(), Timeout: time.Second, Fetch: 5 * time.Minute, Limits: pace.Limits{Off: true}}, processes)
			Begin(fleet, Task{Pages: twoPages(0, sites), Count: 2 * sites, Callers: 6, Shuffle: true})
			w.Await("some sites are visited", func() bool { return len(w.Files()) >= sites/4 })
			if killed {
				srv.Kill()
				<-time.After(300 * time.Millisecond)
				srv.Run()
			} else {
				proxy.Cut()
				<-time.After(3 * time.Second)
				proxy.Heal()
			}
			before, longest := decided(t, w, End(fleet), sites)
			t.Logf("%d fetches for %d sites with %d calls of the store failed; longest request %v", len(w.Files()), sites, before, longest)
			if longest > time.Minute {
				t.Errorf("4.2/time: the longest request takes %v; want some seconds, whatever a fetch may take", longest)
			}
			<-time.After(2 * time.Second) // until each process has found that the server is back
			Begin(fleet, Task{Pages: twoPages(sites, 2*sites), Count: 2 * sites, Callers: 6, Shuffle: true})
			if after, _ := decided(t, w, End(fleet), sites); after > before {
				t.Skipf("this machine is too busy for its own redis-server: %d calls failed when it was back", after-before)
			}
			askedOnce(t, w.Files(), sites, 2*sites)
		})
	}
}

// A process dies while it fetches, is frozen, or loses its connection to the server. Its lease ends, and
// another process takes over within seconds, however long a fetch may take: the site gets one request
// more. When the first process continues, nothing changes.
func TestFetcherLost(t *testing.T) {
	long(t)
	for name, lose := range map[string]func(*Process, *Proxy){
		"killed":  func(p *Process, _ *Proxy) { p.Kill() },
		"frozen":  func(p *Process, _ *Proxy) { p.Stop() },
		"cut_off": func(_ *Process, x *Proxy) { x.Cut() },
	} {
		t.Run("4.2/"+name, func(t *testing.T) {
			beside(t)
			w := StartWeb(t)
			w.Robots, w.Hold = ownRules, make(chan struct{})
			srv := redistest.Start(t)
			proxy := StartProxy(t, srv, 0, 0)
			task := Task{Pages: twoPages(0, 1), Count: 2}
			first := w.Start(Job{Store: proxy.URL(), Fetch: 5 * time.Minute, Limits: pace.Limits{Off: true}}, 1)
			Begin(first, task)
			w.Await("the robots.txt is requested", func() bool { return len(w.Files()) == 1 })
			<-time.After(5 * time.Second) // longer than its lease, which it renews
			others := w.Start(Job{Store: srv.URL(), Fetch: 5 * time.Minute, Limits: pace.Limits{Off: true}}, 3)
			Begin(others, task)
			<-time.After(2 * time.Second)
			if n := len(w.Files()); n != 1 {
				t.Errorf("4.2/lease: %d requests while the holder lives; want its own", n)
			}
			lost := time.Now()
			lose(first[0], proxy)
			w.Await("another process takes over", func() bool { return len(w.Files()) == 2 })
			took := time.Since(lost)
			t.Logf("another process takes over after %v", took)
			if took > 30*time.Second {
				t.Errorf("4.2/lease: another process takes over after %v; want about 6 s, whatever a fetch may take", took)
			}
			close(w.Hold)
			reports := End(others)
			if name != "killed" {
				first[0].Continue()
				reports = append(reports, End(first)...)
			}
			decided(t, w, reports, 1)
			if n := len(w.Files()); n != 2 {
				t.Errorf("4.2/lease: %d requests; want the one of the process that was lost, and one more", n)
			}
		})
	}
}
