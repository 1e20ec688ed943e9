package pacetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/pace"
)

const ms = time.Millisecond

// A crowd is the callers of some processes that share a store. Each asks again and again
// for a random host and random scopes in random order. The crowd compares each turn with
// the limits alone.
type crowd struct {
	t      *testing.T
	limits map[string]pace.Limits // by authority and Key
	late   time.Duration          // a start may be so much late, and the next on time

	mu     sync.Mutex
	rng    *rand.Rand
	flying map[string]int
	last   map[string]time.Time
	waits  []time.Duration
}

func newCrowd(t *testing.T, seed uint64) *crowd {
	return &crowd{t: t, limits: map[string]pace.Limits{}, rng: rand.New(rand.NewPCG(seed, 9309)), flying: map[string]int{}, last: map[string]time.Time{}}
}

// fleetOf returns the Pacers of n processes.
func fleetOf(t *testing.T, n int, l pace.Limits, store func() pace.Store) (all []*pace.Pacer) {
	for range n {
		p, err := pace.New(l, &pace.Options{Shared: store(), OnShared: func(err error) { t.Errorf("OnShared(%v), want no call", err) }})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// start is a start in each of the places, and its end when done is called.
func (c *crowd) start(places []string, waited time.Duration) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, waited)
	for _, at := range places {
		l := c.limits[at]
		if apart := time.Since(c.last[at]); apart < l.Gap-c.late {
			c.t.Errorf("6: %s: two starts %v apart, want at least %v", at, apart, l.Gap)
		}
		c.last[at] = time.Now()
		c.flying[at]++
		if l.Parallel > 0 && c.flying[at] > l.Parallel {
			c.t.Errorf("6: %s: %d requests in flight, want at most %d", at, c.flying[at], l.Parallel)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, at := range places {
			c.flying[at]--
		}
	}
}

// draw returns the scopes of the next request, how long it takes, and how long it waits
// at most, 0 for as long as need be.
func (c *crowd) draw(hosts int) (places []string, takes, leaves time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	places = append(places, "host"+strconv.Itoa(c.rng.IntN(hosts)))
	for key := range c.limits {
		if key[0] == 's' {
			places = append(places, key)
		}
	}
	slices.Sort(places[1:])
	c.rng.Shuffle(len(places)-1, func(i, j int) { places[i+1], places[j+1] = places[j+1], places[i+1] })
	n := 2 + c.rng.IntN(3)
	if c.rng.IntN(20) == 0 {
		n += 2
	}
	places = places[:n]
	if c.rng.IntN(10) == 0 {
		leaves = time.Duration(1+c.rng.IntN(1000)) * ms
	}
	return places, time.Duration(1+c.rng.IntN(40)) * ms, leaves
}

// scopes are the scopes of the places after the first.
func (c *crowd) scopes(places []string) (all []pace.Scope) {
	for _, key := range places[1:] {
		all = append(all, pace.Scope{Key: key, Limits: c.limits[key]})
	}
	return all
}

// visit is one request at the first of the places.
func (c *crowd) visit(ctx context.Context, p *pace.Pacer, places []string, takes time.Duration) error {
	came := time.Now()
	turn, err := p.Wait(ctx, places[0], 0, c.scopes(places)...)
	if err != nil {
		return err
	}
	done := c.start(places, time.Since(came))
	turn.Sent()
	time.Sleep(takes)
	done()
	turn.Done()
	return nil
}

func (c *crowd) work(p *pace.Pacer, hosts, requests int) {
	for range requests {
		places, takes, leaves := c.draw(hosts)
		ctx, cancel := context.Background(), func() {}
		if leaves > 0 {
			ctx, cancel = context.WithTimeout(ctx, leaves)
		}
		err := c.visit(ctx, p, places, takes)
		cancel()
		if err != nil && !(leaves > 0 && (err == context.DeadlineExceeded || errors.As(err, new(*pace.RefusedError)))) {
			c.t.Errorf("Wait = %v; want a turn", err)
			return
		}
	}
}

// Random requests of a fleet with random scopes: no limit is broken, everybody gets a
// turn, and nobody waits much longer than the others. The store is near and up to
// 12 ms away.
func TestScopeModel(t *testing.T) {
	for seed := range uint64(30) {
		t.Run("6/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(t, seed)
				away := time.Duration(seed%5) * ms
				// The first answer of a process comes at most a journey late, and the process of
				// the next start takes the store's clock to be ahead by at most half of the jitter.
				c.late = away + away/2 + away/4
				const hosts = 12
				for i := range hosts {
					c.limits["host"+strconv.Itoa(i)] = pace.Limits{Gap: 10 * ms, Parallel: 2}
				}
				for i := range 6 {
					l := pace.Limits{Gap: time.Duration(c.rng.IntN(2)) * 20 * ms, Parallel: c.rng.IntN(3)}
					if l.Gap == 0 && l.Parallel == 0 {
						l.Parallel = 1
					}
					c.limits["s"+strconv.Itoa(i)] = l
				}
				store := newReference()
				n := 2 + int(seed%3)
				fleet := fleetOf(t, n, pace.Limits{Gap: 10 * ms, Parallel: 2}, func() pace.Store {
					return &distant{Store: store, delay: away, jitter: away / 2, rng: rand.New(rand.NewPCG(seed, 6))}
				})
				var wg sync.WaitGroup
				for i := range 60 {
					wg.Go(func() { c.work(fleet[i%n], hosts, 30) })
				}
				wg.Wait()
				slices.Sort(c.waits)
				median, longest := c.waits[len(c.waits)/2], c.waits[len(c.waits)-1]
				t.Logf("%d processes, %d turns, waits: median %v, longest %v", n, len(c.waits), median, longest)
				// Random requests meet in random scopes, so there is no bound for the longest wait but that a
				// request is not overtaken without end: of 1800 one waits about twice as long as the median.
				if longest > 6*median {
					t.Errorf("longest wait %v, median %v; want about twice the median", longest, median)
				}
				time.Sleep(time.Minute)
				store.atRest(t)
			})
		})
	}
}

