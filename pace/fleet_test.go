package pace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
)

// The processes of a fleet are pacers in one bubble. Each has its own way to one store in
// memory, which can be long, cut or stuck.

const (
	host = "https://example.com"
	ms   = time.Millisecond
)

var errDown = errors.New("the store is down")

// A way leads from one process to the store.
type way struct {
	pace.Store
	mu    sync.Mutex
	there time.Duration // half of the round trip
	down  error         // every call fails at once
	stuck bool          // no call returns
	deaf  bool          // no message arrives
	calls map[string]int
}

// set changes the way.
func (w *way) set(f func(w *way)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// count returns the number of calls so far, of all methods.
func (w *way) count() (n int) {
	w.set(func(w *way) {
		for _, c := range w.calls {
			n += c
		}
	})
	return n
}

// travel makes one call.
func (w *way) travel(ctx context.Context, method string, call func() error) error {
	w.mu.Lock()
	w.calls[method]++
	there, down, stuck := w.there, w.down, w.stuck
	w.mu.Unlock()
	if stuck {
		time.Sleep(time.Hour)
		return errDown
	}
	if down != nil {
		return down
	}
	sleep(there)
	defer sleep(there)
	return call()
}

// sleep sets no timer that is due at once: the race detector of Go 1.26 may crash then.
func sleep(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

func (w *way) Lease(ctx context.Context, c pace.Claim, life time.Duration) (l pace.Lease, err error) {
	err = w.travel(ctx, "Lease", func() (err error) { l, err = w.Store.Lease(ctx, c, life); return })
	return l, err
}

func (w *way) Keep(ctx context.Context, c pace.Claim, life time.Duration, s pace.State, tell bool) (l pace.Lease, err error) {
	err = w.travel(ctx, "Keep", func() (err error) {
		l, err = w.Store.Keep(ctx, c, life, s, tell)
		return
	})
	return l, err
}

func (w *way) Return(ctx context.Context, c pace.Claim, s pace.State) error {
	return w.travel(ctx, "Return", func() error { return w.Store.Return(ctx, c, s) })
}

func (w *way) Notify(process string, f func(pace.Claim, pace.Lease)) (stop func()) {
	return w.Store.Notify(process, func(c pace.Claim, l pace.Lease) {
		w.mu.Lock()
		there, cut := w.there, w.deaf || w.stuck || w.down != nil
		w.mu.Unlock()
		if !cut {
			go func() { sleep(there); f(c, l) }()
		}
	})
}

func (w *way) Count(ctx context.Context, process string, life time.Duration) (n int, err error) {
	err = w.travel(ctx, "Count", func() (err error) { n, err = w.Store.Count(ctx, process, life); return })
	return n, err
}

// A process is one of a fleet.
type process struct {
	*pace.Pacer
	way *way
}

// fleet returns n processes with a store between them.
func fleet(t *testing.T, n int, l pace.Limits, o pace.Options) (all []process) {
	t.Cleanup(func() { time.Sleep(2 * time.Hour) }) // all calls end, in the bubble
	store := &pacetest.Memory{}
	for range n {
		w := &way{Store: store, calls: map[string]int{}}
		o.Shared = w
		p, err := pace.New(&l, &o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, process{p, w})
	}
	return all
}

// turn waits for a turn that must come.
func (p process) turn(t *testing.T, delay time.Duration, scopes ...pace.Scope) pace.Turn {
	t.Helper()
	turn, err := p.Wait(context.Background(), host, delay, scopes...)
	if err != nil {
		t.Fatalf("Wait = %v; want a turn", err)
	}
	return turn
}

// A site is what a server sees of a fleet.
type site struct {
	mu     sync.Mutex
	starts []start
	flying int
	most   int // in flight at once
}

type start struct {
	at  time.Time
	who int
}

// visit makes a request of process who that takes some time.
func (s *site) visit(who int, turn pace.Turn, takes time.Duration) {
	s.mu.Lock()
	s.starts = append(s.starts, start{time.Now(), who})
	s.flying++
	s.most = max(s.most, s.flying)
	s.mu.Unlock()
	sleep(takes)
	turn.Answer(200, nil)
	s.mu.Lock()
	s.flying--
	s.mu.Unlock()
	turn.Done()
}

// shortest returns the shortest time between two starts.
func (s *site) shortest() time.Duration {
	shortest := time.Hour
	for i := 1; i < len(s.starts); i++ {
		shortest = min(shortest, s.starts[i].at.Sub(s.starts[i-1].at))
	}
	return shortest
}

// Eight processes keep the limits of three hosts, get what the limits permit, and each has its
// turn.
func TestFleetShare(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits pace.Limits
		takes  time.Duration
		away   time.Duration
		share  float64
	}{
		{"gap", pace.Limits{Gap: 50 * ms, Parallel: 1}, 5 * ms, 0, .95},
		{"gap_and_a_store_20ms_away", pace.Limits{Gap: 50 * ms, Parallel: 1}, 5 * ms, 20 * ms, .95},
		{"two_places", pace.Limits{Parallel: 2}, 300 * ms, 0, .90},
		{"two_places_and_a_store_20ms_away", pace.Limits{Parallel: 2}, 300 * ms, 20 * ms, .90},
	} {
		t.Run("6.1/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, sites := fleet(t, 8, test.limits, pace.Options{}), make([]site, 3)
				ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
				defer stop()
				began := time.Now()
				var wg sync.WaitGroup
				for who, p := range all {
					p.way.there = test.away / 2
					for i := range sites {
						for range 4 {
							wg.Go(func() {
								for {
									turn, err := p.Wait(ctx, "https://"+strconv.Itoa(i), 0)
									if err != nil {
										return
									}
									sites[i].visit(who, turn, test.takes)
								}
							})
						}
					}
				}
				wg.Wait()
				each := max(test.limits.Gap, test.takes/time.Duration(test.limits.Parallel))
				quantum := min(max(time.Second, 20*test.takes), 30*time.Second)
				for i := range sites {
					s := &sites[i]
					if s.shortest() < test.limits.Gap || s.most > test.limits.Parallel {
						t.Errorf("two starts %v apart, %d in flight; want %v and %d", s.shortest(), s.most, test.limits.Gap, test.limits.Parallel)
					}
					if share := float64(len(s.starts)) * float64(each) / float64(time.Since(began)); share < test.share {
						t.Errorf("%.1f %% of what the limits permit, want %.0f", 100*share, 100*test.share)
					} else {
						t.Logf("%.1f %%", 100*share)
					}
					for who := range all {
						first := slices.IndexFunc(s.starts, func(s start) bool { return s.who == who })
						if first < 0 || s.starts[first].at.Sub(began) > 8*quantum {
							t.Errorf("process %d has its first turn at start %d, want within 8 quanta", who, first)
						}
					}
				}
			})
		})
	}
}

