package pace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/rfc9309/polite/internal/bounded"
)

const (
	askTime  = time.Second          // one exchange with the store, at most
	askAgain = 5 * time.Second      // a ticket in the queue asks at least this often
	askRest  = 2 * time.Millisecond // and at most this often
	life     = 5 * time.Second      // a request in flight outlives its process by this

	countEvery = time.Second      // how often a busy process registers
	countLife  = 30 * time.Second // how long a process that rests stays registered

	// lateness is how late a start that the store granted may still be used. The
	// store waits twice as long for the report that the request was sent.
	lateness = 500 * time.Millisecond
)

// A fleet is what a process knows of the shared store and of itself in it.
type fleet struct {
	name    string        // name of this process, random
	tickets uint64        // number of tickets drawn
	away    bool          // the last exchange failed
	lost    instant       // when the store last failed after it had answered
	members int           // number of processes when the store last said it; 0: never
	counted instant       // when this process last registered
	usual   time.Duration // time of an exchange that few exceed lately
	clock   clock         // the store's clock
}

func newFleet() fleet { return fleet{name: rand.Text(), counted: -countEvery} }

// learn takes an answer of the store into account. The usual time of an exchange
// rises at once and falls by an eighth of the difference.
func (f *fleet) learn(asked, heard instant, store time.Duration) {
	f.clock.learn(asked, heard, store)
	took := heard - asked
	f.usual = max(took, f.usual-(f.usual-took)/8)
}

// quantum is how long a process may pass its place in the fleet from one of its
// requests to the next. Handing a place to another process costs two exchanges.
func (f *fleet) quantum() time.Duration {
	return min(max(250*time.Millisecond, 40*f.usual), 2*time.Second)
}

// A clock estimates the difference between the store's clock and ours, as NTP does:
// it is at least low and at most high, since each answer was written between the
// question and its arrival. The middle is wrong by half of the difference between
// the times there and back. So a start can be granted before it is due, and used on
// time.
type clock struct {
	low, high time.Duration
	at        instant // of the last answer
}

// learn narrows the estimate by an answer with the store's time. An answer that
// contradicts the estimate comes from another server or a clock that was set: the
// estimate starts again.
func (c *clock) learn(asked, heard instant, store time.Duration) {
	drift := (heard - c.at) / 10_000
	low, high := store-heard, store-asked
	narrow := clock{max(low, c.low-drift), min(high, c.high+drift), heard}
	if narrow.low > narrow.high {
		narrow = clock{low, high, heard}
	}
	*c = narrow
}

// ahead is by how much the store's clock is ahead of ours.
func (c *clock) ahead() time.Duration { return c.low + (c.high-c.low)/2 }

// A lease is a place among the requests in flight of the fleet.
type lease struct {
	ticket  string
	gap     time.Duration // gap asked for
	began   instant       // when this process got the place
	started instant       // when the latest request with the place was sent
	renew   *time.Timer   // renews the lease; nil for a ticket in the queue
	ended   bool
}

// A query is a waiter's request to the store.
type query struct {
	w       *waiter
	r       Reservation
	lease   *lease  // place of the waiter's turn; nil until it has one
	ask     bool    // the store must be asked before the next step
	granted bool    // the store has granted start
	start   instant // the start granted, or the moment of the next question
	level   time.Duration
}

// ask asks the store for the turn of w, which stays first in its line: no other
// waiter of this process asks meanwhile. It returns when w has a turn or an error,
// when late fires, or, with gone true, when ctx ends.
func (p *Pacer) ask(ctx context.Context, w *waiter, late <-chan time.Time) (gone bool) {
	q := &query{w: w, ask: true, r: Reservation{Ticket: p.ticket()}}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	w.cancel = cancel
	p.mu.Unlock()
	stop := p.watch(q.r.Ticket, w.deliver)
	defer stop()
	defer p.withdraw(q)
	for {
		wait, done := p.advance(asking, q)
		switch {
		case ctx.Err() != nil:
			return true
		case done:
			return false
		}
		select {
		case <-time.After(min(max(wait, askRest), askAgain)):
			q.ask = !q.granted
		case g := <-w.news:
			p.takeMessage(q, g)
		case <-late:
			return false
		case <-asking.Done():
			return ctx.Err() != nil
		}
	}
}

// ticket draws a name that no other request of the fleet has.
func (p *Pacer) ticket() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fleet.tickets++
	return p.fleet.name + "." + strconv.FormatUint(p.fleet.tickets, 36)
}

// withdraw ends the ticket of a query unless its waiter has a turn with it.
func (p *Pacer) withdraw(q *query) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := q.w.turn.flight
	if q.r.Life == 0 || f != nil && f.lease != nil && f.lease == q.lease {
		return // the store knows of no other ticket
	}
	go p.release(q.w.host.authority, &lease{ticket: q.r.Ticket}) // ends with its exchange
}

