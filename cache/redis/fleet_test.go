//go:build unix

package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
)

// The crawlers of a fleet are child processes: they run this test binary and find in these what to do.
const (
	crawlerURL   = "POLITE_REDIS_TEST_URL"
	crawlerKeys  = "POLITE_REDIS_TEST_KEYS"
	crawlerDelay = "POLITE_REDIS_TEST_DELAY"
	crawlerTTL   = "POLITE_REDIS_TEST_TTL"
	crawlerHangs = "POLITE_REDIS_TEST_HANGS" // retrieves for ever, so that it holds its lease until killed
)

func TestMain(m *testing.M) {
	if url := os.Getenv(crawlerURL); url != "" {
		if err := crawl(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A crawler asks for each key once, in a random order, and writes on its output what it retrieves, and
// in the end how long the longest wait was.
type crawler struct {
	store   *Store
	ttl     time.Duration
	hangs   bool
	longest atomic.Int64
}

const (
	crawlerWorkers = 6
	retrieval      = 30 * time.Millisecond
)

func crawl(url string) error {
	keys, _ := strconv.Atoi(os.Getenv(crawlerKeys))
	delay, _ := time.ParseDuration(os.Getenv(crawlerDelay))
	ttl, _ := time.ParseDuration(os.Getenv(crawlerTTL))
	store, err := Open(url, &Options{Delay: delay})
	if err != nil {
		return err
	}
	defer store.Close()
	c := &crawler{store: store, ttl: ttl, hangs: os.Getenv(crawlerHangs) != ""}
	todo := make(chan string, keys)
	for _, i := range rand.Perm(keys) {
		todo <- fmt.Sprintf("https://host%d.example", i)
	}
	close(todo)
	failed := make(chan error, crawlerWorkers)
	var wg sync.WaitGroup
	for range crawlerWorkers {
		wg.Go(func() {
			for key := range todo {
				if err := c.check(key); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	fmt.Println("longest", time.Duration(c.longest.Load()).Milliseconds())
	close(failed)
	return <-failed
}

// check obtains a key's value and looks whether it is that key's.
func (c *crawler) check(key string) error {
	began := time.Now()
	value, err := c.obtain(context.Background(), key)
	for took := int64(time.Since(began)); ; {
		old := c.longest.Load()
		if took <= old || c.longest.CompareAndSwap(old, took) {
			break
		}
	}
	if err == nil && value != "rules of "+key {
		err = fmt.Errorf("%s: value %q", key, value)
	}
	return err
}

// obtain is what a fetcher does with a Leaser: whatever is wrong with the store, it goes on without.
func (c *crawler) obtain(ctx context.Context, key string) (string, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if value, err := c.store.Get(ctx, key); err == nil {
			return string(value), nil
		}
		release, err := c.store.Lease(ctx, key, c.ttl)
		if errors.Is(err, cache.ErrHeld) {
			<-time.After(wait/2 + rand.N(wait))
			continue
		}
		if err != nil {
			release = func() {}
		} else if value, err := c.store.Get(ctx, key); err == nil {
			release() // another was faster
			return string(value), nil
		}
		value := c.retrieve(key)
		c.store.Put(ctx, key, []byte(value), time.Hour)
		release()
		return value, nil
	}
}

func (c *crawler) retrieve(key string) string {
	fmt.Println("retrieves", key)
	for c.hangs {
		<-time.After(time.Hour)
	}
	<-time.After(retrieval)
	return "rules of " + key
}

// A fleet is what a test knows of its crawlers.
type fleet struct {
	t         *testing.T
	srv       *server
	keys      int
	delay     time.Duration
	ttl       time.Duration
	running   sync.WaitGroup
	mu        sync.Mutex
	retrieved map[string]int
	longest   time.Duration
}

func newFleet(t *testing.T, srv *server, keys int, delay, ttl time.Duration) *fleet {
	return &fleet{t: t, srv: srv, keys: keys, delay: delay, ttl: ttl, retrieved: map[string]int{}}
}

// launch starts a crawler. Its process is ended with the test.
func (f *fleet) launch(more ...string) *os.Process {
	f.t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crawlerURL+"="+f.srv.url(), fmt.Sprintf("%s=%d", crawlerKeys, f.keys),
		fmt.Sprintf("%s=%v", crawlerDelay, f.delay), fmt.Sprintf("%s=%v", crawlerTTL, f.ttl))
	child.Env = append(child.Env, more...)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { child.Process.Kill() })
	f.running.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			f.hear(lines.Text())
		}
		if err := child.Wait(); err != nil && len(more) == 0 {
			f.t.Errorf("a crawler ended with %v", err)
		}
	})
	return child.Process
}

func (f *fleet) hear(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "retrieves":
		f.retrieved[rest]++
	case "longest":
		ms, _ := strconv.Atoi(rest)
		f.longest = max(f.longest, time.Duration(ms)*time.Millisecond)
	}
}