// A warm page calls nothing and allocates one turn, as without a store.
func TestFleetWarmPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fleet(t, 1, pace.Limits{Parallel: 2}, pace.Options{})[0]
		p.turn(t, 0).Done()
		synctest.Wait()
		before := p.way.count()
		allocs := testing.AllocsPerRun(1000, func() {
			turn := p.turn(t, 0)
			turn.Sent()
			turn.Answer(200, nil)
			turn.Done()
		})
		if calls := p.way.count() - before; calls > 0 || allocs > 1 {
			t.Errorf("6.1/warm_page: %d calls and %.1f allocations, want none and one", calls, allocs)
		}
	})
}

// Each scene is the life of processes 0, 1 and 2 at one host. want says who starts when.
func TestFleetScenes(t *testing.T) {
	type scene struct {
		*testing.T
		all  []process
		r    *trail
		turn func(who int, takes time.Duration) // one request
	}
	for _, test := range []struct {
		name   string
		limits pace.Limits
		play   func(s scene)
		want   []string
	}{
		{"an_idle_holder_returns_at_once_when_asked", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			time.Sleep(time.Second)
			s.turn(1, 0)
		}, []string{"0s 0", "1s 1"}},
		{"a_holder_between_two_requests_does_not", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			time.Sleep(10 * ms)
			go s.turn(1, 0)
			time.Sleep(10 * ms)
			s.turn(0, 0)
			time.Sleep(time.Second)
		}, []string{"0s 0", "20ms 0", "70ms 1"}},
		{"a_hand_over_takes_a_call_of_each", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			time.Sleep(time.Second)
			for _, p := range s.all[:2] {
				p.way.set(func(w *way) { w.there = 10 * ms })
			}
			s.turn(1, 0)
			for _, p := range s.all[:2] {
				p.way.set(func(w *way) { s.r.add("%d Lease, %d Return", w.calls["Lease"], w.calls["Return"]) })
			}
		}, []string{"0s 0", "1.04s 1", "1.04s 1 Lease, 1 Return", "1.04s 1 Lease, 0 Return"}},
		{"a_lost_message_costs_a_third_of_a_lease", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			s.all[1].way.set(func(w *way) { w.deaf = true })
			s.turn(1, 0)
		}, []string{"0s 0", "1.666666666s 1"}},
		{"an_idle_lease_is_returned", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			time.Sleep(4 * time.Second)
			s.r.add("%d leases", s.all[0].Leases())
		}, []string{"0s 0", "4s 0 leases"}},
		{"a_process_that_ends_returns_what_is_idle", pace.Limits{Parallel: 1}, func(s scene) {
			s.turn(0, 0)
			s.all[0].ReturnIdle(s.Context())
			s.all[0].way.set(func(w *way) { w.stuck = true })
			s.turn(1, 0)
		}, []string{"0s 0", "0s 1"}},
		{"a_process_that_ends_waits_for_no_store", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			s.all[0].way.set(func(w *way) { w.stuck = true })
			ctx, cancel := context.WithTimeout(s.Context(), 2*time.Second)
			defer cancel()
			s.all[0].ReturnIdle(ctx)
			s.r.add("returned")
		}, []string{"0s 0", "1s returned"}},
		{"a_host_in_use_is_not_returned", pace.Limits{}, func(s scene) {
			go s.turn(0, time.Second)
			time.Sleep(10 * ms)
			s.all[0].ReturnIdle(s.Context())
			s.r.add("%d leases", s.all[0].Leases())
			time.Sleep(2 * time.Second)
		}, []string{"0s 0", "10ms 1 leases"}},
		{"the_queue_is_in_order_of_asking", pace.Limits{Parallel: 1}, func(s scene) {
			go s.turn(0, 3*time.Second)
			time.Sleep(time.Second)
			go s.turn(2, 0)
			time.Sleep(time.Second)
			go s.turn(1, 0)
			time.Sleep(2 * time.Second)
		}, []string{"0s 0", "3.05s 2", "3.1s 1"}},
		{"a_crawl_delay_is_kept_at_a_hand_over", pace.Limits{}, func(s scene) {
			turn := s.all[0].turn(s.T, 10*time.Second)
			turn.Done()
			time.Sleep(2 * time.Second)
			s.turn(1, 0)
		}, []string{"10s 1"}},
		{"a_crawl_delay_is_kept_after_a_death", pace.Limits{}, func(s scene) {
			turn := s.all[0].turn(s.T, 10*time.Second)
			turn.Done()
			time.Sleep(1900 * ms) // the first Keep has saved it
			s.all[0].way.set(func(w *way) { w.stuck = true })
			s.turn(1, 0)
		}, []string{"16.666666665s 1"}},
		{"a_lost_lease_counts_as_a_start", pace.Limits{Gap: time.Second}, func(s scene) {
			s.turn(0, 0)
			s.all[0].way.set(func(w *way) { w.stuck = true })
			time.Sleep(100 * ms)
			s.turn(1, 0)
		}, []string{"0s 0", "5.999999999s 1"}},
		{"a_frozen_holder_asks_again", pace.Limits{}, func(s scene) {
			s.turn(0, 0)
			s.all[0].way.set(func(w *way) { w.there = 100 * ms })
			s.all[0].Skip(leaseEnds)
			s.turn(0, 0)
		}, []string{"0s 0", "200ms 0"}},
		{"a_request_longer_than_two_quanta_stops_nobody", pace.Limits{Parallel: 2}, func(s scene) {
			go s.turn(0, 10*time.Second)
			time.Sleep(1500 * ms)
			go s.turn(1, 0)
			time.Sleep(100 * ms)
			s.turn(0, 0) // drains from 1.5s until 2.5s
			time.Sleep(8600 * ms)
		}, []string{"0s 0", "2.5s 0", "10.05s 1"}},
		{"a_pause_is_handed_over", pace.Limits{}, func(s scene) {
			turn := s.all[0].turn(s.T, 0)
			turn.Answer(429, http.Header{"Retry-After": {"7"}})
			turn.Done()
			s.turn(1, 0)
		}, []string{"7s 1"}},
		{"a_pause_that_begins_during_a_renewal_is_told", pace.Limits{}, func(s scene) {
			s.all[0].turn(s.T, 0).Done()
			s.all[0].way.set(func(w *way) { w.there = 300 * ms })
			time.Sleep(1600 * ms)
			go s.all[1].Wait(context.Background(), host, 0)
			synctest.Wait()
			go s.turn(2, 0)
			time.Sleep(250 * ms) // the renewal is on its way from 1.67s to 2.27s
			turn := s.all[0].turn(s.T, 0)
			time.Sleep(150 * ms)
			turn.Answer(429, http.Header{"Retry-After": {"7"}})
			turn.Done()
			time.Sleep(time.Second)
			for _, p := range s.all {
				p.way.set(func(w *way) { w.down = errDown })
			}
			time.Sleep(10 * time.Second)
		}, []string{"9.3s 2"}},
		{"the_level_of_a_pause_is_handed_over", pace.Limits{Pause: 2 * time.Second}, func(s scene) {
			turn := s.all[0].turn(s.T, 0)
			turn.Answer(429, http.Header{"Retry-After": {"1"}})
			turn.Done()
			turn = s.all[1].turn(s.T, 0)
			turn.Answer(429, nil) // 2 s, the longest
			turn.Done()
			s.turn(2, 0)
		}, []string{"3s 2"}},
	} {
		t.Run("6.1/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newTrail()
				s := scene{T: t, all: fleet(t, 3, test.limits, pace.Options{}), r: r}
				s.turn = func(who int, takes time.Duration) {
					turn := s.all[who].turn(t, 0)
					r.add("%d", who)
					sleep(takes)
					turn.Answer(200, nil)
					turn.Done()
				}
				test.play(s)
				r.check(t, test.want...)
			})
		})
	}
}

