package pacetest

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/pace"
)

const (
	patience = 5 * time.Second        // a ticket in the queue need not ask sooner; it has two seconds more
	poll     = 500 * time.Millisecond // a ticket that waits for a place asks this often
	sendTime = time.Second            // a start counts as sent after this
)

// A reference is a pace.Store in memory, as plain as possible. It keeps every promise
// except the one named in breaks.
type reference struct {
	breaks string

	mu       sync.Mutex
	sites    map[string]*site
	watchers map[string]func(pace.Grant)
	members  map[string]time.Duration
	count    float64 // tickets seen
	calls    int     // of Reserve and Hold
	began    time.Time
}

// A site is what the reference keeps of one authority.
type site struct {
	name          string
	breaks        string
	last, prior   time.Duration // the latest start, and the one before it
	gap, priorGap time.Duration // behind them
	latest        string        // ticket of the latest start
	unsent        bool          // its request has not been sent
	now           pace.Condition
	most          int             // failures in a row that begin a rest
	opened        time.Duration   // when the latest rest began
	tries         map[string]bool // tickets that may fail: in flight at the first failure, or started since
	parallel      int             // as last asked
	tickets       map[string]*ticket
	due           time.Duration // when the head of the queue asks again
	head          string        // the ticket that due is for
	newest        float64       // the last order of a ticket that started
	kept          kept
}

// kept is the ticket that a scope is kept free for, from younger ones.
type kept struct {
	ticket string
	order  float64
	due    time.Duration // when the ticket can start
	until  time.Duration
}

type ticket struct {
	pace.Reservation
	order float64       // in the queue; 0 if it is in flight and not in the queue
	guest bool          // it is in the queue of a scope, or in flight there
	lost  bool          // a younger one overtook it
	holds bool          // it has a place
	start time.Duration // granted
	ends  time.Duration // when it counts as dead
}

func newReference() *reference {
	return &reference{sites: map[string]*site{}, watchers: map[string]func(pace.Grant){}, members: map[string]time.Duration{}, began: time.Now().Add(-time.Hour)}
}

// cut returns a span with which no sum overflows.
func (r *reference) cut(span time.Duration) time.Duration {
	if r.does("overflows") {
		return span
	}
	return min(max(span, 0), 1<<60)
}

// does reports whether r breaks its promise in this way.
func (r *reference) does(breach string) bool { return r.breaks == breach }

func (r *reference) now() time.Duration { return time.Since(r.began) }

// site returns the state of an authority without its dead tickets.
func (r *reference) site(authority string) *site {
	if r.does("folds authorities") {
		authority = ""
	}
	s := r.sites[authority]
	if s == nil {
		s = &site{name: authority, tickets: map[string]*ticket{}, last: math.MinInt64 / 4, opened: math.MinInt64 / 4, breaks: r.breaks}
		r.sites[authority] = s
	}
	if s.kept.until <= r.now() {
		s.kept = kept{}
	}
	maps.DeleteFunc(s.tickets, func(_ string, t *ticket) bool {
		keeps := r.does("keeps the dead") || r.does("keeps the dead in the queue") && !t.holds
		return t.ends <= r.now() && !keeps
	})
	return s
}

// condition is the condition of a site now.
func (r *reference) condition(s *site) pace.Condition {
	c := s.now
	c.Clock = r.now()
	if !c.Open || s.trying() == 0 {
		c.Probe = 0
	}
	return c
}

// trying is the number of requests in flight that may fail.
func (s *site) trying() int {
	if s.breaks == "waits for a dead probe" {
		return len(s.tries)
	}
	maps.DeleteFunc(s.tries, func(name string, _ bool) bool {
		t := s.tickets[name]
		return t == nil || !t.holds || t.order != 0
	})
	return len(s.tries)
}

// chances reports whether one more request may fail.
func (s *site) chances() bool {
	switch {
	case s.breaks == "grants many probes":
		return true
	case s.now.Open:
		return s.trying() == 0
	case s.now.Failures > 0 && s.breaks != "lets all requests fail":
		return s.trying() < max(s.most-s.now.Failures, 1)
	}
	return true
}

