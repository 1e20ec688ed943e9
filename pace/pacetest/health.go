package pacetest

import (
	"math"
	"time"

	"github.com/rfc9309/polite/pace"
)

// same fails the test unless Hold says the same of the host as c, but for Clock and Probe.
func (d *desk) same(c pace.Condition, ticket string) {
	d.Helper()
	held := d.hold(ticket, time.Hour, 1)
	c.Clock, held.Clock, c.Probe, held.Probe = 0, 0, 0, 0
	if held != c {
		d.Errorf("Hold says %+v of a host, want the condition that the report left, %+v", held, c)
	}
}

func (d *desk) pause() {
	d.granted(ask("p.a", 0, 0), "nothing is in the way")
	d.hold("p.a", time.Hour, 1)
	const wait = 2 * time.Hour
	c := d.report(pace.Report{Wait: wait, Why: pace.ReasonPause, Level: 8 * time.Second})
	if left := c.Until - c.Clock; left > wait || left < wait-time.Minute || c.Why != pace.ReasonPause || c.Level != 8*time.Second {
		d.Errorf("after the report of a pause of two hours with a Level of 8s the condition is %+v; want Until two hours from Clock, and its Why and Level", c)
	}
	d.same(c, "p.a")
	until := c.Until
	if g := d.refused(ask("q.b", 0, 0), "there is a pause"); g.Until != until || g.Why != c.Why || g.Level != c.Level {
		d.Errorf("Reserve says %+v of a host, want %+v", g.Condition, c)
	}
	for _, step := range []struct {
		report pace.Report
		level  time.Duration
		why    string
	}{
		{pace.Report{Wait: time.Minute, Why: pace.ReasonQuota, Level: 4 * time.Second}, 8 * time.Second, "a report with a Wait never lowers the level"},
		{pace.Report{Level: 4 * time.Second}, 4 * time.Second, "a report without a Wait lowers the level"},
		{pace.Report{Level: -1}, 4 * time.Second, "a level of less than 0 is no news"},
		{pace.Report{Level: 6 * time.Second}, 4 * time.Second, "a report without a Wait never raises the level"},
	} {
		c = d.report(step.report)
		if c.Level != step.level {
			d.Errorf("the level is %v, want %v: %s", c.Level, step.level, step.why)
		}
		if c.Until != until || c.Why != pace.ReasonPause {
			d.Errorf("a pause ends at another moment, %v later, for %q: no report changes that but one of a longer Wait", c.Until-until, c.Why)
		}
	}
	c = d.report(pace.Report{Wait: 3 * time.Hour, Why: pace.ReasonQuota, Level: 4 * time.Second})
	if c.Until < until+50*time.Minute || c.Why != pace.ReasonQuota {
		d.Errorf("a quota of three hours after a pause of two leaves %+v; want its Until and Why", c)
	}
	d.refused(ask("q.b", 0, 0), "there is a rest")
}

// failing is a report of a failure; after three the host rests.
func failing(started, rest, longest time.Duration) pace.Report {
	return pace.Report{Started: started, Health: pace.Failing, Cause: "status 500", Failures: 3, Rest: rest, RestMax: longest}
}

func (d *desk) failures() {
	var first [4]pace.Grant
	for i, ticket := range []string{"p.a", "q.b", "r.c", "s.d"} {
		first[i] = d.granted(ask(ticket, 0, 0), "nothing is in the way")
		d.hold(ticket, time.Hour, first[i].Start)
	}
	fail := func(started time.Duration, want int, open bool) pace.Condition {
		d.Helper()
		c := d.report(failing(started, 2*time.Hour, 2*time.Hour))
		if c.Failures != want || c.Open != open || c.Cause != "status 500" {
			d.Errorf("%d failures in a row, open %t, cause %q; want %d, %t, %q", c.Failures, c.Open, c.Cause, want, open, "status 500")
		}
		return c
	}
	fail(first[0].Start, 1, false)
	d.refused(ask("p.e", 0, 0), "after one failure the requests in flight are enough for a rest")
	for i, ticket := range []string{"p.a", "q.b", "r.c", "s.d"} {
		d.hold(ticket, 0, first[i].Start)
	}
	e := d.granted(ask("p.e", 0, 0), "two may still fail")
	d.hold("p.e", time.Hour, e.Start)
	d.granted(ask("q.f", 0, 0), "two may still fail")
	d.refused(ask("r.g", 0, 0), "both are in flight that may still fail")
	d.report(pace.Report{Answered: "q.f", Level: -1})
	d.granted(ask("r.g", 0, 0), "one of two that may fail has its answer")
	d.refused(ask("q.x", 0, 0), "two are in flight that may still fail")
	d.hold("q.x", 0, 0)
	d.hold("r.g", 0, 0)
	ok := d.report(pace.Report{Started: e.Start, Health: pace.Healthy, Failures: 3, Rest: 2 * time.Hour, RestMax: 2 * time.Hour})
	if ok.Failures != 0 || ok.Open {
		d.Errorf("after a success %+v, want no failures in a row", ok)
	}
	g := d.granted(ask("r.g", 0, 0), "a success ends the failures in a row")
	fail(g.Start, 1, false)
	fail(g.Start, 2, false)
	c := fail(g.Start, 3, true)
	if left := c.Until - c.Clock; left < 100*time.Minute || left > 2*time.Hour || c.Why != pace.ReasonBreaker || c.Rest != 2*time.Hour {
		d.Errorf("after three failures in a row %+v, want a rest of two hours", c)
	}
	d.same(c, "r.g")
	d.refused(ask("s.h", 0, 0), "the host rests")
	fail(e.Start, 3, true)
	old := d.report(pace.Report{Started: e.Start, Health: pace.Healthy, Failures: 3, Rest: 2 * time.Hour, RestMax: 2 * time.Hour})
	if old.Failures != 3 || !old.Open || old.Until != c.Until {
		d.Errorf("a request from before the rest succeeds, and leaves %+v; want no change", old)
	}
}

