package pacetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/pace"
)

// processes returns eight processes that share a store 20 ms away.
func processes(t *testing.T, l pace.Limits) (all []*pace.Pacer) {
	all, _ = processesOf(t, l)
	return all
}

// processesOf returns the way of each process to the store as well.
func processesOf(t *testing.T, l pace.Limits) (all []*pace.Pacer, ways []*distant) {
	t.Helper()
	store := newReference()
	for i := range 8 {
		way := &distant{Store: store, delay: 10 * time.Millisecond, jitter: 5 * time.Millisecond, rng: rand.New(rand.NewPCG(9309, uint64(i)))}
		ways = append(ways, way)
		p, err := pace.New(l, &pace.Options{Shared: way})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all, ways
}

// take waits for a turn.
func take(t *testing.T, p *pace.Pacer) pace.Turn {
	t.Helper()
	turn, err := p.Wait(t.Context(), host, 0)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// crawl lets three callers of each process visit the host for a span. visit makes the
// request and says how it ended, 0 for no answer. It returns when the requests began.
func crawl(t *testing.T, all []*pace.Pacer, span time.Duration, visit func() (status int)) (starts []time.Time) {
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var mu sync.Mutex
	var callers sync.WaitGroup
	for i := range 3 * len(all) {
		callers.Go(func() {
			for ctx.Err() == nil {
				turn, err := all[i%len(all)].Wait(ctx, host, 0)
				if err != nil {
					var refused *pace.RefusedError
					if errors.As(err, &refused) {
						time.Sleep(time.Until(refused.RetryAt))
					}
					continue
				}
				mu.Lock()
				starts = append(starts, time.Now())
				mu.Unlock()
				turn.Sent()
				if status := visit(); status > 0 {
					turn.Answer(status, nil)
				} else {
					turn.Fail("timeout")
				}
				turn.Done()
			}
		})
	}
	callers.Wait()
	time.Sleep(20 * time.Second) // calls under way end
	return starts
}

// A dead host costs the whole fleet at most twelve requests in its first hour, as it costs
// one process.
func TestDeadHost(t *testing.T) {
	for name, visit := range map[string]func() int{
		"no_answer": func() int { time.Sleep(3 * time.Second); return 0 },
		"errors":    func() int { time.Sleep(50 * time.Millisecond); return 500 },
		"refused":   func() int { return 0 },
	} {
		for _, l := range []pace.Limits{{}, {Parallel: 1}, {Gap: 500 * time.Millisecond, Parallel: 2}, {Gap: 50 * time.Millisecond, Parallel: 3, MaxWait: 5 * time.Second}} {
			t.Run("6/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					all := processes(t, l)
					if l.Parallel == 0 && l.Gap == 0 {
						for range 3 { // many at once fail at once
							turn := take(t, all[0])
							turn.Fail("timeout")
							turn.Done()
						}
					}
					starts := crawl(t, all, time.Hour, visit)
					if n := len(starts); n > 12 || n < 9 {
						t.Errorf("%+v: %d requests in the first hour, want 10 to 12", l, n)
					}
				})
			})
		}
	}
}

// A host that fails for 20 s is in use again within one probe of its recovery, by all
// processes. There is never more than one probe at a time.
func TestRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pace.Limits{Gap: 20 * time.Millisecond, Parallel: 4, Rest: 200 * time.Millisecond, RestMax: 2 * time.Second}
		all := processes(t, l)
		began := time.Now()
		var mu sync.Mutex
		var flying, probes, failed int
		var recovered time.Time
		starts := crawl(t, all, time.Minute, func() int {
			mu.Lock()
			sick := time.Since(began) < 20*time.Second
			if flying++; flying > 1 && failed > 6 && sick {
				probes++
			}
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			flying--
			if sick {
				failed++
				return 500
			}
			if recovered.IsZero() {
				recovered = time.Now()
			}
			return 200
		})
		if failed > 20 || probes > 0 {
			t.Errorf("6: %d requests in the 20 s, %d of them beside a probe; want at most 20, and none", failed, probes)
		}
		// The last request that fails ends 100 ms after the recovery. Its report, the rest of 2 s, a call for the next
		// start and that request follow, and each journey takes at most 15 ms.
		if late := recovered.Sub(began) - 20*time.Second; late > 2300*time.Millisecond {
			t.Errorf("6: in use again %v after the recovery, want the longest rest and two requests, 2.3s", late)
		}
		if n := len(starts); n < 900 {
			t.Errorf("6: %d requests, want 25 a second after the recovery", n)
		}
	})
}

