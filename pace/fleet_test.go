package pace

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A ledger is a shared store in memory without a queue: the answer to a ticket that
// cannot start says when it might. An answer may come some time after the decision,
// or not at all.
type ledger struct {
	mu            sync.Mutex
	delays        []time.Duration // of the next answers; then none
	down          error
	last, until   time.Time
	prior         time.Time // last, if the latest start is given back
	latest        string
	unsent        bool // latest has not been sent
	gap, level    time.Duration
	flying        map[string]time.Time
	watched       map[string]func(Grant)
	lost          bool // no watcher is called
	members       map[string]bool
	held, reserve int // calls of Hold, of Reserve
}

var (
	errDown = errors.New("down")
	epoch   = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC) // long before the processes' own
)

// decide runs f and returns when its answer has come.
func (s *ledger) decide(ctx context.Context, f func(now time.Time)) error {
	s.mu.Lock()
	var delay time.Duration
	if len(s.delays) > 0 {
		delay, s.delays = s.delays[0], s.delays[1:]
	}
	down := s.down
	s.mu.Unlock()
	// The decision is in the middle, as on a way of equal length there and back. A
	// negative delay is on the way back alone.
	ways := []time.Duration{delay / 2, delay / 2}
	if delay < 0 {
		ways = []time.Duration{0, -delay}
	}
	for i, way := range ways {
		if err := travel(ctx, way); err != nil {
			return err
		}
		if i == 0 && down == nil {
			s.mu.Lock()
			f(time.Now())
			s.mu.Unlock()
		}
	}
	return down
}

// travel waits for d, or until ctx ends. It sets no timer that is due at once: in a bubble
// the goroutine that sets such a timer also runs it, and as of Go 1.26 the race detector
// crashes if another goroutine of the bubble runs a timer at that moment.
func travel(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *ledger) Reserve(ctx context.Context, _ string, r Reservation) (g Grant, err error) {
	err = s.decide(ctx, func(now time.Time) {
		s.reserve++
		g.Condition = s.condition(now)
		for name, end := range s.flying {
			if !end.After(now) {
				delete(s.flying, name)
			}
		}
		_, held := s.flying[r.Ticket]
		due := s.last.Add(max(r.Gap, s.gap))
		known := s.latest == r.Ticket && !s.last.Before(epoch.Add(r.After)) // the start that it asks for
		if s.unsent && max(r.Gap, s.gap) > 0 && !known && now.Before(s.last.Add(time.Second)) {
			due = due.Add(time.Second)
		}
		due = slices.MaxFunc([]time.Time{due, s.until, now, epoch.Add(r.After)}, time.Time.Compare)
		switch {
		case !held && r.Parallel > 0 && len(s.flying) >= r.Parallel:
			due = slices.MaxFunc([]time.Time{due, now.Add(500 * ms)}, time.Time.Compare)
		case due.Sub(now) <= r.Ahead:
			g.Granted = true
			s.prior, s.last, s.latest, s.gap, s.unsent = s.last, due, r.Ticket, r.Gap, r.Parallel != 1
			s.flying[r.Ticket] = due.Add(r.Life)
		default:
			due = due.Add(-r.Ahead)
		}
		g.Start = due.Sub(epoch)
	})
	return g, err
}

func (s *ledger) Hold(ctx context.Context, _ string, h Holding) (c Condition, err error) {
	ticket, life, started := h.Ticket, h.Life, h.Started
	err = s.decide(ctx, func(now time.Time) {
		s.held++
		c = s.condition(now)
		if _, ok := s.flying[ticket]; !ok {
			return
		}
		s.flying[ticket] = now.Add(life)
		if start := epoch.Add(started); start.After(s.last) {
			s.last = start
		}
		news := s.unsent && s.latest == ticket && (started > 0 || life == 0)
		if news {
			s.unsent = false
		}
		if news && started == 0 {
			s.last = s.prior
		}
		if life == 0 {
			delete(s.flying, ticket)
			news = true
		}
		for watched, wake := range s.watched {
			if news && !s.lost && watched != ticket {
				wake(Grant{Start: now.Sub(epoch), Condition: s.condition(now)})
			}
		}
	})
	return c, err
}

// condition has no failures: each process counts alone.
func (s *ledger) condition(now time.Time) Condition {
	return Condition{Clock: now.Sub(epoch), Until: s.until.Sub(epoch), Why: ReasonPause, Level: s.level}
}

func (s *ledger) Report(ctx context.Context, _ string, r Report) (c Condition, err error) {
	err = s.decide(ctx, func(now time.Time) {
		if until := now.Add(r.Wait); until.After(s.until) {
			s.until = until
		}
		if r.Level >= 0 {
			s.level = r.Level
		}
		c = s.condition(now)
	})
	return c, err
}

func (s *ledger) Watch(ticket string, wake func(Grant)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched[ticket] = wake
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watched, ticket)
	}
}

func (s *ledger) Count(_ context.Context, process string, _ time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[process] = true
	return len(s.members), s.down
}

func (s *ledger) set(down error, delays ...time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.delays = down, delays
}

// A tally is what a ledger shows of its callers at one moment.
type tally struct {
	flying        int // tickets
	held, reserve int // calls
	level         time.Duration
}

func (s *ledger) tally() tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tally{len(s.flying), s.held, s.reserve, s.level}
}

func newLedger() *ledger {
	return &ledger{flying: map[string]time.Time{}, watched: map[string]func(Grant){}, members: map[string]bool{}}
}

// fleetOf returns n pacers, as of n processes, that share a ledger.
func fleetOf(t *testing.T, n int, l Limits, o Options) ([]*Pacer, *ledger) {
	s := newLedger()
	o.Shared = s
	var all []*Pacer
	for range n {
		all = append(all, pacer(t, l, &o))
	}
	return all, s
}

