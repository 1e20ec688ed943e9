package pace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	host1 = "https://example.com"
	host2 = "https://example.net"
	ms    = time.Millisecond
)

// pacer returns a Pacer for l, which must be valid.
func pacer(t *testing.T, l Limits, o *Options) *Pacer {
	t.Helper()
	p, err := New(&l, o)
	if err != nil {
		t.Fatalf("New(%+v) = %v; want a Pacer", l, err)
	}
	return p
}

// take waits for a turn that must come.
func take(t *testing.T, p *Pacer, authority string, delay time.Duration) Turn {
	t.Helper()
	turn, err := p.Wait(context.Background(), authority, delay)
	if err != nil {
		t.Fatalf("Wait(%q, %v) = %v; want a turn", authority, delay, err)
	}
	return turn
}

// peek returns when a new request could start, and what it would wait for.
func peek(p *Pacer, authority string, delay time.Duration, scopes ...Scope) (time.Time, Reason) {
	if o, waits := p.Obstacle(authority, delay, scopes...); waits {
		return o.RetryAt, o.Reason
	}
	return time.Now(), ReasonNone
}

// A trail collects when things happen, counted from its making.
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

// check compares the whole trail.
func (r *trail) check(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.at, want) {
		t.Errorf("got  %q\nwant %q", r.at, want)
	}
}

// startTests are sequences of calls at one authority by one caller that ends
// each turn at once: before each, it sleeps; then it asks with a Crawl-delay.
// want are the moments of the starts.
var startTests = []struct {
	name   string
	limits Limits
	calls  []call
	want   []time.Duration
}{
	{"no_gap", Limits{}, []call{{}, {}, {}}, []time.Duration{0, 0, 0}},
	{"gap_to_the_millisecond", Limits{Gap: 1234 * ms}, []call{{}, {}, {}}, []time.Duration{0, 1234 * ms, 2468 * ms}},
	{"gap_counts_from_start_to_start", Limits{Gap: time.Second}, []call{{}, {sleep: 400 * ms}, {sleep: 400 * ms}}, []time.Duration{0, 1000 * ms, 2000 * ms}},
	{"late_caller_waits_nothing", Limits{Gap: time.Second}, []call{{}, {sleep: 1500 * ms}}, []time.Duration{0, 1500 * ms}},
	{"lateness_is_no_credit", Limits{Gap: time.Second}, []call{{}, {sleep: time.Hour}, {}, {}},
		[]time.Duration{0, time.Hour, time.Hour + time.Second, time.Hour + 2*time.Second}},

	{"crawl_delay_over_gap", Limits{Gap: time.Second}, []call{{}, {delay: 3 * time.Second}, {delay: 3 * time.Second}}, []time.Duration{0, 3 * time.Second, 6 * time.Second}},
	{"gap_over_crawl_delay", Limits{Gap: 3 * time.Second}, []call{{}, {delay: time.Second}}, []time.Duration{0, 3 * time.Second}},
	{"first_page_waits_after_robots", Limits{}, []call{{}, {delay: 5 * time.Second}}, []time.Duration{0, 5 * time.Second}},
	{"robots_waits_after_a_page", Limits{}, []call{{delay: 5 * time.Second}, {}}, []time.Duration{0, 5 * time.Second}},
	{"crawl_delay_of_the_second_before_ends", Limits{}, []call{{delay: 5 * time.Second}, {}, {}}, []time.Duration{0, 5 * time.Second, 5 * time.Second}},
	{"first_page_waits_though_its_delay_was_unknown", Limits{}, []call{{}, {sleep: 59 * time.Second, delay: 60 * time.Second}}, []time.Duration{0, 60 * time.Second}},
	{"negative_crawl_delay_is_none", Limits{}, []call{{}, {delay: -time.Second}}, []time.Duration{0, 0}},

	{"mode_cap_at_60s", Limits{}, []call{{}, {delay: 24 * time.Hour}}, []time.Duration{0, time.Minute}},
	{"mode_cap_at_own_cap", Limits{DelayCap: 10 * time.Second}, []call{{}, {delay: time.Minute}}, []time.Duration{0, 10 * time.Second}},
	{"mode_cap_under_the_cap", Limits{DelayCap: 10 * time.Second}, []call{{}, {delay: 9 * time.Second}}, []time.Duration{0, 9 * time.Second}},
	{"mode_cap_does_not_cut_the_gap", Limits{DelayCap: time.Second, Gap: time.Minute}, []call{{}, {delay: time.Hour}}, []time.Duration{0, time.Minute}},
	{"mode_ignore", Limits{Delay: Ignore, Gap: time.Second}, []call{{}, {delay: time.Hour}}, []time.Duration{0, time.Second}},
	{"mode_honour", Limits{Delay: Honour}, []call{{}, {delay: 24 * time.Hour}, {delay: 24 * time.Hour}}, []time.Duration{0, 24 * time.Hour, 48 * time.Hour}},
}