// queue returns the tickets in the queue in order.
func (s *site) queue() []*ticket {
	all := slices.DeleteFunc(slices.Collect(maps.Values(s.tickets)), func(t *ticket) bool { return t.order == 0 })
	slices.SortFunc(all, func(a, b *ticket) int { return cmp.Compare(a.order, b.order) })
	return all
}

// places is the number of places that are taken.
func (s *site) places() (n int) {
	for _, t := range s.tickets {
		if t.holds {
			n++
		}
	}
	return n
}

// room returns when t can start at a site, 0 if something else than time is in the way,
// and the start that its gap counts from, and when to look again if t cannot start now: 0
// if it can.
func (r *reference) room(s *site, t *ticket) (start, base, again time.Duration) {
	now, apart := r.now(), max(t.Gap, s.gap)
	if r.does("looks at one gap") {
		apart = t.Gap
	}
	if r.does("forgets After") {
		t.After = 0
	}
	base, start = s.last, now
	switch {
	case apart > 0 && t.guest:
		start += t.Ahead / 2 // it is used on time
	case apart > 0 && s.unsent && !r.does("does not wait for the sending") && now < s.last+sendTime:
		base += sendTime
	}
	start = max(base+apart, s.now.Until, start, t.After)
	again = start - t.Ahead
	full := !t.holds && s.parallel > 0 && !r.does("has places without end") && s.places() >= s.parallel || !s.chances()
	head := s.queue()
	switch {
	case full || len(head) > 0 && head[0].order < t.order || s.keeps(t, start+apart):
		start, again = 0, max(again, now+poll)
	case again <= now:
		return start, base, 0
	}
	return start, base, max(again, now+time.Millisecond)
}

// keeps reports whether s is kept free for one older than t. There may be a place beside
// that, and time until then for a start whose gap is over at a moment.
func (s *site) keeps(t *ticket, over time.Duration) bool {
	beside := (t.Gap == 0 && s.gap == 0 || over <= s.kept.due) && (s.parallel == 0 || s.places()+1 < s.parallel)
	return s.kept.ticket != "" && s.kept.order < t.order && !beside
}

// take gives t a start at a site.
func (r *reference) take(s *site, t *ticket, start, base time.Duration) {
	s.prior, s.priorGap = base, s.gap
	s.last, s.latest, s.gap, s.unsent = start, t.Ticket, t.Gap, s.parallel != 1
	s.newest = max(s.newest, t.order)
	t.order, t.holds, t.start, t.ends = 0, true, start, start+t.Life
	s.tickets[t.Ticket] = t
	if s.now.Failures > 0 && !t.guest {
		s.tries[t.Ticket], s.now.Probe = true, start
	}
}

// serve grants starts to the head of the queue as long as there is room. Its process is
// told, but for the ticket that asks. One with scopes is told to ask.
func (r *reference) serve(s *site, asks string) {
	for _, t := range s.queue() {
		start, base, again := r.room(s, t)
		scoped := t.guest || len(t.Scopes) > 0
		if again == 0 && !scoped {
			r.take(s, t, start, base)
			r.tell(s, t, asks, pace.Grant{Granted: true, Start: start})
			continue
		}
		if scoped && s.head != t.Ticket {
			s.due = t.ends - 2*time.Second
		}
		if again = max(again, r.now()); again < s.due {
			r.tell(s, t, asks, pace.Grant{Start: again})
		}
		s.due, s.head = again, t.Ticket
		return
	}
}

// A claim is what a ticket needs at a site.
type claim struct {
	*site
	ticket *ticket
}

