package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Every status has the health that the table says, and Limits.Statuses moves one.
func TestHealth(t *testing.T) {
	want := map[int]Health{
		404: Healthy, 410: Healthy, 408: Failing, 425: Failing, 429: Overloaded,
		501: Neutral, 503: Overloaded, 505: Neutral, 509: Overloaded, 529: Overloaded, 999: Failing,
	}
	for status := range 1100 {
		expected, single := want[status]
		switch {
		case single:
		case status >= 200 && status <= 399:
			expected = Healthy
		case status >= 500 && status <= 599:
			expected = Failing
		}
		if got := (&Limits{}).health(status); got != expected {
			t.Errorf("6/%d: health %d, want %d", status, got, expected)
		}
	}
	l := Limits{Statuses: map[int]Health{403: Overloaded, 500: Neutral}}
	if l.health(403) != Overloaded || l.health(500) != Neutral || l.health(502) != Failing {
		t.Errorf("6/moved: 403, 500 and 502 are %d, %d and %d; want Overloaded, Neutral and Failing", l.health(403), l.health(500), l.health(502))
	}
}

// outcome ends a turn: a status, a failure (-1), or no news (0).
func outcome(turn Turn, status int) {
	switch {
	case status > 0:
		turn.Answer(status, nil)
	case status < 0:
		turn.Fail(errors.New("timeout"))
	}
	turn.Done()
}

// TestBreaker shows when requests start that come one after the other and end at once.
func TestBreaker(t *testing.T) {
	for _, test := range []struct {
		name     string
		limits   Limits
		outcomes []int
		want     []time.Duration // of the starts, and of the one that would come next
	}{
		{"two_failures", Limits{}, []int{500, -1}, []time.Duration{0, 0, 0}},
		{"a_success_between", Limits{}, []int{500, -1, 200, 500, 502}, []time.Duration{0, 0, 0, 0, 0, 0}},
		{"a_neutral_answer_between", Limits{}, []int{500, -1, 403, 500}, []time.Duration{0, 0, 0, 0, 10}},
		{"no_news_between", Limits{}, []int{500, 0, 500, 0, -1}, []time.Duration{0, 0, 0, 0, 0, 10}},
		{"doubling", Limits{}, []int{500, 500, 500, -1, 520, -1}, []time.Duration{0, 0, 0, 10, 30, 70, 150}},
		{"longest_rest", Limits{RestMax: 15 * time.Second}, []int{-1, -1, -1, -1, -1}, []time.Duration{0, 0, 0, 10, 25, 40}},
		{"a_probe_succeeds", Limits{}, []int{-1, -1, -1, 200, -1, -1, -1}, []time.Duration{0, 0, 0, 10, 10, 10, 10, 20}},
		{"half_is_remembered", Limits{}, []int{-1, -1, -1, -1, -1, 404, -1, -1, -1}, []time.Duration{0, 0, 0, 10, 30, 70, 70, 70, 70, 110}},
		{"a_probe_without_news", Limits{}, []int{-1, -1, -1, 0, 403, -1}, []time.Duration{0, 0, 0, 10, 10, 10, 30}},
		{"one_failure", Limits{Failures: 1, Rest: time.Second}, []int{-1, 200, -1}, []time.Duration{0, 1, 1, 2}},
		{"moved_status", Limits{Failures: 1, Statuses: map[int]Health{403: Failing, 500: Neutral}}, []int{500, 403}, []time.Duration{0, 0, 10}},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, zero := pacer(t, test.limits, nil), time.Now()
				var got []time.Duration
				for _, o := range test.outcomes {
					turn := take(t, p, host1, 0)
					got = append(got, time.Since(zero)/time.Second)
					outcome(turn, o)
				}
				take(t, p, host1, 0).Done()
				if got = append(got, time.Since(zero)/time.Second); !slices.Equal(got, test.want) {
					t.Errorf("starts after %d seconds, want %d", got, test.want)
				}
			})
		})
	}
}