// leaseEnds is after the end of a lease.
const leaseEnds = 5 * time.Second

// A trail collects what happens when.
type trail struct {
	zero time.Time
	mu   sync.Mutex
	at   []string
}

func newTrail() *trail { return &trail{zero: time.Now()} }

func (r *trail) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, fmt.Sprintf("%v ", time.Since(r.zero))+fmt.Sprintf(format, args...))
}

func (r *trail) check(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.at, want) {
		t.Errorf("got  %q\nwant %q", r.at, want)
	}
}

// A process shows which of its hosts another process works on.
func TestFleetHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, zero := fleet(t, 2, pace.Limits{}, pace.Options{}), time.Now()
		turn := all[0].turn(t, 0)
		go all[1].Wait(t.Context(), host, 0)
		synctest.Wait()
		want := []pace.HostStatus{{Authority: host, Waiting: 1, Since: zero, Next: zero, Reason: pace.ReasonFleet}}
		if got := slices.Collect(all[1].Hosts()); !slices.Equal(got, want) {
			t.Errorf("6.1/hosts: got %+v, want %+v", got, want)
		}
		turn.Done()
	})
}

// One of eight processes gets a 429 with a Retry-After of 5 seconds, and the store dies a second
// later. Whoever waits knows the pause.
func TestFleetPauseAfterTheStoreDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, zero := fleet(t, 8, pace.Limits{Gap: 100 * ms}, pace.Options{}), time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		var s site
		var paused time.Time
		var wg sync.WaitGroup
		for who, p := range all {
			for range 2 {
				wg.Go(func() {
					for {
						turn, err := p.Wait(ctx, host, 0)
						if err != nil {
							return
						}
						s.mu.Lock()
						first := paused.IsZero() && time.Since(zero) > 2*time.Second // all wait
						if first {
							paused = time.Now()
						}
						s.mu.Unlock()
						if first {
							turn.Answer(429, http.Header{"Retry-After": {"5"}})
							time.AfterFunc(time.Second, func() {
								for _, p := range all {
									p.way.set(func(w *way) { w.down = errDown })
								}
							})
						}
						s.visit(who, turn, 5*ms)
					}
				})
			}
		}
		wg.Wait()
		after := map[int]bool{}
		for _, start := range s.starts {
			switch since := start.at.Sub(paused); {
			case since > 0 && since < 5*time.Second:
				t.Errorf("6.1/pause_after_the_store_died: process %d starts %v into the pause", start.who, since)
			case since > 0:
				after[start.who] = true
			}
		}
		if len(after) < len(all) {
			t.Errorf("6.1/pause_after_the_store_died: processes %v start after the pause, want all", slices.Collect(maps.Keys(after)))
		}
	})
}

