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
	keys      map[string]*lease
	listeners map[string][]*func(key string) // by the name of the process
	processes map[string]time.Time           // when each registration ends
}

// A lease is what is known of a key.
type lease struct {
	holder string    // meaningless once until has passed
	until  time.Time // the end of the lease of holder; zero if it was returned
	queue  []place   // in order of the first call
	state  pace.State
	saved  time.Time // when state was saved
	lost   time.Time // the end of a lease that was not returned; zero if state was saved since
}

// A place is that of a process in the queue.
type place struct {
	process string
	until   time.Time
}

// Lease implements [pace.Store].
func (m *Memory) Lease(ctx context.Context, key, process string, life time.Duration) (pace.Lease, error) {
	return m.do(ctx, key, process, func(l *lease, now time.Time) (notify []string) {
		until := end(now, life)
		i := l.index(process)
		switch {
		case l.holds(process), !l.held() && (len(l.queue) == 0 || i == 0):
			l.holder, l.until = process, until
			l.leave(process)
		case i >= 0:
			l.queue[i].until = until
		default:
			l.queue = append(l.queue, place{process, until})
			if l.held() {
				notify = append(notify, l.holder)
			}
		}
		return notify
	})
}

// Keep implements [pace.Store].
func (m *Memory) Keep(ctx context.Context, key, process string, life time.Duration, s pace.State, tell bool) (pace.Lease, error) {
	return m.do(ctx, key, process, func(l *lease, now time.Time) (notify []string) {
		if !l.holds(process) {
			return nil
		}
		l.until = end(now, life)
		l.save(s, now)
		for _, p := range l.queue {
			if tell {
				notify = append(notify, p.process)
			}
		}
		return notify
	})
}

// Return implements [pace.Store].
func (m *Memory) Return(ctx context.Context, key, process string, s pace.State) error {
	_, err := m.do(ctx, key, process, func(l *lease, now time.Time) []string {
		if l.holds(process) {
			l.until = time.Time{}
			l.save(s, now)
		}
		l.leave(process)
		return nil
	})
	return err
}

// do changes what is known of key in one step and answers process. Then it notifies the
// processes that change returns, and the first in the queue if nobody has the lease.
func (m *Memory) do(ctx context.Context, key, process string, change func(l *lease, now time.Time) (notify []string)) (pace.Lease, error) {
	if err := ctx.Err(); err != nil {
		return pace.Lease{}, err
	}
	m.mu.Lock()
	l := m.keys[key]
	if l == nil {
		if m.keys == nil {
			m.keys = map[string]*lease{}
		}
		l = &lease{}
		m.keys[key] = l
	}
	now := time.Now()
	l.expire(now)
	notify := change(l, now)
	if !l.held() && len(l.queue) > 0 {
		notify = append(notify, l.queue[0].process)
	}
	answer := l.answer(process, now)
	var calls []*func(string)
	for _, p := range notify {
		calls = append(calls, m.listeners[p]...)
	}
	m.mu.Unlock()
	for _, f := range calls {
		(*f)(key)
	}
	return answer, nil
}

// expire ends the lease and the places whose life is over.
func (l *lease) expire(now time.Time) {
	if l.held() && !now.Before(l.until) {
		l.lost, l.until = l.until, time.Time{}
	}
	l.queue = slices.DeleteFunc(l.queue, func(p place) bool { return !now.Before(p.until) })
}

func (l *lease) held() bool { return !l.until.IsZero() }

func (l *lease) holds(process string) bool { return l.held() && l.holder == process }

// index is the place of a process in the queue, -1 if it has none.
func (l *lease) index(process string) int {
	return slices.IndexFunc(l.queue, func(p place) bool { return p.process == process })
}

func (l *lease) leave(process string) {
	l.queue = slices.DeleteFunc(l.queue, func(p place) bool { return p.process == process })
}

func (l *lease) save(s pace.State, now time.Time) {
	l.state, l.saved, l.lost = s, now, time.Time{}
}

// answer is what process is told.
func (l *lease) answer(process string, now time.Time) pace.Lease {
	a := pace.Lease{Granted: l.holds(process), State: l.state}
	a.Wanted = slices.ContainsFunc(l.queue, func(p place) bool { return p.process != process })
	if !l.saved.IsZero() {
		a.Age = now.Sub(l.saved)
	}
	if !l.lost.IsZero() {
		a.Lost = max(now.Sub(l.lost), 1)
	}
	if a.Granted {
		return a
	}
	if a.Ahead = l.index(process); a.Ahead < 0 {
		a.Ahead = len(l.queue)
	}
	if l.held() {
		a.Ahead, a.Free = a.Ahead+1, l.until.Sub(now)
	}
	return a
}

// Notify implements [pace.Store].
func (m *Memory) Notify(process string, f func(key string)) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listeners == nil {
		m.listeners = map[string][]*func(string){}
	}
	m.listeners[process] = append(m.listeners[process], &f)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.listeners[process] = slices.DeleteFunc(m.listeners[process], func(g *func(string)) bool { return g == &f })
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
