//go:build unix

package redis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
)

const (
	delay = 250 * time.Millisecond
	// grace is what a busy machine may add to a delay; a call that hangs takes longer.
	grace = 20 * time.Second
)

// A trouble is a server that does not do its work.
var troubles = []struct {
	name  string
	begin func(*server)
	end   func(*server)
}{
	{"killed", (*server).kill, (*server).start},
	{"paused", (*server).pause, (*server).resume},
}

func TestTroubleDelaysNobodyAndHeals(t *testing.T) {
	for _, trouble := range troubles {
		t.Run("house/"+trouble.name, func(t *testing.T) {
			srv := start(t)
			s := opened(t, srv.url(), &Options{Timeout: delay})
			mustWork(t, s)
			trouble.begin(srv)
			mustFailInTime(t, s)
			trouble.end(srv)
			heals(t, s)
		})
	}
}

// More calls than a connection's pipeline has places for wait no longer than the delay either, and leave no
// goroutine.
func TestManyCallsWhilePaused(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), &Options{Timeout: delay})
	mustWork(t, s)
	before := runtime.NumGoroutine()
	srv.pause()
	var wg sync.WaitGroup
	for range 5000 {
		wg.Go(func() {
			began := time.Now()
			if _, err := s.Get(t.Context(), "k"); !errors.Is(err, ErrDown) {
				t.Errorf("Get while the server is paused: %v, want %v", err, ErrDown)
			}
			if took := time.Since(began); took > delay+grace {
				t.Errorf("Get took %v, want %v at most", took, delay)
			}
		})
	}
	wg.Wait()
	srv.resume()
	heals(t, s)
	for end := time.Now().Add(grace); runtime.NumGoroutine() > before+10; <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, before %d", runtime.NumGoroutine(), before)
		}
	}
}

// A server that is not there when the store is opened is one that is down, and comes.
func TestOpenWithoutServer(t *testing.T) {
	srv := start(t)
	for _, trouble := range troubles {
		t.Run("house/"+trouble.name, func(t *testing.T) {
			trouble.begin(srv)
			began := time.Now()
			s := opened(t, srv.url(), &Options{Timeout: delay})
			if took := time.Since(began); took > grace {
				t.Errorf("Open took %v, want it not to wait for the server", took)
			}
			mustFailInTime(t, s)
			trouble.end(srv)
			heals(t, s)
		})
	}
}

// mustWork fails the test unless the store answers.
func mustWork(t *testing.T, s *Store) {
	t.Helper()
	var got []byte
	answered(t, func() error { return s.Put(t.Context(), "k", []byte("v"), time.Hour) })
	answered(t, func() (err error) { got, err = s.Get(t.Context(), "k"); return err })
	if string(got) != "v" {
		t.Fatalf("Get: %q, want \"v\"", got)
	}
}

