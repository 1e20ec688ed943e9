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

// A reference is a pace.Store in memory, as plain as possible.
type reference struct {
	mu       sync.Mutex
	sites    map[string]*site
	watchers map[string]func(pace.Grant)
	members  map[string]time.Duration
	began    time.Time
}

// A site is what the reference keeps of one authority.
type site struct {
	last, prior   time.Duration // the latest start, and the one before it
	gap, priorGap time.Duration // behind them
	latest        string        // ticket of the latest start
	unsent        bool          // its request has not been sent
	now           pace.Condition
	most          int             // failures in a row that begin a rest
	opened        time.Duration   // when the latest rest began
	tries         map[string]bool // tickets that may fail: in flight at the first failure, or started since
	parallel      int             // as last asked
	count         float64         // tickets seen
	tickets       map[string]*ticket
	due           time.Duration // when the head of the queue asks again
}

type ticket struct {
	pace.Reservation
	order float64       // in the queue; 0 if it is in flight and not in the queue
	holds bool          // it has a place
	start time.Duration // granted
	ends  time.Duration // when it counts as dead
}

func newReference() *reference {
	return &reference{sites: map[string]*site{}, watchers: map[string]func(pace.Grant){}, members: map[string]time.Duration{}, began: time.Now().Add(-time.Hour)}
}

func (r *reference) now() time.Duration { return time.Since(r.began) }

// site returns the state of an authority without its dead tickets.
func (r *reference) site(authority string) *site {
	s := r.sites[authority]
	if s == nil {
		s = &site{tickets: map[string]*ticket{}, last: math.MinInt64 / 4, opened: math.MinInt64 / 4}
		r.sites[authority] = s
	}
	maps.DeleteFunc(s.tickets, func(_ string, t *ticket) bool { return t.ends <= r.now() })
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
	maps.DeleteFunc(s.tries, func(name string, _ bool) bool {
		t := s.tickets[name]
		return t == nil || !t.holds || t.order != 0
	})
	return len(s.tries)
}

// chances reports whether one more request may fail.
func (s *site) chances() bool {
	switch {
	case s.now.Open:
		return s.trying() == 0
	case s.now.Failures > 0:
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

// serve grants starts to the head of the queue as long as there is room. Its process is
// told, but for the ticket that asks.
func (r *reference) serve(s *site, asks string) {
	now := r.now()
	for _, t := range s.queue() {
		apart, base := max(t.Gap, s.gap), s.last
		if apart > 0 && s.unsent && now < s.last+sendTime {
			base += sendTime
		}
		start := max(base+apart, s.now.Until, now, t.After)
		full := !t.holds && s.parallel > 0 && s.places() >= s.parallel || !s.chances()
		if full || start > now+t.Ahead {
			again := max(start-t.Ahead, now+time.Millisecond)
			if full {
				again = max(again, now+poll)
			}
			if again < s.due {
				r.tell(s, t, asks, pace.Grant{Start: again})
			}
			s.due = again
			return
		}
		s.prior, s.priorGap = base, s.gap
		s.last, s.latest, s.gap, s.unsent = start, t.Ticket, t.Gap, s.parallel != 1
		t.order, t.holds, t.start, t.ends = 0, true, start, start+t.Life
		if s.now.Failures > 0 {
			s.tries[t.Ticket], s.now.Probe = true, start
		}
		r.tell(s, t, asks, pace.Grant{Granted: true, Start: start})
	}
}

func (r *reference) tell(s *site, t *ticket, asks string, g pace.Grant) {
	g.Condition = r.condition(s)
	if wake := r.watchers[t.Ticket]; wake != nil && t.Ticket != asks {
		wake(g)
	}
}

func (r *reference) Reserve(_ context.Context, authority string, a pace.Reservation) (pace.Grant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, now := r.site(authority), r.now()
	s.parallel = a.Parallel
	t := s.tickets[a.Ticket]
	if t == nil {
		s.count++
		t = &ticket{order: s.count}
		s.tickets[a.Ticket] = t
	}
	start := t.start
	if a.After > 0 && !(s.unsent && s.latest == a.Ticket && s.last >= a.After) {
		start = math.MinInt64 / 4
	}
	if t.order == 0 && start+sendTime/2 < now {
		t.order = float64(max(a.After, now)) - 1e18
	}
	t.Reservation = a
	if t.order != 0 {
		t.ends = now + patience + 2*time.Second
		r.serve(s, a.Ticket)
	}
	if t.order == 0 {
		return pace.Grant{Granted: true, Start: t.start, Condition: r.condition(s)}, nil
	}
	start = s.due
	if n := slices.Index(s.queue(), t); n > 0 {
		start = max(s.due, s.last+max(a.Gap, s.gap), s.now.Until) + time.Duration(n)*max(a.Gap, 5*time.Millisecond)
	}
	t.ends = min(start, now+patience) + 2*time.Second
	if a.After > 0 && t.order < 0 {
		t.ends = now + a.Life
	}
	return pace.Grant{Start: start, Condition: r.condition(s)}, nil
}

func (r *reference) Hold(_ context.Context, authority, name string, life, started time.Duration) (pace.Condition, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, now := r.site(authority), r.now()
	news := life == 0
	if t := s.tickets[name]; t != nil && t.holds {
		sent := min(started, now)
		s.last, s.prior = max(s.last, sent), max(s.prior, sent)
		if s.latest == name && s.unsent && (started > 0 || life == 0) {
			s.unsent, news = false, true
			if started == 0 {
				s.last, s.gap, s.latest = s.prior, s.priorGap, ""
			}
		}
		t.ends = now + life
	}
	if life == 0 {
		delete(s.tickets, name)
	}
	if news {
		r.serve(s, "")
	}
	return r.condition(s), nil
}

func (r *reference) Report(_ context.Context, authority string, a pace.Report) (pace.Condition, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, now := r.site(authority), r.now()
	switch {
	case a.Started <= s.opened:
	case a.Health == pace.Failing:
		r.fail(s, a)
	case a.Health == pace.Healthy:
		s.now.Failures, s.now.Open, s.now.Rest = 0, false, s.now.Rest/2
		if s.now.Rest < a.Rest {
			s.now.Rest = 0
		}
	}
	if a.Wait > 0 {
		s.rest(now+a.Wait, a.Why)
		s.now.Level = max(s.now.Level, a.Level)
	} else {
		s.now.Level = min(s.now.Level, a.Level)
	}
	r.serve(s, "")
	return r.condition(s), nil
}

func (s *site) rest(until time.Duration, why pace.Reason) {
	if until > s.now.Until {
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
	r.members[strings.Clone(process)] = now + life
	maps.DeleteFunc(r.members, func(_ string, end time.Duration) bool { return end <= now })
	return len(r.members), nil
}