// A fleet sends a dead host as few requests as one process does: twelve in the first hour. Each
// process remembers since when it has known of the failures.
func TestFleetOfADeadHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var mu sync.Mutex
		requests, who := 0, map[int]bool{}
		var wg sync.WaitGroup
		all := fleet(t, 4, *pace.Default(), pace.Options{})
		for i, p := range all {
			wg.Go(func() {
				for {
					turn, err := p.Wait(ctx, host, 0)
					if err != nil {
						return
					}
					mu.Lock()
					requests++
					who[i] = true
					mu.Unlock()
					time.Sleep(100 * ms)
					turn.Fail(errors.New("timeout"))
					turn.Done()
				}
			})
		}
		wg.Wait()
		if requests > 12 || len(who) < 4 {
			t.Errorf("6.1/dead_host: %d requests of %d processes, want at most 12, of 4", requests, len(who))
		}
		for i, p := range all {
			if o, _ := p.Obstacle(host, 0); o.Reason == pace.ReasonBreaker && time.Since(o.Since) < 45*time.Minute {
				t.Errorf("6.1/dead_host: process %d knows of failures for %v, want 45m or more", i, time.Since(o.Since))
			}
		}
	})
}

// While the store is away, a holder goes on to the end of its lease, and every process keeps its
// share of the limits. When it is back, one process at a time works at the host again.
func TestFleetStoreAway(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var news []string
			all := fleet(t, 4, pace.Limits{Gap: 100 * ms, Parallel: 1}, pace.Options{OnShared: func(err error) {
				mu.Lock()
				defer mu.Unlock()
				news = append(news, fmt.Sprint(err))
			}})
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			defer stop()
			zero := time.Now()
			var s site
			var wg sync.WaitGroup
			for who, p := range all {
				for range 2 {
					wg.Go(func() {
						for {
							turn, err := p.Wait(ctx, host, 0)
							if err != nil {
								return
							}
							s.visit(who, turn, 5*ms)
						}
					})
				}
			}
			store := func(down error, stuck bool) {
				for _, p := range all {
					p.way.set(func(w *way) { w.down, w.stuck = down, stuck })
				}
			}
			time.Sleep(30 * time.Second)
			store(errDown, stuck)
			time.Sleep(time.Minute)
			store(nil, false)
			wg.Wait()
			within := func(from, to time.Duration) (starts int, shortest time.Duration) {
				part := site{}
				for _, start := range s.starts {
					if at := start.at.Sub(zero); from <= at && at < to {
						part.starts = append(part.starts, start)
					}
				}
				return len(part.starts), part.shortest()
			}
			for _, part := range []struct {
				from, to time.Duration // in seconds
				starts   int
				gap      bool
			}{{0, 30, 285, true}, {40, 90, 480, false}, {135, 180, 427, true}} {
				n, shortest := within(part.from*time.Second, part.to*time.Second)
				if n < part.starts || n > int(part.to-part.from)*10+4 || part.gap && shortest < 100*ms {
					t.Errorf("6.1/away (stuck: %t): %d starts from %ds to %ds, %v apart; want %d, and 100ms: %t", stuck, n, part.from, part.to, shortest, part.starts, part.gap)
				}
			}
			lost := "each of 4 processes keeps its share of the limits: "
			if want := 4; len(news) != 2*want || news[0][:min(len(lost), len(news[0]))] != lost || news[7] != "<nil>" {
				t.Errorf("6.1/away (stuck: %t): OnShared got %q, want lost and back of each process", stuck, news)
			}
			if n := all[0].Stats(); n.Members != 4 || n.Unshared == 0 || n.Unshared > n.Turns {
				t.Errorf("6.1/away: %+v, want 4 members and some turns unshared", n)
			}
		})
	}
}

