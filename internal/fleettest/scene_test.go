//go:build unix

package fleettest

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
)

// These tests run by the clock of a machine that may be busy. Without the variable below they
// require only that no more requests arrive than the limits permit, and that the crawl goes on, and
// several run at once: they wait most of the time.
const (
	measureAll = "POLITE_TEST_SHARE"
	atOnce     = "6"
)

func TestMain(m *testing.M) {
	RunWorker()
	flag.Parse()
	flag.Set("test.parallel", atOnce)
	os.Exit(m.Run())
}

const (
	site = "http://a.test"
	gap  = 100 * time.Millisecond
	// life is about how long the lease of a holder that is lost lasts.
	life = 5 * time.Second
	// settled is how long after the end of a trouble a fleet may need to be one again.
	settled = 5 * time.Second
)

// pages are pages of sites.
func pages(sites ...string) (all []string) {
	for _, s := range sites {
		all = append(all, s+"/page")
	}
	return all
}

// limited is a Job with a gap and one place.
func limited(store string) Job {
	return Job{Store: store, Limits: pace.Limits{Gap: gap, Parallel: 1}}
}

// of are the visits of a site in a span, in the order of their sending. Zero times are no bounds.
func of(all []Visit, site string, from, to time.Time) (some []Visit) {
	for _, v := range all {
		if v.Site == site && v.Sent.After(from) && (to.IsZero() || v.Sent.Before(to)) {
			some = append(some, v)
		}
	}
	slices.SortFunc(some, func(a, b Visit) int { return a.Sent.Compare(b.Sent) })
	return some
}

// checkGap compares each request with the one sent before it. A process that was late to send one
// brings the next one nearer, so only a quiet machine keeps each gap. On any other, n requests need
// n gaps.
func checkGap(t *testing.T, visits []Visit, gap time.Duration) {
	t.Helper()
	for i := 1; i < len(visits); i++ {
		a, b := visits[i-1], visits[i]
		if apart := b.Sent.Sub(a.Sent); apart < gap-5*time.Millisecond && os.Getenv(measureAll) != "" {
			t.Errorf("6/gap: request %d of %s by process %s comes %v after one by %s; want %v", i, b.Site, b.Process, apart, a.Process, gap)
		}
		if took, want := b.Sent.Sub(visits[0].Sent), time.Duration(i)*gap-500*time.Millisecond; took < want {
			t.Errorf("6/gap: %d requests of %s in %v; want at least %v", i+1, b.Site, took, want)
			return
		}
	}
}

// checkLimits counts the requests of a span in which processes may not share their limits. Then
// each keeps its part of them.
func checkLimits(t *testing.T, visits []Visit, span time.Duration, processes int) {
	t.Helper()
	most := int(span/gap) + processes + 1
	if os.Getenv(measureAll) == "" {
		most += most / 2
	}
	t.Logf("%d requests in %v, the limits permit %d", len(visits), span, span/gap)
	if len(visits) > most {
		t.Errorf("6/limits: %d requests in %v; want at most %d", len(visits), span, most)
	}
}

// checkShare compares the number of requests with the number that the limits permit.
func checkShare(t *testing.T, visits []Visit, span time.Duration, want float64) {
	t.Helper()
	share := float64(len(visits)) / (span.Seconds() / gap.Seconds())
	t.Logf("share of the permitted rate %.2f", share)
	if share < want && os.Getenv(measureAll) != "" {
		t.Errorf("6/rate: the share of the permitted rate is %.2f; want at least %.2f", share, want)
	}
	if len(visits) == 0 {
		t.Error("6/rate: no request arrives; want the crawl to go on")
	}
}

// checkAlone fails the test if two processes have requests at the site at the same time.
func checkAlone(t *testing.T, visits []Visit) {
	t.Helper()
	var open []Visit
	for _, v := range visits {
		open = slices.DeleteFunc(open, func(o Visit) bool { return !o.Done.IsZero() && o.Done.Before(v.Arrived) })
		for _, o := range open {
			if o.Process != v.Process {
				t.Errorf("6/alone: process %s sends a request to %s while one of process %s is there", v.Process, v.Site, o.Process)
				return
			}
		}
		open = append(open, v)
	}
}

