//go:build unix

package redis

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

const site = "https://example.com"

// ask asks for a turn and returns the wait.
func ask(t *testing.T, s *Store, ticket string, gap time.Duration, parallel int) (wait time.Duration) {
	t.Helper()
	answered(t, func() (err error) {
		g, err := s.Reserve(t.Context(), site, pace.Reservation{Ticket: ticket, Gap: gap, Keep: time.Minute, Life: time.Minute, Parallel: parallel})
		if g.Granted != (g.Start <= g.Clock) {
			t.Errorf("Reserve without Ahead = %+v, want a wait, or a start now", g)
		}
		wait = max(g.Start-g.Clock, 0)
		return err
	})
	return wait
}

// hold keeps or ends a ticket.
func hold(t *testing.T, s *Store, ticket string, life, started time.Duration) {
	t.Helper()
	answered(t, func() error {
		_, err := s.Hold(t.Context(), site, pace.Holding{Ticket: ticket, Life: life, Started: started})
		return err
	})
}

// pause reports a pause, or with no wait a level.
func pause(t *testing.T, s *Store, wait, level time.Duration) {
	t.Helper()
	answered(t, func() error {
		_, err := s.Report(t.Context(), site, pace.Report{Wait: wait, Why: pace.ReasonPause, Level: level})
		return err
	})
}

// send asks for a start, which must be free, and reports at once that the request was sent.
func send(t *testing.T, s *Store, ticket string, gap time.Duration) {
	t.Helper()
	within(t, ticket, ask(t, s, ticket, gap, 0), 0)
	hold(t, s, ticket, time.Minute, 1)
}

// answered makes a call of a server that is well. Only a machine too busy to run it makes it seem down.
func answered(t *testing.T, call func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		if !errors.Is(err, ErrDown) || time.Now().After(end) {
			t.Fatalf("a call of a server that is well: %v", err)
		}
	}
}

// within checks a wait that counts from an earlier call: it is at most want, and less by no more than
// a busy machine takes between the two.
func within(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	const busy = 20 * time.Second
	if got > want || got < want-busy {
		t.Errorf("%s: wait %v, want %v less the time since", what, got, want)
	}
}

// number runs a command on one of the site's keys and returns the whole number it answers with.
func number(srv *server, command, key string, args ...string) (n int64) {
	const words = `return tostring(redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2)))`
	key = "polite:1:pace:{" + site + "}:" + key
	fmt.Sscan(srv.do(append([]string{"EVAL", words, "1", key, command}, args...)...), &n)
	return n
}