// claims are what a ticket needs at its authority and in its scopes.
func (r *reference) claims(s *site, t *ticket) []claim {
	all := []claim{{s, t}}
	for _, scope := range t.Scopes {
		at := r.site(scope.Key)
		if r.does("keeps authorities and scopes apart") {
			at = r.site("scope " + scope.Key)
		}
		at.parallel = scope.Parallel
		own := at.tickets[t.Ticket]
		if own == nil {
			own = &ticket{guest: true}
		}
		own.Reservation = pace.Reservation{Ticket: t.Ticket, Gap: r.cut(scope.Gap), Life: t.Life, Ahead: t.Ahead}
		all = append(all, claim{at, own})
	}
	return all
}

// attempt gives the head of the queue of an authority a start in all of its scopes, or
// puts it in the queue of the one that has room last.
func (r *reference) attempt(all []claim) (start time.Duration, in string) {
	t := all[0].ticket
	way, latest, again := -1, 0, time.Duration(0)
	starts, bases, agains := make([]time.Duration, len(all)), make([]time.Duration, len(all)), make([]time.Duration, len(all))
	from := 0
	for i, c := range all {
		if i > 0 && c.ticket.order != 0 {
			from = i
		}
		c.ticket.order = t.order
		starts[i], bases[i], agains[i] = r.room(c.site, c.ticket)
		if agains[i] > again {
			way, again = i, agains[i]
		}
		if starts[i] > starts[latest] {
			latest = i
		}
	}
	start = starts[latest]
	if all[0].queue()[0] != t {
		way = 0
	}
	for i, c := range all {
		// A scope is not left unused for a start that is far off.
		if apart := max(c.ticket.Gap, c.gap); i > 0 && agains[i] == 0 && apart > 0 && start-starts[i] > apart/8 && start-apart/8-t.Ahead/2 > again {
			way, again = latest, start-apart/8-t.Ahead/2
		}
	}
	if way < 0 || r.does("forgets scopes") {
		for i, c := range all {
			r.take(c.site, c.ticket, start, bases[i])
		}
	}
	for _, c := range all {
		if c.kept.ticket == t.Ticket {
			c.kept = kept{}
		}
	}
	if t.order != 0 {
		if from > 0 && from != way && agains[from] == 0 && all[way].newest > t.order {
			t.lost = true
		}
		start = r.stand(all, way, again, starts[way])
	}
	for i, c := range all {
		if r.does("takes a place before all have room") && i > 0 && i < way {
			c.tickets[t.Ticket] = &ticket{holds: true, ends: math.MaxInt64}
		}
		r.serve(c.site, t.Ticket)
	}
	if way > 0 {
		in = t.Scopes[way-1].Key
	}
	return start, in
}

// stand puts the head of the queue of an authority in the queue of the scope that is in
// its way, and in no other. It returns when the ticket asks again.
func (r *reference) stand(all []claim, way int, again, due time.Duration) (asks time.Duration) {
	t := all[0].ticket
	for i, c := range all {
		if i > 0 && i != way {
			if c.ticket.order = 0; !c.ticket.holds {
				delete(c.tickets, t.Ticket)
			}
		}
	}
	c := all[way]
	c.tickets[t.Ticket] = c.ticket
	place := slices.Index(c.queue(), c.ticket)
	asks = again + time.Duration(place)*max(c.ticket.Gap, 5*time.Millisecond)
	t.ends = min(asks, r.now()+patience) + 2*time.Second
	c.ticket.ends = t.ends
	if place == 0 {
		c.due, c.head = 0, t.Ticket // it knows
	}
	for _, before := range all[1:max(way, 1)] {
		if t.lost && place == 0 && !r.does("keeps nothing free") && (before.kept.ticket == "" || before.kept.order > t.order) {
			before.kept = kept{t.Ticket, t.order, due, t.ends}
		}
	}
	return asks
}

func (r *reference) tell(s *site, t *ticket, asks string, g pace.Grant) {
	g.Condition = r.condition(s)
	if t.guest {
		g.Condition, g.Scope = pace.Condition{Clock: r.now()}, s.name
	}
	if r.does("loses a start with its message") && t.Ticket != asks && g.Granted {
		delete(s.tickets, t.Ticket)
		s.tickets["lost"] = t
	}
	if r.does("sends no message") {
		return
	}
	if wake := r.watchers[t.Ticket]; wake != nil && t.Ticket != asks {
		wake(g)
	}
}

