package pace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestHosts checks that the list says who waits, until when and for what, and leaves out
// authorities that keep nobody waiting.
func TestHosts(t *testing.T) {
	const idle = "https://idle.example"
	for _, test := range []struct {
		name   string
		limits Limits
		do     func(t *testing.T, p *Pacer)
		want   string
	}{
		{"nobody", Limits{Gap: time.Hour}, func(t *testing.T, p *Pacer) { take(t, p, host1, 0).Done() }, "[]"},
		{"in_flight", Limits{}, func(t *testing.T, p *Pacer) { take(t, p, host1, 0) }, "[h1: 0 waiting since 0s, 1 in flight, next in 0s]"},
		{"gap", Limits{Gap: 10 * time.Second}, func(t *testing.T, p *Pacer) {
			take(t, p, host1, 0).Done()
			wait(t, p, 0, 3)
			time.Sleep(time.Second)
		}, "[h1: 3 waiting since 1s, 0 in flight, next in 9s, gap]"},
		{"crawl_delay", Limits{}, func(t *testing.T, p *Pacer) {
			take(t, p, host1, 0).Done()
			wait(t, p, 20*time.Second, 1)
		}, "[h1: 1 waiting since 0s, 0 in flight, next in 20s, crawl_delay]"},
		{"parallel", Limits{Parallel: 1}, func(t *testing.T, p *Pacer) {
			take(t, p, host1, 0)
			wait(t, p, 0, 2)
		}, "[h1: 2 waiting since 0s, 1 in flight, next in 0s, parallel]"},
		{"pause", Limits{}, func(t *testing.T, p *Pacer) {
			turn := take(t, p, host1, 0)
			turn.Answer(429, map[string][]string{"Retry-After": {"30"}})
			turn.Done()
		}, "[h1: 0 waiting since 0s, 0 in flight, next in 30s, pause]"},
		{"pause_is_over", Limits{}, func(t *testing.T, p *Pacer) {
			turn := take(t, p, host1, 0)
			turn.Answer(429, map[string][]string{"Retry-After": {"30"}})
			turn.Done()
			time.Sleep(30 * time.Second)
		}, "[]"},
		{"breaker", Limits{}, func(t *testing.T, p *Pacer) {
			for range 3 {
				outcome(take(t, p, host1, 0), 502)
			}
			wait(t, p, 0, 1)
		}, "[h1: 1 waiting since 0s, 0 in flight, next in 10s, breaker: 3 failed requests in a row, the last with status 502; one request tries again at 00:00:10Z]"},
		{"breaker_of_a_host_that_nobody_visits", Limits{}, func(t *testing.T, p *Pacer) {
			for range 3 {
				outcome(take(t, p, host1, 0), 502)
			}
			time.Sleep(time.Minute)
		}, "[h1: 0 waiting since 0s, 0 in flight, next in 0s, 3 failed requests in a row, the last with status 502; one request tries again at 00:00:10Z]"},
		{"probe", Limits{}, func(t *testing.T, p *Pacer) {
			for range 3 {
				outcome(take(t, p, host1, 0), 502)
			}
			take(t, p, host1, 0)
			wait(t, p, 0, 2)
		}, "[h1: 2 waiting since 0s, 1 in flight, next in 0s, breaker: 3 failed requests in a row, the last with status 502; one request has been testing the host since 00:00:10Z]"},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, test.limits, nil)
				take(t, p, idle, 0).Done()
				test.do(t, p)
				var got []string
				for s := range p.Hosts() {
					got = append(got, describe(s))
					if one, listed := p.Host(s.Authority); one != s || !listed {
						t.Errorf("Host(%q) = %+v, %t; want %+v", s.Authority, one, listed, s)
					}
				}
				for _, left := range []string{idle, "https://unknown.example"} {
					if s, listed := p.Host(left); listed {
						t.Errorf("Host(%q) = %+v; want nothing", left, s)
					}
				}
				if got := fmt.Sprint(got); got != test.want {
					t.Errorf("\ngot  %s\nwant %s", got, test.want)
				}
			})
		})
	}
}

// wait puts n callers in line at host1, until the test ends.
func wait(t *testing.T, p *Pacer, delay time.Duration, n int) {
	for range n {
		go p.Wait(t.Context(), host1, delay)
		synctest.Wait()
	}
}

// describe is s in words, with spans instead of times.
func describe(s HostStatus) string {
	var waited time.Duration
	if !s.Since.IsZero() {
		waited = time.Since(s.Since)
	}
	d := fmt.Sprintf("%s: %d waiting since %v, %d in flight, next in %v", map[string]string{host1: "h1"}[s.Authority], s.Waiting, waited, s.InFlight, time.Until(s.Next))
	if s.Reason != ReasonNone {
		d += ", " + string(s.Reason)
		if s.Trouble != "" {
			d += ": " + s.Trouble
		}
	} else if s.Trouble != "" {
		d += ", " + s.Trouble
	}
	return d
}

// TestHostsWhileTheyChange lists hosts while others come, end and are forgotten. Each
// host that is busy all the time is listed exactly once, and the caller may use the
// Pacer meanwhile.
func TestHostsWhileTheyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{}, nil)
		const busy = 1000
		for i := range busy {
			take(t, p, "lapsed-"+strconv.Itoa(i), 0).Done()
			take(t, p, "busy-"+strconv.Itoa(i), 0)
		}
		time.Sleep(2 * time.Minute) // then the others may be forgotten
		seen := map[string]int{}
		for s := range p.Hosts() {
			seen[s.Authority]++
			take(t, p, "new-"+strconv.Itoa(len(seen)), 0).Done()
		}
		if most := slices.Max(slices.Collect(maps.Values(seen))); len(seen) != busy || most != 1 {
			t.Errorf("6/once: %d hosts, at most %d times; want %d, once each", len(seen), most, busy)
		}
	})
}
