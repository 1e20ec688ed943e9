package pacetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rfc9309/polite/pace"
)

// Memory is a [pace.Store] in memory, for tests of several processes in one. The zero
// Memory is empty and ready. Its clock is that of package time, so that it can be used in a
// bubble of package synctest.
type Memory struct {
	mu        sync.Mutex
	keys      map[string]*queue
	listeners map[string][]*func(pace.Claim, pace.Lease) // by the name of the process
	processes map[string]time.Time                       // when each registration ends
}

// A queue is what is known of a key.
type queue struct {
	places []place // the first has the lease
	state  pace.State
	saved  time.Time // when state was saved
	lost   time.Time // when a lease was lost; zero if state was saved since
}

// A place is the place of a process in the queue.
type place struct {
	pace.Claim
	until time.Time
}

// Lease implements [pace.Store].
func (m *Memory) Lease(ctx context.Context, c pace.Claim, life time.Duration) (pace.Lease, error) {
	return m.do(ctx, c, func(q *queue, i int, now time.Time) (notify []place) {
		p := place{c, end(now, life)}
		if i >= 0 {
			q.places[i] = p
			return nil
		}
		q.places = append(q.places, p)
		return q.places[:min(len(q.places)-1, 1)]
	})
}

// Keep implements [pace.Store].
func (m *Memory) Keep(ctx context.Context, c pace.Claim, life time.Duration, s pace.State, tell bool) (pace.Lease, error) {
	return m.do(ctx, c, func(q *queue, i int, now time.Time) (notify []place) {
		if i == 0 {
			q.places[0].until = end(now, life)
			q.save(s, now)
			if tell {
				notify = q.places[1:]
			}
		}
		return notify
	})
}

// Return implements [pace.Store].
func (m *Memory) Return(ctx context.Context, c pace.Claim, s pace.State) error {
	_, err := m.do(ctx, c, func(q *queue, i int, now time.Time) (notify []place) {
		if i == 0 {
			q.save(s, now)
		}
		if i >= 0 {
			q.places = slices.Delete(q.places, i, i+1)
		}
		return nil
	})
	return err
}

// do changes what is known of a key in one step, and answers c. change gets the index of c in the
// queue, -1 if it is not there, and returns the places to notify. So is a new holder.
func (m *Memory) do(ctx context.Context, c pace.Claim, change func(q *queue, i int, now time.Time) (notify []place)) (pace.Lease, error) {
	if err := ctx.Err(); err != nil {
		return pace.Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	q, now := m.keys[c.Key], time.Now()
	if q == nil {
		if m.keys == nil {
			m.keys = map[string]*queue{}
		}
		q = &queue{}
		m.keys[c.Key] = q
	}
	before := slices.Clone(q.places[:min(len(q.places), 1)])
	q.expire(now)
	var notify []place
	if i := q.index(c.Process); i < 0 || q.places[i].Number <= c.Number {
		notify = slices.Clone(change(q, i, now))
	}
	if len(q.places) > 0 && q.index(c.Process) != 0 && (len(before) == 0 || before[0].Process != q.places[0].Process) {
		notify = append(notify, q.places[0])
	}
	for _, p := range notify {
		for _, f := range m.listeners[p.Process] {
			(*f)(p.Claim, q.answer(p.Claim, now))
		}
	}
	return q.answer(c, now), nil
}

// expire drops the places whose life is over.
func (q *queue) expire(now time.Time) {
	over := func(p place) bool { return !now.Before(p.until) }
	if len(q.places) > 0 && over(q.places[0]) {
		q.lost = q.places[0].until
	}
	q.places = slices.DeleteFunc(q.places, over)
}

// index is the place of a process in the queue, -1 if it has none.
func (q *queue) index(process string) int {
	return slices.IndexFunc(q.places, func(p place) bool { return p.Process == process })
}

// save saves what a holder knows.
func (q *queue) save(s pace.State, now time.Time) {
	if s == (pace.State{}) {
		q.lost = now
	} else {
		q.state, q.saved, q.lost = s, now, time.Time{}
	}
}

// answer is what c is told.
func (q *queue) answer(c pace.Claim, now time.Time) pace.Lease {
	i := slices.IndexFunc(q.places, func(p place) bool { return p.Claim == c })
	a := pace.Lease{Granted: i == 0, Wanted: i == 0 && len(q.places) > 1, Ahead: i, State: q.state}
	if i < 0 {
		a.Ahead = len(q.places)
	}
	if a.Ahead > 0 {
		a.Free = q.places[0].until.Sub(now)
	}
	if !q.saved.IsZero() {
		a.Age = now.Sub(q.saved)
	}
	if !q.lost.IsZero() {
		a.Lost = max(now.Sub(q.lost), 1)
	}
	return a
}

// Notify implements [pace.Store].
func (m *Memory) Notify(process string, f func(pace.Claim, pace.Lease)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listeners == nil {
		m.listeners = map[string][]*func(pace.Claim, pace.Lease){}
	}
	m.listeners[process] = append(m.listeners[process], &f)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.listeners[process] = slices.DeleteFunc(m.listeners[process], func(g *func(pace.Claim, pace.Lease)) bool { return g == &f })
	}
}

// Count implements [pace.Store].
func (m *Memory) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.processes == nil {
		m.processes = map[string]time.Time{}
	}
	now := time.Now()
	m.processes[process] = end(now, life)
	for p, until := range m.processes {
		if !now.Before(until) {
			delete(m.processes, p)
		}
	}
	return len(m.processes), nil
}

// end is when a life that begins now ends.
func end(now time.Time, life time.Duration) time.Time {
	return now.Add(max(life, time.Millisecond))
}
