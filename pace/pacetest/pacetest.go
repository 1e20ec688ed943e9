// Package pacetest tests a [pace.Store] against every promise of package pace.
//
//	func TestStore(t *testing.T) {
//		pacetest.Run(t, func(t *testing.T) pace.Store {
//			store, err := mystore.Open("mystore://localhost")
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// Each failure is a sentence that says which promise the store broke. A process that is
// killed, stopped or cut off is one whose calls end, come late, or get no answer; so the
// tests need only one process. They use the clock of the store, and take some seconds of
// real time. With -short the promise that takes ten seconds is left out.
package pacetest

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

const (
	host = "https://example.com"
	// grain is how much a store may round a moment.
	grain = time.Millisecond
	// blink is a life that ends within a test.
	blink = 300 * time.Millisecond
	// gap is short enough for some starts within horizon.
	gap = 200 * time.Millisecond
	// horizon is how far ahead a start may be granted.
	horizon = time.Second
)

// Run runs the tests as subtests of t. Each subtest calls open, which returns a store
// without the tickets of earlier subtests and closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) pace.Store) {
	for _, p := range promises() {
		t.Run(p.name, func(t *testing.T) { p.test(&desk{t, open(t), host}) })
	}
}

// A promise is a test and its name.
type promise struct {
	name string
	test func(*desk)
}

func promises() []promise {
	return []promise{
		{"order", (*desk).order},
		{"gap", (*desk).gap},
		{"sent", (*desk).sent},
		{"parallel", (*desk).parallel},
		{"at_once", (*desk).atOnce},
		{"life", (*desk).life},
		{"life_in_the_queue", (*desk).queueLife},
		{"lost_answer", (*desk).lostAnswer},
		{"late", (*desk).late},
		{"next_start", (*desk).nextStart},
		{"given_back", (*desk).givenBack},
		{"clock", (*desk).clock},
		{"watch", (*desk).watch},
		{"lost_message", (*desk).lostMessage},
		{"pause", (*desk).pause},
		{"failures", (*desk).failures},
		{"probe", (*desk).probe},
		{"probe_answered", (*desk).probeAnswered},
		{"count", (*desk).count},
		{"authorities", (*desk).authorities},
		{"any_size", (*desk).anySize},
		{"scopes", (*desk).scopes},
		{"gap_of_a_scope", (*desk).scopeGap},
		{"order_in_a_scope", (*desk).scopeOrder},
		{"start_given_back_in_scopes", (*desk).scopeGivenBack},
		{"scope_of_an_authority", (*desk).scopeAuthority},
		{"scope_of_the_dead", (*desk).scopeLife},
		{"message_of_a_scope", (*desk).scopeWatch},
		{"kept_scope", (*desk).keptScope},
	}
}

// A desk makes calls about one authority that must not fail.
type desk struct {
	*testing.T
	store     pace.Store
	authority string
}

// at returns a desk for another authority.
func (d *desk) at(authority string) *desk { return &desk{d.T, d.store, authority} }

// ask is a Reservation with a life of an hour.
func ask(ticket string, gap time.Duration, parallel int) pace.Reservation {
	return pace.Reservation{Ticket: ticket, Gap: gap, Keep: time.Hour, Life: time.Hour, Ahead: horizon, Parallel: parallel}
}

func (d *desk) reserve(r pace.Reservation) pace.Grant {
	d.Helper()
	g, err := d.store.Reserve(d.Context(), d.authority, r)
	if err != nil {
		d.Fatalf("Reserve(%+v) = %v", r, err)
	}
	return g
}

// granted reserves a start that must be granted.
func (d *desk) granted(r pace.Reservation, why string) pace.Grant {
	d.Helper()
	g := d.reserve(r)
	if !g.Granted {
		d.Fatalf("%s gets no start; want one: %s", r.Ticket, why)
	}
	return g
}

// await asks until a start is granted.
func (d *desk) await(r pace.Reservation, why string) pace.Grant {
	d.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		g := d.reserve(r)
		if g.Granted {
			return g
		}
		time.Sleep(min(g.Start-g.Clock, time.Second))
	}
	d.Fatalf("%s gets no start within ten seconds: %s", r.Ticket, why)
	return pace.Grant{}
}

// refused reserves a start that must not be granted yet.
func (d *desk) refused(r pace.Reservation, why string) pace.Grant {
	d.Helper()
	g := d.reserve(r)
	if g.Granted {
		d.Fatalf("%s gets a start, %v from now; want none yet: %s", r.Ticket, g.Start-g.Clock, why)
	}
	if g.Start <= g.Clock {
		d.Errorf("%s is to ask again %v from now; an answer without a start names a later moment", r.Ticket, g.Start-g.Clock)
	}
	return g
}

