// Package cachetest tests a [cache.Store] against every promise of package cache.
//
//	func TestStore(t *testing.T) {
//		cachetest.Run(t, func(t *testing.T) cache.Store {
//			store, err := mystore.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// Each failure is a sentence that says which promise the store broke. If the store is also a [cache.Leaser], its
// leases are tested too, except that no process is killed: write such a test for your own store. The Swap of a
// [cache.Swapper] is tested as well. The tests use the
// clock of the store, so the promises about time take some tenths of a second of real time.
package cachetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
)

const (
	key  = "https://example.com:8443"
	long = time.Hour
	// brief is a keep after which a test expects the value to expire.
	brief = 200 * time.Millisecond
	// expiryTimeout is how long a test waits for that. A store may round brief up.
	expiryTimeout = 5 * time.Second
)

// Run runs the tests as subtests of t. Each subtest calls open, which returns a store without the values of
// earlier subtests and closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) cache.Store) {
	for _, promise := range []struct {
		name string
		test func(*testing.T, cache.Store)
	}{
		{"absent", absent},
		{"put_get", putGet},
		{"overwrite", overwrite},
		{"delete", deleted},
		{"ownership", ownership},
		{"keys", exactKeys},
		{"sizes", sizes},
		{"keep_nothing", keepNothing},
		{"keep_forever", keepForever},
		{"keep_ends", keepEnds},
		{"context", endedContext},
		{"concurrent", concurrent},
		{"lease", lease},
		{"lease_lasts", leaseLasts},
		{"lease_race", leaseRace},
		{"swap", swap},
		{"swap_race", swapRace},
	} {
		t.Run(promise.name, func(t *testing.T) {
			store := open(t)
			if _, ok := store.(cache.Leaser); !ok && strings.HasPrefix(promise.name, "lease") {
				t.Skip("the store is not a cache.Leaser")
			}
			if _, ok := store.(cache.Swapper); !ok && strings.HasPrefix(promise.name, "swap") {
				t.Skip("the store is not a cache.Swapper")
			}
			promise.test(t, store)
		})
	}
}

// mustGet fails the test unless key has the value. The failure ends with why, the promise that is broken then.
func mustGet(t *testing.T, s cache.Store, key string, want []byte, why string) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Errorf("Get(%.60q): %v, want %.60q: %s", key, err, want, why)
	} else if !bytes.Equal(got, want) {
		t.Errorf("Get(%.60q) = %.60q (%d bytes), want %.60q (%d bytes): %s", key, got, len(got), want, len(want), why)
	}
}

// mustMiss fails the test unless key is absent.
func mustMiss(t *testing.T, s cache.Store, key, why string) {
	t.Helper()
	if got, err := s.Get(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get(%.60q) = %.60q, %v, want an error that is fs.ErrNotExist: %s", key, got, err, why)
	}
}

// mustPut fails the test if Put fails.
func mustPut(t *testing.T, s cache.Store, key string, value []byte, keep time.Duration) {
	t.Helper()
	if err := s.Put(t.Context(), key, value, keep); err != nil {
		t.Errorf("Put(%.60q, %d bytes, %v): %v, want no error", key, len(value), keep, err)
	}
}

// mustDelete fails the test if Delete fails.
func mustDelete(t *testing.T, s cache.Store, key string) {
	t.Helper()
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("Delete(%.60q): %v, want nil, even if the key is absent", key, err)
	}
}

func absent(t *testing.T, s cache.Store) {
	mustMiss(t, s, key, "a key that was never put is absent, and absence is fs.ErrNotExist")
}

func putGet(t *testing.T, s cache.Store) {
	for _, value := range []string{"rules", "", "\x00\xff\r\n"} {
		mustPut(t, s, key, []byte(value), long)
		mustGet(t, s, key, []byte(value), "Get returns what was put, byte for byte, even an empty one")
	}
}

func overwrite(t *testing.T, s cache.Store) {
	mustPut(t, s, key, []byte("the first and longer value"), long)
	mustPut(t, s, key, []byte("second"), long)
	mustGet(t, s, key, []byte("second"), "a second Put replaces the value of the first")
}