// A host that is dead for an hour gets twelve requests with Default limits and eight
// workers, however its requests end. Its first answer puts it in use again.
func TestDeadHost(t *testing.T) {
	for _, test := range []struct {
		name string
		took time.Duration // of each request
		end  int
	}{
		{"status_500", 0, 500}, {"slow_status_502", 5 * time.Second, 502}, {"refused", 0, -1}, {"timeout", 30 * time.Second, -1},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := *Default()
				l.MaxWait = time.Second
				p, zero := pacer(t, l, nil), time.Now()
				var mu sync.Mutex
				var sent []time.Duration
				var workers sync.WaitGroup
				for range 8 {
					workers.Go(func() {
						for time.Since(zero) < time.Hour {
							turn, err := p.Wait(t.Context(), host1, 0)
							var refused *RefusedError
							if errors.As(err, &refused) {
								time.Sleep(time.Until(refused.RetryAt))
								continue
							}
							mu.Lock()
							sent = append(sent, time.Since(zero))
							mu.Unlock()
							time.Sleep(test.took)
							outcome(turn, test.end)
						}
					})
				}
				workers.Wait()
				within := slices.DeleteFunc(sent, func(at time.Duration) bool { return at >= time.Hour })
				if len(within) > 12 || len(within) < 10 {
					t.Errorf("%d requests, at %v; want at most 12, and still one now and then", len(within), within)
				}
			})
		})
	}
}

// A caller that would wait for a rest longer than MaxWait is refused with the cause of the
// rest. A caller that comes while the probe is under way waits for it.
func TestBreakerRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, began := pacer(t, Limits{MaxWait: 5 * time.Second}, nil), time.Now()
		for _, o := range []int{-1, 500, 502} {
			outcome(take(t, p, host1, 0), o)
		}
		refused := func(at time.Duration, trouble string) {
			t.Helper()
			_, err := p.Wait(t.Context(), host1, 0)
			var got *RefusedError
			if !errors.As(err, &got) || got.Reason != ReasonBreaker || got.Trouble != trouble || time.Until(got.RetryAt) != at || !got.Since.Equal(began) {
				t.Fatalf("6/refusal: %+v, in %v, since %v\nwant %q, in %v, since %v", err, time.Until(got.RetryAt), got.Since, trouble, at, began)
			}
		}
		refused(10*time.Second, "3 failed requests in a row, the last with status 502; one request tries again at 00:00:10Z")
		if at, why := peek(p, host1, 0); time.Until(at) != 10*time.Second || why != ReasonBreaker || !strings.HasPrefix(troubleOf(p, host1), "3 failed") {
			t.Errorf("6/peek: in %v for %q, %q", time.Until(at), why, troubleOf(p, host1))
		}
		time.Sleep(10 * time.Second)
		probe := take(t, p, host1, 0)
		time.Sleep(15 * time.Second)
		// The probe may end at any time, so this caller waits all of its MaxWait.
		refused(20*time.Second, "3 failed requests in a row, the last with status 502; one request has been testing the host since 00:00:10Z")
		probe.Fail(errors.New("tls"))
		probe.Done()
		refused(20*time.Second, "4 failed requests in a row, the last with no complete answer (tls); one request tries again at 00:00:50Z")
		time.Sleep(20 * time.Second)
		outcome(take(t, p, host1, 0), 200)
		if got := troubleOf(p, host1); got != "" || p.Stats().Rests != 2 {
			t.Errorf("6/recovered: trouble %q, %d rests; want none and 2", got, p.Stats().Rests)
		}
	})
}

// While a probe is under way that is expected to take long, nobody waits for it longer
// than MaxWait permits.
func TestProbeThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero := pacer(t, Limits{MaxWait: 5 * time.Second}, nil), time.Now()
		for range 3 {
			turn := take(t, p, host1, 0)
			time.Sleep(30 * time.Second)
			outcome(turn, -1)
		}
		time.Sleep(10 * time.Second)
		probe := take(t, p, host1, 0)
		_, err := p.Wait(t.Context(), host1, 0)
		var got *RefusedError
		if !errors.As(err, &got) || got.Reason != ReasonBreaker || got.RetryAt.Sub(zero) != 130*time.Second || time.Since(zero) != 100*time.Second {
			t.Errorf("6/expected_end: %v after %v; want a refusal at once, after 100s, until 130s", err, time.Since(zero))
		}
		outcome(probe, 200)
		take(t, p, host1, 0).Done()
	})
}