// heals waits until the store answers again by itself.
func heals(t *testing.T, s *Store) {
	t.Helper()
	began := time.Now()
	for {
		_, err := s.Get(t.Context(), "k")
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Since(began) > lastPause+grace {
			t.Fatalf("%v after the server is back: %v", time.Since(began), err)
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Logf("answers again after %v", time.Since(began).Round(time.Millisecond))
	mustWork(t, s)
}

// mustFailInTime uses the store for a second, from many goroutines, while the server is in trouble. Every
// call fails within the delay, and after the first of them nearly all at once.
func mustFailInTime(t *testing.T, s *Store) {
	t.Helper()
	var mu sync.Mutex
	var calls, slow int
	var longest time.Duration
	call := func(what string, f func() error) {
		began := time.Now()
		err := f()
		took := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		calls++
		longest = max(longest, took)
		if took > delay/2 {
			slow++
		}
		if !errors.Is(err, ErrDown) {
			t.Errorf("%s while the server is in trouble: %v, want %v", what, err, ErrDown)
		}
	}
	var wg sync.WaitGroup
	const workers = 16
	for range workers {
		wg.Go(func() {
			for end := time.Now().Add(time.Second); time.Now().Before(end); <-time.After(time.Millisecond) {
				call("Get", func() error { _, err := s.Get(t.Context(), "k"); return err })
				call("Put", func() error { return s.Put(t.Context(), "k", nil, time.Hour) })
				call("Delete", func() error { return s.Delete(t.Context(), "k") })
				call("Lease", func() error { _, err := s.Lease(t.Context(), "k", time.Hour); return err })
			}
		})
	}
	wg.Wait()
	t.Logf("%d calls, %d slow, longest %v", calls, slow, longest.Round(time.Millisecond))
	if longest > delay+grace {
		t.Errorf("the longest call took %v, want %v at most", longest, delay)
	}
	// Each worker may meet the first failure; then one call at a time tries. If all waited, all would be slow.
	if slow > workers+10 && slow > calls/4 {
		t.Errorf("%d of %d calls waited for the server, want few", slow, calls)
	}
}

// The caller's own context ends a call before the delay does, and says nothing about the server.
func TestContextBeforeDelay(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), slow)
	mustWork(t, s)
	srv.pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get: %v, want %v", err, context.DeadlineExceeded)
	}
	if took := time.Since(began); took > grace {
		t.Errorf("Get took %v with a context of 50 ms", took)
	}
	srv.resume()
	if _, err := s.Get(t.Context(), "k"); err != nil {
		t.Errorf("the next Get: %v, want the value: a context that ended is no failure of the server", err)
	}
}

// A server that says no is not down: what it refuses is an error, and the next call is made.
func TestRefusal(t *testing.T) {
	srv := start(t, "--maxmemory", "1mb", "--maxmemory-policy", "noeviction")
	s := opened(t, srv.url(), slow)
	if err := s.Put(t.Context(), "k", make([]byte, 1<<20), time.Hour); err == nil || errors.Is(err, ErrDown) {
		t.Errorf("Put to a full server: %v, want an error that is not %v", err, ErrDown)
	}
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get after it: %v, want %v", err, fs.ErrNotExist)
	}
}

// What cannot be a value of ours reads as absent and is overwritten.
func TestForeignValues(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), slow)
	const name = "polite:1:copy:https://b.example"
	for _, row := range []struct {
		name  string
		write []string
	}{
		{"text", []string{"SET", name, "User-agent: *\nDisallow:\n"}},
		{"empty", []string{"SET", name, ""}},
		{"list", []string{"LPUSH", name, "a list"}},
		{"hash", []string{"HSET", name, "a", "hash"}},
		{"far_too_long", []string{"SETRANGE", name, "67108863", "x"}},
	} {
		t.Run("house/"+row.name, func(t *testing.T) {
			srv.do("DEL", name)
			srv.do(row.write...)
			before := sent(t, srv)
			if got, err := s.Get(t.Context(), "https://b.example"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("Get = %d bytes, %v, want %v", len(got), err, fs.ErrNotExist)
			}
			if n := sent(t, srv) - before; n > 2*maxRead {
				t.Errorf("the server sent %d bytes, want about %d at most", n, maxRead)
			}
			if swapped, err := s.Swap(t.Context(), "https://b.example", nil, []byte("b"), time.Hour); err != nil || !swapped {
				t.Errorf("Swap for what reads as absent = %v, %v, want it done", swapped, err)
			}
			if got, err := s.Get(t.Context(), "https://b.example"); err != nil || string(got) != "b" {
				t.Errorf("Get = %q, %v, want what was put in its place", got, err)
			}
		})
	}
}