// Eight processes of five callers each keep one gap between them.
func TestFleetGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _ := fleetOf(t, 8, Limits{Gap: 100 * ms}, Options{})
		zero := time.Now()
		var mu sync.Mutex
		var got, want []time.Duration
		var wg sync.WaitGroup
		for i := range 40 {
			want = append(want, time.Duration(i)*100*ms)
			wg.Go(func() {
				turn := take(t, all[i%8], host1, 0)
				mu.Lock()
				defer mu.Unlock()
				got = append(got, time.Since(zero))
				turn.Done()
			})
		}
		wg.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("starts %v, want %v", got, want)
		}
	})
}

// The larger Crawl-delay of two neighbours counts across processes, too.
func TestFleetDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _ := fleetOf(t, 2, Limits{Gap: time.Second}, Options{})
		r := newTrail()
		for i, delay := range []time.Duration{0, 5 * time.Second, 0, 0} {
			take(t, all[i%2], host1, delay).Done()
			r.add("%d", i)
		}
		r.check(t, "0s 0", "5s 1", "10s 2", "11s 3")
	})
}

// A place is not passed to a request whose Crawl-delay the store does not know.
func TestFleetDelayOfAPassedPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _ := fleetOf(t, 2, Limits{Gap: 50 * ms, Parallel: 1}, Options{})
		first := take(t, all[0], host1, 0)
		var wg sync.WaitGroup
		var starts [2]time.Time
		for i, delay := range []time.Duration{100 * ms, 0} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * ms)
				turn := take(t, all[i], host1, delay)
				starts[i] = time.Now()
				turn.Done()
			})
		}
		time.Sleep(20 * ms)
		first.Done()
		wg.Wait()
		if apart := starts[1].Sub(starts[0]).Abs(); apart < 100*ms {
			t.Errorf("6: a request with a Crawl-delay of 100ms and its neighbour start %v apart", apart)
		}
	})
}

// Requests in flight are counted together, for as long as they take, and are
// freed when they end or, if their process is killed, five seconds later.
func TestFleetParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Parallel: 1}, Options{})
		turn := take(t, all[0], host1, 0)
		zero := time.Now()
		const held = 10*time.Minute + 123*ms
		time.AfterFunc(held, turn.Done)
		other := take(t, all[1], host1, 0)
		if got := time.Since(zero); got != held {
			t.Errorf("the other process started after %v, want at the end of the request in flight, %v", got, held)
		}
		if held := s.tally().held; held < 50 {
			t.Errorf("renewed %d times in 10 minutes, want once in 10 seconds", held)
		}
		// A process that is killed renews no more.
		other.flight.ticket.renew.Stop()
		zero = time.Now()
		take(t, all[0], host1, 0).Done()
		if got := time.Since(zero); got < placeLife || got > placeLife+500*ms {
			t.Errorf("the place of a killed process was free after %v, want %v", got, placeLife)
		}
	})
}

// A 429 to one process pauses all processes and their waiters. The next pause is twice
// as long, whichever process gets the answer. One success halves it for all.
func TestFleetPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{}, Options{})
		waited := func(p *Pacer, least time.Duration) Turn {
			t.Helper()
			zero := time.Now()
			turn := take(t, p, host1, 0)
			if got := time.Since(zero); got < least || got > least+least/4 {
				t.Errorf("the next start came after %v, want %v to a quarter more", got, least)
			}
			return turn
		}
		turn := take(t, all[0], host1, 0)
		for i, least := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			turn.Answer(429, nil)
			turn.Done()
			turn = waited(all[(i+1)%2], least)
		}
		turn.Answer(200, nil)
		turn.Done()
		if level := s.tally().level; level != 2*time.Second {
			t.Errorf("level after a success: %v, want half of 4s", level)
		}
		turn = take(t, all[0], host1, 0)
		turn.Answer(503, http.Header{"Retry-After": {"60"}})
		turn.Done()
		waited(all[1], time.Minute)
	})
}

// When the first in line learns of a pause that another process has met, all waiters
// without the time for it are refused.
func TestFleetRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Gap: time.Second}, Options{})
		turn := take(t, all[0], host1, 0)
		turn.Answer(429, http.Header{"Retry-After": {"60"}})
		turn.Done()
		synctest.Wait() // the first process is registered
		zero := time.Now()
		short, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err := all[1].Wait(short, host1, 0)
		want := RefusedError{Authority: host1, RetryAt: zero.Add(time.Minute), Reason: ReasonPause}
		if got, ok := err.(*RefusedError); !ok || *got != want || time.Since(zero) != 0 {
			t.Errorf("Wait = %v after %v, want at once %v", err, time.Since(zero), &want)
		}
		if at, why := peek(all[1], host1, 0); why != ReasonPause || !at.Equal(zero.Add(time.Minute)) {
			t.Errorf("peek = %v, %q; want the end of the pause", at, why)
		}
		leaving, leave := context.WithCancel(context.Background())
		time.AfterFunc(10*time.Second, leave)
		if _, err := all[1].Wait(leaving, host1, 0); err != context.Canceled {
			t.Errorf("Wait = %v, want %v", err, context.Canceled)
		}
		if got, want := all[1].Stats(), (Stats{Authorities: 1, Waits: 2, Waited: 10 * time.Second, Refused: 1, Cancelled: 1, Members: 2}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
		synctest.Wait()
		if n := s.tally().flying; n != 0 {
			t.Errorf("%d in flight after all have left, want none", n)
		}
	})
}

// While the store is away each process keeps its own limits. It reports once that the
// store is away, and once that it is back.
func TestFleetAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := newTrail()
		all, s := fleetOf(t, 2, Limits{Gap: time.Second}, Options{OnShared: func(err error) { said.add("%v", err) }})
		r := newTrail()
		take(t, all[0], host1, 0).Done()
		s.set(errDown)
		for range 3 {
			take(t, all[0], host1, 0).Done()
			r.add("down")
		}
		synctest.Wait() // exchanges under way fail
		s.set(nil)
		take(t, all[0], host1, 0).Done()
		take(t, all[0], host1, 0).Done()
		r.add("back")
		r.check(t, "1s down", "2s down", "3s down", "5s back")
		said.check(t, "1s down", "3.5s <nil>")
		if got := all[0].Stats(); got.Unshared != 3 || got.Turns != 6 {
			t.Errorf("Stats() = %+v, want 6 turns, 3 of them unshared", got)
		}
	})
}

