package pace

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// an answer to one request, and how long after it the next may start: at least
// pause, and at most a quarter more where the pause was drawn.
type answer struct {
	status int
	after  string // Retry-After, "" for none
	pause  time.Duration
	drawn  bool
}

// pauseTests are sequences of answers, each to a request that started when the
// pause before it was over.
var pauseTests = []struct {
	name    string
	limits  Limits
	answers []answer
}{
	{"success", Limits{}, []answer{{200, "", 0, false}}},
	{"success_with_retry_after", Limits{}, []answer{{200, "30", 0, false}}},
	{"other_errors_do_not_pause", Limits{}, []answer{{500, "", 0, false}, {403, "", 0, false}, {502, "", 0, false}, {404, "", 0, false}}},
	{"retry_after_429", Limits{}, []answer{{429, "30", 30 * time.Second, false}}},
	{"retry_after_503", Limits{}, []answer{{503, "30", 30 * time.Second, false}}},
	{"retry_after_date", Limits{}, []answer{{503, "Sat, 01 Jan 2000 00:02:00 GMT", 2 * time.Minute, false}}},
	{"retry_after_over_the_bound", Limits{}, []answer{{429, "86400", 15 * time.Minute, false}}},
	{"retry_after_over_own_bound", Limits{Pause: time.Minute}, []answer{{429, "86400", time.Minute, false}}},
	{"retry_after_overflow", Limits{}, []answer{{429, "99999999999999999999", 15 * time.Minute, false}}},
	{"retry_after_403", Limits{}, []answer{{403, "30", 30 * time.Second, false}}},
	{"retry_after_404", Limits{}, []answer{{404, "30", 30 * time.Second, false}}},
	{"retry_after_500", Limits{}, []answer{{500, "86400", 15 * time.Minute, false}}},
	{"retry_after_529", Limits{}, []answer{{529, "30", 30 * time.Second, false}}},
	{"retry_after_of_a_moved_status", Limits{Statuses: map[int]Health{500: Neutral}}, []answer{{500, "30", 30 * time.Second, false}}},
	{"retry_after_0_of_an_error", Limits{}, []answer{{403, "0", 0, false}}},
	{"retry_after_of_a_redirect", Limits{}, []answer{{302, "30", 0, false}, {399, "30", 0, false}}},
	{"overload_509_and_529", Limits{}, []answer{{509, "", time.Second, true}, {529, "", 2 * time.Second, true}}},
	{"doubling", Limits{}, []answer{{429, "", time.Second, true}, {503, "", 2 * time.Second, true}, {429, "", 4 * time.Second, true}, {503, "", 8 * time.Second, true}}},
	{"doubling_with_garbage", Limits{}, []answer{{429, "soon", time.Second, true}, {429, "-5", 2 * time.Second, true}}},
	{"retry_after_zero_is_no_licence", Limits{}, []answer{{429, "0", time.Second, true}, {429, "0", 2 * time.Second, true}}},
	{"doubling_ends_at_the_bound", Limits{Pause: 3 * time.Second}, []answer{{429, "", time.Second, true}, {429, "", 2 * time.Second, true}, {429, "", 3 * time.Second, false}, {429, "", 3 * time.Second, false}}},
	{"one_success_halves", Limits{}, []answer{{429, "", time.Second, true}, {429, "", 2 * time.Second, true}, {429, "", 4 * time.Second, true}, {200, "", 0, false}, {429, "", 4 * time.Second, true}}},
	{"successes_end_it", Limits{}, []answer{{429, "", time.Second, true}, {429, "", 2 * time.Second, true}, {200, "", 0, false}, {304, "", 0, false}, {429, "", time.Second, true}}},
	{"trouble_lifts_nothing", Limits{}, []answer{{429, "", time.Second, true}, {500, "", 0, false}, {403, "", 0, false}, {429, "", 2 * time.Second, true}}},
	{"no_error_answer_makes_it_shorter", Limits{}, []answer{{429, "60", time.Minute, false}, {429, "5", time.Minute, false}, {429, "", 2 * time.Minute, true}}},
	{"gap_over_pause", Limits{Gap: time.Minute}, []answer{{429, "30", time.Minute, false}}},
}