type call struct{ sleep, delay time.Duration }

func TestGapsAreExact(t *testing.T) {
	for _, test := range startTests {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, test.limits, nil)
				zero := time.Now()
				var got []time.Duration
				for _, c := range test.calls {
					time.Sleep(c.sleep)
					take(t, p, host1, c.delay).Done()
					got = append(got, time.Since(zero))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("limits %+v, calls %+v: starts %v, want %v", test.limits, test.calls, got, test.want)
				}
			})
		})
	}
}

// queue sends n callers to host1 one by one, so that their order of arrival is
// known, and returns when all are in line. The trail says when each
// got its turn, which it ends at once.
func queue(p *Pacer, r *trail, n int) (wait func()) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			turn, err := p.Wait(context.Background(), host1, 0)
			if err != nil {
				r.add("%d %v", i, err)
				return
			}
			r.add("%d", i)
			turn.Done()
		})
		synctest.Wait()
	}
	return wg.Wait
}

// A thousand callers go in order of arrival, one a gap, to the nanosecond.
func TestTurnsAreInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 1000
		p, r := pacer(t, Limits{Gap: 10 * ms}, nil), newTrail()
		queue(p, r, callers)()
		var want []string
		for i := range callers {
			want = append(want, fmt.Sprintf("%v %d", time.Duration(i)*10*ms, i))
		}
		r.check(t, want...)
	})
}

// Callers of other authorities wait for nobody.
func TestAuthoritiesWaitForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{Gap: time.Hour, Parallel: 1}, nil), time.Now()
		take(t, p, host1, 0)
		take(t, p, host2, 0)
		if got := time.Since(zero); got != 0 {
			t.Errorf("two authorities took %v, want 0s", got)
		}
	})
}

// A caller that leaves gives its turn to the next, whether it stood first, in
// the middle or last, and the others move up.
func TestACallerThatLeavesGivesItsTurnBack(t *testing.T) {
	for _, test := range []struct {
		name  string
		leave int
		want  []string
	}{
		{"first", 0, []string{"500ms 0 context canceled", "1s 1", "2s 2"}},
		{"middle", 1, []string{"500ms 1 context canceled", "1s 0", "2s 2"}},
		{"last", 2, []string{"500ms 2 context canceled", "1s 0", "2s 1"}},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, r := pacer(t, Limits{Gap: time.Second}, nil), newTrail()
				take(t, p, host1, 0).Done()
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						mine := context.Background()
						if i == test.leave {
							mine = ctx
						}
						turn, err := p.Wait(mine, host1, 0)
						if err != nil {
							r.add("%d %v", i, err)
							return
						}
						r.add("%d", i)
						turn.Done()
					})
					synctest.Wait()
				}
				time.Sleep(500 * ms)
				cancel()
				wg.Wait()
				r.check(t, test.want...)
				want := Stats{Authorities: 1, Turns: 3, Waits: 3, Waited: 3500 * ms, Cancelled: 1}
				if got := p.Stats(); got != want {
					t.Errorf("Stats() = %+v, want %+v", got, want)
				}
			})
		})
	}
}

// A caller whose context ends at the very moment of its turn either takes the
// turn or gives it back whole: the next in line never waits longer for it.
func TestCancelAtTheTurn(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			p := pacer(t, Limits{Gap: time.Second, Parallel: 1}, nil)
			take(t, p, host1, 0).Done()
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(time.Second, cancel)
			zero := time.Now()
			turn, err := p.Wait(ctx, host1, 0)
			gap := time.Second
			if err == nil {
				turn.Done()
				gap += time.Second
			} else if !errors.Is(err, context.Canceled) {
				t.Fatalf("Wait = %v, want a turn or context.Canceled", err)
			}
			take(t, p, host1, 0).Done()
			if got := time.Since(zero); got != gap {
				t.Errorf("Wait = %v; the next turn came after %v, want %v", err, got, gap)
			}
		})
	}
}