func deleted(t *testing.T, s cache.Store) {
	mustDelete(t, s, key)
	mustPut(t, s, key, []byte("rules"), long)
	mustPut(t, s, key+"0", []byte("others"), long)
	mustDelete(t, s, key)
	mustMiss(t, s, key, "a deleted key is absent")
	mustGet(t, s, key+"0", []byte("others"), "Delete removes its own key only")
	mustPut(t, s, key, []byte("again"), long)
	mustGet(t, s, key, []byte("again"), "a deleted key can be put again")
}

func ownership(t *testing.T, s cache.Store) {
	value := []byte("rules")
	mustPut(t, s, key, value, long)
	copy(value, "XXXXX")
	mustGet(t, s, key, []byte("rules"), "after Put the caller may write to its slice without changing the value")
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get: %v, want no error", err)
	}
	clear(got[:cap(got)])
	mustGet(t, s, key, []byte("rules"), "the caller may write to the slice that Get returned without changing the value")
}

// hostile has keys that a store might confuse with each other, or with something that is not a key.
var hostile = []string{
	"https://example.com", "http://example.com", "HTTPS://EXAMPLE.COM", "https://example.com:8443",
	"https://example.co", "https://example.com.", "https://example.com ", "https://example.com/",
	"http://[2001:db8::1]", "https://{a}", "https://{a}b", "a:b", "b", "a", "a/b", "a\\b", "a//b", "a/./b",
	"..", ".", "../../etc/passwd", "/", "a\x00", "a\x00b", "\x00", "a\n", "a\r\n", "*", "a*", "a?", "%61", "%",
	"\xff", "\xfe\xff", "\xc3\xa9", "e\xcc\x81", "\xe9", "CON", "$a", "'; --", "\"",
	strings.Repeat("k", 300), strings.Repeat("k", 299), strings.Repeat("k", 299) + "l",
	strings.Repeat("\x00", 300), strings.Repeat("\xff", 300), strings.Repeat("/", 300),
}

func exactKeys(t *testing.T, s cache.Store) {
	for _, key := range hostile {
		mustPut(t, s, key, []byte("of "+key), long)
	}
	const why = "a key has up to 300 bytes of any kind, and has its own value"
	for i, key := range hostile {
		mustGet(t, s, key, []byte("of "+key), why)
		if i%2 == 0 {
			mustDelete(t, s, key)
		}
	}
	for i, key := range hostile {
		if i%2 == 0 {
			mustMiss(t, s, key, why)
		} else {
			mustGet(t, s, key, []byte("of "+key), why)
		}
	}
}

func sizes(t *testing.T, s cache.Store) {
	for _, size := range []int{1, 4095, 4096, 70_000, 1_500_000} {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(i * 31 >> 3)
		}
		mustPut(t, s, key, value, long)
		got, err := s.Get(t.Context(), key)
		if errors.Is(err, fs.ErrNotExist) && size > 100_000 {
			continue // the store may have no room for the value
		}
		if err != nil || !bytes.Equal(got, value) {
			t.Errorf("Get of %d bytes: %d bytes, %v: a value is returned exactly as it was put, or not at all", size, len(got), err)
		}
	}
}

func keepNothing(t *testing.T, s cache.Store) {
	for _, keep := range []time.Duration{0, -time.Second, -1 << 63} {
		mustPut(t, s, key, []byte("earlier"), long)
		mustPut(t, s, key, []byte("over"), keep)
		mustMiss(t, s, key, fmt.Sprintf("a Put with a keep of %v removes the value", keep))
	}
}

func keepForever(t *testing.T, s cache.Store) {
	for _, keep := range []time.Duration{30 * 24 * time.Hour, 1<<63 - 1} {
		mustPut(t, s, key, []byte("rules"), keep)
		mustGet(t, s, key, []byte("rules"), fmt.Sprintf("a value put with a keep of %v is there at once, even if a sum of times overflows", keep))
	}
}