// atRest checks that no ticket is left.
func (r *reference) atRest(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.sites {
		if s := r.site(name); len(s.tickets) > 0 || s.kept.ticket != "" {
			t.Errorf("%s: %d tickets, kept for %q; want none", name, len(s.tickets), s.kept.ticket)
		}
	}
}

// called returns the number of calls of Reserve and Hold.
func (r *reference) called() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// A mortal is the store as a process sees it until the process is killed.
type mortal struct {
	pace.Store
	dead atomic.Bool
}

func (m *mortal) Reserve(ctx context.Context, authority string, r pace.Reservation) (g pace.Grant, err error) {
	if m.dead.Load() {
		return g, errDown
	}
	return m.Store.Reserve(ctx, authority, r)
}

func (m *mortal) Hold(ctx context.Context, authority string, h pace.Holding) (c pace.Condition, err error) {
	if m.dead.Load() {
		return c, errDown
	}
	return m.Store.Hold(ctx, authority, h)
}

// A process that is killed frees its places, and what it has kept free in the queues of
// scopes, after some seconds. No limit is broken.
func TestScopesOfAKilledProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, store := newCrowd(t, 1), newReference()
		c.limits = map[string]pace.Limits{
			"s0": {Gap: 20 * ms}, "s1": {Parallel: 2}, "s2": {Gap: 20 * ms, Parallel: 1}, "s3": {Parallel: 1}, "s4": {Gap: 40 * ms}, "s5": {Parallel: 3},
		}
		victim := &mortal{Store: store}
		fleet := fleetOf(t, 2, pace.Limits{}, func() pace.Store { return store })
		doomed, err := pace.New(pace.Limits{}, &pace.Options{Shared: victim})
		if err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancel(context.Background())
		for range 20 {
			go func() {
				for ctx.Err() == nil {
					places, _, _ := c.draw(12)
					if _, err := doomed.Wait(ctx, places[0], 0, c.scopes(places)...); err == nil {
						time.Sleep(100 * ms) // its places stay taken
					}
				}
			}()
		}
		time.Sleep(2 * time.Second)
		victim.dead.Store(true)
		kill()
		time.Sleep(8 * time.Second)
		zero := time.Now()
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() { c.work(fleet[i%2], 12, 10) })
		}
		wg.Wait()
		t.Logf("took %v", time.Since(zero))
		if took := time.Since(zero); took > 20*time.Second {
			t.Errorf("400 requests took %v after a process was killed; want what the limits permit, about 10s", took)
		}
		time.Sleep(time.Minute)
		store.atRest(t)
	})
}

// boundTests are scopes that bound the rate, and what they permit in a second.
var boundTests = []struct {
	name      string
	scopes    func(host int) []pace.Scope
	permitted float64
}{
	{"gap_of_all", func(int) []pace.Scope { return []pace.Scope{{Key: "all", Limits: pace.Limits{Gap: 25 * ms}}} }, 40},
	{"parallel_of_all", func(int) []pace.Scope { return []pace.Scope{{Key: "all", Limits: pace.Limits{Parallel: 8}}} }, 80},
	{"one_at_a_time", func(int) []pace.Scope { return []pace.Scope{{Key: "all", Limits: pace.Limits{Parallel: 1}}} }, 10},
	{"gap_of_domains", func(host int) []pace.Scope {
		return []pace.Scope{{Key: fmt.Sprint("domain", host%10), Limits: pace.Limits{Gap: 500 * ms}}, {Key: "all", Limits: pace.Limits{Parallel: 8}}}
	}, 20},
	{"all_first", func(host int) []pace.Scope {
		return []pace.Scope{{Key: "all", Limits: pace.Limits{Parallel: 8}}, {Key: fmt.Sprint("domain", host%10), Limits: pace.Limits{Gap: 500 * ms}}}
	}, 20},
	{"all_and_domains", func(host int) []pace.Scope {
		return []pace.Scope{{Key: fmt.Sprint("domain", host%10), Limits: pace.Limits{Gap: 200 * ms}}, {Key: "all", Limits: pace.Limits{Gap: 25 * ms}}}
	}, 40},
	{"all_and_domains_all_first", func(host int) []pace.Scope {
		return []pace.Scope{{Key: "all", Limits: pace.Limits{Gap: 25 * ms}}, {Key: fmt.Sprint("domain", host%10), Limits: pace.Limits{Gap: 200 * ms}}}
	}, 40},
}