// advance takes a query one step further: it asks the store for a start or uses
// the start granted. done says that the waiter has a turn or is refused; otherwise
// the next step is due after wait.
func (p *Pacer) advance(ctx context.Context, q *query) (wait time.Duration, done bool) {
	p.mu.Lock()
	if q.w.granted() {
		p.mu.Unlock()
		return 0, true
	}
	ask := q.ask || q.late(p.now())
	if ask {
		p.prepare(q)
	}
	q.ask = false
	p.mu.Unlock()
	shared := true
	if ask {
		shared = p.reserve(ctx, q)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.w.granted() || ctx.Err() != nil {
		return 0, q.w.granted()
	}
	return p.decide(q, shared, p.now())
}

// late reports whether the start granted has passed unused for so long that
// another must be asked for.
func (q *query) late(now instant) bool { return q.granted && now-q.start > lateness }

// prepare sets what a query asks for now.
func (p *Pacer) prepare(q *query) {
	q.r.Gap = max(p.limits.Gap, q.w.delay, q.w.host.adaptive(p.limits))
	q.r.Keep, q.r.Life, q.r.Parallel = p.hosts.hold, life, p.limits.Parallel
	q.r.Ahead = min(2*p.fleet.usual, askTime)
}

// reserve makes one request for a start and reports whether the store answered.
func (p *Pacer) reserve(ctx context.Context, q *query) bool {
	asked, r := p.now(), q.r
	g, ok := exchange(ctx, p, func(ctx context.Context) (Grant, error) {
		return p.opts.Shared.Reserve(ctx, q.w.host.authority, r)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		q.granted, q.w.shared = false, 0
		return false
	}
	now := p.now()
	p.fleet.learn(asked, now, g.Clock)
	q.setGrant(g, now, &p.fleet.clock)
	p.count(now)
	return true
}

// takeMessage records what the store says without being asked. A start that is
// granted stays as it is.
func (p *Pacer) takeMessage(q *query, g Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case g == Grant{}:
		q.ask = !q.granted
	case !q.granted:
		q.setGrant(g, p.now(), &p.fleet.clock)
	}
}

// setGrant records an answer of the store.
func (q *query) setGrant(g Grant, now instant, c *clock) {
	q.granted, q.level = g.Granted, max(g.Level, 0)
	q.start = min(g.Start-c.ahead(), now+ages)
	q.w.shared = q.start
}

// decide turns the last answer into w's turn, or into its refusal if that cannot come in
// time, or else the time until the next step. This process's own limits hold as
// well: a pause may have begun since w was due. (settle sees to the next.)
func (p *Pacer) decide(q *query, shared bool, now instant) (wait time.Duration, done bool) {
	w, h, l := q.w, q.w.host, p.inForce()
	at, why := h.due(l)
	switch {
	case at > w.limit && at > now:
		p.refuse(w, at, why, now)
		return 0, true
	case at > now:
		if at-now > p.fleet.usual { // the time of an exchange is no wait
			w.why = why
		}
		p.refuseLate(h, now)
		return at - now, false
	case !shared && h.full(l):
		w.why = ReasonParallel
		return askAgain, false // end tells w
	case !shared:
		p.stats.Unshared++
		p.grant(w, now)
	case q.granted && !q.late(now):
		p.grant(w, now)
		h.level = min(q.level, p.limits.Pause)
		p.attachLease(w, q, now)
	default:
		return 0, false
	}
	return 0, true
}

// attachLease gives w, which has its turn, the place that the store granted.
func (p *Pacer) attachLease(w *waiter, q *query, now instant) {
	l := &lease{ticket: q.r.Ticket, gap: q.r.Gap, began: now, started: now}
	authority := w.host.authority
	// The lock, which we hold, keeps it from running at once.
	l.renew = time.AfterFunc(life/3, func() { p.renew(authority, l) })
	q.lease, w.turn.flight.lease = l, l
}

// mayPassOn reports whether the place l, whose request has ended, should go to the
// first in h's line and not back to the store. It saves the way to the store and
// back for each request, and is limited by quantum so that others get their turn.
func (p *Pacer) mayPassOn(h *host, l *lease, now instant) bool {
	w := h.line.first
	if w == nil || p.fleet.away || !p.needsNoStore(h, w, l) {
		return false
	}
	at, _ := h.dueAfter(w.gap, p.inForce())
	return max(at, now) < l.began+p.fleet.quantum()
}

// needsNoStore reports whether w may start with the place l without asking the
// store: nobody else can start while this process has the only place, and without
// a gap any moment is right.
func (p *Pacer) needsNoStore(h *host, w *waiter, l *lease) bool {
	n := p.limits.Parallel
	return n == 1 || n > 1 && w.gap == 0 && l.gap == 0 && h.adaptive(p.limits) == 0
}

// passOn gives w, the first in line and due, its turn with the spare place.
func (p *Pacer) passOn(h *host, w *waiter, now instant) {
	l := h.spare
	h.spare = nil
	p.grant(w, now)
	w.turn.flight.lease = l
	l.started = now
	if w.cancel != nil { // its question is of no use now
		w.cancel()
	}
}

// releaseSpare gives the spare place of h back unless it is still of use.
func (p *Pacer) releaseSpare(h *host, now instant) {
	if l := h.spare; l != nil && !p.mayPassOn(h, l, now) {
		h.spare = nil
		go p.release(h.authority, l) // ends with its exchange
	}
}

// renew keeps a long request counted. It runs three times in the life of a lease,
// on a timer that release stops.
func (p *Pacer) renew(authority string, l *lease) {
	p.hold(authority, l, life)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.ended {
		l.renew.Reset(life / 3)
	}
}

// report sends the store when the request of a lease was sent, without waiting for
// it, and learns of a pause that others have met. With one place the store hears of
// it when the place is given back.
func (p *Pacer) report(h *host, l *lease) {
	if l == nil || p.limits.Parallel == 1 {
		return
	}
	go func() { // ends with its exchange
		rest := p.hold(h.authority, l, life)
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := p.now(); rest > 0 {
			h.until = max(h.until, now+min(rest, ages))
			p.refuseLate(h, now)
			p.pump(h, now)
		}
	}()
}

// release ends a lease.
func (p *Pacer) release(authority string, l *lease) {
	p.mu.Lock()
	l.ended = true
	if l.renew != nil {
		l.renew.Stop()
	}
	p.mu.Unlock()
	p.hold(authority, l, 0)
}

// hold keeps a lease for life from now; 0 ends it. It has a context of its own:
// the place must become free though the caller is gone.
func (p *Pacer) hold(authority string, l *lease, life time.Duration) (rest time.Duration) {
	p.mu.Lock()
	ticket, started := l.ticket, max(l.started+p.fleet.clock.ahead(), 0)
	p.mu.Unlock()
	rest, _ = exchange(context.Background(), p, func(ctx context.Context) (time.Duration, error) {
		return p.opts.Shared.Hold(ctx, authority, ticket, life, started)
	})
	return rest
}

// pauseFleet reports a pause, or a level that fell, to the fleet.
func (p *Pacer) pauseFleet(authority string, wait, level time.Duration) {
	if p.opts.Shared == nil {
		return
	}
	exchange(context.Background(), p, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.opts.Shared.Pause(ctx, authority, wait, level)
	})
}