// refusedUntil is refused for what ends at a moment. On a machine that runs the test late a
// start is granted then.
func (d *desk) refusedUntil(end time.Duration, r pace.Reservation, why string) {
	d.Helper()
	if g := d.reserve(r); g.Granted && g.Clock < end {
		d.Fatalf("%s gets a start, %v from now; want none yet: %s", r.Ticket, g.Start-g.Clock, why)
	}
}

func (d *desk) hold(ticket string, life, started time.Duration, scopes ...string) pace.Condition {
	d.Helper()
	c, err := d.store.Hold(d.Context(), d.authority, pace.Holding{Ticket: ticket, Life: life, Started: started, Scopes: scopes})
	if err != nil {
		d.Fatalf("Hold(%s) = %v", ticket, err)
	}
	return c
}

func (d *desk) report(r pace.Report) pace.Condition {
	d.Helper()
	c, err := d.store.Report(d.Context(), d.authority, r)
	if err != nil {
		d.Fatalf("Report(%+v) = %v", r, err)
	}
	return c
}

func (d *desk) order() {
	a := d.granted(ask("p.a", 0, 1), "the first place is free")
	for _, ticket := range []string{"q.b", "p.c", "r.d", "p.e"} {
		d.refused(ask(ticket, 0, 1), "the only place is taken")
	}
	d.hold("p.a", 0, a.Start)
	d.refused(ask("s.f", 0, 1), "it came after the others in the queue, which come first even if they have asked only once")
	d.refused(ask("p.c", 0, 1), "q.b came before it")
	b := d.granted(ask("q.b", 0, 1), "it is first in the queue and the place is free")
	d.hold("p.c", 0, 0)
	d.hold("q.b", 0, b.Start)
	d.granted(ask("r.d", 0, 1), "it is first, since p.c has left the queue")
	d.refused(ask("p.e", 0, 1), "the only place is taken")
}

func (d *desk) gap() {
	last := d.granted(ask("p.0", gap, 0), "nothing is in the way")
	d.hold("p.0", time.Hour, last.Start)
	for _, next := range []struct {
		ticket      string
		asked, kept time.Duration
	}{{"q.1", gap, gap}, {"p.2", 0, gap}, {"q.3", 3 * gap, 3 * gap}, {"p.4", gap, 3 * gap}} {
		g := d.await(ask(next.ticket, next.asked, 0), "only the gap is in the way")
		if apart := g.Start - last.Start; apart < next.kept-grain || apart > next.kept+grain && g.Start > g.Clock+grain {
			d.Errorf("%s starts %v after the one before, want %v: the larger gap of two neighbours counts", next.ticket, apart, next.kept)
		}
		last = g
		d.hold(next.ticket, time.Hour, 1)
	}
	near := ask("q.5", time.Minute, 0)
	if g := d.refused(near, "its start is further off than Ahead"); g.Start > last.Start+time.Minute+grain {
		d.Errorf("a ticket is to ask again %v after the start that it may have", g.Start-last.Start-time.Minute)
	}
}

func (d *desk) sent() {
	a := d.granted(ask("p.a", gap, 2), "nothing is in the way")
	near := ask("q.b", gap, 2)
	near.Ahead = gap
	for range 2 {
		if g := d.reserve(near); g.Granted {
			if g.Start < a.Start+time.Second+gap-grain {
				d.Errorf("a start %v after one that was not sent, want the gap and a second", g.Start-a.Start)
			}
			return // a machine that is a second late cannot see the rest
		}
		d.hold("p.a", time.Hour, 0) // renewed, and not sent
	}
	d.hold("p.a", time.Hour, a.Start)
	b := d.await(near, "the request before it was sent")
	if apart := b.Start - a.Start; apart < gap-grain || apart > gap+grain && b.Start > b.Clock+grain {
		d.Errorf("the next start is %v after one that was sent, want the gap, %v", apart, gap)
	}
}

func (d *desk) parallel() {
	var all []pace.Grant
	for _, ticket := range []string{"p.a", "q.b", "r.c"} {
		all = append(all, d.granted(ask(ticket, 0, 3), "there are three places"))
	}
	d.refused(ask("p.d", 0, 3), "three of three places are taken")
	d.hold("q.b", time.Hour, all[1].Start)
	d.refused(ask("p.d", 0, 3), "a ticket that is renewed keeps its place")
	d.hold("q.b", 0, all[1].Start)
	d.granted(ask("p.d", 0, 3), "a ticket that has ended frees its place")
	d.refused(ask("q.e", 0, 3), "three of three places are taken")
}