// Requests that began before a rest say nothing of the time after it.
func TestBreakerIgnoresTheOld(t *testing.T) {
	for _, end := range []int{-1, 200} {
		synctest.Test(t, func(t *testing.T) {
			p := pacer(t, Limits{}, nil)
			old := []Turn{take(t, p, host1, 0), take(t, p, host1, 0)}
			time.Sleep(time.Second)
			for range 3 {
				p.mu.Lock()
				f := &flight{host: p.hosts.byName[host1], started: p.now()}
				f.host.fail(f, "test", p.now())
				p.mu.Unlock()
			}
			for _, turn := range old {
				outcome(turn, end)
			}
			if at, why := peek(p, host1, 0); time.Until(at) != 10*time.Second || why != ReasonBreaker {
				t.Errorf("6/old: the next request waits %v for %q, want the 10s of the first rest", time.Until(at), why)
			}
		})
	}
}

// A body that breaks off is a failure, whatever its status was.
func TestBodiesThatBreakOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		for range 3 {
			turn := take(t, p, host1, 0)
			turn.Answer(200, nil)
			turn.Fail(errors.New("body"))
			turn.Fail(errors.New("body"))
			turn.Done()
		}
		if _, why := peek(p, host1, 0); why != ReasonBreaker {
			t.Errorf("6/bodies: the next request waits for %q, want a rest", why)
		}
	})
}

// A long body is no reason to keep others waiting: its host has answered.
func TestLongBodyAfterFailures(t *testing.T) {
	for _, failures := range []int{2, 3} { // the long answer is the last chance, or the probe
		synctest.Test(t, func(t *testing.T) {
			p := pacer(t, Limits{}, nil)
			for range failures {
				outcome(take(t, p, host1, 0), 500)
			}
			long := take(t, p, host1, 0)
			if _, why := peek(p, host1, 0); why != ReasonBreaker {
				t.Errorf("6/long_body: after %d failures a second request waits for %q; want the breaker", failures, why)
			}
			long.Answer(200, nil)
			if at, why := peek(p, host1, 0); why != ReasonNone {
				t.Errorf("6/long_body: after %d failures and an answer the next waits %v for %q; want a free turn", failures, time.Until(at), why)
			}
			long.Done()
			if h := p.hosts.byName[host1]; h.starts.flying != 0 || h.starts.unanswered != 0 || h.breaker.failures != 0 {
				t.Errorf("6/long_body: %d in flight, %d unanswered, %d failures left; want none", h.starts.flying, h.starts.unanswered, h.breaker.failures)
			}
		})
	}
}

// What is known of a host in trouble is forgotten after a while, not before.
func TestBreakerIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{Delay: Ignore}, nil)
		outcome(take(t, p, host1, 0), 500)
		h := p.hosts.byName[host1]
		for _, test := range []struct {
			after time.Duration
			want  bool
		}{{14 * time.Minute, false}, {time.Minute, true}} {
			time.Sleep(test.after)
			if got := h.lapsed(p.now()); got != test.want {
				t.Errorf("6/lapse: after %v more forgotten: %t, want %t", test.after, got, test.want)
			}
		}
	})
}

// A tester sends requests that end at random to one host, and checks what the breaker
// promises: never two probes at once, never a request during a rest, always a probe
// after it. It keeps its own account of the failures.
type tester struct {
	t        *testing.T
	p        *Pacer
	mu       sync.Mutex
	rng      *rand.Rand
	failures int
	rest     time.Duration
	opened   time.Time // when the latest rest began
	until    time.Time
	open     bool
	probes   int // under way
}

// A good head of an answer does not end the count of failures, because the body may still
// fail. The probe whose answer begins well lets other requests start, but one that fails
// before any has succeeded begins the next rest.
func TestProbeWithoutBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		for range 3 {
			turn := take(t, p, host1, 0)
			turn.Answer(200, nil)
			turn.Fail(errors.New("body"))
			turn.Done()
		}
		for _, rest := range []time.Duration{10, 20, 40} {
			zero := time.Now()
			probe := take(t, p, host1, 0)
			if rested := time.Since(zero); rested != rest*time.Second {
				t.Errorf("6: the host rested for %v, want %v", rested, rest*time.Second)
			}
			probe.Answer(200, nil)
			second := take(t, p, host1, 0)
			if _, why := peek(p, host1, 0); why != ReasonBreaker {
				t.Errorf("6: while the second request has no answer a third waits for %q, want %q", why, ReasonBreaker)
			}
			second.Done()
			probe.Fail(errors.New("body"))
			probe.Done()
		}
	})
}