func TestPauses(t *testing.T) {
	for _, test := range pauseTests {
		t.Run("house/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, test.limits, nil)
				turn := take(t, p, host1, 0)
				for i, a := range test.answers {
					h := http.Header{}
					if a.after != "" {
						h.Set("Retry-After", a.after)
					}
					start := time.Now()
					turn.Answer(a.status, h)
					turn.Done()
					turn = take(t, p, host1, 0)
					got, most := time.Since(start), a.pause
					if a.drawn {
						most += a.pause / 4
					}
					if got < a.pause || got > most {
						t.Errorf("%+v, answers %+v: next start %v after answer %d, want %v to %v", test.limits, test.answers, got, i, a.pause, most)
					}
				}
			})
		})
	}
}

// A pause stops callers that already wait. Callers whose time is too short for it are
// refused at that moment, not when it ends.
func TestAPauseHoldsForEveryCallerAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{Gap: time.Second}, nil), newTrail()
		a := take(t, p, host1, 0)
		var wg sync.WaitGroup
		for i, left := range []time.Duration{time.Hour, 20 * time.Second, time.Hour} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), left)
				defer cancel()
				turn, err := p.Wait(ctx, host1, 0)
				if refused, ok := err.(*RefusedError); ok {
					r.add("%d refused until %v: %s", i, refused.RetryAt.Sub(r.zero), refused.Reason)
					return
				}
				r.add("%d %v", i, err)
				turn.Done()
			})
			synctest.Wait()
		}
		time.Sleep(500 * ms)
		a.Answer(429, http.Header{"Retry-After": {"30"}})
		a.Done()
		wg.Wait()
		r.check(t, "500ms 1 refused until 31.5s: pause", "30.5s 0 <nil>", "31.5s 2 <nil>")
	})
}

// Answers of requests that were already out when a pause began do not double
// it, and a success among them does not end or halve it.
func TestPauseOfRequestsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{}, nil), time.Now()
		var out []Turn
		for range 8 {
			out = append(out, take(t, p, host1, 0))
		}
		for i, turn := range out {
			status := 429
			if i == 7 {
				status = 200
			}
			turn.Answer(status, nil)
			turn.Done()
		}
		next := take(t, p, host1, 0)
		if got := time.Since(zero); got < time.Second || got > 1250*ms {
			t.Errorf("seven 429 and one 200 at once: next start after %v, want 1s to 1.25s", got)
		}
		zero = time.Now()
		next.Answer(429, nil)
		next.Done()
		take(t, p, host1, 0)
		if got := time.Since(zero); got < 2*time.Second || got > 2500*ms {
			t.Errorf("a later 429: next start after %v, want 2s to 2.5s", got)
		}
	})
}

// No answer makes a running pause shorter, though each draws its own length.
func TestNoAnswerMakesAPauseShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		var out []Turn
		for range 50 {
			out = append(out, take(t, p, host1, 0))
		}
		var until time.Time
		for i, turn := range out {
			turn.Answer([]int{429, 503, 200, 500}[i%4], nil)
			turn.Done()
			at, _ := peek(p, host1, 0)
			if at.Before(until) {
				t.Errorf("answer %d: the pause ends %v sooner than before", i, until.Sub(at))
			}
			until = at
		}
	})
}

// Jitter is real: crawlers that were turned away together come back apart.
func TestPauseJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		seen := map[time.Time]bool{}
		for i := range 20 {
			name := fmt.Sprint(i)
			turn := take(t, p, name, 0)
			turn.Answer(429, nil)
			turn.Done()
			at, _ := peek(p, name, 0)
			seen[at] = true
		}
		if len(seen) < 10 {
			t.Errorf("20 pauses end at %d moments, want them spread", len(seen))
		}
	})
}