// A forgetful store answers no Reserve, though it has done what was asked.
type forgetful struct{ *ledger }

func (s forgetful) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	s.ledger.Reserve(ctx, authority, r)
	return Grant{}, errDown
}

// A process that starts a request without an answer of the store reports the start when the store can be reached.
func TestFleetReportsAnUnsharedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newLedger(), newTrail()
		take(t, pacer(t, Limits{Gap: time.Second}, &Options{Shared: forgetful{s}}), host1, 0)
		r.add("unshared")
		synctest.Wait()
		take(t, pacer(t, Limits{Gap: time.Second}, &Options{Shared: s}), host1, 0)
		r.add("shared")
		r.check(t, "0s unshared", "1s shared")
		time.Sleep(time.Minute)
	})
}

// A refusal gives back the start that a lost answer was about.
func TestFleetRefusalGivesBackAnUnsharedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, r := newLedger(), newTrail()
		p := pacer(t, Limits{Gap: time.Second, Parallel: 2, MaxWait: 2 * time.Second}, &Options{Shared: forgetful{s}})
		p.fleet.members = 3 // so it waits three gaps after an answer was lost
		if _, err := p.Wait(t.Context(), host1, 0); !errors.As(err, new(*RefusedError)) {
			t.Fatalf("Wait = %v, want a RefusedError", err)
		}
		take(t, pacer(t, Limits{Gap: time.Second, Parallel: 2}, &Options{Shared: s}), host1, 0)
		r.add("shared")
		r.check(t, "0s shared")
		time.Sleep(time.Minute)
	})
}

// A halved store is one whose part for host2 is down, as a cluster without one of its masters.
type halved struct{ *ledger }

func (s halved) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	if authority == host2 {
		return Grant{}, errDown
	}
	return s.ledger.Reserve(ctx, authority, r)
}

func (halved) Count(context.Context, string, time.Duration) (int, error) { return 8, nil }

// While a part of the store is down, the process keeps its share of the limits at the hosts of that part, and
// visits them, whatever the store answers for the others.
func TestFleetPartOfTheStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{Gap: time.Second}, &Options{Shared: halved{newLedger()}})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var mu sync.Mutex
		var starts []time.Time
		visit := func(host string, callers int, started func()) {
			for range callers {
				wg.Go(func() {
					for time.Sleep(700 * ms); ; time.Sleep(300 * ms) {
						turn, err := p.Wait(ctx, host, 0)
						if err != nil {
							return
						}
						started()
						turn.Done()
					}
				})
			}
		}
		take(t, p, host1, 0).Done()
		visit(host1, 1, func() {})
		visit(host2, 5, func() {
			mu.Lock()
			defer mu.Unlock()
			starts = append(starts, time.Now())
		})
		time.Sleep(time.Minute)
		cancel()
		wg.Wait()
		if len(starts) < 5 {
			t.Errorf("6: %d starts in a minute, want one every 8s", len(starts))
		}
		for i := 1; i < len(starts); i++ {
			if apart := starts[i].Sub(starts[i-1]); apart < 8*time.Second {
				t.Errorf("6: start %d came %v after the one before, want 8s, the share of one of eight processes", i, apart)
			}
		}
	})
}

// A store that hangs delays a caller by a second, even if its context is longer. A
// caller that leaves is no failure of the store, and its place is freed.
func TestFleetHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := newTrail()
		all, s := fleetOf(t, 1, Limits{}, Options{OnShared: func(err error) { said.add("%v", err) }})
		s.set(nil, time.Hour)
		short, cancel := context.WithTimeout(context.Background(), 300*ms)
		defer cancel()
		zero := time.Now()
		if _, err := all[0].Wait(short, host1, 0); err != context.DeadlineExceeded || time.Since(zero) != 300*ms {
			t.Errorf("Wait = %v after %v, want %v after 300ms", err, time.Since(zero), context.DeadlineExceeded)
		}
		synctest.Wait()
		said.check(t)
		if n := s.tally().flying; n != 0 {
			t.Errorf("%d in flight, want none", n)
		}
		s.set(nil, time.Hour)
		zero = time.Now()
		take(t, all[0], host1, 0).Done()
		if got := time.Since(zero); got != callTime {
			t.Errorf("a turn without an answer took %v, want %v", got, callTime)
		}
		synctest.Wait()
		said.check(t, "1.3s context deadline exceeded", "1.3s <nil>")
	})
}

// A start that was granted long ago is not used. The process asks for another.
func TestFleetLateAnswer(t *testing.T) {
	for _, test := range []struct {
		name  string
		delay time.Duration // of the second turn's answer
		asked int
	}{
		{"quick", 0, 2},
		{"slow", -lateness, 2},
		{"too_late", -lateness - 10*ms, 3},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, s := fleetOf(t, 1, Limits{Gap: 100 * ms}, Options{})
				take(t, all[0], host1, 0).Done()
				time.Sleep(time.Minute)
				s.set(nil, test.delay)
				take(t, all[0], host1, 0).Done()
				if n := s.tally().reserve; n != test.asked {
					t.Errorf("answer after %v: asked %d times for two turns, want %d", test.delay, n, test.asked)
				}
			})
		})
	}
}

// No process starts before the request of another has been sent, however long its
// connection takes. After a second the request counts as sent.
func TestFleetWaitsForSent(t *testing.T) {
	for _, test := range []struct {
		name   string
		report func(Turn)
		after  time.Duration // of the turn before, when it reports
		want   time.Duration // next start, after the turn before
	}{
		{"sent", Turn.Sent, 30 * ms, 130 * ms},
		{"sent_later_than_the_gap", Turn.Sent, 400 * ms, 500 * ms},
		{"answered", func(t Turn) { t.Answer(200, nil) }, 400 * ms, 400 * ms},
		{"ended", Turn.Done, 400 * ms, 400 * ms},
		{"nothing_reported", func(Turn) {}, 400 * ms, 1100 * ms},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, _ := fleetOf(t, 2, Limits{Gap: 100 * ms}, Options{})
				turn := take(t, all[0], host1, 0)
				zero := time.Now()
				time.AfterFunc(test.after, func() { test.report(turn) })
				take(t, all[1], host1, 0)
				if got := time.Since(zero); got != test.want {
					t.Errorf("the next start came after %v, want %v", got, test.want)
				}
			})
		})
	}
}