func (d *desk) atOnce() {
	reserve := func(authority string, gap time.Duration) (starts []time.Duration) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				g, err := d.store.Reserve(d.Context(), authority, ask("p."+string(rune('a'+i)), gap, 4))
				if err != nil {
					d.Errorf("Reserve = %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if g.Granted {
					starts = append(starts, g.Start)
				}
			})
		}
		all.Wait()
		slices.Sort(starts)
		return starts
	}
	if n := len(reserve(host, 0)); n != 4 {
		d.Errorf("%d of 20 calls at once are granted a start, want 4, the places: each call is one atomic step", n)
	}
	starts := reserve("http://example.com", gap)
	for i := 1; i < len(starts); i++ {
		if apart := starts[i] - starts[i-1]; apart < gap-grain {
			d.Errorf("two starts of calls at once are %v apart, want the gap, %v: each call is one atomic step", apart, gap)
		}
	}
}

func (d *desk) life() {
	r := ask("p.a", 0, 1)
	r.Life = blink
	a := d.granted(r, "the place is free")
	renewed := d.hold("p.a", 2*blink, 1)
	time.Sleep(blink + blink/3)
	if renewed.Clock < a.Start+blink {
		d.refusedUntil(renewed.Clock+2*blink, ask("q.b", 0, 1), "the life of a ticket that was renewed has not ended")
	}
	time.Sleep(2 * blink)
	d.granted(ask("q.b", 0, 1), "the life of p.a has ended, as of a process that was killed")
	// The process was only stopped, and goes on.
	d.hold("p.a", time.Hour, 1)
	d.refused(ask("r.c", 0, 1), "q.b has the only place")
	next := ask("p.a", 0, 1)
	next.After = time.Hour
	d.refused(next, "its place went to q.b, so it is a new ticket")
	d.hold("p.a", 0, 1)
	d.hold("q.b", 0, 1)
	c := d.granted(ask("r.c", 0, 1), "no ticket has the place: Hold does not bring p.a back")
	next = ask("r.c", 0, 1)
	next.Life, next.After = blink, c.Start+time.Hour
	asked := d.refused(next, "its next start is further off than Ahead")
	d.refusedUntil(asked.Clock+blink, ask("s.d", 0, 1), "r.c has kept its place")
	time.Sleep(2 * blink)
	d.granted(ask("s.d", 0, 1), "the life of r.c has ended: to ask for one more start makes it no longer")
}

func (d *desk) queueLife() {
	if testing.Short() {
		d.Skip("it takes ten seconds")
	}
	d.granted(ask("p.a", 0, 1), "the place is free")
	d.refused(ask("q.b", 0, 1), "the place is taken")
	for range 3 {
		time.Sleep(3 * time.Second)
		d.refused(ask("r.c", 0, 1), "the place is taken")
	}
	d.hold("p.a", 0, 1)
	d.granted(ask("r.c", 0, 1), "q.b has not asked for nine seconds, as of a process that was killed")
}

func (d *desk) lostAnswer() {
	first := d.granted(ask("p.a", gap, 2), "nothing is in the way")
	for range 3 {
		if g := d.granted(ask("p.a", gap, 2), "it has a start"); g.Start != first.Start && g.Clock < first.Clock+400*time.Millisecond {
			d.Errorf("a ticket that asks again gets another start, %v later; want the same answer, since the first may be lost", g.Start-first.Start)
		}
	}
	d.hold("p.a", time.Hour, first.Start)
	d.hold("p.a", time.Hour, first.Start)
	b := d.await(ask("q.b", gap, 2), "a ticket that asked often has one place")
	d.hold("q.b", time.Hour, b.Start)
	for range 3 {
		d.refused(ask("r.c", gap, 2), "both places are taken")
		d.refused(ask("s.d", gap, 2), "both places are taken")
		d.refused(ask("r.c", gap, 2), "both places are taken")
	}
	d.hold("p.a", 0, first.Start)
	d.hold("p.a", 0, first.Start)
	d.await(ask("r.c", gap, 2), "a place is free, and it came before s.d, however often they ask")
	d.refused(ask("s.d", gap, 2), "both places are taken: a ticket that ended twice freed one")
}

func (d *desk) late() {
	first := d.granted(ask("p.a", 0, 1), "the place is free")
	d.refused(ask("q.b", 0, 1), "the place is taken")
	time.Sleep(700 * time.Millisecond)
	g := d.granted(ask("p.a", 0, 1), "it has the place, and comes before the queue")
	if g.Start < first.Start+600*time.Millisecond {
		d.Errorf("a ticket that is %v late gets the same start, want a later one", g.Clock-first.Start)
	}
	d.refused(ask("q.b", 0, 1), "the place is taken")
}

