//go:build unix

package redis

import (
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

// A subscription ends when its process has had no tickets for a while. Another process keeps its own.
func TestListenerEnds(t *testing.T) {
	srv := start(t)
	s := opened(t, srv.url(), slow)
	s.bell.period = 10 * time.Millisecond
	one := []*server{srv}
	defer s.Watch("stays.1", func(pace.Grant) {})()
	await(t, one, "PUBSUB CHANNELS *", "["+s.wakeChannel("stays")+"]")
	for _, process := range []string{"a", "b", "c"} {
		first, second := s.Watch(process+".1", func(pace.Grant) {}), s.Watch(process+".2", func(pace.Grant) {})
		await(t, one, "PUBSUB NUMSUB "+s.wakeChannel(process), " 1]")
		first()
		second()
	}
	await(t, one, "PUBSUB CHANNELS *", "["+s.wakeChannel("stays")+"]")
	for end := time.Now().Add(30 * time.Second); listening() > 1; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines listen after 30 s, want one", listening())
		}
	}
}

// listening returns the number of goroutines that keep a subscription.
func listening() int {
	var b strings.Builder
	pprof.Lookup("goroutine").WriteTo(&b, 2)
	return strings.Count(b.String(), "redis.(*Store).listen(")
}

// A ticket that comes while the subscription of its process ends gets its messages.
func TestListenerReturns(t *testing.T) {
	srv := start(t)
	s, c := opened(t, srv.url(), slow), srv.client()
	s.bell.period = time.Millisecond
	for n := range 300 {
		ticket, rung := fmt.Sprintf("p.%d", n), make(chan pace.Grant, 1)
		stop := s.Watch(ticket, func(g pace.Grant) {
			select {
			case rung <- g:
			default:
			}
		})
		message := ticket + " 1 7 0 0 0 scope 0 0 0 0 0 "
		for end := time.Now().Add(30 * time.Second); len(rung) == 0; <-time.After(100 * time.Microsecond) {
			if time.Now().After(end) {
				t.Fatalf("ticket %d got no message in 30 s", n)
			}
			c.Do(t.Context(), c.B().Publish().Channel(s.wakeChannel("p")).Message(message).Build())
		}
		if g := <-rung; !g.Granted || g.Start != 7*time.Microsecond {
			t.Fatalf("ticket %d got %+v, want a start at 7 µs", n, g)
		}
		stop()
		<-time.After(time.Duration(rand.ExpFloat64() * float64(s.bell.period)))
	}
}