// timeline logs the number of requests by process in each second.
func timeline(t *testing.T, site string, visits []Visit, from time.Time) {
	t.Helper()
	var seconds []map[string]int
	for _, v := range of(visits, site, from, time.Time{}) {
		n := int(v.Sent.Sub(from) / time.Second)
		for len(seconds) <= n {
			seconds = append(seconds, map[string]int{})
		}
		seconds[n][v.Process]++
	}
	for i, s := range seconds {
		t.Logf("second %d: %v", i, s)
	}
}

// began waits until each process of a fleet has sent a request, and a while, so that each knows
// how many there are.
func began(w *Web, fleet []*Process) {
	w.T.Helper()
	w.Await("each process has sent a request", func() bool {
		named := map[string]bool{}
		for _, v := range w.Visits() {
			named[v.Process] = true
		}
		return len(named) >= len(fleet)
	})
	<-time.After(2500 * time.Millisecond)
}

// holder waits until one of the processes sends a request, and returns it.
func holder(w *Web, fleet ...*Process) (p *Process) {
	w.T.Helper()
	n := len(w.Visits())
	w.Await("a process of some sends a request", func() bool {
		all := w.Visits()
		if len(all) <= n {
			return false
		}
		i := slices.IndexFunc(fleet, func(p *Process) bool { return p.Name == all[len(all)-1].Process })
		if i >= 0 {
			p = fleet[i]
		}
		return p != nil
	})
	return p
}

// long skips a test of some seconds, or lets it run beside others.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	beside(t)
}

// beside lets a test run beside others, unless it measures.
func beside(t *testing.T) {
	if os.Getenv(measureAll) == "" {
		t.Parallel()
	}
}

// Eight processes share a site, with the store near and far.
func TestLimits(t *testing.T) {
	for name, row := range map[string]struct {
		delay    time.Duration // to the store, each way
		limits   pace.Limits
		takes    time.Duration
		inFlight int
	}{
		"gap":          {0, pace.Limits{Gap: gap, Parallel: 1}, 5 * time.Millisecond, 1},
		"gap_far":      {10 * time.Millisecond, pace.Limits{Gap: gap, Parallel: 1}, 5 * time.Millisecond, 1},
		"parallel":     {0, pace.Limits{Parallel: 3}, 30 * time.Millisecond, 3},
		"parallel_far": {10 * time.Millisecond, pace.Limits{Parallel: 3}, 30 * time.Millisecond, 3},
	} {
		t.Run("6/"+name, func(t *testing.T) {
			if name != "gap" {
				long(t)
			}
			w := StartWeb(t)
			w.Takes = row.takes
			store := StartProxy(t, redistest.Start(t), row.delay, row.delay/2).URL()
			fleet := w.Start(Job{Store: store, Limits: row.limits}, 8)
			Begin(fleet, Task{Pages: pages(site), Callers: 4, For: 8 * time.Second})
			for _, r := range End(fleet) {
				if r.Stats.Pace.Unshared > 0 {
					t.Skipf("this machine is too busy for its own redis-server: %v", r.Fleet)
				}
				if r.Failed > 0 {
					t.Errorf("%d requests fail: %s", r.Failed, r.Failure)
				}
			}
			visits := of(w.Visits(), site, time.Time{}, time.Time{})
			checkGap(t, visits, row.limits.Gap)
			checkAlone(t, visits)
			most := 0
			for i, v := range visits {
				flying := 1
				for _, other := range visits[:i] {
					if other.Done.After(v.Arrived) && other.Arrived.Before(v.Arrived) {
						flying++
					}
				}
				most = max(most, flying)
			}
			if most > row.inFlight {
				t.Errorf("6/parallel: %d requests at once; want at most %d", most, row.inFlight)
			}
			named := map[string]int{}
			for _, v := range visits {
				named[v.Process]++
			}
			t.Logf("%d requests, by process %v", len(visits), named)
		})
	}
}