// A caller that leaves at the moment of its turn leaves as if it had never come: the next in line
// waits neither for its start nor for its Crawl-delay.
func TestLeavingAtTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{Gap: time.Second, Parallel: 1}, nil), newTrail()
		take(t, p, host1, 0).Done()
		p.mu.Lock()
		_, w, _ := p.enter(context.Background(), p.hosts.byName[host1], nil, 10*time.Second, maxSpan, p.now())
		p.mu.Unlock()
		settled := queue(p, r, 1)
		time.Sleep(10 * time.Second)
		p.mu.Lock()
		over := p.step(w, context.Canceled)
		p.mu.Unlock()
		settled()
		if !over || w.err != context.Canceled {
			t.Errorf("over: %t, with %v; want an end with %v", over, w.err, context.Canceled)
		}
		r.check(t, "10s 0")
		if got, want := p.Stats(), (Stats{Authorities: 1, Turns: 2, Waits: 1, Waited: 10 * time.Second, Cancelled: 1}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
	})
}

// The end of a turn wakes few of those in line, and one of them starts.
func TestFewAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, all := pacer(t, Limits{Parallel: 1}, nil), Scope{Key: "all", Limits: Limits{Parallel: 1}}
		turn, err := p.Wait(t.Context(), "0", 0, all)
		if err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		var line []*waiter
		for i := range 1000 {
			h, scopes, _ := p.hostsOf(strconv.Itoa(i/10), []Scope{all}, p.now())
			_, w, _ := p.enter(t.Context(), h, scopes, 0, maxSpan, p.now())
			line = append(line, w)
		}
		p.mu.Unlock()
		for i := range line {
			turn.Done()
			woken := 0
			p.mu.Lock()
			for _, w := range slices.Backward(line[i:]) {
				if len(w.wake) > 0 {
					<-w.wake
					woken++
					p.step(w, nil)
				}
			}
			p.mu.Unlock()
			if turn = line[i].turn; turn == (Turn{}) || woken > 4 {
				t.Fatalf("6: the end of turn %d wakes %d, and the oldest starts: %t; want 4 at most, and that it starts", i, woken, turn != Turn{})
			}
		}
	})
}

// A hook may wait for a turn of the same authority.
func TestOnDelayMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *Pacer
		r := newTrail()
		p = pacer(t, Limits{DelayCap: time.Second, Parallel: 1}, &Options{OnDelay: func(string, time.Duration, time.Duration) {
			take(t, p, host1, 0).Done()
			r.add("hook")
		}})
		take(t, p, host1, 0).Done()
		take(t, p, host1, time.Minute).Done()
		r.add("caller")
		r.check(t, "0s hook", "1s caller")
	})
}

// A caller that comes at the moment at which the first in line is due, and has no time
// for the gap behind it, is refused because of the gap.
func TestRefusalAtTheTurnOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{Gap: time.Second}, nil), time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			time.Sleep(time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 500*ms)
			defer cancel()
			_, err := p.Wait(ctx, host1, 0)
			if want := (&RefusedError{Authority: host1, RetryAt: zero.Add(2 * time.Second), Reason: ReasonGap}); !reflect.DeepEqual(err, want) {
				t.Errorf("Wait = %v, want %v", err, want)
			}
		})
		synctest.Wait() // its timer is the older one
		take(t, p, host1, 0).Done()
		take(t, p, host1, 0).Done()
		wg.Wait()
	})
}

// A caller that comes at the moment at which the first in line is due does not
// overtake it, whichever of the two is woken first.
func TestNoOvertaking(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			p, r := pacer(t, Limits{Gap: time.Second}, nil), newTrail()
			var wg sync.WaitGroup
			wg.Go(func() {
				time.Sleep(time.Second)
				take(t, p, host1, 0).Done()
				r.add("newcomer")
			})
			synctest.Wait() // its timer is the older one
			take(t, p, host1, 0).Done()
			queue(p, r, 1)()
			wg.Wait()
			r.check(t, "1s 0", "2s newcomer")
		})
	}
}