func (r *reference) Reserve(_ context.Context, authority string, a pace.Reservation) (pace.Grant, error) {
	if r.does("decides in two steps") {
		r.mu.Lock()
		free := r.site(authority).places() < a.Parallel
		r.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		r.mu.Lock()
		defer r.mu.Unlock()
		if s := r.site(authority); free && s.tickets[a.Ticket] == nil {
			s.tickets[a.Ticket] = &ticket{Reservation: a, holds: true, start: r.now(), ends: r.now() + a.Life}
		}
		return pace.Grant{Granted: free, Start: r.now()}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	s, now := r.site(authority), r.now()
	for _, span := range []*time.Duration{&a.Gap, &a.Keep, &a.Life, &a.Ahead, &a.After} {
		*span = r.cut(*span)
	}
	s.parallel = a.Parallel
	t := s.tickets[a.Ticket]
	if t == nil {
		if r.does("does not look at who waited") {
			a.Waited = 0
		}
		t = &ticket{order: r.order(a.Waited)}
		if r.does("serves the last first") {
			t.order = 1e9 - r.count
		}
		s.tickets[a.Ticket] = t
	}
	start := t.start
	if a.After > 0 && !(s.unsent && s.latest == a.Ticket && s.last >= a.After) {
		start = math.MinInt64 / 4
	}
	if r.does("gives each question a start") {
		start = math.MinInt64 / 4
	}
	if t.order == 0 && start+sendTime/2 < now {
		t.order = float64(max(a.After, now)) - 1e18
		if r.does("puts the late last") || r.does("puts a next start last") && a.After > 0 {
			t.order, t.holds = r.order(0), false
		}
	}
	t.Reservation = a
	if t.order != 0 {
		t.ends = now + patience + 2*time.Second
		r.serve(s, a.Ticket)
		if len(a.Scopes) > 0 {
			if start, in := r.attempt(r.claims(s, t)); t.order != 0 && s.queue()[0] == t {
				return pace.Grant{Start: start, Scope: in, Condition: r.condition(s)}, nil
			}
		}
	}
	if t.order == 0 {
		return pace.Grant{Granted: true, Start: t.start, Condition: r.condition(s)}, nil
	}
	start = s.due
	if n := slices.Index(s.queue(), t); n > 0 {
		if head := s.queue()[0]; head.guest || len(head.Scopes) > 0 {
			start = max(start, head.ends-2*time.Second)
		}
		start = max(start, s.last+max(a.Gap, s.gap), s.now.Until) + time.Duration(n)*max(a.Gap, 5*time.Millisecond)
	}
	t.ends = min(start, now+patience) + 2*time.Second
	if a.After > 0 && t.order < 0 && !r.does("keeps a place for a next start") {
		t.ends = now + a.Life
	}
	return pace.Grant{Start: start, Condition: r.condition(s)}, nil
}

// order is the place in the queues of a ticket whose request has waited.
func (r *reference) order(waited time.Duration) float64 {
	r.count++ // no two are the same
	return max(float64(r.now()-r.cut(waited)), 1) + r.count/1000
}

func (r *reference) Hold(_ context.Context, authority string, h pace.Holding) (pace.Condition, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	h.Life, h.Started = r.cut(h.Life), r.cut(h.Started)
	s := r.site(authority)
	if s.tickets[h.Ticket] == nil && r.does("brings back the dead") {
		s.tickets[h.Ticket] = &ticket{holds: true}
	}
	sites := []*site{s}
	for _, key := range h.Scopes {
		if !r.does("forgets to end scopes") {
			sites = append(sites, r.site(key))
		}
	}
	for _, s := range sites {
		r.hold(s, h)
	}
	return r.condition(s), nil
}

func (r *reference) hold(s *site, h pace.Holding) {
	now, started, news := r.now(), h.Started, h.Life == 0
	if t := s.tickets[h.Ticket]; t != nil && t.holds {
		sent := min(started, now)
		switch {
		case r.does("believes in the future"):
			sent = started
		case r.does("moves the last start back"):
			s.last = sent
		case r.does("takes a renewal for the sending"):
			started = max(started, 1)
		}
		s.last, s.prior = max(s.last, sent), max(s.prior, sent)
		if s.latest == h.Ticket && s.unsent && (started > 0 || h.Life == 0) {
			s.unsent, news = false, true
			if started == 0 && !r.does("keeps a start that is given back") {
				s.last, s.gap, s.latest = s.prior, s.priorGap, ""
			}
		}
		t.ends = now + h.Life
	}
	if h.Life == 0 {
		delete(s.tickets, h.Ticket)
		if s.kept.ticket == h.Ticket {
			s.kept = kept{}
		}
	}
	if news {
		r.serve(s, "")
	}
}

func (r *reference) Report(_ context.Context, authority string, a pace.Report) (pace.Condition, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, now := r.site(authority), r.now()
	for _, span := range []*time.Duration{&a.Started, &a.Wait, &a.Rest, &a.RestMax} {
		*span = r.cut(*span)
	}
	switch {
	case a.Started <= s.opened && !r.does("counts old requests"):
	case a.Health == pace.Failing:
		r.fail(s, a)
	case a.Health == pace.Healthy && a.Answered == "":
		s.now.Failures, s.now.Open, s.now.Rest = 0, false, s.now.Rest/2
		if s.now.Rest < a.Rest {
			s.now.Rest = 0
		}
	}
	if r.does("takes no news for news") {
		a.Level = max(a.Level, 0)
	}
	switch probe := s.now.Open && s.tries[a.Answered]; {
	case probe && a.Health == pace.Healthy:
		s.now.Open = r.does("waits for the body of the probe")
		delete(s.tries, a.Answered)
	case !probe && !r.does("waits for long answers"):
		delete(s.tries, a.Answered)
	}
	if a.Wait > 0 {
		s.rest(now+a.Wait, a.Why)
		s.now.Level = max(s.now.Level, min(a.Level, 1<<60))
		if r.does("lowers the level with a pause") {
			s.now.Level = a.Level
		}
	} else if a.Level >= 0 {
		s.now.Level = min(s.now.Level, a.Level)
	}
	r.serve(s, "")
	return r.condition(s), nil
}

func (s *site) rest(until time.Duration, why pace.Reason) {
	if s.breaks == "takes a quota for a pause" {
		why = pace.ReasonPause
	}
	if until > s.now.Until || s.breaks == "ends a pause sooner" {
		s.now.Until, s.now.Why = until, why
	}
}

// fail counts a failure.
func (r *reference) fail(s *site, a pace.Report) {
	if s.now.Failures == 0 {
		s.tries = map[string]bool{}
		for name, t := range s.tickets {
			s.tries[name] = t.holds
		}
	}
	s.now.Failures++
	s.now.Cause, s.most = a.Cause, a.Failures
	if r.does("forgets the cause") {
		s.now.Cause = ""
	}
	if r.does("doubles the rest without end") {
		a.RestMax = 1 << 60
	}
	if s.now.Open || s.now.Failures >= a.Failures {
		s.now.Open, s.now.Rest = true, min(max(2*s.now.Rest, a.Rest), a.RestMax)
		s.opened, s.tries = r.now(), map[string]bool{}
		s.rest(r.now()+s.now.Rest, pace.ReasonBreaker)
	}
}

func (r *reference) Watch(ticket string, wake func(pace.Grant)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[ticket] = wake
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, ticket)
	}
}

func (r *reference) Count(_ context.Context, process string, life time.Duration) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.does("counts registrations") {
		process += strings.Repeat(".", len(r.members))
	}
	if r.does("counts the gone") {
		life = time.Hour
	}
	r.members[process] = now + life
	maps.DeleteFunc(r.members, func(_ string, end time.Duration) bool { return end <= now })
	return len(r.members), nil
}