// A process that has done its work gives the site to the next at once.
func TestIdleHolder(t *testing.T) {
	w := StartWeb(t)
	fleet := w.Start(limited(redistest.Start(t).URL()), 2)
	for i := range 4 {
		p := fleet[i%2]
		p.Begin(Task{Pages: pages(site), Count: 3})
		r := p.End()
		t.Logf("the first page after %v", r.First)
		if r.Pages != 3 || r.First > 2*time.Second && os.Getenv(measureAll) != "" {
			t.Errorf("6/idle: process %s has %d pages, the first after %v; want 3, at once", p.Name, r.Pages, r.First)
		}
	}
	checkGap(t, of(w.Visits(), site, time.Time{}, time.Time{}), gap)
}

// The process that works on a site is killed, or frozen for longer than its lease lasts. Another
// takes its place. It keeps the gap and the Crawl-delay, and so does the process that wakes.
func TestHolderLost(t *testing.T) {
	long(t)
	for name, frozen := range map[string]bool{"killed": false, "frozen": true} {
		for _, robots := range []string{"", "User-agent: *\nCrawl-delay: 1\n"} {
			t.Run(fmt.Sprintf("6/%s_crawl_delay_%v", name, robots != ""), func(t *testing.T) {
				beside(t)
				w := StartWeb(t)
				w.Robots = robots
				least := gap
				if robots != "" {
					least = time.Second
				}
				fleet := w.Start(limited(redistest.Start(t).URL()), 3)
				Begin(fleet, Task{Pages: pages(site), Callers: 2})
				began(w, fleet)
				lost := holder(w, fleet...)
				at := time.Now()
				lost.Stop()
				if !frozen {
					lost.Kill()
				}
				others := slices.DeleteFunc(slices.Clone(fleet), func(p *Process) bool { return p == lost })
				holder(w, others...)
				taken := time.Now()
				t.Logf("another process takes over after %v", taken.Sub(at))
				if took := taken.Sub(at); took > life+2*time.Second+least && os.Getenv(measureAll) != "" {
					t.Errorf("6/lease: another process takes over after %v; want about %v", took, life)
				}
				<-time.After(3 * time.Second)
				if frozen {
					lost.Continue()
					<-time.After(3 * time.Second)
				}
				// A request that was being sent when its process stopped may arrive at any moment.
				visits := slices.DeleteFunc(of(w.Visits(), site, time.Time{}, time.Time{}), func(v Visit) bool {
					return v.Process == lost.Name && v.Arrived.After(at) && v.Sent.Before(at.Add(10*time.Millisecond))
				})
				checkGap(t, visits, least)
				checkAlone(t, visits)
			})
		}
	}
}

// The network between one process and the store splits. The process goes on at its part of the
// limits, and shares them again when the network heals.
func TestPartition(t *testing.T) {
	long(t)
	w := StartWeb(t)
	srv := redistest.Start(t)
	proxy := StartProxy(t, srv, 0, 0)
	job := limited(proxy.URL())
	job.Timeout = 300 * time.Millisecond
	alone := w.Start(job, 1)
	others := w.Start(limited(srv.URL()), 3)
	fleet := append(alone[:1:1], others...)
	Begin(fleet, Task{Pages: pages(site), Callers: 2})
	began(w, fleet)
	holder(w, alone...)
	cut := time.Now()
	proxy.Cut()
	<-time.After(2 * life)
	healed := time.Now()
	proxy.Heal()
	<-time.After(2 * settled)
	all := w.Visits()
	timeline(t, site, all, cut)
	checkGap(t, of(all, site, time.Time{}, cut), gap)
	// The process that is cut off keeps the fourth part beside the others, who keep the whole.
	span := healed.Sub(cut)
	checkLimits(t, of(all, site, cut, healed), span+span/4, 4)
	checkGap(t, of(all, site, healed.Add(settled), time.Time{}), gap)
	checkShare(t, of(all, site, healed.Add(settled), time.Time{}), time.Since(healed)-settled, 0.9)
	if !slices.ContainsFunc(of(all, site, cut.Add(life), healed), func(v Visit) bool { return v.Process != alone[0].Name }) {
		t.Error("6/partition: no other process takes the site over; want one to")
	}
}