// The gap counts from the moment at which Sent was called.
func TestSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{Gap: time.Second}, nil), newTrail()
		a := take(t, p, host1, 0)
		settled := queue(p, r, 2)
		time.Sleep(900 * ms)
		a.Sent()
		settled()
		time.Sleep(500 * ms)
		a.Sent() // others have started since
		take(t, p, host1, 0).Done()
		r.add("last")
		r.check(t, "1.9s 0", "2.9s 1", "3.9s last")
	})
}

// Callers whose time is too short when a start was later than foreseen are refused at
// that moment.
func TestSentRefusesTheLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{Gap: time.Second}, nil), newTrail()
		a := take(t, p, host1, 0)
		var wg sync.WaitGroup
		for i, left := range []time.Duration{1500 * ms, time.Hour, 2500 * ms} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), left)
				defer cancel()
				_, err := p.Wait(ctx, host1, 0)
				if refused, ok := err.(*RefusedError); ok {
					r.add("%d refused until %v: %s", i, refused.RetryAt.Sub(r.zero), refused.Reason)
					return
				}
				r.add("%d %v", i, err)
			})
			synctest.Wait()
			if i == 1 {
				time.Sleep(900 * ms)
			}
		}
		a.Sent()
		wg.Wait()
		r.check(t, "900ms 0 refused until 1.9s: gap", "1.9s 1 <nil>", "2.9s 2 <nil>")
	})
}

// Only the first answer of a turn counts, and none after its end.
func TestAnswerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{}, nil), time.Now()
		a, b := take(t, p, host1, 0), take(t, p, host1, 0)
		a.Answer(200, nil)
		a.Answer(429, nil)
		b.Done()
		b.Answer(429, nil)
		a.Done()
		take(t, p, host1, 0)
		if got := time.Since(zero); got != 0 {
			t.Errorf("late answers paused for %v, want 0s", got)
		}
		if got, want := p.Stats(), (Stats{Authorities: 1, InFlight: 1, Turns: 3}); !reflect.DeepEqual(got, want) {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
	})
}

// A call on a turn that has ended, or on the zero Turn, changes nothing.
func TestEndedTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{Gap: time.Second}, nil)
		var none Turn
		old := take(t, p, host1, 0)
		old.Done()
		take(t, p, host2, 0)
		time.Sleep(500 * ms)
		for _, over := range []Turn{old, none} {
			over.Sent()
			over.Answer(429, nil)
			over.Done()
		}
		if got, want := p.Stats(), (Stats{Authorities: 2, InFlight: 1, Turns: 2}); got != want {
			t.Errorf("Stats() = %+v, want %+v", got, want)
		}
		for _, authority := range []string{host1, host2} {
			if at, why := peek(p, authority, 0); time.Until(at) != 500*ms || why != ReasonGap {
				t.Errorf("peek(%q) = %v from now, %q; want the rest of the gap, 500ms, %q", authority, time.Until(at), why, ReasonGap)
			}
		}
	})
}

// A turn costs one allocation where nobody waits.
func TestTurnAllocatesOnce(t *testing.T) {
	p := pacer(t, Limits{Parallel: 1}, nil)
	header := http.Header{}
	got := testing.AllocsPerRun(100, func() {
		turn := take(t, p, host1, 0)
		turn.Sent()
		turn.Answer(200, header)
		turn.Done()
	})
	if got > 1 {
		t.Errorf("%v allocations a turn, want at most 1", got)
	}
}

// A turn may be ended again while another one starts.
func TestDoneTwice(t *testing.T) {
	p := pacer(t, Limits{}, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				turn := take(t, p, host1, 0)
				turn.Done()
				turn.Answer(200, nil)
				turn.Done()
			}
		})
	}
	wg.Wait()
	if s := p.Stats(); s.InFlight != 0 || s.Turns != 4000 {
		t.Errorf("%d in flight after %d turns, want 0 after 4000", s.InFlight, s.Turns)
	}
}
