package pacetest

import (
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

// in adds scopes to a Reservation.
func in(r pace.Reservation, scopes ...pace.ScopeReservation) pace.Reservation {
	r.Scopes = scopes
	return r
}

// limited is a scope with places and a gap.
func limited(key string, gap time.Duration, parallel int) pace.ScopeReservation {
	return pace.ScopeReservation{Key: key, Gap: gap, Keep: time.Hour, Parallel: parallel}
}

// blocked reserves a start that a scope must not have room for yet.
func (d *desk) blocked(r pace.Reservation, scope, why string) pace.Grant {
	d.Helper()
	g := d.refused(r, why)
	if g.Scope != scope {
		d.Errorf("%s waits for the scope %q, want %q: %s", r.Ticket, g.Scope, scope, why)
	}
	return g
}

func (d *desk) scopes() {
	one, two := limited("one", 0, 1), limited("two", 0, 2)
	a := d.granted(in(ask("p.a", 0, 1), two, one), "nothing is in the way")
	d.at("http://a").blocked(in(ask("q.b", 0, 1), two, one), "one", "a request at another authority has the only place of the scope")
	d.at("http://b").granted(in(ask("r.c", 0, 1), two), "two has a second place: q.b got a start in all of its scopes or in none")
	d.at("http://a").refused(ask("s.d", 0, 1), "it came after q.b")
	d.at("http://c").blocked(in(ask("p.e", 0, 1), two), "two", "both places are taken")
	d.hold("p.a", 0, a.Start, "two", "one")
	b := d.at("http://a").granted(in(ask("q.b", 0, 1), two, one), "p.a has ended in all of its scopes")
	if again := d.at("http://a").granted(in(ask("q.b", 0, 1), two, one), "it has a start"); again.Start != b.Start && again.Clock < b.Clock+400*time.Millisecond {
		d.Errorf("a ticket with scopes that asks again gets another start, %v later; want the same answer", again.Start-b.Start)
	}
	d.at("http://c").blocked(in(ask("p.e", 0, 1), two), "two", "both places are taken")
	d.at("http://a").hold("q.b", 0, b.Start, "two", "one")
	d.at("http://c").granted(in(ask("p.e", 0, 1), two), "q.b has ended in all of its scopes")
}

func (d *desk) scopeGap() {
	narrow, wide := limited("domain", gap, 0), limited("all", gap/4, 0)
	last := d.granted(in(ask("p.0", 0, 0), narrow, wide), "nothing is in the way")
	d.hold("p.0", time.Hour, last.Start, "domain", "all")
	for i, scopes := range [][]pace.ScopeReservation{{narrow, wide}, {wide}, {wide}, {wide, narrow}} {
		authority, ticket := "http://"+string(rune('a'+i)), "q."+string(rune('1'+i))
		g := d.at(authority).await(in(ask(ticket, 0, 0), scopes...), "only gaps are in the way")
		kept := gap / 4
		if i == 0 || i == 3 {
			kept = gap
		}
		before := last
		if i == 0 || i == 3 {
			last = g
		}
		if apart := g.Start - before.Start; apart < kept-grain {
			d.Errorf("%s starts %v after the one before in its scope, want %v at least", ticket, apart, kept)
		}
		d.at(authority).hold(ticket, time.Hour, g.Start, keys(scopes)...)
	}
	far := limited("domain", time.Minute, 0)
	d.at("http://e").blocked(in(ask("r.e", 0, 0), far), "domain", "the larger gap of two neighbours counts in a scope, too")
	d.at("http://f").refused(in(ask("r.f", 0, 0), narrow), "r.e came before it")
	g := d.at("http://g").await(in(ask("r.g", 0, 0), wide, limited("rare", time.Minute, 0)), "it has no scope with a long gap behind it")
	d.at("http://g").hold("r.g", time.Hour, g.Start, "all", "rare")
	d.at("http://h").blocked(in(ask("r.h", 0, 0), limited("rare", 0, 0)), "rare", "the larger gap of two neighbours counts in a scope, too")
}

// keys are the names of scopes.
func keys(scopes []pace.ScopeReservation) (all []string) {
	for _, s := range scopes {
		all = append(all, s.Key)
	}
	return all
}

func (d *desk) scopeOrder() {
	one := limited("one", 0, 1)
	a := d.granted(in(ask("p.a", 0, 1), one), "nothing is in the way")
	second, first := in(ask("q.b", 0, 1), one), in(ask("r.c", 0, 1), one)
	first.Waited = time.Minute
	d.at("http://b").blocked(second, "one", "the place is taken")
	d.at("http://c").blocked(first, "one", "the place is taken")
	d.hold("p.a", 0, a.Start, "one")
	d.at("http://b").blocked(second, "one", "the request of r.c has waited longer")
	c := d.at("http://c").granted(first, "it is the first in the queue of the scope")
	d.at("http://c").hold("r.c", 0, c.Start, "one")
	d.at("http://d").blocked(in(ask("s.d", 0, 1), one), "one", "q.b came before it")
	d.at("http://b").granted(second, "it is the first in the queue of the scope")
}

func (d *desk) scopeGivenBack() {
	slow, one := limited("slow", time.Minute, 2), limited("one", 0, 1)
	d.granted(in(ask("p.a", 0, 2), slow, one), "nothing is in the way")
	d.hold("p.a", 0, 0, "slow", "one")
	b := d.at("http://b").granted(in(ask("q.b", 0, 2), slow, one), "the start before it was given back in all scopes")
	d.at("http://b").hold("q.b", 0, b.Start, "slow", "one")
	d.at("http://c").blocked(in(ask("r.c", 0, 2), slow, one), "slow", "the start before it was used")
}

func (d *desk) scopeAuthority() {
	secure := limited(host, gap, 1)
	a := d.at("http://example.com").granted(in(ask("p.a", 0, 1), secure), "nothing is in the way")
	d.refused(ask("q.b", gap, 1), "a request that names this authority as a scope has the only place")
	d.at("http://example.com").hold("p.a", 0, a.Start, host)
	b := d.await(ask("q.b", gap, 1), "its place is free")
	if apart := b.Start - a.Start; apart < gap-grain {
		d.Errorf("a start is %v after one that names the authority as a scope, want the gap, %v", apart, gap)
	}
	d.at("http://example.com").blocked(in(ask("p.c", 0, 1), secure), host, "the authority that it names as a scope has one place, which is taken")
	d.refused(ask("r.d", gap, 1), "p.c came before it")
	d.hold("q.b", 0, b.Start)
	c := d.at("http://example.com").await(in(ask("p.c", 0, 1), secure), "the place is free, and it came before r.d")
	d.at("http://example.com").hold("p.c", 0, c.Start, host)
	d.await(ask("r.d", gap, 1), "it is first")
}

func (d *desk) scopeLife() {
	one := limited("one", 0, 1)
	r := in(ask("p.a", 0, 1), one)
	r.Life = blink
	a := d.granted(r, "nothing is in the way")
	d.hold("p.a", blink, a.Start, "one")
	time.Sleep(blink + blink/3)
	b := d.at("http://b").granted(in(ask("q.b", 0, 1), one), "the life of p.a has ended, as of a process that was killed")
	d.hold("p.a", time.Hour, a.Start, "one") // its process was only stopped
	d.at("http://c").blocked(in(ask("r.c", 0, 1), one), "one", "q.b has the place")
	d.at("http://b").hold("q.b", 0, b.Start, "one")
	c := d.at("http://c").granted(in(ask("r.c", 0, 1), one), "the place is free: Hold does not bring p.a back")
	if testing.Short() {
		return // the rest takes nine seconds
	}
	d.at("http://d").blocked(in(ask("p.d", 0, 1), one), "one", "the place is taken")
	for range 3 {
		time.Sleep(3 * time.Second)
		d.at("http://e").blocked(in(ask("q.e", 0, 1), one), "one", "the place is taken")
	}
	d.at("http://c").hold("r.c", 0, c.Start, "one")
	d.at("http://e").granted(in(ask("q.e", 0, 1), one), "p.d has not asked for nine seconds, as of a process that was killed")
}

func (d *desk) scopeWatch() {
	for try := range 5 { // a message may be lost
		a, b := "p."+string(rune('a'+2*try)), "q."+string(rune('b'+2*try))
		one := limited("one", 0, 1)
		told := make(chan pace.Grant, 100)
		stop := d.store.Watch(b, func(g pace.Grant) { told <- g })
		g := d.granted(in(ask(a, 0, 1), one), "nothing is in the way")
		d.at("http://b").blocked(in(ask(b, 0, 1), one), "one", "the place is taken")
		time.Sleep(50 * time.Millisecond << try) // it may take time to listen
		d.hold(a, 0, g.Start, "one")
		select {
		case g := <-told:
			if !g.Granted && (g.Scope == "" || g.Start > g.Clock+grain) {
				d.Errorf("the message to ask for the free place of a scope is %+v; want the scope, and to ask now", g)
			}
			d.at("http://b").granted(in(ask(b, 0, 1), one), "the message said so")
			stop()
			return
		case <-time.After(time.Second << try):
		}
		stop()
		d.at("http://b").hold(b, 0, 1, "one")
	}
	d.Error("of five tickets that waited for a scope none was told that it has room")
}

// keptScope has a ticket overtaken in one scope while it waits for the other.
func (d *desk) keptScope() {
	left, right := limited("left", 0, 1), limited("right", 0, 1)
	both := in(ask("p.both", 0, 1), left, right)
	a := d.at("http://a").granted(in(ask("q.a", 0, 1), left), "nothing is in the way")
	d.blocked(both, "left", "the place of left is taken")
	b := d.at("http://b").granted(in(ask("q.b", 0, 1), right), "who waits for left keeps nobody out of right")
	d.at("http://a").hold("q.a", 0, a.Start, "left")
	d.blocked(both, "right", "q.b has the place of right")
	d.at("http://c").refused(in(ask("q.c", 0, 1), left), "p.both was overtaken in right, so left is kept free for it")
	d.at("http://b").hold("q.b", 0, b.Start, "right")
	start := d.granted(both, "both scopes have room for it")
	d.hold("p.both", 0, start.Start, "left", "right")
	d.at("http://c").granted(in(ask("q.c", 0, 1), left), "left is kept no longer")
}