// A process that saw nothing of a host's trouble knows what failed, how often and when the
// next request tries.
func TestTroubleIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := processes(t, pace.Limits{MaxWait: 5 * time.Second})
		for i, status := range []int{500, 0, 502} {
			turn := take(t, all[i])
			if status == 0 {
				turn.Fail("tls")
			} else {
				turn.Answer(status, nil)
			}
			turn.Done()
		}
		refused := func(p *pace.Pacer, want string) {
			t.Helper()
			_, err := p.Wait(t.Context(), host, 0)
			var got *pace.RefusedError
			if !errors.As(err, &got) || got.Reason != pace.ReasonBreaker || !strings.HasPrefix(got.Trouble, want) {
				t.Fatalf("6: %v\nwant a refusal for %q", err, want)
			}
			if left := time.Until(got.RetryAt); left < 0 || left > 10*time.Second {
				t.Errorf("6: retry in %v, want the rest of ten seconds", left)
			}
		}
		refused(all[7], "3 failed requests in a row, the last with status 502; one request tries again at 00:00:1")
		time.Sleep(10 * time.Second)
		probe := take(t, all[6])
		time.Sleep(time.Second)
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := all[5].Wait(short, host, 0)
		var late *pace.RefusedError
		if !errors.As(err, &late) || !strings.Contains(late.Trouble, "one request tries again since 00:00:1") {
			t.Errorf("6: %v; want a refusal for the probe of another process", err)
		}
		probe.Answer(200, nil)
		probe.Done()
		for _, p := range all {
			take(t, p).Done()
			if trouble := troubleOf(p); trouble != "" {
				t.Errorf("6: trouble %q after the recovery, want none", trouble)
			}
		}
		time.Sleep(20 * time.Second)
	})
}

// A quota that one process was told of is known as a quota by the others.
func TestQuotaIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := processes(t, pace.Limits{MaxWait: 5 * time.Second})
		turn := take(t, all[0])
		turn.Answer(200, http.Header{"Ratelimit": {`"default";r=0;t=30`}})
		turn.Done()
		_, err := all[1].Wait(t.Context(), host, 0)
		var got *pace.RefusedError
		if !errors.As(err, &got) || got.Reason != pace.ReasonQuota {
			t.Errorf("6: %v, want a refusal for a quota", err)
		}
		time.Sleep(time.Minute)
	})
}

// While the store is away each process counts for itself, from what it knew.
func TestHealthWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, ways := processesOf(t, pace.Limits{MaxWait: 5 * time.Second})
		for i := range 2 {
			turn := take(t, all[i])
			turn.Answer(500, nil)
			turn.Done()
		}
		take(t, all[2]).Done() // learns of the failures
		for _, way := range ways {
			way.down.Store(true)
		}
		for i, rests := range []bool{2: true, 7: false} {
			if i < 2 {
				continue
			}
			turn := take(t, all[i])
			turn.Answer(500, nil)
			turn.Done()
			_, err := all[i].Wait(t.Context(), host, 0)
			var refused *pace.RefusedError
			if got := errors.As(err, &refused) && refused.Reason == pace.ReasonBreaker; got != rests {
				t.Errorf("6: process %d after a failure: %v; rests %t, want %t", i, err, got, rests)
			}
		}
		time.Sleep(time.Minute)
	})
}

// An answer of a process that knows no pause does not lower what the next one starts from.
func TestLevelOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := processes(t, pace.Limits{})
		early := take(t, all[1])
		turn := take(t, all[0])
		turn.Answer(503, http.Header{"Retry-After": {"60"}})
		turn.Done()
		early.Answer(500, nil)
		early.Done()
		turn = take(t, all[2])
		turn.Answer(503, nil)
		turn.Done()
		began := time.Now()
		take(t, all[3]).Done()
		if wait := time.Since(began); wait < 2*time.Minute-time.Second {
			t.Errorf("6: the pause after one of a minute is %v, want twice as long", wait)
		}
		time.Sleep(time.Minute)
	})
}

// A process that dies with the probe loses it after five seconds.
func TestProbeOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newReference()
		life := 5 * time.Second
		ask := func(ticket string) pace.Grant {
			g, err := store.Reserve(t.Context(), host, pace.Reservation{Ticket: ticket, Life: life})
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		failing := pace.Report{Started: 1, Health: pace.Failing, Cause: "test", Failures: 1, Rest: time.Second, RestMax: time.Second}
		failing.Started = store.now()
		store.Report(t.Context(), host, failing)
		time.Sleep(time.Second)
		if g := ask("a.1"); !g.Granted || g.Failures != 1 || !g.Open {
			t.Errorf("6: %+v, want the probe", g)
		}
		var waits []bool
		for range 6 {
			time.Sleep(time.Second)
			waits = append(waits, ask("b.1").Granted)
		}
		if want := []bool{false, false, false, false, true, true}; !slices.Equal(waits, want) {
			t.Errorf("6: the probe is granted to another %v in each second, want %v", waits, want)
		}
	})
}

// troubleOf returns the Trouble of the host among the hosts of a Pacer.
func troubleOf(p *pace.Pacer) string {
	for s := range p.Hosts() {
		if s.Authority == host {
			return s.Trouble
		}
	}
	return ""
}