// count returns how many retrievals there were.
func (f *fleet) count() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.retrieved {
		n += m
	}
	return n
}

// await waits until there were n retrievals.
func (f *fleet) await(n int) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); f.count() < n; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%d retrievals after a minute, waited for %d", f.count(), n)
		}
	}
}

// size is how large a fleet the tests use, and for how many keys.
func size() (crawlers, keys int) {
	if testing.Short() {
		return 3, 200
	}
	return 8, 1000
}

func TestFleetRetrievesOnce(t *testing.T) {
	crawlers, keys := size()
	f := newFleet(t, start(t), keys, 10*time.Second, 20*time.Second)
	for range crawlers {
		f.launch()
	}
	f.running.Wait()
	for key, n := range f.retrieved {
		if n != 1 {
			t.Errorf("%s was retrieved %d times, want once in the fleet", key, n)
		}
	}
	if len(f.retrieved) != keys {
		t.Errorf("%d keys were retrieved, want all %d", len(f.retrieved), keys)
	}
	t.Logf("%d crawlers, %d keys, %d retrievals, longest wait %v", crawlers, keys, f.count(), f.longest)
}

// A server in trouble while the fleet works costs retrievals, but no time. When it is back the
// crawlers share again.
func TestFleetThroughTrouble(t *testing.T) {
	for _, trouble := range troubles {
		t.Run("house/"+trouble.name, func(t *testing.T) {
			crawlers, keys := size()
			ttl := time.Second
			f := newFleet(t, start(t), keys, delay, ttl)
			for range crawlers {
				f.launch()
			}
			f.await(keys / 4)
			trouble.begin(f.srv)
			<-time.After(600 * time.Millisecond)
			trouble.end(f.srv)
			f.running.Wait()

			if len(f.retrieved) != keys {
				t.Errorf("%d keys were retrieved, want all %d", len(f.retrieved), keys)
			}
			// On a busy machine the server may seem down until all is done.
			if n := f.count(); os.Getenv(measureAll) != "" && n > crawlers*keys*3/4 {
				t.Errorf("%d retrievals of %d keys by %d crawlers, want far fewer than each by each", n, keys, crawlers)
			}
			// The worst case for a key: its holder's release is lost, so that it waits for the
			// lease to run out, and then some calls fail after their delay.
			if worst := ttl + 6*delay + grace; f.longest > worst {
				t.Errorf("the longest wait was %v, want %v at most", f.longest, worst)
			}
			t.Logf("%d crawlers, %d keys, %d retrievals, longest wait %v", crawlers, keys, f.count(), f.longest)
		})
	}
}

// When a holder dies, or its process is frozen, one of the waiting crawlers takes over as soon as the lease has run
// out. While the holder lives the lease does not run out.
func TestFleetHolderDies(t *testing.T) {
	const ttl = 6 * time.Second // a busy machine may keep the holder from renewing for some seconds
	for name, end := range map[string]os.Signal{"killed": syscall.SIGKILL, "frozen": syscall.SIGSTOP} {
		t.Run("house/"+name, func(t *testing.T) {
			t.Parallel()
			srv := start(t)
			first, f := newFleet(t, srv, 1, 10*time.Second, ttl), newFleet(t, srv, 1, 10*time.Second, ttl)
			holder := first.launch(crawlerHangs + "=1")
			first.await(1)
			for range 3 {
				f.launch()
			}
			<-time.After(3 * ttl / 2)
			if n := f.count(); n > 0 {
				t.Errorf("%d retrievals in %v beside the holder's, want none while it lives", n, 3*ttl/2)
			}
			holder.Signal(end)
			f.running.Wait()
			if n := f.count(); n != 1 {
				t.Errorf("%d retrievals after the holder was %s, want one", n, name)
			}
			if f.longest > 4*ttl+grace {
				t.Errorf("the longest wait was %v, want little more than the lease's %v after the holder's end", f.longest, ttl)
			}
		})
	}
}
