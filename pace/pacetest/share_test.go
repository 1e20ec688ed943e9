package pacetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/pace"
)

// A distant store is some way off: each call and each message takes the delay and a random
// part of the jitter on each way, and none overtakes another.
type distant struct {
	pace.Store
	delay, jitter time.Duration
	down          atomic.Bool // all calls fail

	mu          sync.Mutex
	rng         *rand.Rand
	there, back time.Time // arrival of the latest call, of the latest answer or message
}

var errDown = errors.New("down")

// travel returns when what is sent now has arrived.
func (d *distant) travel(latest *time.Time) {
	d.mu.Lock()
	arrival := time.Now().Add(d.delay + time.Duration(d.rng.Int64N(int64(d.jitter)+1)))
	if arrival.Before(*latest) {
		arrival = *latest
	}
	*latest = arrival
	d.mu.Unlock()
	time.Sleep(time.Until(arrival))
}

func (d *distant) Reserve(ctx context.Context, authority string, r pace.Reservation) (pace.Grant, error) {
	d.travel(&d.there)
	defer d.travel(&d.back)
	if d.down.Load() {
		return pace.Grant{}, errDown
	}
	return d.Store.Reserve(ctx, authority, r)
}

func (d *distant) Hold(ctx context.Context, authority string, h pace.Holding) (pace.Condition, error) {
	d.travel(&d.there)
	defer d.travel(&d.back)
	if d.down.Load() {
		return pace.Condition{}, errDown
	}
	return d.Store.Hold(ctx, authority, h)
}

func (d *distant) Report(ctx context.Context, authority string, r pace.Report) (pace.Condition, error) {
	d.travel(&d.there)
	defer d.travel(&d.back)
	if d.down.Load() {
		return pace.Condition{}, errDown
	}
	return d.Store.Report(ctx, authority, r)
}

func (d *distant) Watch(ticket string, wake func(pace.Grant)) (stop func()) {
	return d.Store.Watch(ticket, func(g pace.Grant) {
		go func() {
			d.travel(&d.back)
			wake(g)
		}()
	})
}

// A fleet is eight processes with eight callers each, at one site.
type fleet struct {
	parallel int
	gap      time.Duration
	takes    time.Duration // time of each request; 0: 50 to 350 ms
	away     time.Duration // of the store, each way

	mu       sync.Mutex
	rng      *rand.Rand
	turns    []int // of each process
	flying   int
	last     time.Time
	shortest time.Duration // between two starts
}

// visit is one request.
func (f *fleet) visit(t *testing.T, process int, turn pace.Turn) {
	f.mu.Lock()
	f.turns[process]++
	if f.flying++; f.flying > f.parallel {
		t.Errorf("6: %d requests in flight, want at most %d", f.flying, f.parallel)
	}
	f.shortest = min(f.shortest, time.Since(f.last))
	f.last = time.Now()
	took := f.takes + time.Duration(f.rng.Int64N(int64(time.Millisecond)))
	if f.takes == 0 {
		took = 50*time.Millisecond + time.Duration(f.rng.Int64N(int64(300*time.Millisecond)))
	}
	f.mu.Unlock()
	turn.Sent()
	time.Sleep(took)
	f.mu.Lock()
	f.flying--
	f.mu.Unlock()
	turn.Done()
}

// run returns the share of the permitted rate in a span.
func (f *fleet) run(t *testing.T, span time.Duration) float64 {
	f.rng, f.turns, f.shortest = rand.New(rand.NewPCG(9309, 6)), make([]int, 8), time.Hour
	store := newReference()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var all sync.WaitGroup
	for i := range f.turns {
		p, err := pace.New(pace.Limits{Gap: f.gap, Parallel: f.parallel}, &pace.Options{
			Shared: &distant{Store: store, delay: f.away, jitter: f.away / 2, rng: rand.New(rand.NewPCG(9309, uint64(i)))},
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			all.Go(func() {
				for {
					turn, err := p.Wait(ctx, "https://example.com", 0)
					if err != nil {
						return
					}
					f.visit(t, i, turn)
				}
			})
		}
	}
	all.Wait()
	time.Sleep(10 * time.Second) // calls under way end
	starts := 0
	for _, n := range f.turns {
		starts += n
	}
	takes := f.takes
	if takes == 0 {
		takes = 200 * time.Millisecond
	}
	return float64(starts) / span.Seconds() * max(takes.Seconds()/float64(f.parallel), f.gap.Seconds())
}

// Eight processes get nearly all that their limits permit, with the store near and far,
// and each gets its part. Random times cost more if the gap and the places permit the
// same rate, since time lost to one of them cannot be made up for.
func TestShare(t *testing.T) {
	const ms = time.Millisecond
	for _, away := range []time.Duration{0, 10 * ms} {
		for _, gap := range []time.Duration{0, 50 * ms} {
			for _, parallel := range []int{1, 2, 4} {
				for _, takes := range []time.Duration{20 * ms, 200 * ms, 0} {
					t.Run(fmt.Sprintf("6/parallel_%d_takes_%v_gap_%v_store_%v", parallel, takes, gap, 2*away), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							f := &fleet{parallel: parallel, gap: gap, takes: takes, away: away}
							share, want := f.run(t, 20*time.Second), 0.93
							if takes == 0 && gap > 0 {
								want = map[int]float64{1: 0.9, 2: 0.82, 4: 0.75}[parallel]
							}
							t.Logf("%.0f %%, by process %v; shortest gap %v", 100*share, f.turns, f.shortest)
							if share < want {
								t.Errorf("share of the permitted rate %.2f, want %.2f", share, want)
							}
							if few, many := slices.Min(f.turns), slices.Max(f.turns); few < many/4 {
								t.Errorf("turns by process %v, want about the same for all", f.turns)
							}
							if f.shortest < gap-away/2 {
								t.Errorf("two starts %v apart, want %v", f.shortest, gap)
							}
						})
					})
				}
			}
		}
	}
}