// Nobody waits past its context, whatever it waits for, though the end of that
// could not be foreseen.
func TestNobodyWaitsPastItsContext(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(p *Pacer, turn Turn)
	}{
		{"requests_in_flight", func(*Pacer, Turn) {}},
		{"one_in_line_before_it", func(p *Pacer, _ Turn) { go p.Wait(context.Background(), host1, 0) }},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, Limits{Parallel: 1}, nil)
				turn := take(t, p, host1, 0)
				test.do(p, turn)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				zero := time.Now()
				if _, err := p.Wait(ctx, host1, 0); err != context.DeadlineExceeded || time.Since(zero) != 10*time.Second {
					t.Errorf("Wait = %v after %v, want %v after 10s", err, time.Since(zero), context.DeadlineExceeded)
				}
				turn.Done()
				synctest.Wait()
			})
		})
	}
}

// A thousand callers at one authority, some of them in flight together, with
// pauses in between: each is served, and in the order in which it came.
func TestFairnessAmongAThousandWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 1000
		p := pacer(t, Limits{Gap: 10 * ms, Parallel: 3}, nil)
		var mu sync.Mutex
		var order []int
		var last time.Time
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				turn := take(t, p, host1, 0)
				mu.Lock()
				if apart := time.Since(last); apart < 10*ms {
					t.Errorf("caller %d started %v after the one before, want 10ms or more", i, apart)
				}
				order, last = append(order, i), time.Now()
				mu.Unlock()
				time.Sleep(time.Duration(i%7) * 10 * ms) // some are quicker than others
				status := 200
				if i%100 == 99 {
					status = 429
				}
				turn.Answer(status, nil)
				time.Sleep(time.Duration(i%3) * 10 * ms)
				turn.Done()
			})
			synctest.Wait()
		}
		wg.Wait()
		if len(order) != callers || !slices.IsSorted(order) {
			t.Errorf("%d callers served in the order %v; want all %d in order of arrival", len(order), order, callers)
		}
	})
}

// An ended context is answered before anything is taken or remembered.
func TestContextEnded(t *testing.T) {
	p := pacer(t, Limits{Gap: time.Hour}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Wait(ctx, host1, 0); err != context.Canceled {
		t.Errorf("Wait with an ended context = %v, want %v", err, context.Canceled)
	}
	if got := p.Stats(); got != (Stats{}) {
		t.Errorf("Stats() = %+v, want none", got)
	}
}

// refuseTests ask, after `before` turns taken at once and `waiting` callers put
// in line, with a context of so much time (0: no deadline).
var refuseTests = []struct {
	name    string
	limits  Limits
	waiting int
	delay   time.Duration
	left    time.Duration
	retry   time.Duration // of the RefusedError; 0: not refused
	why     Reason
}{
	{"deadline_before_the_turn", Limits{Gap: time.Second}, 0, 0, 999 * ms, time.Second, ReasonGap},
	{"deadline_at_the_turn", Limits{Gap: time.Second}, 0, 0, time.Second, time.Second, ReasonGap},
	{"deadline_after_the_turn", Limits{Gap: time.Second}, 0, 0, 1001 * ms, 0, ""},
	{"deadline_behind_others", Limits{Gap: time.Second}, 4, 0, 4500 * ms, 5 * time.Second, ReasonGap},
	{"deadline_enough_behind_others", Limits{Gap: time.Second}, 4, 0, 5500 * ms, 0, ""},
	{"max_wait_before_the_turn", Limits{Gap: time.Second, MaxWait: 999 * ms}, 0, 0, 0, time.Second, ReasonGap},
	{"max_wait_at_the_turn", Limits{Gap: time.Second, MaxWait: time.Second}, 0, 0, 0, 0, ""},
	{"max_wait_behind_others", Limits{Gap: time.Second, MaxWait: 4 * time.Second}, 4, 0, 0, 5 * time.Second, ReasonGap},
	{"crawl_delay", Limits{MaxWait: 10 * time.Second}, 0, 30 * time.Second, 0, 30 * time.Second, ReasonCrawlDelay},
	{"crawl_delay_of_a_century", Limits{Delay: Honour}, 0, 100 * 365 * 24 * time.Hour, 5 * time.Second, maxSpan, ReasonCrawlDelay},
}

func TestAWaitThatCannotEndInTimeIsRefusedAtOnce(t *testing.T) {
	for _, test := range refuseTests {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, zero := pacer(t, test.limits, nil), time.Now()
				take(t, p, host1, 0).Done()
				settled := queue(p, newTrail(), test.waiting)
				ctx := context.Background()
				if test.left > 0 {
					mine, cancel := context.WithTimeout(ctx, test.left)
					defer cancel()
					ctx = mine
				}
				_, err := p.Wait(ctx, host1, test.delay)
				var want error
				if test.retry > 0 {
					want = &RefusedError{Authority: host1, RetryAt: zero.Add(test.retry), Reason: test.why}
					if took := time.Since(zero); took != 0 {
						t.Errorf("refused after %v, want at once", took)
					}
				}
				if !reflect.DeepEqual(err, want) {
					t.Errorf("%+v, %d in line, delay %v, %v left: Wait = %v, want %v", test.limits, test.waiting, test.delay, test.left, err, want)
				}
				settled()
				// A refusal uses up nothing: the next turn comes as if there had been no
				// refusal.
				if test.retry > 0 {
					next, _ := peek(p, host1, 0)
					if got, want := next.Sub(zero), time.Duration(test.waiting+1)*test.limits.Gap; got != want {
						t.Errorf("the turn after a refusal comes at %v, want %v", got, want)
					}
				}
			})
		})
	}
}

