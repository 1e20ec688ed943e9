//go:build unix

package fleettest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	nethttptest "net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
)

// A fleet shares what it knows through a redis-server: real processes, this
// test binary started once for each, fetch the same authorities, each in an
// order of its own, and an origin counts the requests for robots.txt.

// A task is what a sharer, one process of a fleet, has to do: check two pages of
// each site.
type task struct {
	Store   string
	Timeout time.Duration // of a retrieval
	Origin  string        // where all sites are
	Sites   int
	Later   int // further sites, once the store answers
}

// A word is the report of a sharer at its end.
type word struct {
	Wrong   []string
	Longest time.Duration // that a decision took
	Failed  int64         // calls of the store, for the first sites
	Later   int64         // for the further ones
}

// sharerWorkers is the number of sites that a sharer checks at once.
const sharerWorkers = 6

// toOrigin sends every request to the origin, whatever its host.
type toOrigin struct{ origin *url.URL }

func (o toOrigin) RoundTrip(req *http.Request) (*http.Response, error) {
	there := req.Clone(req.Context())
	there.Host = req.URL.Host
	there.URL.Scheme, there.URL.Host = o.origin.Scheme, o.origin.Host
	return http.DefaultTransport.RoundTrip(there)
}

// TestSharer is one process of a fleet.
func TestSharer(t *testing.T) {
	var k task
	readOrder(t, &k)
	store, err := redis.Open(k.Store, &redis.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tr := newTransport(t, fetcher.Options{Store: store, Base: toOrigin{must(k.Origin)}, Timeout: k.Timeout})
	var sum word
	sum.visit(tr, 0, k.Sites)
	sum.Failed = tr.Stats().StoreFailures
	if k.Later > 0 {
		await(t, func() bool { _, err := store.Get(t.Context(), "any"); return errors.Is(err, fs.ErrNotExist) })
		sum.visit(tr, k.Sites, k.Sites+k.Later)
		sum.Later = tr.Stats().StoreFailures - sum.Failed
	}
	printer()(sum)
}

// visit checks the sites from one number up to another, several at once.
func (sum *word) visit(tr *fetcher.Transport, from, to int) {
	todo := make(chan int, to-from)
	for _, i := range rand.Perm(to - from) {
		todo <- from + i
	}
	close(todo)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range sharerWorkers {
		wg.Go(func() {
			for i := range todo {
				wrong, took := ask(tr, fmt.Sprintf("http://host%d.test", i))
				mu.Lock()
				sum.Wrong, sum.Longest = append(sum.Wrong, wrong...), max(sum.Longest, took)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// ask checks two pages of a site. The rules of the site allow the second only. It
// returns what is wrong and how long the first decision took.
func ask(tr *fetcher.Transport, site string) (wrong []string, took time.Duration) {
	began := time.Now()
	for page, want := range map[string]bool{"/of/" + must(site).Host: false, "/of/others": true} {
		d, err := tr.Check(context.Background(), must(site+page))
		if err != nil || d.Allowed() != want {
			wrong = append(wrong, fmt.Sprintf("%s: got %v, %v; want allowed %v", site+page, d, err, want))
		}
	}
	return wrong, time.Since(began)
}

// A census is the origin of all sites. It counts the requests for each robots.txt,
// which disallows a path with the name of its site.
type census struct {
	hold chan struct{} // the first request waits for its end, if not nil
	seen atomic.Int64

	mu  sync.Mutex
	per map[string]int
}

func (c *census) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.per[r.Host+r.URL.Path]++
	c.mu.Unlock()
	if n := c.seen.Add(1); n == 1 && c.hold != nil {
		<-c.hold
	}
	<-time.After(20 * time.Millisecond)
	fmt.Fprintf(w, "User-agent: *\nDisallow: /of/%s\n", r.Host)
}

// asked returns a copy of the counts.
func (c *census) asked() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.per)
}

// crew is a fleet at work.
type crew struct {
	t      *testing.T
	census *census
	task   task
	stop   func() // kills the redis-server
	start  func()
}

func newCrew(t *testing.T, sites int, timeout time.Duration, hold chan struct{}) *crew {
	c := &crew{t: t, census: &census{hold: hold, per: map[string]int{}}}
	web := nethttptest.NewServer(c.census)
	t.Cleanup(web.Close)
	var store string
	store, c.stop, c.start = redisServer(t)
	c.task = task{Store: store, Timeout: timeout, Origin: web.URL, Sites: sites}
	return c
}

// join waits for the processes and fails the test unless every decision is right.
// It returns the sum of their reports.
func (c *crew) join(all []*process) (sum word) {
	c.t.Helper()
	for _, p := range all {
		printed := p.end(c.t)
		var w word
		if err := json.NewDecoder(strings.NewReader(printed)).Decode(&w); err != nil {
			c.t.Errorf("a process said %q", printed)
		}
		for _, wrong := range w.Wrong {
			c.t.Error(wrong)
		}
		sum.Longest = max(sum.Longest, w.Longest)
		sum.Failed += w.Failed
		sum.Later += w.Later
	}
	return sum
}

// askedOnce fails the test unless each site got one request.
func (c *crew) askedOnce(from, to int) {
	c.t.Helper()
	per := c.census.asked()
	for i := from; i < to; i++ {
		robots := fmt.Sprintf("host%d.test/robots.txt", i)
		if n := per[robots]; n != 1 {
			c.t.Errorf("%s was requested %d times, want once in the fleet", robots, n)
		}
	}
}

// size returns the number of processes of the fleet and the number of sites.
func size() (processes, sites int) {
	if testing.Short() {
		return 3, 150
	}
	return 8, 1000
}

// Eight processes that know nothing check a thousand sites. Each site gets one
// request.
func TestFleetAsksOnce(t *testing.T) {
	processes, sites := size()
	c := newCrew(t, sites, 30*time.Second, nil)
	var all []*process
	for range processes {
		all = append(all, launch(t, "TestSharer", c.task))
	}
	sum := c.join(all)
	if sum.Failed > 0 {
		t.Skipf("this machine is too busy for its own redis-server: %d calls failed", sum.Failed)
	}
	c.askedOnce(0, sites)
	if len(c.census.asked()) != sites {
		t.Errorf("%d files were requested, want the robots.txt of %d sites", len(c.census.asked()), sites)
	}
	t.Logf("%d processes, %d sites, %d requests, longest decision %v", processes, sites, c.census.seen.Load(), sum.Longest)
}

// The redis-server is killed with all its data and comes back, or its connections
// are cut for three seconds. No decision is wrong, missing or much delayed. When
// the server is back, each site gets one request again. While it is away there may
// be more.
func TestFleetLosesItsServer(t *testing.T) {
	for _, name := range []string{"killed", "cut_off"} {
		t.Run("house/"+name, func(t *testing.T) {
			processes, sites := size()
			c := newCrew(t, sites, 5*time.Minute, nil)
			c.task.Later = sites / 2
			var cut, heal func()
			c.task.Store, cut, heal = proxy(t, c.task.Store)
			var all []*process
			for range processes {
				all = append(all, launch(t, "TestSharer", c.task))
			}
			await(t, func() bool { return int(c.census.seen.Load()) >= sites/4 })
			if name == "killed" {
				c.stop()
				<-time.After(300 * time.Millisecond)
				c.start()
			} else {
				cut()
				<-time.After(3 * time.Second)
				heal()
			}
			sum := c.join(all)
			n := int(c.census.seen.Load())
			if want := sites + c.task.Later; len(c.census.asked()) != want {
				t.Errorf("%d files were requested, want the robots.txt of %d sites", len(c.census.asked()), want)
			}
			t.Logf("%d processes: %d requests for %d sites with %d calls of the store failed, then %d for %d; longest decision %v",
				processes, n-c.task.Later, sites, sum.Failed, c.task.Later, c.task.Later, sum.Longest)
			if sum.Longest > time.Minute {
				t.Errorf("the longest decision took %v, want some seconds, whatever a retrieval may take", sum.Longest)
			}
			if sum.Later > 0 {
				t.Skipf("this machine is too busy for its own redis-server: %d calls failed when it was back", sum.Later)
			}
			c.askedOnce(sites, sites+c.task.Later)
		})
	}
}

// A process dies while it fetches, is frozen, or loses its connection to the
// server. Its lease ends, and another process takes over within seconds, however
// long a fetch may take: the site gets one request more. When the first process
// continues, nothing changes.
func TestFleetLeaseHolderLost(t *testing.T) {
	processes, _ := size()
	for _, tt := range []struct {
		name string
		lose func(holder *process, cut func())
		ends bool // goes on in the end
	}{
		{"killed", func(p *process, _ func()) { p.Process.Kill(); p.Wait() }, false},
		{"frozen", func(p *process, _ func()) { p.Process.Signal(syscall.SIGSTOP) }, true},
		{"cut_off", func(_ *process, cut func()) { cut() }, true},
	} {
		t.Run("4.2/"+tt.name, func(t *testing.T) {
			const timeout = 5 * time.Minute
			hold := make(chan struct{})
			release := sync.OnceFunc(func() { close(hold) })
			c := newCrew(t, 1, timeout, hold)
			t.Cleanup(release)
			through, cut, _ := proxy(t, c.task.Store)
			first := c.task
			first.Store = through
			holder := launch(t, "TestSharer", first)
			await(t, func() bool { return c.census.seen.Load() == 1 })
			<-time.After(5 * time.Second) // longer than its lease, which it renews
			var all []*process
			for range processes - 1 {
				all = append(all, launch(t, "TestSharer", c.task))
			}
			<-time.After(2 * time.Second)
			if n := c.census.seen.Load(); n != 1 {
				t.Errorf("%d requests while the holder lives, want its own", n)
			}
			lost := time.Now()
			tt.lose(holder, cut)
			await(t, func() bool { return c.census.seen.Load() == 2 })
			took := time.Since(lost)
			if tt.ends {
				holder.Process.Signal(syscall.SIGCONT)
				release()
				all = append(all, holder)
			}
			sum := c.join(all)
			if n := c.census.seen.Load(); n != 2 {
				t.Errorf("%d requests, want the lost process's and one more", n)
			}
			t.Logf("one of %d processes took over after %v, longest decision %v", processes-1, took, sum.Longest)
			if took > time.Minute {
				t.Errorf("one of the others took over after %v, want about 3 s, whatever a retrieval may take", took)
			}
		})
	}
}