// The server says 429, and then the store dies. All processes keep the pause to its end, and then
// their parts of the limits.
func TestPauseOutlivesTheStore(t *testing.T) {
	long(t)
	const pause = 5 * time.Second
	w := StartWeb(t)
	var refuse atomic.Bool
	var refused atomic.Int64
	w.Answer = func(rw http.ResponseWriter, _ Visit) {
		if refuse.CompareAndSwap(true, false) {
			rw.Header().Set("Retry-After", "5")
			rw.WriteHeader(http.StatusTooManyRequests)
			refused.Store(time.Now().UnixNano())
		}
	}
	srv := redistest.Start(t)
	job := limited(srv.URL())
	job.Timeout = 300 * time.Millisecond
	fleet := w.Start(job, 8)
	Begin(fleet, Task{Pages: pages(site), Callers: 2})
	began(w, fleet)
	refuse.Store(true)
	w.Await("a request is refused", func() bool { return refused.Load() > 0 })
	at := time.Unix(0, refused.Load())
	<-time.After(time.Until(at.Add(time.Second)))
	srv.Kill()
	<-time.After(time.Until(at.Add(pause + 2*life)))
	all := w.Visits()
	timeline(t, site, all, at)
	for _, v := range of(all, site, at.Add(20*time.Millisecond), at.Add(pause-20*time.Millisecond)) {
		t.Errorf("6/pause: process %s sends a request %v after the 429; want none in %v", v.Process, v.Sent.Sub(at), pause)
	}
	after := of(all, site, at.Add(pause-20*time.Millisecond), time.Time{})
	checkLimits(t, after, 2*life, 8)
	if len(after) == 0 {
		t.Error("6/pause: no request after the pause; want the crawl to go on")
	}
}

// The store dies, and another takes its place with nothing in it.
func TestStoreKilled(t *testing.T) {
	long(t)
	w := StartWeb(t)
	srv := redistest.Start(t)
	job := limited(srv.URL())
	job.Timeout = 300 * time.Millisecond
	fleet := w.Start(job, 4)
	Begin(fleet, Task{Pages: pages(site), Callers: 2})
	began(w, fleet)
	killed := time.Now()
	srv.Kill()
	<-time.After(life)
	srv.Run()
	back := time.Now()
	<-time.After(2 * settled)
	all := w.Visits()
	checkGap(t, of(all, site, time.Time{}, killed), gap)
	// The holder goes on to the end of its lease, beside the parts of three others.
	span := back.Sub(killed) + settled
	checkLimits(t, of(all, site, killed, back.Add(settled)), span+life*3/4, 2*4)
	checkGap(t, of(all, site, back.Add(settled), time.Time{}), gap)
	checkShare(t, of(all, site, back.Add(settled), time.Time{}), settled, 0.9)
}

// Somebody writes into the keys of the store.
func TestJunk(t *testing.T) {
	long(t)
	w := StartWeb(t)
	srv := redistest.Start(t)
	fleet := w.Start(limited(srv.URL()), 4)
	Begin(fleet, Task{Pages: pages(site), Callers: 2})
	began(w, fleet)
	from := time.Now()
	for _, key := range []string{"polite:1:host:" + site, "polite:1:processes:"} {
		for _, write := range [][]string{{"SET", key, "junk"}, {"SET", key, "\x80"}, {"LPUSH", key, "a", "list"}, {"HSET", key, "a", "hash"}, {"DEL", key}} {
			srv.Do(append([]string{"EVAL", "redis.call('DEL', KEYS[1]) redis.call(unpack(ARGV))", "1", key}, write...)...) // in one step
			<-time.After(500 * time.Millisecond)
		}
	}
	to := time.Now()
	<-time.After(2 * settled)
	all := w.Visits()
	// Each time another process may find that nothing is known of the site.
	checkLimits(t, of(all, site, from, to.Add(settled)), to.Sub(from)+settled, 10*4)
	checkGap(t, of(all, site, to.Add(settled), time.Time{}), gap)
	checkShare(t, of(all, site, to.Add(settled), time.Time{}), settled, 0.9)
}