// A store that does what it should not stops nobody for long.
func TestFleetOfABadStore(t *testing.T) {
	for name, answer := range map[string]func() (pace.Lease, error){
		"panics":           func() (pace.Lease, error) { panic("oh") },
		"fails":            func() (pace.Lease, error) { return pace.Lease{}, errDown },
		"never_answers":    func() (pace.Lease, error) { time.Sleep(time.Hour); return pace.Lease{}, nil },
		"answers_late":     func() (pace.Lease, error) { time.Sleep(4700 * ms); return pace.Lease{Granted: true}, nil },
		"grants_to_all":    func() (pace.Lease, error) { return pace.Lease{Granted: true}, nil },
		"grants_and_wants": func() (pace.Lease, error) { return pace.Lease{Granted: true, Wanted: true}, nil },
		"spans_below_zero": func() (pace.Lease, error) {
			return pace.Lease{Granted: true, Ahead: -1, Age: -1 << 62, Lost: -1 << 62, State: pace.State{SinceStart: -1, Delay: -1, Pause: -1, Level: -1, Failures: -1, Rest: -1, Took: -1, Keep: -1}}, nil
		},
		"spans_of_292_years": func() (pace.Lease, error) {
			const d = 1<<63 - 1
			return pace.Lease{Granted: true, Age: d, Lost: d, State: pace.State{SinceStart: d, Delay: d, Pause: d, Level: d, Failures: math.MaxInt, Rest: d, Took: d, Keep: d, Why: "no such reason"}}, nil
		},
		"delay_of_292_years": func() (pace.Lease, error) {
			return pace.Lease{Granted: true, State: pace.State{SinceStart: 1, Delay: 1<<63 - 1}}, nil
		},
	} {
		t.Run("6.1/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := pace.New(&pace.Limits{Gap: time.Second, Parallel: 1, DelayCap: time.Second}, &pace.Options{Shared: bad{answer}})
				if err != nil {
					t.Fatal(err)
				}
				began, last := time.Now(), time.Time{}
				for range 20 {
					turn, err := p.Wait(t.Context(), host, 0)
					if err != nil || time.Since(last) < time.Second {
						t.Fatalf("Wait = %v, %v after the turn before; want a turn a second later", err, time.Since(last))
					}
					last = time.Now()
					turn.Answer(200, nil)
					turn.Done()
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("20 turns took %v, want at most a minute", took)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// bad is a store with one answer. Its other methods are no better.
type bad struct {
	answer func() (pace.Lease, error)
}

func (b bad) Lease(context.Context, pace.Claim, time.Duration) (pace.Lease, error) {
	return b.answer()
}

func (b bad) Keep(context.Context, pace.Claim, time.Duration, pace.State, bool) (pace.Lease, error) {
	return b.answer()
}

func (b bad) Return(context.Context, pace.Claim, pace.State) error {
	_, err := b.answer()
	return err
}

func (b bad) Notify(string, func(pace.Claim, pace.Lease)) func() { b.answer(); return nil }

func (b bad) Count(context.Context, string, time.Duration) (int, error) {
	_, err := b.answer()
	return -1, err
}

// A crowd is a store that fails, and counts more processes than there can be.
type crowd struct{ bad }

func (crowd) Count(context.Context, string, time.Duration) (int, error) { return math.MaxInt, nil }

// However many processes divide a limit, each keeps its part of it.
func TestFleetOfACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := pace.New(&pace.Limits{Gap: time.Second}, &pace.Options{Shared: crowd{bad{func() (pace.Lease, error) { return pace.Lease{}, errDown }}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		turns := 0
		for range 10 {
			if turn, err := p.Wait(ctx, host, 0); err == nil {
				turns++
				turn.Done()
			}
		}
		if turns > 1 {
			t.Errorf("6.1/crowd: %d turns in a minute, want at most one", turns)
		}
		stop()
		time.Sleep(2 * time.Hour)
	})
}

// A store that grants leases and keeps none is not called in a loop, even with news to tell.
func TestFleetOfAStoreThatKeepsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fleet(t, 1, pace.Limits{}, pace.Options{})[0]
		p.way.Store, p.way.there = keepsNothing{p.way.Store}, ms
		turn := p.turn(t, 0)
		turn.Answer(429, http.Header{"Retry-After": {"60"}})
		time.Sleep(10 * time.Second)
		turn.Done()
		if calls := p.way.count(); calls > 20 {
			t.Errorf("6.1/keeps_nothing: %d calls in ten seconds, want at most 20", calls)
		}
	})
}

type keepsNothing struct{ pace.Store }

func (keepsNothing) Keep(context.Context, pace.Claim, time.Duration, pace.State, bool) (pace.Lease, error) {
	return pace.Lease{}, nil
}

// A wait that is known to end too late is refused at once, and never waits for the store.
func TestFleetRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := fleet(t, 6, pace.Limits{MaxWait: 2500 * ms, Parallel: 1}, pace.Options{})
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		for _, p := range all[:5] {
			for range 2 {
				go func() {
					for ctx.Err() == nil {
						if turn, err := p.Follow(ctx, host, 0); err == nil {
							sleep(10 * ms)
							turn.Done()
						}
					}
				}()
			}
			time.Sleep(ms)
		}
		refused := func(name string, at time.Duration, after time.Duration) {
			t.Helper()
			zero := time.Now()
			_, err := all[5].Wait(ctx, host, 0)
			var e *pace.RefusedError
			if !errors.As(err, &e) || e.Reason != pace.ReasonFleet || time.Since(zero) > after || e.RetryAt.Sub(zero).Round(100*ms) != at {
				t.Errorf("6.1/%s: %v after %v; want refused for the fleet within %v, until %v", name, err, time.Since(zero), after, at)
			}
		}
		all[5].way.set(func(w *way) { w.there = 100 * ms })
		refused("refused_when_the_queue_is_known", 4200*ms, 200*ms)
		refused("refused_at_once", 4000*ms, 0)
		stop()
		time.Sleep(20 * time.Second)

		// A caller with 100 milliseconds does not wait for a store that takes a second.
		all[5].way.set(func(w *way) { w.there = 500 * ms })
		short, end := context.WithTimeout(t.Context(), 100*ms)
		defer end()
		zero := time.Now()
		if _, err := all[5].Wait(short, host, 0); err != context.DeadlineExceeded || time.Since(zero) != 100*ms {
			t.Errorf("6.1/deadline: %v after %v; want the deadline after 100ms", err, time.Since(zero))
		}
		time.Sleep(time.Minute)
	})
}