// count registers this process from time to time and learns how many there are.
func (p *Pacer) count(now instant) {
	if now-p.fleet.counted < countEvery {
		return
	}
	p.fleet.counted = now
	go func() { // ends with its exchange
		ctx, cancel := context.WithTimeout(context.Background(), askTime)
		defer cancel()
		n, err := bounded.Call(ctx, func(ctx context.Context) (int, error) {
			return p.opts.Shared.Count(ctx, p.fleet.name, countLife)
		})
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.fleet.members = max(n, 1)
		}
	}()
}

// inForce is the limits that hold for this process now: its share while the store
// is away, otherwise all.
func (p *Pacer) inForce() limits {
	l := limits{Limits: p.limits, share: 1}
	if p.fleet.away && p.fleet.members > 0 {
		l.share, l.from = p.fleet.members, p.fleet.lost
	}
	return l
}

// exchange makes one call of the store and reports whether it answered. OnShared is
// told of each change. A caller that leaves in the middle, or a store that was
// closed, is no change.
func exchange[T any](ctx context.Context, p *Pacer, f func(context.Context) (T, error)) (v T, ok bool) {
	limited, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	v, err := bounded.Call(limited, f)
	if ctx.Err() != nil || errors.Is(err, fs.ErrClosed) {
		return v, false
	}
	p.mu.Lock()
	changed := p.fleet.away != (err != nil)
	p.fleet.away = err != nil
	if changed && err != nil {
		p.fleet.lost = p.now()
	}
	share := p.inForce().share
	p.mu.Unlock()
	if changed && p.opts.OnShared != nil {
		told := err
		if err != nil && share > 1 {
			told = fmt.Errorf("each of %d processes keeps its share of the limits: %w", share, err)
		}
		p.opts.OnShared(told)
	}
	return v, err == nil
}

// watch is Store.Watch for a store that may panic or block. A message that is lost
// for that costs time only.
func (p *Pacer) watch(ticket string, deliver func(Grant)) func() {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	stop, err := bounded.Call(ctx, func(context.Context) (func(), error) { return p.opts.Shared.Watch(ticket, deliver), nil })
	if err != nil || stop == nil {
		return func() {}
	}
	return func() {
		go bounded.Call(context.Background(), func(context.Context) (none struct{}, err error) { stop(); return }) // ends with stop
	}
}