// Who waits for a probe starts when its answer begins well, and does not wait for its body.
func TestProbeLetsTheLineGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{}, nil), newTrail()
		for range 3 {
			outcome(take(t, p, host1, 0), 502)
		}
		probe := take(t, p, host1, 0)
		settled := queue(p, r, 1)
		time.Sleep(time.Second)
		probe.Answer(200, nil)
		time.Sleep(time.Second)
		probe.Done()
		settled()
		r.check(t, "11s 0")
	})
}

func (c *tester) n(n int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.Int64N(n)
}

func (c *tester) worker() {
	for range 40 {
		time.Sleep(time.Duration(c.n(40_000_000_000)))
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Duration(1+c.n(600_000_000_000)))
		turn, err := c.p.Wait(ctx, host1, 0)
		cancel()
		if err == nil {
			c.visit(turn)
		}
	}
}

func (c *tester) visit(turn Turn) {
	began := time.Now()
	c.mu.Lock()
	probe := c.open && began.After(c.opened)
	if probe {
		c.probes++
		if c.probes > 1 || began.Before(c.until) {
			c.t.Errorf("a request %v before the end of the rest, %d probes", c.until.Sub(began), c.probes)
		}
	}
	c.mu.Unlock()
	time.Sleep(time.Duration(1 + c.n(2_000_000_000)))
	end := []int{500, -1, 500, -1, 200, 403, 0}[c.n(7)]
	c.mu.Lock()
	if probe {
		c.probes--
	}
	if began.After(c.opened) {
		c.count(end)
	}
	outcome(turn, end)
	c.mu.Unlock()
}

func (c *tester) count(end int) {
	switch end {
	case 200:
		c.failures, c.open, c.rest = 0, false, c.rest/2
		if c.rest < 10*time.Second {
			c.rest = 0
		}
	case 500, -1:
		c.failures++
		if c.open || c.failures == 3 {
			c.rest = min(max(2*c.rest, 10*time.Second), 15*time.Minute)
			c.open, c.opened, c.until = true, time.Now(), time.Now().Add(c.rest)
		}
	}
}

func TestBreakerModel(t *testing.T) {
	for seed := range uint64(30) {
		t.Run("6/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 9309))
				l := Limits{Parallel: rng.IntN(4), Gap: time.Duration(rng.IntN(2)) * 100 * ms}
				c := &tester{t: t, p: pacer(t, l, nil), rng: rng}
				var all sync.WaitGroup
				for range 20 {
					all.Go(c.worker)
				}
				all.Wait()
				s := c.p.Stats()
				if c.rest == 0 && s.Rests == 0 || s.InFlight != 0 || s.Waiting != 0 {
					t.Errorf("%+v; want rests, and nothing left", s)
				}
				if b := c.p.hosts.byName[host1].breaker; b.open != c.open || b.failures != c.failures || b.rest != c.rest || b.probe != nil {
					t.Errorf("at the end %+v; want open %t, %d failures, a rest of %v", b, c.open, c.failures, c.rest)
				}
				time.Sleep(time.Until(c.until))
				took := time.Now()
				take(t, c.p, host1, 0).Done()
				if wait := time.Since(took); wait > time.Second {
					t.Errorf("after the rest the probe waits %v", wait)
				}
			})
		})
	}
}

func ExampleTurn_Fail() {
	p, err := New(&Limits{Failures: 1, MaxWait: time.Second}, nil)
	if err != nil {
		panic(err)
	}
	turn, _ := p.Wait(context.Background(), "https://example.com", 0)
	turn.Fail(errors.New("connect"))
	turn.Done()
	_, err = p.Wait(context.Background(), "https://example.com", 0)
	var refused *RefusedError
	fmt.Println(errors.As(err, &refused), refused.Reason)
	// Output: true breaker
}

// troubleOf returns the Trouble of a host among the hosts of a Pacer.
func troubleOf(p *Pacer, authority string) string {
	for s := range p.Hosts() {
		if s.Authority == authority {
			return s.Trouble
		}
	}
	return ""
}