// askNow is a Reservation of a start at this moment, without a gap.
func askNow(ticket string) pace.Reservation {
	return pace.Reservation{Ticket: ticket, Life: time.Hour}
}

// startProbe lets the host fail, waits for the end of its rest, and returns the start of the
// probe, whose ticket is q.b.
func (d *desk) startProbe(rest, longest time.Duration) pace.Grant {
	d.Helper()
	begin := d.granted(askNow("p.a"), "nothing is in the way").Start
	for range 3 {
		d.report(failing(begin, rest, longest))
	}
	d.hold("p.a", 0, begin)
	time.Sleep(rest + 50*time.Millisecond)
	return d.granted(askNow("q.b"), "the rest is over, and one may try")
}

func (d *desk) probe() {
	const rest, longest = blink, blink + blink/2
	g := d.startProbe(rest, longest)
	if c := d.hold("q.b", time.Hour, g.Start); !c.Open || c.Probe != g.Start {
		d.Errorf("while a probe is in flight %+v, want Open, and its start", c)
	}
	next := askNow("r.c")
	next.Life = blink
	d.refused(next, "there is a probe in flight")
	d.hold("q.b", 0, g.Start)
	d.granted(next, "the probe has ended without an outcome")
	time.Sleep(blink + 50*time.Millisecond)
	g = d.granted(askNow("s.d"), "the life of the ticket with the probe has ended, as of a process that was killed")
	c := d.report(failing(g.Start, rest, longest))
	if c.Rest != longest || c.Failures != 4 {
		d.Errorf("after the probe failed %+v, want four failures and twice the rest, at most %v", c, longest)
	}
	d.hold("s.d", 0, g.Start)
	d.refusedUntil(c.Until, askNow("p.e"), "the host rests")
	time.Sleep(longest + 50*time.Millisecond)
	g = d.granted(askNow("p.e"), "the rest is over, and one may try")
	d.refused(askNow("q.f"), "there is a probe in flight")
	c = d.report(pace.Report{Started: g.Start, Health: pace.Healthy, Failures: 3, Rest: rest, RestMax: longest})
	if c.Failures != 0 || c.Open || c.Rest != 0 || c.Probe != 0 {
		d.Errorf("after the probe succeeded %+v, want no trouble; half of the rest is less than the first", c)
	}
	d.granted(askNow("q.f"), "the probe succeeded")
	d.granted(askNow("r.g"), "the probe succeeded")
}

// probeAnswered is about a probe whose answer has begun.
func (d *desk) probeAnswered() {
	const rest, longest = blink, 2 * time.Hour
	g := d.startProbe(rest, longest)
	d.report(pace.Report{Answered: "q.b", Level: -1})
	d.refused(askNow("r.c"), "the answer to the probe says nothing of the host")
	d.report(pace.Report{Answered: "p.a", Health: pace.Healthy, Level: -1})
	d.refused(askNow("r.c"), "a ticket that is not the probe has its answer")
	c := d.report(pace.Report{Answered: "q.b", Health: pace.Healthy, Level: -1})
	if c.Open || c.Failures != 3 || c.Rest != rest {
		d.Errorf("after the answer to the probe began well %+v, want three failures, the rest of %v, and no Open", c, rest)
	}
	d.granted(askNow("r.c"), "the answer to the probe has begun well")
	d.refused(askNow("s.d"), "one request at a time may fail")
	c = d.report(failing(g.Start, rest, longest))
	if !c.Open || c.Failures != 4 || c.Rest != 2*rest {
		d.Errorf("after the body of the probe broke %+v, want four failures and twice the rest", c)
	}
}

func (d *desk) count() {
	register := func(process string, life time.Duration, want int) {
		d.Helper()
		if n, err := d.store.Count(d.Context(), process, life); n != want || err != nil {
			d.Errorf("Count(%s) = %d, %v; want %d", process, n, err, want)
		}
	}
	register("p", time.Hour, 1)
	register("q", time.Hour, 2)
	register("p", time.Hour, 2)
	register("r", blink, 3)
	time.Sleep(2 * blink)
	register("p", time.Hour, 2)
}

func (d *desk) authorities() {
	d.granted(ask("p.a", time.Minute, 1), "nothing is in the way")
	for _, authority := range []string{"", "http://example.com", "https://example.com:8443", "{", "}{", "%7B", "a b\nc"} {
		g, err := d.store.Reserve(d.Context(), authority, ask("q.b", time.Minute, 1))
		if !g.Granted || g.Start > g.Clock+grain || err != nil {
			d.Errorf("Reserve(%q) = %+v, %v; want a start now: no other authority has a part in it", authority, g, err)
		}
	}
}

func (d *desk) anySize() {
	for _, span := range []time.Duration{math.MinInt64, -1, 1, math.MaxInt64} {
		d.reserve(pace.Reservation{Ticket: "p.a", Gap: span, Keep: span, Life: span, Ahead: span, Parallel: math.MaxInt32, After: span})
		d.hold("p.a", span, span)
		d.hold("q.b", span, span)
		d.report(pace.Report{Started: span, Health: pace.Failing, Wait: span, Level: span, Rest: span, RestMax: span})
	}
	if g := d.refused(ask("q.b", 0, 0), "there is a pause without end"); g.Start-g.Clock < 365*24*time.Hour {
		d.Errorf("after a pause of %v a ticket may ask again in %v, want years", time.Duration(math.MaxInt64), g.Start-g.Clock)
	}
}