// Two sites share a scope.
func TestScope(t *testing.T) {
	long(t)
	w := StartWeb(t)
	job := Job{Store: redistest.Start(t).URL(), Scope: &pace.Scope{Key: "both", Limits: pace.Limits{Gap: gap, Parallel: 1}}}
	fleet := w.Start(job, 4)
	Begin(fleet, Task{Pages: pages(site, "http://b.test"), Callers: 4, For: 8 * time.Second})
	End(fleet)
	all := w.Visits()
	named := map[string]int{}
	for i := range all {
		named[all[i].Process]++
		all[i].Site = "both"
	}
	checkGap(t, of(all, "both", time.Time{}, time.Time{}), gap)
	if len(named) != 4 {
		t.Errorf("6/scope: requests by process %v; want some of each of 4", named)
	}
}

// A fleet crawls while the slots of its keys move, while a master of a cluster hangs, and while it is
// killed and its replica takes its place.
func TestCluster(t *testing.T) {
	long(t)
	c := redistest.StartCluster(t)
	w := StartWeb(t)
	sites, masters := []string{}, map[string]int{}
	for i := range 6 {
		s := fmt.Sprintf("http://site%d.test", i)
		sites, masters[s] = append(sites, s), c.Master("polite:1:host:"+s)
	}
	job := limited(c.URL())
	job.Timeout = 400 * time.Millisecond
	fleet := w.Start(job, 8)
	Begin(fleet, Task{Pages: pages(sites...), Callers: 2 * len(sites)})
	began(w, fleet)
	for _, s := range sites[:2] {
		for i := range 3 {
			from := (masters[s] + i) % 3
			c.Migrate("polite:1:host:"+s, from, (from+1)%3)
		}
	}
	sick := time.Now()
	c.Masters[1].Pause()
	<-time.After(2 * time.Second)
	c.Masters[1].Resume()
	<-time.After(settled)
	killed := time.Now()
	c.FailOver(t, 1)
	for _, s := range sites {
		if masters[s] != 1 {
			t.Logf("%s, whose master is well", s)
			checkGap(t, of(w.Visits(), s, sick, killed), gap)
			checkShare(t, of(w.Visits(), s, sick, killed), killed.Sub(sick), 0.8)
		}
	}
	checkFailover(t, w, sick, time.Now(), sites)
}

// A fleet crawls while the primary is killed and the sentinels put its replica in its place.
func TestSentinels(t *testing.T) {
	long(t)
	s := redistest.StartSentinels(t)
	w := StartWeb(t)
	sites := []string{"http://a.test", "http://b.test"}
	job := limited(s.URL())
	job.Timeout = 400 * time.Millisecond
	fleet := w.Start(job, 8)
	Begin(fleet, Task{Pages: pages(sites...), Callers: 2 * len(sites)})
	began(w, fleet)
	failed := time.Now()
	s.FailOver(t)
	checkFailover(t, w, failed, time.Now(), sites)
}

// checkFailover waits until the fleet is one again, and for the rate then. failed is when the first
// trouble began, and healed when another server had taken the place of the one that was killed.
func checkFailover(t *testing.T, w *Web, failed, healed time.Time, sites []string) {
	t.Helper()
	t.Logf("healed after %v", healed.Sub(failed))
	again := healed.Add(settled)
	<-time.After(time.Until(again.Add(settled)))
	ended := time.Now()
	for _, s := range sites {
		t.Log(s)
		all := of(w.Visits(), s, time.Time{}, ended)
		timeline(t, s, all, failed)
		checkGap(t, of(all, s, time.Time{}, failed), gap)
		checkLimits(t, of(all, s, failed, again), again.Sub(failed), 8)
		checkGap(t, of(all, s, again, ended), gap)
		checkShare(t, of(all, s, again, ended), ended.Sub(again), 0.9)
	}
}