// sent is the number of bytes that the server has sent to all of its clients.
func sent(t *testing.T, srv *server) (n int) {
	t.Helper()
	for line := range strings.Lines(srv.do("INFO", "stats")) {
		if _, err := fmt.Sscanf(line, "total_net_output_bytes:%d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the server does not say how many bytes it sent")
	return 0
}

// A lease that others wrote and that never ends gets a time to live. One of another type does, too.
func TestForeignLeaseEnds(t *testing.T) {
	srv := start(t)
	for _, write := range [][]string{{"SET", "polite:1:lease:k", "foreign"}, {"LPUSH", "polite:1:lease:k", "a list"}, {"SETEX", "polite:1:lease:k", "86400", "foreign"}} {
		t.Run("house/"+write[0], func(t *testing.T) {
			s := opened(t, srv.url(), slow)
			srv.do(write...)
			const ttl = 300 * time.Millisecond
			began := time.Now()
			for {
				release, err := s.Lease(t.Context(), "k", ttl)
				if err == nil {
					release()
					break
				}
				if !errors.Is(err, cache.ErrHeld) || time.Since(began) > ttl+grace {
					t.Fatalf("Lease %v after the first: %v, want it, or %v for %v", time.Since(began), err, cache.ErrHeld, ttl)
				}
				<-time.After(10 * time.Millisecond)
			}
			if took := time.Since(began); took < ttl {
				t.Errorf("the lease was taken after %v, want it to belong to the other for %v", took, ttl)
			}
		})
	}
}

func TestEveryKeyHasATimeToLive(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), &Options{Timeout: 10 * time.Second, Prefix: "fleet"})
	for key, keep := range map[string]time.Duration{"k": time.Nanosecond, "l": 1<<63 - 1} {
		answered(t, func() error { return s.Put(t.Context(), key, []byte("v"), keep) })
		answered(t, func() error { _, err := s.Lease(t.Context(), key, max(keep, 1)-1); return err })
	}
	c := srv.client()
	keys, err := c.Do(t.Context(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(keys) < 2 {
		t.Fatalf("KEYS: %q, %v, want at least two", keys, err)
	}
	for _, key := range keys {
		left, err := c.Do(t.Context(), c.B().Pttl().Key(key).Build()).AsInt64()
		if err != nil || left == -1 || !strings.HasPrefix(key, "fleet:1:") {
			t.Errorf("key %q: time to live %d, %v, want one, and the prefix", key, left, err)
		}
	}
}

// A crawler that was refused a lease sees at once that the lease has ended, and what its holder has put.
func TestWaiterSeesTheEnd(t *testing.T) {
	srv := start(t)
	holder, other := opened(t, srv.url(), slow), opened(t, srv.url(), slow)
	for n := range 300 {
		key, waiter := fmt.Sprint("key ", n), []*Store{holder, other}[n%2]
		release, err := holder.Lease(t.Context(), key, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := waiter.Lease(t.Context(), key, time.Minute); !errors.Is(err, cache.ErrHeld) {
				t.Fatalf("Lease: %v, want %v", err, cache.ErrHeld)
			}
			if _, err := waiter.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("Get: %v, want %v", err, fs.ErrNotExist)
			}
		}
		if err := holder.Put(t.Context(), key, []byte("v"), time.Hour); err != nil {
			t.Fatal(err)
		}
		release()
		if got, err := waiter.Get(t.Context(), key); err != nil || string(got) != "v" {
			t.Fatalf("Get after Put: %q, %v, want \"v\"", got, err)
		}
		release, err = waiter.Lease(t.Context(), key, time.Minute)
		if err != nil {
			t.Fatalf("Lease after the release: %v, want the lease", err)
		}
		release()
	}
}

// Close ends every goroutine that the store began, be the server there or not.
func TestCloseEndsAll(t *testing.T) {
	srv := start(t)
	before := runtime.NumGoroutine()
	for _, trouble := range append(troubles, struct {
		name       string
		begin, end func(*server)
	}{"none", func(*server) {}, func(*server) {}}) {
		s := opened(t, srv.url(), &Options{Timeout: delay})
		mustWork(t, s)
		trouble.begin(srv)
		for range 10 {
			s.Get(t.Context(), "k")
		}
		s.Close()
		trouble.end(srv)
	}
	for began := time.Now(); runtime.NumGoroutine() > before; <-time.After(10 * time.Millisecond) {
		if time.Since(began) > 4*dialTime {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}
