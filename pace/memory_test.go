package pace

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A million authorities, each visited once: what has lapsed is dropped, so
// the number remembered follows the pace of the crawl and not its length.
func TestAMillionAuthoritiesSeen(t *testing.T) {
	visits := 1_000_000
	if testing.Short() {
		visits = 50_000
	}
	synctest.Test(t, func(t *testing.T) {
		p, most := pacer(t, Limits{Gap: time.Second, DelayCap: time.Second}, nil), 0
		for i := range visits {
			take(t, p, fmt.Sprint(i), 0).Done()
			time.Sleep(ms)
			most = max(most, p.Stats().Authorities)
		}
		// At a visit a millisecond, 1000 have a gap still running.
		if most < 1000 || most > 2500 {
			t.Errorf("%d authorities visited, %d remembered at most; want 1000 to 2500", visits, most)
		}
		time.Sleep(time.Minute)
		for range most {
			take(t, p, host1, 0).Done()
		}
		if got := p.Stats(); got.Authorities > 2 || got.Forgotten != 0 {
			t.Errorf("after a minute of rest: %d authorities, %d forgotten early; want the one in use and none", got.Authorities, got.Forgotten)
		}
	})
}

// However many authorities ask for long pauses, the number remembered is bounded, and the
// authorities that were forgotten early are counted.
func TestMemoryBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		later := http.Header{"Retry-After": {"900"}}
		held := take(t, p, host1, 0)
		const more = 1000
		for i := range maxHosts + more {
			turn := take(t, p, fmt.Sprint(i), 0)
			turn.Answer(429, later)
			turn.Done()
		}
		got := p.Stats()
		if got.Authorities > maxHosts+1 || got.Authorities < maxHosts-1 || got.Forgotten < more-1 {
			t.Errorf("%d authorities remembered, %d forgotten; want %d and at least %d", got.Authorities, got.Forgotten, maxHosts, more)
		}
		held.Answer(429, later)
		if _, why := peek(p, host1, 0); why != ReasonPause {
			t.Errorf("an authority with a request in flight was forgotten: peek = %q, want %q", why, ReasonPause)
		}
	})
}

// The state of an authority is small, and there is no goroutine for it.
func TestStateIsSmall(t *testing.T) {
	const hosts, most = 50_000, 512
	p := pacer(t, Limits{Gap: time.Hour, Parallel: 2}, nil)
	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("https://www.host-%d.example.com", i)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	for _, name := range names {
		turn := take(t, p, name, 0)
		turn.Answer(200, nil)
		turn.Done()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d authorities: %d goroutines, %d before; want no more", hosts, n, goroutines)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / hosts
	t.Logf("%d bytes an authority", each)
	if each > most {
		t.Errorf("%d authorities: %d bytes each, want at most %d", hosts, each, most)
	}
	runtime.KeepAlive(p)
}

// An authority with a request in flight is not forgotten, however long it takes.
func TestMemoryKeepsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		held := take(t, p, host1, 0)
		time.Sleep(24 * time.Hour)
		take(t, p, host2, 0).Done()
		held.Answer(429, nil)
		if _, why := peek(p, host1, 0); why != ReasonPause {
			t.Errorf("the pause set by an answer after a day: peek = %q, want %q", why, ReasonPause)
		}
	})
}

// What is remembered of an authority at rest lasts as long as it can matter,
// and is dropped by the next use of another.
func TestLapse(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits Limits
		delay  time.Duration
		status int
		keep   time.Duration
	}{
		{"crawl_delay_that_may_follow", Limits{}, 0, 200, time.Minute},
		{"crawl_delay_that_may_follow_honoured", Limits{Delay: Honour}, 0, 200, time.Hour},
		{"gap_alone", Limits{Delay: Ignore, Gap: 5 * time.Second}, 0, 200, 5 * time.Second},
		{"crawl_delay_known", Limits{Delay: Honour}, 2 * time.Hour, 200, 2 * time.Hour},
		{"pause_and_as_long_again", Limits{Delay: Ignore, Pause: time.Second}, 0, 429, 2 * time.Second},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, test.limits, nil)
				turn := take(t, p, host1, test.delay)
				turn.Answer(test.status, nil)
				turn.Done()
				time.Sleep(test.keep - 1)
				take(t, p, host2, 0)
				if p.hosts.byName[host1] == nil {
					t.Errorf("%+v: forgotten 1ns before %v, want kept", test.limits, test.keep)
				}
				time.Sleep(time.Nanosecond)
				take(t, p, host2, 0)
				if p.hosts.byName[host1] != nil {
					t.Errorf("%+v: kept after %v, want forgotten", test.limits, test.keep)
				}
			})
		})
	}
}