// A pause that this process meets while its first waiter asks the store stops that
// waiter, too. A waiter without the time is refused at once.
func TestFleetPauseWhileAsking(t *testing.T) {
	for _, test := range []struct {
		name string
		left time.Duration
		want time.Duration
		why  Reason // of the refusal
	}{
		{"with_time", time.Hour, time.Minute + 7*ms, ReasonNone},
		{"without_time", 30 * time.Second, 7 * ms, ReasonPause},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, s := fleetOf(t, 1, Limits{}, Options{})
				a := take(t, all[0], host1, 0)
				zero := time.Now()
				s.set(nil, 10*ms)
				time.AfterFunc(7*ms, func() { a.Answer(429, http.Header{"Retry-After": {"60"}}) })
				ctx, cancel := context.WithTimeout(context.Background(), test.left)
				defer cancel()
				_, err := all[0].Wait(ctx, host1, 0)
				why := ReasonNone
				if refused, ok := err.(*RefusedError); ok {
					why = refused.Reason
				}
				if got := time.Since(zero); got != test.want || why != test.why {
					t.Errorf("Wait = %v after %v, want %q after %v", err, got, test.why, test.want)
				}
			})
		})
	}
}

// When the store's answer to the first waiter names a pause, the waiters behind it without
// the time for it are refused, and newcomers as well.
func TestFleetRefusesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 1, Limits{Gap: time.Second}, Options{})
		s.until = time.Now().Add(time.Minute)
		s.set(nil, 10*ms)
		r := newTrail()
		queue(all[0], r, 1)
		if at, why := peek(all[0], host1, 0); at.Sub(r.zero) != time.Second || why != ReasonShared {
			t.Errorf("peek behind a waiter that asks = %v, %q; want its gap, 1s, %q", at.Sub(r.zero), why, ReasonShared)
		}
		short, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for range 2 {
			_, err := all[0].Wait(short, host1, 0)
			refused, ok := err.(*RefusedError)
			if !ok || time.Since(r.zero) != 10*ms || refused.RetryAt.Before(r.zero.Add(time.Minute)) {
				t.Errorf("Wait = %v after %v, want a refusal for the minute after 10ms", err, time.Since(r.zero))
			}
		}
		time.Sleep(2 * time.Minute)
		r.check(t, "1m0s 0")
	})
}

// Nobody waits past MaxWait for the requests of other processes.
func TestFleetMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Parallel: 1, MaxWait: 10*time.Second + 20*ms}, Options{})
		take(t, all[0], host1, 0)
		zero := time.Now()
		_, err := all[1].Wait(context.Background(), host1, 0)
		refused, ok := err.(*RefusedError)
		if got := time.Since(zero); !ok || refused.Reason != ReasonShared || got != 10*time.Second {
			t.Errorf("Wait = %v after %v, want a refusal by the fleet after 10s, when it asks for more than MaxWait leaves", err, got)
		}
		if again := refused.RetryAt.Sub(zero); again != 10*time.Second+500*ms {
			t.Errorf("RetryAt is %v after the call, want when the store said to ask again, 10.5s", again)
		}
		// No answer comes before the time is up.
		s.set(nil, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms, 900*ms)
		zero = time.Now()
		_, err = all[1].Wait(context.Background(), host1, 0)
		if got := time.Since(zero); !errors.As(err, &refused) || refused.Reason != ReasonShared || got > 11*time.Second {
			t.Errorf("Wait = %v after %v, want a refusal by the fleet at MaxWait and one exchange, 11s", err, got)
		}
		time.Sleep(time.Second) // exchanges under way end
	})
}

// If MaxWait ends at the moment of the next call of the store, the reason is the fleet,
// too.
func TestFleetMaxWaitAtTheAsking(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			all, _ := fleetOf(t, 2, Limits{Parallel: 1, MaxWait: time.Second}, Options{})
			take(t, all[0], host1, 0)
			_, err := all[1].Wait(context.Background(), host1, 0)
			refused, ok := err.(*RefusedError)
			if !ok || refused.Reason != ReasonShared || !refused.RetryAt.After(time.Now()) {
				t.Errorf("Wait = %v, want a refusal by the fleet", err)
			}
		})
	}
}

// A free turn is not reported as a wait, although the store was called for it.
func TestFleetFreeTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 1, Limits{}, Options{OnWait: func(string, time.Duration, Reason) { t.Error("OnWait, want no call") }})
		s.set(nil, 3*ms)
		take(t, all[0], host1, 0).Done()
		synctest.Wait()
		if got, want := all[0].Stats(), (Stats{Authorities: 1, Turns: 1, Members: 1}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
	})
}

// A place that is given back while the store is down becomes free soon after the store is back.
func TestFleetGivesBackWhileAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Parallel: 1}, Options{})
		turn := take(t, all[0], host1, 0)
		s.set(errDown)
		turn.Done()
		time.Sleep(2 * time.Second)
		s.set(nil)
		back := time.Now()
		take(t, all[1], host1, 0).Done()
		if took := time.Since(back); took > time.Second {
			t.Errorf("6: the other process got the place %v after the store was back, want 1s at most", took)
		}
	})
}

// A turn that has ended is not renewed, not even by an exchange under way.
func TestFleetRenewalEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		after time.Duration
	}{
		{"before_a_renewal", placeLife / 4},
		{"within_a_renewal", placeLife/3 + 500*ms},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, s := fleetOf(t, 1, Limits{}, Options{})
				turn := take(t, all[0], host1, 0)
				s.set(nil, 900*ms)
				time.Sleep(test.after)
				turn.Done()
				time.Sleep(time.Second)
				held := s.tally().held
				time.Sleep(time.Hour)
				if n := s.tally().held - held; n != 0 {
					t.Errorf("%d calls of Hold in the hour after Done, want none", n)
				}
			})
		})
	}
}