// The spans here are minutes, so that a busy machine does not matter; nothing is waited for.
func TestReserve(t *testing.T) {
	srv := start(t)
	fresh := func(t *testing.T) *Store {
		srv.do("FLUSHALL")
		return opened(t, srv.url(), slow)
	}
	t.Run("house/gap_and_order", func(t *testing.T) {
		s := fresh(t)
		send(t, s, "a", time.Minute)
		within(t, "second", ask(t, s, "b", time.Minute, 0), time.Minute)
		within(t, "third", ask(t, s, "c", time.Minute, 0), 2*time.Minute)
		within(t, "second again", ask(t, s, "b", time.Minute, 0), time.Minute)
		hold(t, s, "b", 0, 0)
		within(t, "third after the second has left", ask(t, s, "c", time.Minute, 0), time.Minute)
	})
	t.Run("house/nobody_overtakes", func(t *testing.T) {
		s := fresh(t)
		ask(t, s, "a", 0, 0)
		ask(t, s, "b", time.Hour, 0)
		if got := ask(t, s, "c", 0, 0); got < 50*time.Minute {
			t.Errorf("c without a gap behind b with an hour: wait %v, want b's hour", got)
		}
	})
	t.Run("house/dead_are_swept_out", func(t *testing.T) {
		s := fresh(t)
		for _, ticket := range []string{"a", "b"} {
			answered(t, func() error {
				_, err := s.Reserve(t.Context(), site, pace.Reservation{Ticket: ticket, Life: time.Microsecond, Parallel: 1})
				return err
			})
		}
		// One microsecond has passed by the time of the next call.
		within(t, "after the dead", ask(t, s, "c", 0, 1), 0)
		if _, err := s.Hold(t.Context(), site, pace.Holding{Ticket: "a", Life: time.Hour}); err != nil {
			t.Errorf("Hold of a dead ticket: %v, want no error", err)
		}
		if got := number(srv, "ZCARD", "alive"); got != 1 {
			t.Errorf("%d tickets alive, want c alone: a dead one is not brought back", got)
		}
	})
	t.Run("house/dead_in_line_hold_up_nobody", func(t *testing.T) {
		s := fresh(t)
		send(t, s, "a", time.Minute)
		ask(t, s, "b", time.Minute, 0)
		// It is to come again after five seconds, and has two more.
		alive := time.Duration(number(srv, "ZSCORE", "alive", "b")-number(srv, "HGET", "state", "last")) * time.Microsecond
		if alive < 7*time.Second {
			t.Errorf("a ticket in the queue counts as dead %v after the start before it, want at least 7s", alive)
		}
		within(t, "behind it", ask(t, s, "c", time.Minute, 0), 2*time.Minute)
		number(srv, "ZADD", "alive", "1", "b") // long ago
		within(t, "behind the dead", ask(t, s, "c", time.Minute, 0), time.Minute)
	})
	t.Run("house/pause", func(t *testing.T) {
		s := fresh(t)
		ask(t, s, "a", 0, 0)
		pause(t, s, time.Hour, 8*time.Second)
		pause(t, s, time.Minute, 4*time.Second)
		g, err := s.Reserve(t.Context(), site, pace.Reservation{Ticket: "b", Life: time.Minute})
		within(t, "in a pause", g.Start-g.Clock, time.Hour)
		if g.Level != 8*time.Second || err != nil {
			t.Errorf("level %v, %v; want the highest, 8s", g.Level, err)
		}
		number(srv, "ZINCRBY", "alive", "-1000000", "a") // it has not used its start for a second
		if again := ask(t, s, "a", 0, 0); again < 50*time.Minute {
			t.Errorf("start again in a pause: wait %v, want the hour", again)
		}
		pause(t, s, 0, 4*time.Second)
		pause(t, s, 0, 6*time.Second)
		g, _ = s.Reserve(t.Context(), site, pace.Reservation{Ticket: "b", Life: time.Minute})
		within(t, "after a success", g.Start-g.Clock, time.Hour+5*time.Millisecond) // it is behind a
		if g.Level != 4*time.Second {
			t.Errorf("level %v; want the lowest, 4s", g.Level)
		}
	})
	t.Run("house/start_anew", func(t *testing.T) {
		s := fresh(t)
		ask(t, s, "a", 0, 1)
		first := number(srv, "HGET", "state", "last")
		within(t, "same question at once", ask(t, s, "a", 0, 1), 0)
		if got := number(srv, "HGET", "state", "last"); got != first {
			t.Errorf("last start %d, then %d; want the same answer", first, got)
		}
		number(srv, "ZINCRBY", "alive", "-1000000", "a") // a second later
		within(t, "same question later", ask(t, s, "a", 0, 1), 0)
		second := number(srv, "HGET", "state", "last")
		if first >= second {
			t.Errorf("last start %d, then %d; want it moved", first, second)
		}
		hold(t, s, "a", time.Minute, 0)
		if got := number(srv, "HGET", "state", "last"); got != second {
			t.Errorf("last start %d, then %d; want it kept while the ticket is only held", second, got)
		}
		later := second + 1 // a call later, so not in the future
		hold(t, s, "a", time.Minute, time.Duration(later)*time.Microsecond)
		if got := number(srv, "HGET", "state", "last"); got != later {
			t.Errorf("last start %d, want the moment it was sent, %d", got, later)
		}
		hold(t, s, "a", time.Minute, math.MaxInt64)
		if now, _ := strconv.ParseInt(strings.Fields(strings.Trim(srv.do("TIME"), "[]"))[0], 10, 64); number(srv, "HGET", "state", "last") > (now+1)*1_000_000 {
			t.Error("a request sent in the future has moved the last start there")
		}
	})
	t.Run("6/next_start_waits_until_sent", func(t *testing.T) {
		s := fresh(t)
		ask(t, s, "a", time.Minute, 2)
		within(t, "not sent", ask(t, s, "b", time.Minute, 2), time.Minute+time.Second)
		told := make(chan pace.Grant, 1)
		defer s.Watch("p.b", func(g pace.Grant) { told <- g })()
		hold(t, s, "b", 0, 0)
		ask(t, s, "p.b", time.Minute, 2)
		hold(t, s, "a", time.Minute, 1)
		select {
		case g := <-told:
			within(t, "sent", g.Start-g.Clock, time.Minute)
		case <-time.After(10 * time.Second):
			t.Error("the next in the queue was not told")
		}
		within(t, "sent, same question", ask(t, s, "p.b", time.Minute, 2), time.Minute)
	})
	t.Run("house/everything_ends", func(t *testing.T) {
		s := fresh(t)
		ask(t, s, "a", time.Second, 0)
		ask(t, s, "b", time.Second, 0)
		hold(t, s, "a", time.Minute, 0)
		pause(t, s, time.Minute, time.Minute)
		for _, key := range []string{"state", "line", "alive"} {
			if left := time.Duration(number(srv, "PTTL", key)) * time.Millisecond; left < time.Minute || left > 3*time.Minute {
				t.Errorf("%s ends in %v, want a minute or two", key, left)
			}
		}
	})
	t.Run("house/spans_of_any_size", func(t *testing.T) {
		s := fresh(t)
		for _, d := range []time.Duration{math.MinInt64, -1, 1, math.MaxInt64} {
			if _, err := s.Reserve(t.Context(), site, pace.Reservation{Ticket: fmt.Sprint(d), Gap: d, Keep: d, Life: d, Ahead: d, Parallel: math.MaxInt32}); err != nil {
				t.Errorf("Reserve with spans of %v: %v, want no error", d, err)
			}
			if _, err := s.Report(t.Context(), site, pace.Report{Started: d, Health: pace.Failing, Wait: d, Level: d, Rest: d, RestMax: d}); err != nil {
				t.Errorf("Report with spans of %v: %v, want no error", d, err)
			}
		}
		if got := ask(t, s, "last", 0, 0); got < 30*365*24*time.Hour {
			t.Errorf("in a pause of ages: wait %v, want decades", got)
		}
	})
	t.Run("house/authorities_with_braces", func(t *testing.T) {
		s := fresh(t)
		for _, odd := range []string{"", "{", "}", "}{", "%7D"} {
			if g, err := s.Reserve(t.Context(), odd, pace.Reservation{Ticket: "a", Gap: time.Hour, Life: time.Hour, Parallel: 1}); !g.Granted || err != nil {
				t.Errorf("Reserve at %q: %+v, %v; want the turn, since no other has this name", odd, g, err)
			}
		}
	})
}

// A server whose clock is set back does not stop a fleet for the difference.
func TestReserveClockSetBack(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), slow)
	send(t, s, "a", time.Minute)
	number(srv, "HSET", "state", "last", "9000000000000000")
	within(t, "after a start in the far future", ask(t, s, "b", time.Minute, 0), time.Minute)
}

// Keys of a type that no script here makes are replaced, and are no trouble of the server's.
func TestReserveForeignKeys(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), slow)
	keys, _ := s.paceNames([]string{site})
	for _, name := range []string{"polite:1:pace:members", keys[0], keys[2]} {
		srv.do("SET", name, "a string")
	}
	if wait := ask(t, s, "a", time.Minute, 0); wait != 0 {
		t.Errorf("Reserve: wait %v, want the turn", wait)
	}
	if n, err := s.Count(t.Context(), "process", time.Minute); n != 1 || err != nil {
		t.Errorf("Count = %d, %v, want this process alone", n, err)
	}
}