// A fleet gets the rate that its scopes permit.
func TestScopeShare(t *testing.T) {
	for _, test := range boundTests {
		for _, away := range []time.Duration{0, ms, 10 * ms} {
			t.Run(fmt.Sprintf("6/%s_store_%v", test.name, 2*away), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, i := newReference(), uint64(0)
					fleet := fleetOf(t, 4, pace.Limits{Gap: 10 * ms, Parallel: 1}, func() pace.Store {
						i++
						return &distant{Store: store, delay: away, jitter: away / 10, rng: rand.New(rand.NewPCG(9309, i))}
					})
					const span = 20 * time.Second
					ctx, cancel := context.WithTimeout(t.Context(), span)
					defer cancel()
					var wg sync.WaitGroup
					var starts atomic.Int64
					for caller := range 200 {
						wg.Go(func() {
							for host := caller / 4; ; {
								turn, err := fleet[caller%4].Wait(ctx, fmt.Sprint("host", host), 0, test.scopes(host)...)
								if err != nil {
									return
								}
								starts.Add(1)
								turn.Sent()
								time.Sleep(100 * ms)
								turn.Done()
							}
						})
					}
					wg.Wait()
					rate := float64(starts.Load()) / span.Seconds()
					t.Logf("%.1f of %.1f requests a second, %.0f %%; %.1f calls each", rate, test.permitted, 100*rate/test.permitted, float64(store.called())/float64(starts.Load()))
					if want := 0.9 * test.permitted; rate < want && away < 10*ms {
						t.Errorf("%.1f requests a second, want %.1f", rate, want)
					}
					time.Sleep(time.Minute)
				})
			})
		}
	}
}

// A domain with a long gap does not keep a crawl from visiting others.
func TestSlowScopeStopsNobody(t *testing.T) {
	all, slow := pace.Scope{Key: "all", Limits: pace.Limits{Gap: 10 * ms}}, pace.Scope{Key: "slow", Limits: pace.Limits{Gap: time.Second}}
	for name, scopes := range map[string][]pace.Scope{"all_first": {all, slow}, "slow_first": {slow, all}} {
		t.Run("6/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newReference()
				fleet := fleetOf(t, 2, pace.Limits{}, func() pace.Store { return store })
				const span = 20 * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), span)
				defer cancel()
				var wg sync.WaitGroup
				var slows, others atomic.Int64
				work := func(p *pace.Pacer, host string, n *atomic.Int64, scopes ...pace.Scope) {
					wg.Go(func() {
						for {
							turn, err := p.Wait(ctx, host, 0, scopes...)
							if err != nil {
								return
							}
							n.Add(1)
							turn.Sent()
							time.Sleep(20 * ms)
							turn.Done()
						}
					})
				}
				for i := range 100 {
					work(fleet[i%2], fmt.Sprint("slow", i), &slows, scopes...)
					work(fleet[i%2], fmt.Sprint("other", i), &others, all)
				}
				wg.Wait()
				t.Logf("%d of the slow domain, %d others, %d calls", slows.Load(), others.Load(), store.called())
				if n := slows.Load(); n < 18 {
					t.Errorf("%d requests of a domain with a gap of 1s in %v; want 18 at least", n, span)
				}
				if n := slows.Load() + others.Load(); n < 1800 {
					t.Errorf("%d requests with a gap of 10ms in %v; want 1800 at least", n, span)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// A request whose host rests does not use the start that it was granted before. The scope has had other starts since.
func TestScopeStartAfterARest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &distant{Store: newReference(), delay: 5 * ms, rng: rand.New(rand.NewPCG(9309, 6))}
		fleet := fleetOf(t, 2, pace.Limits{Failures: 1, Rest: 200 * ms}, func() pace.Store { return store })
		c := newCrowd(t, 1)
		c.limits["scope"], c.late = pace.Limits{Gap: 100 * ms}, 5*ms
		visit := func(p *pace.Pacer, host string) { c.visit(t.Context(), p, []string{host, "scope"}, 0) }
		turn, err := fleet[0].Wait(t.Context(), "host", 0, c.scopes([]string{"host", "scope"})...)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { visit(fleet[0], "host") })
		time.Sleep(108 * ms) // the store has granted it the next start
		turn.Fail("timeout")
		for range 5 {
			visit(fleet[1], "other")
		}
		wg.Wait()
		turn.Done()
		if len(c.waits) != 6 {
			t.Errorf("%d turns, want 6", len(c.waits))
		}
		time.Sleep(time.Minute)
	})
}