// A very long wait that a store asks for does not overflow.
func TestFleetAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 1, Limits{}, Options{})
		time.Sleep(time.Hour)
		s.until = time.Now().AddDate(500, 0, 0)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		_, err := all[0].Wait(ctx, host1, 0)
		if _, ok := err.(*RefusedError); !ok {
			t.Errorf("in a pause of 500 years: Wait = %v, want a refusal", err)
		}
	})
}

// The gap behind a request counts from Sent in the fleet, too, and Done does not undo
// that.
func TestFleetSent(t *testing.T) {
	for _, parallel := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			all, s := fleetOf(t, 2, Limits{Gap: time.Second, Parallel: parallel}, Options{})
			zero := time.Now()
			turn := take(t, all[0], host1, 0)
			time.Sleep(700 * ms)
			s.set(nil, 300*ms)
			turn.Sent()
			time.Sleep(10 * ms)
			turn.Done()
			take(t, all[1], host1, 0)
			if got := time.Since(zero); got != 1700*ms {
				t.Errorf("Parallel %d: the start after one that was sent after 700ms came at %v; want 1.7s", parallel, got)
			}
		})
	}
}

// A start that the store counts from too early, because its answers were late
// at all times, is put right when the request is written.
func TestFleetSentAfterLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Gap: time.Second}, Options{})
		take(t, all[0], host1, 0).Done() // the store can be quick
		time.Sleep(2 * time.Second)
		s.set(nil, 9*ms, 9*ms, 9*ms)
		turn := take(t, all[0], host1, 0)
		zero := time.Now()
		turn.Sent()
		turn.Done()
		take(t, all[1], host1, 0)
		if got := time.Since(zero); got != time.Second {
			t.Errorf("the next start came %v after the request was written, want 1s", got)
		}
	})
}

// A place that becomes free goes to a waiting process at once. A message that is
// lost costs half a second.
func TestFleetWoken(t *testing.T) {
	for _, test := range []struct {
		name string
		lost bool
		most time.Duration
	}{
		{"woken", false, 0},
		{"message_lost", true, 500 * ms},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, s := fleetOf(t, 2, Limits{Parallel: 1}, Options{})
				s.lost = test.lost
				turn := take(t, all[0], host1, 0)
				const held = 10*time.Second + 123*ms
				zero := time.Now()
				time.AfterFunc(held, turn.Done)
				take(t, all[1], host1, 0).Done()
				if late := time.Since(zero) - held; late < 0 || late > test.most {
					t.Errorf("the next start came %v after the place was free, want at most %v", late, test.most)
				}
			})
		})
	}
}

// A message may come before the first answer of the store, from which a process learns how
// far the store's clock is ahead.
func TestFleetMessageBeforeAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Gap: time.Second}, Options{})
		turn := take(t, all[0], host1, 0)
		zero := time.Now()
		s.set(nil, -500*ms) // of the answer to the first question of the second process
		time.AfterFunc(100*ms, turn.Sent)
		take(t, all[1], host1, 0)
		if got := time.Since(zero); got != 1100*ms {
			t.Errorf("the second start came after %v, want 1.1s", got)
		}
	})
}

// A process passes its place on from request to request without a call of the store, and
// gives it back after a while though it has more requests.
func TestFleetPassesPlaces(t *testing.T) {
	for _, test := range []struct {
		name     string
		limits   Limits
		requests time.Duration // between two starts with the place
	}{
		{"one_place", Limits{Parallel: 1}, 20 * ms},
		{"one_place_and_a_gap", Limits{Parallel: 1, Gap: 30 * ms}, 30 * ms},
		{"two_places", Limits{Parallel: 2}, 20 * ms},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all, s := fleetOf(t, 2, test.limits, Options{})
				s.set(nil, 10*ms) // one slow answer
				var mu sync.Mutex
				var starts []int
				var wg sync.WaitGroup
				for i := range 40 {
					wg.Go(func() {
						turn := take(t, all[i%2], host1, 0)
						mu.Lock()
						starts = append(starts, i%2)
						mu.Unlock()
						time.Sleep(20 * ms)
						turn.Done()
					})
				}
				wg.Wait()
				if n := s.tally().reserve; test.limits.Parallel == 1 && n > 40 {
					t.Errorf("40 turns of two processes took %d questions, want fewer", n)
				}
				if last := slices.Index(starts, 1); last > 30 {
					t.Errorf("starts by process: %v; want turns for both", starts)
				}
				synctest.Wait()
				if n := s.tally().flying; n != 0 {
					t.Errorf("%d in flight after all have ended, want none", n)
				}
			})
		})
	}
}

// While the store is away a process keeps its share of the limits by the number of
// processes that the store last counted. Others may have started until then, so the
// gap counts from the moment at which the store was lost.
func TestFleetShare(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits Limits
		takes  time.Duration
		starts []time.Duration
	}{
		{"gap", Limits{Gap: time.Second}, 0, []time.Duration{5 * time.Second, 9 * time.Second, 13 * time.Second}},
		{"parallel_of_eight", Limits{Parallel: 8}, time.Second, []time.Duration{0, 0, time.Second}},
		{"less_than_one_in_flight", Limits{Parallel: 2}, time.Second, []time.Duration{0, 2 * time.Second, 4 * time.Second}},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var said error
				all, s := fleetOf(t, 4, test.limits, Options{OnShared: func(err error) {
					mu.Lock()
					defer mu.Unlock()
					said = err
				}})
				for _, p := range all {
					take(t, p, host1, 0).Done()
					synctest.Wait()
				}
				if test.limits.Gap == 0 {
					time.Sleep(time.Minute)
				}
				take(t, all[0], host1, 0).Done() // counts again
				synctest.Wait()
				s.set(errDown)
				zero := time.Now()
				var got []time.Duration
				var wg sync.WaitGroup
				for range test.starts {
					wg.Go(func() {
						turn := take(t, all[0], host1, 0)
						mu.Lock()
						got = append(got, time.Since(zero))
						mu.Unlock()
						time.Sleep(test.takes)
						turn.Done()
					})
				}
				wg.Wait()
				if !slices.Equal(got, test.starts) {
					t.Errorf("starts %v, want %v", got, test.starts)
				}
				mu.Lock()
				defer mu.Unlock()
				if !errors.Is(said, errDown) || !strings.Contains(said.Error(), "each of 4 processes") {
					t.Errorf("OnShared got %v, want the error and the number of processes", said)
				}
				if got := all[0].Stats(); got.Members != 4 || got.Unshared != 3 {
					t.Errorf("Stats() = %+v, want 4 members and 3 turns unshared", got)
				}
			})
		})
	}
}