// A turn of Parallel is taken until Done, not until the answer.
func TestInFlightEndsAtDoneAndNotAtTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{Parallel: 2}, nil), newTrail()
		a, b := take(t, p, host1, 0), take(t, p, host1, 0)
		settled := queue(p, r, 3)
		time.Sleep(time.Second)
		a.Answer(200, nil)
		time.Sleep(time.Second)
		a.Done()
		a.Done() // a second Done frees no second place
		time.Sleep(time.Second)
		b.Done()
		settled()
		// Each caller of queue ends its turn at once, which lets the next go.
		r.check(t, "2s 0", "2s 1", "2s 2")
	})
}

func TestParallelHoldsWithoutDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{Parallel: 2, MaxWait: 10 * time.Second}, nil), time.Now()
		a := take(t, p, host1, 0)
		take(t, p, host1, 0)
		a.Done()
		a.Done()
		take(t, p, host1, 0)
		_, err := p.Wait(context.Background(), host1, 0)
		want := &RefusedError{Authority: host1, RetryAt: zero.Add(11 * time.Second), Reason: ReasonParallel}
		if !reflect.DeepEqual(err, want) {
			t.Errorf("third of two in flight: Wait = %v, want %v", err, want)
		}
		if got := time.Since(zero); got != 10*time.Second {
			t.Errorf("refused after %v, want MaxWait, 10s", got)
		}
	})
}

// Follow waits for gaps and for requests in flight however long, and no longer
// than its context.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{Parallel: 1, MaxWait: time.Second}, nil), time.Now()
		time.AfterFunc(10*time.Second, take(t, p, host1, 0).Done)
		turn, err := p.Follow(context.Background(), host1, 30*time.Second)
		if got := time.Since(zero); err != nil || got != 30*time.Second {
			t.Fatalf("Follow = %v after %v, want a turn after the Crawl-delay, 30s", err, got)
		}
		time.AfterFunc(50*time.Second, turn.Done)
		turn, err = p.Follow(context.Background(), host1, 0)
		if got := time.Since(zero); err != nil || got != 80*time.Second {
			t.Fatalf("Follow = %v after %v, want a turn after the request in flight, 80s", err, got)
		}
		turn.Done()
		ctx, cancel := context.WithTimeout(context.Background(), 29*time.Second)
		defer cancel()
		_, err = p.Follow(ctx, host1, 30*time.Second)
		want := &RefusedError{Authority: host1, RetryAt: zero.Add(110 * time.Second), Reason: ReasonCrawlDelay}
		if !reflect.DeepEqual(err, want) {
			t.Errorf("with 29s left: Follow = %v, want %v", err, want)
		}
	})
}