// Scopes that are divided need no lease: each process keeps its part.
func TestFleetDivide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := pace.Scope{Key: "all", Limits: pace.Limits{Gap: 100 * ms, Parallel: 4}, Divide: true}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var s site
		var wg sync.WaitGroup
		processes := fleet(t, 4, pace.Limits{}, pace.Options{})
		for who, p := range processes {
			for i := range 3 {
				wg.Go(func() {
					for {
						turn, err := p.Wait(ctx, fmt.Sprint(who, i), 0, all)
						if err != nil {
							return
						}
						s.visit(who, turn, 700*ms)
					}
				})
			}
		}
		wg.Wait()
		if n := len(s.starts); n < 300 || n > 355 || s.most > 4+3 { // the first turns come before the count
			t.Errorf("6.1/divide: %d starts in a minute, %d in flight; want 4 in flight, of 700ms each", n, s.most)
		}
		for key := range processes[0].way.calls {
			if key == "all" {
				t.Error("6.1/divide: the scope is leased")
			}
		}
	})
}

// Scopes cost a fleet little speed: four processes crawl ten hosts, each in one of two domains, and
// all in one scope.
func TestFleetNestedScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		defer stop()
		var s site
		var wg sync.WaitGroup
		for who, p := range fleet(t, 4, pace.Limits{Parallel: 1}, pace.Options{}) {
			p.way.there = 5 * ms
			for i := range 10 {
				scopes := []pace.Scope{
					{Key: "domain" + strconv.Itoa(i%2), Limits: pace.Limits{Gap: 20 * ms, Parallel: 4}},
					{Key: "all", Limits: pace.Limits{Parallel: 4}},
				}
				wg.Go(func() {
					for {
						turn, err := p.Wait(ctx, "host"+strconv.Itoa(i), 0, scopes...)
						if err != nil {
							return
						}
						s.visit(who, turn, 100*ms)
					}
				})
			}
		}
		wg.Wait()
		share, who := float64(len(s.starts))/40/300, map[int]int{}
		for _, start := range s.starts {
			who[start.who]++
		}
		t.Logf("%.1f %%, by process %v", 100*share, who)
		if share < .8 || share > 1.01 || len(who) < 4 {
			t.Errorf("6.1/nested_scopes: %.1f %% of what the limits permit, by process %v; want 80 %%, of four", 100*share, who)
		}
	})
}