// A start that is booked before the store knows that the request before was sent would
// count from a second after that request. So the report comes first, and without the
// time for both nothing is booked.
func TestFleetBooksAfterTheReport(t *testing.T) {
	for _, test := range []struct {
		name  string
		sent  time.Duration // after the turn; the next start is booked 70ms after it
		slow  time.Duration // time of the report
		least int           // number of turns in two seconds; two places permit 40
	}{
		{"in_time", 5 * ms, 10 * ms, 38},
		{"on_its_way", 60 * ms, 50 * ms, 16},
		{"late", 69 * ms, 20 * ms, 16},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, Limits{Gap: 30 * ms, Parallel: 2}, &Options{Shared: slowReports{newLedger(), test.slow}})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				for range 4 {
					go func() {
						for {
							turn, err := p.Wait(ctx, host1, 0)
							if err != nil {
								return
							}
							time.Sleep(test.sent)
							turn.Sent()
							time.Sleep(100*ms - test.sent)
							turn.Done()
						}
					}()
				}
				time.Sleep(time.Minute) // all calls end
				if n := p.Stats().Turns; n < uint64(test.least) || n > 41 {
					t.Errorf("%d turns in two seconds, want %d to 41", n, test.least)
				}
			})
		})
	}
}

// slowReports is a store that takes 20 milliseconds for a question. A report takes longer.
type slowReports struct {
	*ledger
	slow time.Duration
}

func (s slowReports) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	time.Sleep(10 * ms)
	defer time.Sleep(10 * ms)
	return s.ledger.Reserve(ctx, authority, r)
}

func (s slowReports) Hold(ctx context.Context, authority string, h Holding) (Condition, error) {
	if h.Life > 0 {
		time.Sleep(s.slow)
	}
	return s.ledger.Hold(ctx, authority, h)
}

// A caller that leaves at the moment at which a place passes to it gives the place
// back: nobody else of the fleet is kept out.
func TestFleetLeavesWithAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet, _ := fleetOf(t, 2, Limits{Parallel: 1}, Options{})
		first, err := fleet[0].Wait(t.Context(), "x", 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go fleet[0].Wait(ctx, "x", 0)
		synctest.Wait()
		cancel()
		first.Done()
		synctest.Wait()
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		turn, err := fleet[1].Wait(ctx, "x", 0)
		if err != nil {
			t.Fatalf("got  %v\nwant a turn, since nothing is in flight", err)
		}
		turn.Done()
		synctest.Wait()
	})
}

// misbehaving is a store that does something else in the calls named.
type misbehaving struct {
	*ledger
	names string
	does  func()
}

func (s *misbehaving) disturb(name string) {
	if strings.Contains(s.names, name) {
		s.does()
	}
}

func (s *misbehaving) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	s.disturb("Reserve")
	return s.ledger.Reserve(ctx, authority, r)
}

func (s *misbehaving) Hold(ctx context.Context, authority string, h Holding) (Condition, error) {
	s.disturb("Hold")
	return s.ledger.Hold(ctx, authority, h)
}

func (s *misbehaving) Report(ctx context.Context, authority string, r Report) (Condition, error) {
	s.disturb("Report")
	return s.ledger.Report(ctx, authority, r)
}

func (s *misbehaving) Watch(ticket string, wake func(Grant)) func() {
	s.disturb("Watch")
	stop := s.ledger.Watch(ticket, wake)
	return func() { s.disturb("stop"); stop() }
}

func (s *misbehaving) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	s.disturb("Count")
	return s.ledger.Count(ctx, process, life)
}

// A store that panics, hangs or ends its goroutine is one that does not answer: the
// turn comes, a few calls of a second later.
func TestFleetOfAMisbehavingStore(t *testing.T) {
	for how, does := range map[string]func(){
		"panics": func() { panic("at the store") },
		"hangs":  func() { time.Sleep(time.Hour) },
		"exits":  runtime.Goexit,
	} {
		for _, name := range []string{"Reserve", "Hold", "Report", "Watch", "stop", "Count"} {
			t.Run("7/"+name+"_"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := pacer(t, Limits{Parallel: 1}, &Options{Shared: &misbehaving{newLedger(), name, does}})
					began := time.Now()
					for range 3 {
						turn := take(t, p, host1, 0)
						turn.Answer(http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}})
						turn.Done()
					}
					if took := time.Since(began); took > 20*time.Second {
						t.Errorf("three turns took %v, want little more than the pauses", took)
					}
					time.Sleep(3 * time.Hour) // the calls that hang end
				})
			})
		}
	}
}