// The gap and the bound on requests in flight hold together.
func TestParallelAndGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{Gap: time.Second, Parallel: 1}, nil), time.Now()
		a := take(t, p, host1, 0)
		time.AfterFunc(300*ms, a.Done)
		b := take(t, p, host1, 0)
		if got := time.Since(zero); got != time.Second {
			t.Errorf("done before the gap: next start at %v, want 1s", got)
		}
		time.AfterFunc(5*time.Second, b.Done)
		take(t, p, host1, 0)
		if got := time.Since(zero); got != 6*time.Second {
			t.Errorf("done after the gap: next start at %v, want 6s", got)
		}
	})
}

// wantWait is one call of OnWait.
type wantWait struct {
	authority string
	wait      time.Duration
	why       Reason
}

// OnWait reports each wait and what it waited for last, and may call the Pacer.
func TestEachWaitIsReportedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *Pacer
		var got []wantWait
		p = pacer(t, Limits{Gap: time.Second, Parallel: 1}, &Options{
			OnWait: func(authority string, wait time.Duration, why Reason) {
				p.Stats()
				got = append(got, wantWait{authority, wait, why})
			},
		})
		a := take(t, p, host1, 0)
		a.Done()
		take(t, p, host1, 0).Done() // gap
		b := take(t, p, host1, 4*time.Second)
		b.Answer(200, nil)
		time.AfterFunc(5*time.Second, b.Done)
		c := take(t, p, host1, 0) // in flight
		c.Answer(200, nil)
		c.Done()
		d := take(t, p, host1, 0) // gap
		d.Answer(429, http.Header{"Retry-After": {"30"}})
		d.Done()
		take(t, p, host1, 0)
		want := []wantWait{
			{host1, time.Second, ReasonGap},
			{host1, 4 * time.Second, ReasonCrawlDelay},
			{host1, 5 * time.Second, ReasonParallel},
			{host1, time.Second, ReasonGap},
			{host1, 30 * time.Second, ReasonPause},
		}
		if !slices.Equal(got, want) {
			t.Errorf("OnWait got\n%v, want\n%v", got, want)
		}
	})
}

// A Crawl-delay that is not obeyed in full is reported once per authority.
func TestADelayNotObeyedInFullIsReportedOnce(t *testing.T) {
	type report struct {
		authority     string
		asked, obeyed time.Duration
	}
	for _, test := range []struct {
		name   string
		limits Limits
		want   []report
	}{
		{"cap", Limits{DelayCap: 2 * time.Second}, []report{{host1, 5 * time.Second, 2 * time.Second}, {host2, time.Hour, 2 * time.Second}}},
		{"ignore", Limits{Delay: Ignore}, []report{{host2, time.Second, 0}, {host1, 5 * time.Second, 0}}},
		{"honour", Limits{Delay: Honour}, nil},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []report
				p := pacer(t, test.limits, &Options{OnDelay: func(authority string, asked, obeyed time.Duration) {
					got = append(got, report{authority, asked, obeyed})
				}})
				take(t, p, host2, time.Second)
				for range 3 {
					take(t, p, host1, 5*time.Second)
					take(t, p, host2, time.Hour)
				}
				if told := p.Stats().Delays; !slices.Equal(got, test.want) || told != uint64(len(test.want)) {
					t.Errorf("%+v: OnDelay got %v, %d counted; want %v", test.limits, got, told, test.want)
				}
			})
		})
	}
}

// Obstacle foresees the start of a newcomer and takes nothing.
func TestObstacle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{Gap: time.Second, Parallel: 1}, nil), time.Now()
		check := func(when string, delay, at time.Duration, why Reason) {
			t.Helper()
			got, reason := peek(p, host1, delay)
			if !got.Equal(zero.Add(at)) || reason != why {
				t.Errorf("%s, delay %v: peek = %v, %q; want %v, %q", when, delay, got.Sub(zero), reason, at, why)
			}
		}
		check("unknown", 0, 0, ReasonNone)
		a := take(t, p, host1, 0)
		check("in flight", 0, time.Second, ReasonGap)
		time.Sleep(2 * time.Second)
		check("in flight past the gap", 0, 2*time.Second, ReasonParallel)
		a.Done()
		check("free", 0, 2*time.Second, ReasonNone)
		check("free", 5*time.Second, 5*time.Second, ReasonCrawlDelay)
		take(t, p, host1, 0).Done()
		settled := queue(p, newTrail(), 3)
		check("three in line", 0, 6*time.Second, ReasonGap)
		settled()
	})
}