func keepEnds(t *testing.T, s cache.Store) {
	mustPut(t, s, "lasts", []byte("rules"), long)
	mustPut(t, s, "renewed", []byte("rules"), brief)
	mustPut(t, s, "renewed", []byte("rules"), long)
	mustPut(t, s, "cut short", []byte("rules"), long)
	mustPut(t, s, "cut short", []byte("rules"), brief)
	start := time.Now()
	mustPut(t, s, "passes", []byte("rules"), brief)
	if _, err := s.Get(t.Context(), "passes"); err != nil && time.Since(start) < brief/2 {
		t.Errorf("Get at once after Put: %v, want the value: a value is there until it expires", err)
	}
	for _, key := range []string{"passes", "cut short"} {
		for {
			_, err := s.Get(t.Context(), key)
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if time.Since(start) > expiryTimeout {
				t.Fatalf("Get(%q) %v after a Put for %v: %v, want it absent: a value expires after the keep of its last Put", key, expiryTimeout, brief, err)
			}
			<-time.After(5 * time.Millisecond)
		}
	}
	mustGet(t, s, "lasts", []byte("rules"), "a value stays when other values expire")
	mustGet(t, s, "renewed", []byte("rules"), "a value expires after the keep of its last Put")
}

func endedContext(t *testing.T, s cache.Store) {
	mustPut(t, s, key, []byte("rules"), long)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := s.Get(ctx, key); err == nil {
		if string(got) != "rules" {
			t.Errorf("got %.60q, want rules: a Get that succeeds in spite of its context returns the value", got)
		}
	} else if errors.Is(err, fs.ErrNotExist) || !errors.Is(err, context.Canceled) {
		t.Errorf("Get with a context that has ended: %v, want context.Canceled: an ended context is an error, and not fs.ErrNotExist", err)
	}
	if err := s.Put(ctx, key, []byte("later"), long); err == nil {
		mustGet(t, s, key, []byte("later"), "a Put that reports success in spite of its context has put")
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Put with a context that has ended: %v, want context.Canceled", err)
	}
	if err := s.Delete(ctx, key); err == nil {
		mustMiss(t, s, key, "a Delete that reports success in spite of its context has deleted")
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Delete with a context that has ended: %v, want context.Canceled", err)
	}
	mustPut(t, s, key, []byte("after"), long)
	mustGet(t, s, key, []byte("after"), "the store works after a call whose context has ended")
}

func concurrent(t *testing.T, s cache.Store) {
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 60 {
				key := fmt.Sprint("https://", (worker+i)%5, ".example")
				value := bytes.Repeat([]byte(fmt.Sprintf("%s %d;", key, worker)), 1+i*7)
				mustPut(t, s, key, value, long)
				got, err := s.Get(t.Context(), key)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("Get among others: %v, want no error", err)
				}
				if err == nil && !whole(got, key) {
					t.Errorf("Get(%q) = %.80q among others: a value is always one that was put under its key", key, got)
				}
				if i%20 == 19 {
					s.Delete(t.Context(), key)
				}
			}
		})
	}
	wg.Wait()
}

// whole reports whether concurrent has put this value under key: it is one piece, repeated.
func whole(value []byte, key string) bool {
	piece, _, ok := bytes.Cut(value, []byte(";"))
	n := len(piece) + 1
	return ok && bytes.HasPrefix(piece, []byte(key+" ")) && len(value)%n == 0 &&
		bytes.Equal(value, bytes.Repeat(value[:n], len(value)/n))
}

// mustLease fails the test unless the lease is free.
func mustLease(t *testing.T, s cache.Store, key string, ttl time.Duration, why string) (release func()) {
	t.Helper()
	release, err := s.(cache.Leaser).Lease(t.Context(), key, ttl)
	if err != nil {
		t.Fatalf("Lease(%q): %v, want the lease: %s", key, err, why)
	}
	return release
}

// mustBeHeld fails the test unless another has the lease.
func mustBeHeld(t *testing.T, s cache.Store, key, why string) {
	t.Helper()
	release, err := s.(cache.Leaser).Lease(t.Context(), key, long)
	if !errors.Is(err, cache.ErrHeld) {
		t.Errorf("Lease(%q): %v, want cache.ErrHeld: %s", key, err, why)
	}
	if err == nil {
		release()
	}
}

func lease(t *testing.T, s cache.Store) {
	first := mustLease(t, s, key, long, "nobody has it")
	mustBeHeld(t, s, key, "only one holder at a time has the lease on a key")
	other := mustLease(t, s, key+"0", long, "two keys have different leases")
	mustMiss(t, s, key, "a lease is not a value")
	mustPut(t, s, key, []byte("rules"), long)
	mustDelete(t, s, key)
	mustBeHeld(t, s, key, "neither Put nor Delete ends a lease")
	first()
	second := mustLease(t, s, key, long, "the first holder has released it")
	first()
	mustBeHeld(t, s, key, "a second call of release does not end the lease of another holder")
	mustBeHeld(t, s, key+"0", "a release ends only the lease on its own key")
	second()
	other()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if release, err := s.(cache.Leaser).Lease(ctx, key, long); err == nil {
		release()
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("Lease with a context that has ended: %v, want context.Canceled", err)
	}
	mustLease(t, s, key, long, "a call whose context has ended takes no lease")()
}