// A store that hangs delays the first turns. Then each turn comes at once, the calls
// that hang are few, and when the store is back it is used again.
func TestFleetOfAStoreThatHangs(t *testing.T) {
	for _, names := range []string{"Reserve", "Watch", "stop", "Hold", "Count", "Report", "Reserve Hold Report Watch stop Count"} {
		t.Run("7/"+names, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				back := make(chan struct{})
				s := &misbehaving{newLedger(), names, func() { calls.Add(1); <-back }}
				p := pacer(t, Limits{}, &Options{Shared: s})
				began := time.Now()
				for range 200 {
					turn := take(t, p, host1, 0)
					turn.Answer(200, nil)
					turn.Done()
					time.Sleep(100 * ms)
				}
				if took := time.Since(began) - 20*time.Second; took > 7*time.Second {
					t.Errorf("200 turns waited %v, want 7s at most, for the first few", took)
				}
				if n := calls.Load(); n > 30 {
					t.Errorf("%d calls hang, want few", n)
				}
				close(back)
				time.Sleep(time.Minute)
				asked := s.tally().reserve
				for range 10 {
					take(t, p, host1, 0).Done()
					time.Sleep(time.Second)
				}
				if n := s.tally().reserve - asked; n < 10 {
					t.Errorf("%d calls for ten turns after the store is back, want ten", n)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// A store that is late for a while keeps no watcher of a ticket that has ended.
func TestFleetOfAStoreThatIsLate(t *testing.T) {
	for _, name := range []string{"Watch", "stop"} {
		t.Run("7/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &misbehaving{newLedger(), name, func() {
					if time.Since(began) < 10*time.Second {
						time.Sleep(3 * time.Second)
					}
				}}
				p := pacer(t, Limits{}, &Options{Shared: s})
				for range 20 {
					take(t, p, host1, 0).Done()
					time.Sleep(time.Second)
				}
				time.Sleep(time.Hour)
				s.mu.Lock()
				defer s.mu.Unlock()
				if n := len(s.watched); n > 0 {
					t.Errorf("%d tickets are watched after an hour, want none", n)
				}
			})
		})
	}
}

// A caller that leaves while the store is slow to watch its ticket leaves no ticket
// behind, although the store ignores the context of Reserve and may place the ticket after
// it was given back.
func TestFleetOfALateWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &misbehaving{newLedger(), "Watch", func() { time.Sleep(900 * ms) }}
		p := pacer(t, Limits{Parallel: 1}, &Options{Shared: heedless{s}})
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(100*ms, leave)
		if _, err := p.Wait(ctx, host1, 0); err != context.Canceled {
			t.Fatalf("Wait = %v, want %v", err, context.Canceled)
		}
		time.Sleep(3 * time.Second)
		if n := s.tally().flying; n > 0 {
			t.Errorf("7/late_watch: the store holds %d tickets 3s after their caller left, want none", n)
		}
		time.Sleep(time.Minute)
	})
}

// heedless is a store whose Reserve does not end with its context.
type heedless struct{ *misbehaving }

func (s heedless) Reserve(_ context.Context, authority string, r Reservation) (Grant, error) {
	return s.misbehaving.Reserve(context.Background(), authority, r)
}

// A store that neither grants a start nor says when to call again is not called more often
// than every two milliseconds.
func TestFleetOfAStoreThatGrantsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		s := &misbehaving{ledger: newLedger(), names: "Reserve", does: func() { asked.Add(1) }}
		s.flying["another"] = time.Now().Add(time.Hour)
		p := pacer(t, Limits{Parallel: 1}, &Options{Shared: nothing{s}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		p.Wait(ctx, host1, 0)
		if n := asked.Load(); n == 0 || n > 5100 {
			t.Errorf("asked %d times in 10 s, want at most 5100", n)
		}
		synctest.Wait()
	})
}

// nothing is a store that answers with nothing.
type nothing struct{ *misbehaving }

func (s nothing) Reserve(context.Context, string, Reservation) (Grant, error) {
	s.does()
	return Grant{}, nil
}

// A start in the far future, which no store may grant, stops nobody until then.
func TestFleetOfAStoreThatGrantsMuchTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{Parallel: 1}, &Options{Shared: &early{ledger: newLedger()}})
		began := time.Now()
		take(t, p, host1, 0).Done()
		if took := time.Since(began); took > maxAskGap+time.Second {
			t.Errorf("the turn came after %v, want it at the next question", took)
		}
		time.Sleep(time.Minute)
	})
}

// early is a store that grants its first start in a year.
type early struct {
	*ledger
	asked atomic.Bool
}

func (s *early) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	g, err := s.ledger.Reserve(ctx, authority, r)
	if !s.asked.Swap(true) {
		g.Start += 365 * 24 * time.Hour
	}
	return g, err
}

// A start that was granted to a caller that leaves is of no use to the next in line
// if that one has a longer Crawl-delay.
func TestFleetLeavesAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, s := fleetOf(t, 2, Limits{Gap: time.Second}, Options{})
		s.set(nil, 200*ms)
		take(t, all[0], host1, 0).Done()
		time.Sleep(time.Minute)
		take(t, all[1], host1, 0).Done()
		zero := time.Now()
		s.set(nil, 200*ms, 200*ms) // the second answer grants the start before it is due
		leaving, leave := context.WithCancel(t.Context())
		time.AfterFunc(900*ms, leave)
		go all[0].Wait(leaving, host1, 0)
		time.Sleep(500 * ms)
		take(t, all[0], host1, 10*time.Second)
		if got := time.Since(zero); got < 10*time.Second {
			t.Errorf("the next start came after %v, want at least its Crawl-delay, 10s", got)
		}
	})
}

// A slowpoke is a store that gets the Reserve of a caller that leaves only after the Hold
// that ends its ticket.
type slowpoke struct{ *ledger }

func (s slowpoke) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	time.Sleep(100 * ms)
	return s.ledger.Reserve(context.WithoutCancel(ctx), authority, r)
}

// A place that a late Reserve took after its caller had left is free soon.
func TestFleetLeavesBeforeItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slowpoke{newLedger()}
		p := pacer(t, Limits{Parallel: 1}, &Options{Shared: s})
		ctx, cancel := context.WithTimeout(t.Context(), 50*ms)
		defer cancel()
		if _, err := p.Wait(ctx, host1, 0); err != context.DeadlineExceeded {
			t.Fatalf("Wait = %v, want %v", err, context.DeadlineExceeded)
		}
		time.Sleep(time.Second)
		if n := s.tally().flying; n != 0 {
			t.Errorf("%d in flight a second after all have left, want none", n)
		}
		time.Sleep(time.Minute)
	})
}