// A scopeFleet is what the sites of a fleet see, by authority and by Key.
type scopeFleet struct {
	t      *testing.T
	limits map[string]pace.Limits
	mu     sync.Mutex
	flying map[string]int
	last   map[string]time.Time
	waits  []time.Duration
}

func (f *scopeFleet) visit(places []string, turn pace.Turn, waited, takes time.Duration) {
	f.mu.Lock()
	f.waits = append(f.waits, waited)
	for _, at := range places {
		l := f.limits[at]
		if apart := time.Since(f.last[at]); apart < l.Gap {
			f.t.Errorf("%s: two starts %v apart, want %v", at, apart, l.Gap)
		}
		f.last[at] = time.Now()
		if f.flying[at]++; l.Parallel > 0 && f.flying[at] > l.Parallel {
			f.t.Errorf("%s: %d in flight, want %d", at, f.flying[at], l.Parallel)
		}
	}
	f.mu.Unlock()
	sleep(takes)
	f.mu.Lock()
	for _, at := range places {
		f.flying[at]--
	}
	f.mu.Unlock()
	turn.Done()
}

// Random requests of four processes with random scopes: no limit is broken, and everybody gets a
// turn. In half of the fleets each request lists its scopes in another order, so that processes
// may wait in a circle until one of them loses patience.
func TestFleetScopeModel(t *testing.T) {
	for seed := range uint64(12) {
		t.Run("6.1/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 9309))
				f := &scopeFleet{t: t, limits: map[string]pace.Limits{}, flying: map[string]int{}, last: map[string]time.Time{}}
				own := pace.Limits{Gap: 10 * ms, Parallel: 2}
				var scopes []pace.Scope
				for i := range 8 {
					f.limits["host"+strconv.Itoa(i)] = own
				}
				for i := range 4 {
					s := pace.Scope{Key: "scope" + strconv.Itoa(i), Limits: pace.Limits{Gap: time.Duration(rng.IntN(2)) * 20 * ms, Parallel: 1 + rng.IntN(3)}}
					f.limits[s.Key] = s.Limits
					scopes = append(scopes, s)
				}
				var wg sync.WaitGroup
				for _, p := range fleet(t, 4, own, pace.Options{}) {
					p.way.there = time.Duration(rng.IntN(10)) * ms
					for range 10 {
						rng := rand.New(rand.NewPCG(rng.Uint64(), 1))
						wg.Go(func() {
							for range 10 {
								named, places := slices.Clone(scopes), []string{"host" + strconv.Itoa(rng.IntN(8))}
								for len(named) > 0 && rng.IntN(3) > 0 {
									i := rng.IntN(len(named))
									named = slices.Delete(named, i, i+1)
								}
								if seed%2 == 1 {
									rng.Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
								}
								for _, s := range named {
									places = append(places, s.Key)
								}
								came := time.Now()
								turn, err := p.Wait(t.Context(), places[0], 0, named...)
								if err != nil {
									t.Error(err)
									return
								}
								f.visit(places, turn, time.Since(came), time.Duration(1+rng.IntN(40))*ms)
							}
						})
					}
				}
				wg.Wait()
				slices.Sort(f.waits)
				t.Logf("median wait %v, longest %v", f.waits[len(f.waits)/2], f.waits[len(f.waits)-1])
				if longest := f.waits[len(f.waits)-1]; longest > 3*time.Minute {
					t.Errorf("the longest wait is %v, want at most three minutes", longest)
				}
			})
		})
	}
}
