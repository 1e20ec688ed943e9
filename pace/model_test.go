package pace

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A visit is one turn as its caller saw it.
type visit struct {
	came, started time.Time
	delay         time.Duration
}

// A crowd is many callers at one authority that come, leave, are slow and are
// turned away at random. It does not know how turns are given, and compares each turn
// with the promises alone.
type crowd struct {
	t      *testing.T
	p      *Pacer
	limits Limits

	mu     sync.Mutex
	rng    *rand.Rand
	visits []visit
	flying int
	until  time.Time // a pause that must hold
	paused time.Time // when it was set
}

func (c *crowd) n(n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Int64N(n)
}

// caller makes one visit, or fails to.
func (c *crowd) caller() {
	time.Sleep(time.Duration(c.n(60_000_000_000)))
	delay := time.Duration(c.n(3)) * time.Second
	patience := time.Duration(1 + c.n(60_000_000_000))
	ctx, cancel := context.WithCancel(context.Background())
	if c.n(2) == 0 {
		ctx, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	if c.n(4) == 0 {
		time.AfterFunc(patience/2, cancel)
	}
	came := time.Now()
	turn, err := c.p.Wait(ctx, host1, delay)
	if took := time.Since(came); took > c.limits.MaxWait {
		c.t.Errorf("waited %v, want at most %v", took, c.limits.MaxWait)
	}
	if err != nil {
		if !errors.As(err, new(*RefusedError)) && err != ctx.Err() {
			c.t.Errorf("Wait = %v; want a RefusedError or the context's %v", err, ctx.Err())
		}
		return
	}
	c.arrive(visit{came, time.Now(), delay})
	c.answer(turn)
}

// arrive is the server's side of a start.
func (c *crowd) arrive(v visit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.visits = append(c.visits, v)
	c.flying++
	if c.flying > c.limits.Parallel {
		c.t.Errorf("%d requests in flight, want at most %d", c.flying, c.limits.Parallel)
	}
	if v.started.After(c.paused) && v.started.Before(c.until) {
		c.t.Errorf("a start %v before the pause ends", c.until.Sub(v.started))
	}
}

func (c *crowd) answer(turn Turn) {
	time.Sleep(time.Duration(c.n(3_000_000_000)))
	if c.n(12) == 0 {
		after := c.n(9)
		c.mu.Lock()
		if until := time.Now().Add(time.Duration(after) * time.Second); until.After(c.until) {
			c.paused, c.until = time.Now(), until
		}
		c.mu.Unlock()
		turn.Answer(429, http.Header{"Retry-After": {strconv.FormatInt(after, 10)}})
	} else {
		turn.Answer(200, nil)
	}
	time.Sleep(time.Duration(c.n(1_000_000_000)))
	c.mu.Lock()
	c.flying--
	c.mu.Unlock()
	turn.Done()
}

// judge looks at all visits together: gaps, order, and that nothing is left.
func (c *crowd) judge() {
	slices.SortFunc(c.visits, func(a, b visit) int {
		return cmp.Or(a.started.Compare(b.started), a.came.Compare(b.came))
	})
	for i := 1; i < len(c.visits); i++ {
		a, b := c.visits[i-1], c.visits[i]
		if got, want := b.started.Sub(a.started), max(c.limits.Gap, a.delay, b.delay); got < want {
			c.t.Errorf("visits %d and %d start %v apart, want at least %v", i-1, i, got, want)
		}
		if b.came.Before(a.came) {
			c.t.Errorf("visit %d came %v before visit %d and started after it", i, a.came.Sub(b.came), i-1)
		}
	}
	h := c.p.hosts.byName[host1]
	if s := c.p.Stats(); s.Waiting != 0 || s.InFlight != 0 || h.busy() || h.line.gaps != 0 || int(s.Turns) != len(c.visits) {
		c.t.Errorf("after all have left: %+v, gaps of %v; want nothing waiting, nothing in flight, %d turns", s, h.line.gaps, len(c.visits))
	}
}

// TestCrowd checks every promise of Wait with random crowds.
func TestCrowd(t *testing.T) {
	for seed := range uint64(30) {
		t.Run("house/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 9309))
				l := Limits{
					Gap:      time.Duration(rng.IntN(2)) * 700 * ms,
					Delay:    Honour,
					Parallel: 1 + rng.IntN(4),
					MaxWait:  time.Duration(5+rng.IntN(60)) * time.Second,
				}
				c := &crowd{t: t, p: pacer(t, l, nil), limits: l, rng: rng}
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(c.caller)
				}
				wg.Wait()
				if len(c.visits) < 5 {
					t.Errorf("%+v: only %d visits; want a crowd", l, len(c.visits))
				}
				c.judge()
			})
		})
	}
}