// If a store reports a rest without a failure, callers are refused, and nothing else
// breaks.
func TestFleetOfAStoreWithARestWithoutFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{MaxWait: time.Second}, &Options{Shared: resting{newLedger()}})
		_, err := p.Wait(t.Context(), host1, 0)
		if want := (&RefusedError{Authority: host1, RetryAt: time.Now().Add(time.Hour), Reason: ReasonBreaker}); !reflect.DeepEqual(err, want) {
			t.Errorf("7: Wait = %v, want %v", err, want)
		}
		synctest.Wait()
	})
}

// resting is a store that always reports a rest.
type resting struct{ *ledger }

func (resting) Reserve(context.Context, string, Reservation) (Grant, error) {
	return Grant{Start: time.Hour, Condition: Condition{Until: time.Hour, Why: ReasonBreaker}}, nil
}

// A request that began before another process had the host rest says nothing of the host:
// its failure makes the rest no longer.
func TestFleetBreakerIgnoresTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ill{ledger: newLedger()}
		p := pacer(t, Limits{Parallel: 2}, &Options{Shared: s})
		old := take(t, p, host1, 0)
		time.Sleep(time.Second)
		s.ill.Store(&Condition{Until: time.Since(epoch) + 10*time.Second, Why: ReasonBreaker, Failures: 3, Open: true, Rest: 10 * time.Second})
		time.Sleep(2 * time.Second) // the ticket was renewed, and the process knows of the rest
		outcome(old, -1)
		time.Sleep(time.Second)
		if at, why := peek(p, host1, 0); time.Until(at) != 7*time.Second || why != ReasonBreaker {
			t.Errorf("6/old_in_a_fleet: the next request waits %v for %q, want the 7s that are left of the rest", time.Until(at), why)
		}
		time.Sleep(7 * time.Second)
		outcome(take(t, p, host1, 0), -1)
		if at, why := peek(p, host1, 0); time.Until(at) != 20*time.Second || why != ReasonBreaker {
			t.Errorf("6/probe_in_a_fleet: the next request waits %v for %q, want 20s after a probe that failed", time.Until(at), why)
		}
		time.Sleep(time.Minute)
	})
}

// An ill store answers all calls for a ticket or a report with one condition, once that is set.
type ill struct {
	*ledger
	ill atomic.Pointer[Condition]
}

func (s *ill) condition(was Condition) Condition {
	if c := s.ill.Load(); c != nil {
		clock := was.Clock
		was = *c
		was.Clock = clock
	}
	return was
}

func (s *ill) Reserve(ctx context.Context, authority string, r Reservation) (Grant, error) {
	g, err := s.ledger.Reserve(ctx, authority, r)
	g.Condition = s.condition(g.Condition)
	return g, err
}

func (s *ill) Hold(ctx context.Context, authority string, h Holding) (Condition, error) {
	c, err := s.ledger.Hold(ctx, authority, h)
	return s.condition(c), err
}

func (s *ill) Report(ctx context.Context, authority string, r Report) (Condition, error) {
	c, err := s.ledger.Report(ctx, authority, r)
	return s.condition(c), err
}

// Whatever the hook takes for a call, its last word is whether the store answers.
func TestFleetLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := newTrail()
		p := pacer(t, Limits{}, nil)
		s := newLedger()
		p.opts.Shared, p.opts.OnShared = s, func(err error) {
			if err != nil {
				time.Sleep(time.Second) // a slow log
			}
			said.add("%v", err)
			p.Stats() // the hook may call the Pacer
		}
		s.set(errDown)
		time.AfterFunc(500*ms, func() { s.set(nil); take(t, p, "b", 0).Done() })
		take(t, p, "a", 0).Done()
		time.Sleep(time.Minute)
		said.check(t, "1s down", "1s <nil>")
	})
}

// TestOnSharedMayEndTurns ends a turn in the call of OnShared that the report of its answer brings. Done waits for
// the store and not for OnShared.
func TestOnSharedMayEndTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turn Turn
		ended := make(chan bool, 9)
		all, s := fleetOf(t, 1, Limits{Gap: time.Second}, Options{OnShared: func(error) {
			turn.Done()
			ended <- true
		}})
		turn = take(t, all[0], "a", 0)
		s.set(errDown)
		turn.Answer(503, nil)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("6: Done in OnShared has not returned after a minute")
		}
		time.Sleep(ticketLife + time.Second) // until no call is under way
	})
}

// Answer and Fail do not wait for a store that hangs. Done does: it waits for the reports, which
// come in order, and gives the place back after them.
func TestFleetReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := newTrail()
		p := pacer(t, Limits{Parallel: 1}, &Options{Shared: &reporter{newLedger(), calls}})
		turn := take(t, p, host1, 0)
		began := time.Now()
		turn.Answer(429, http.Header{"Retry-After": {"5"}})
		turn.Fail("body")
		turn.Fail("body")
		if took := time.Since(began); took > 0 {
			t.Errorf("6/reports: Answer and Fail took %v, want no time", took)
		}
		turn.Done()
		calls.check(t, "800ms report 5s", "1.6s report 0s", "1.6s end")
		if took := time.Since(began); took != 1600*ms {
			t.Errorf("6/reports: Done came after %v, want after the reports, 1.6s", took)
		}
		time.Sleep(time.Minute)
	})
}

// A reporter is a store that takes 800 milliseconds for a report.
type reporter struct {
	*ledger
	calls *trail
}

func (s *reporter) Report(ctx context.Context, authority string, r Report) (Condition, error) {
	time.Sleep(800 * ms)
	s.calls.add("report %v", r.Wait)
	return s.ledger.Report(ctx, authority, r)
}

func (s *reporter) Hold(ctx context.Context, authority string, h Holding) (Condition, error) {
	if h.Life == 0 {
		s.calls.add("end")
	}
	return s.ledger.Hold(ctx, authority, h)
}