func (d *desk) nextStart() {
	a := d.granted(ask("p.a", gap, 2), "nothing is in the way")
	d.hold("p.a", time.Hour, a.Start)
	b := d.await(ask("q.b", gap, 2), "there are two places")
	d.hold("q.b", time.Hour, b.Start)
	d.refused(ask("r.c", gap, 2), "both places are taken")
	next := ask("p.a", gap, 2)
	next.After = b.Start + 3*gap + 333*time.Nanosecond
	g := d.granted(next, "a ticket in flight that asks for one more start comes before the queue")
	if late := g.Start - next.After; late < 0 || late > grain && g.Start > g.Clock+grain {
		d.Errorf("the next start is %v after After; want it there, and never before", late)
	}
	if again := d.granted(next, "it has this start"); again.Start != g.Start && again.Clock < g.Start+400*time.Millisecond {
		d.Errorf("a ticket that asks again for its next start gets another one, %v later", again.Start-g.Start)
	}
	d.refused(ask("r.c", gap, 2), "both places are taken: the ticket has kept its place")
	d.hold("p.a", time.Hour, 0)
	d.hold("p.a", 0, 0)
	if c := d.granted(ask("r.c", gap, 2), "p.a has ended"); c.Start > max(b.Start+gap, c.Clock)+grain {
		d.Errorf("after a start was given back the next is %v after the one before, want the gap, %v", c.Start-b.Start, gap)
	}
}

func (d *desk) givenBack() {
	d.granted(ask("p.a", time.Minute, 2), "nothing is in the way")
	d.hold("p.a", 0, 0)
	b := d.granted(ask("q.b", time.Minute, 2), "the start before it was given back unused")
	d.hold("q.b", 0, b.Start)
	if c := d.refused(ask("r.c", time.Minute, 2), "the start before it was used"); c.Start < b.Start+time.Minute-horizon-grain {
		d.Errorf("a ticket is to ask again %v after the start before it, want the gap of a minute less Ahead", c.Start-b.Start)
	}
}

func (d *desk) clock() {
	a := d.granted(ask("p.a", gap, 0), "nothing is in the way")
	if late := a.Start - a.Clock; late < -grain || late > grain {
		d.Errorf("a free start is %v from the store's clock, want now", late)
	}
	d.hold("p.a", time.Hour, math.MaxInt64) // by a clock that is ahead
	b := d.await(ask("q.b", gap, 0), "a request cannot be sent in the future")
	if apart := b.Start - a.Start; apart < gap-grain {
		d.Errorf("the next start is %v later, want the gap, %v", apart, gap)
	}
	d.hold("q.b", time.Hour, 1) // by a clock that is behind
	c := d.await(ask("r.c", gap, 0), "the start is within Ahead")
	if apart := c.Start - b.Start; apart < gap-grain {
		d.Errorf("after a request that its process says was sent long ago the next start is %v later, want %v", apart, gap)
	}
	if c.Clock < a.Clock {
		d.Errorf("the store's clock has gone back by %v", a.Clock-c.Clock)
	}
	d.hold("r.c", time.Hour, c.Start)
	next := ask("r.c", gap, 0)
	next.After = 1
	if g := d.await(next, "the start is within Ahead"); g.Start < c.Start+gap-grain {
		d.Errorf("with an After long ago the next start is %v after the one before, want %v", g.Start-c.Start, gap)
	}
}

func (d *desk) watch() {
	for try := range 5 { // a message may be lost
		a, b := "p."+string(rune('a'+2*try)), "q."+string(rune('b'+2*try))
		told := make(chan pace.Grant, 100)
		stop := d.store.Watch(b, func(g pace.Grant) { told <- g })
		g := d.granted(ask(a, 0, 1), "the place is free")
		d.refused(ask(b, 0, 1), "the place is taken")
		time.Sleep(50 * time.Millisecond << try) // it may take time to listen
		d.hold(a, 0, g.Start)
		for end := time.After(time.Second << try); ; {
			select {
			case g := <-told:
				if !g.Granted {
					continue
				}
				if again := d.granted(ask(b, 0, 1), "the message said so"); again.Start != g.Start && again.Clock < g.Start+400*time.Millisecond {
					d.Errorf("a message grants another start than the answer, by %v", again.Start-g.Start)
				}
				if g.Clock < g.Start-time.Hour || g.Clock <= 0 {
					d.Errorf("the clock of a message is %v before the start; want the store's clock", g.Start-g.Clock)
				}
				stop()
				return
			case <-end:
			}
			break
		}
		stop()
		d.hold(b, 0, 1)
	}
	d.Error("of five tickets that waited none was told that its place is free")
}

func (d *desk) lostMessage() {
	d.granted(ask("p.a", 0, 1), "the place is free")
	d.refused(ask("q.b", 0, 1), "the place is taken")
	d.hold("p.a", 0, 1) // grants a start to q.b, whom no message reaches
	d.granted(ask("q.b", 0, 1), "it asks, and the place is free")
	d.hold("q.b", 0, 1)
	stop := d.store.Watch("r.c", func(pace.Grant) {})
	stop()
	stop()
	d.granted(ask("r.c", 0, 1), "the place is free")
}