func leaseLasts(t *testing.T, s cache.Store) {
	const ttl = time.Second
	release := mustLease(t, s, key, ttl, "nobody has it")
	<-time.After(2 * ttl)
	for range 2 { // a busy machine may keep the holder from renewing for a while
		again, err := s.(cache.Leaser).Lease(t.Context(), key, ttl)
		if err != nil {
			break
		}
		release()
		release = again
		<-time.After(2 * ttl)
	}
	mustBeHeld(t, s, key, fmt.Sprintf("a lease lasts until its release if its holder lives, even with a ttl of %v", ttl))
	release()
	mustLease(t, s, key, ttl, "a release ends a lease that was renewed")()
	<-time.After(ttl)
	mustLease(t, s, key, ttl, "a lease is not renewed after its release")()
}

func leaseRace(t *testing.T, s cache.Store) {
	var holders, granted atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				release, err := s.(cache.Leaser).Lease(t.Context(), key, long)
				if err != nil {
					if !errors.Is(err, cache.ErrHeld) {
						t.Errorf("Lease: %v, want the lease or cache.ErrHeld", err)
					}
					continue
				}
				granted.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders at the same time: only one holder at a time has the lease on a key", n)
				}
				holders.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
	if granted.Load() == 0 {
		t.Error("nobody got the lease: if several ask for a free lease, one gets it")
	}
}

func swap(t *testing.T, s cache.Store) {
	do := func(old, value []byte, keep time.Duration, want bool, why string) {
		t.Helper()
		got, err := s.(cache.Swapper).Swap(t.Context(), key, old, value, keep)
		if err != nil || got != want {
			t.Errorf("Swap(%q, %q, %v): %v, %v, want %v: %s", old, value, keep, got, err, want, why)
		}
	}
	first, second := []byte("first"), []byte("second")
	do(first, second, long, false, "there is no value")
	mustMiss(t, s, key, "a Swap that reports false changes nothing")
	do(nil, first, long, true, "a nil old stands for no value")
	mustGet(t, s, key, first, "a Swap that reports true has put its value")
	do(nil, second, long, false, "a nil old stands for no value, and there is one")
	do([]byte("fir"), second, long, false, "values are compared as a whole")
	do(second, second, 0, false, "the value is not old, so it is not deleted")
	mustGet(t, s, key, first, "a Swap that reports false changes nothing")
	do(first, second, long, true, "the value is still old")
	do(second, []byte{}, long, true, "a value may be empty")
	do(nil, first, long, false, "an empty value is a value")
	do([]byte{}, first, long, true, "an empty old stands for an empty value")
	do(first, second, 0, true, "the value is still old")
	mustMiss(t, s, key, "a keep of zero deletes the value")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if swapped, err := s.(cache.Swapper).Swap(ctx, key, nil, first, long); swapped || !errors.Is(err, context.Canceled) {
		t.Errorf("Swap with a context that has ended: %v, %v, want false and context.Canceled", swapped, err)
	}
	mustMiss(t, s, key, "a call whose context has ended puts nothing")
}

func swapRace(t *testing.T, s cache.Store) {
	mustPut(t, s, key, nil, long)
	var swapped atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				old, err := s.Get(t.Context(), key)
				if err != nil {
					t.Errorf("Get: %v, want the value", err)
					return
				}
				old = append([]byte{}, old...) // not nil, which stands for no value
				ok, err := s.(cache.Swapper).Swap(t.Context(), key, old, append(old, '.'), long)
				if err != nil {
					t.Errorf("Swap: %v, want true or false", err)
				}
				if ok {
					swapped.Add(1)
				}
			}
		})
	}
	wg.Wait()
	want := bytes.Repeat([]byte{'.'}, int(swapped.Load()))
	mustGet(t, s, key, want, "Swap is one atomic step: each that reports true has replaced the value that it names")
	if len(want) == 0 {
		t.Error("no Swap reports true: if several replace one value, one of them does")
	}
}
