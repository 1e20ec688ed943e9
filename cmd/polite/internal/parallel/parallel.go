// Package parallel processes a list of any length in parallel and returns the
// results in the order of the list.
//
// Items with the same key, such as the URLs of one site, are processed one after
// another by one worker, so a slow site blocks only one worker. The items that were
// read but have no result yet take at most Window slots, which bounds the memory.
package parallel

import (
	"context"
	"sync"
	"time"
)

// Window is the number of slots for items without a result. It is large, because a
// slow site holds up the results behind it and so fills the window.
const Window = 32 << 10

// tick is the time between two calls of Idle.
const tick = 200 * time.Millisecond

// Work describes how the items of a list are processed.
type Work[T any] struct {
	// Workers is the number of goroutines that call Do.
	Workers int
	// Key returns the key of an item. Items with the same key are processed in
	// order, by one worker at a time.
	Key func(item T) string
	// Slots returns how many slots of the window an item takes, from 1 to Window.
	// It must return the same number each time.
	Slots func(item T) int
	// Do processes one item. It reports false if ctx ended first.
	Do func(ctx context.Context, item T) bool
	// Result is called for each processed item, in the order of the list, on the
	// goroutine of Run.
	Result func(item T) error
	// Idle is called every 200 ms on the goroutine of Run.
	Idle func() error
}

// Run processes a list. It returns when all results are delivered, when the list,
// Result or Idle fails, or when ctx ends. If ctx ends, the results that exist are
// delivered in order, with gaps, and the error is the error of ctx. Run does not
// wait for a list that blocks, or for workers that ignore ctx.
func (w *Work[T]) Run(ctx context.Context, list func(yield func(T) bool) error) error {
	r := &run[T]{
		Work: w, queues: map[string]*queue[T]{},
		window: make(chan struct{}, Window), ready: make(chan *queue[T], Window), done: make(chan *job[T], w.Workers),
	}
	inner, stop := context.WithCancel(ctx)
	defer stop() // ends the reader and the workers
	end := make(chan readEnd, 1)
	go func() { end <- r.read(inner, list) }()
	for range w.Workers {
		go r.work(inner)
	}
	return r.deliver(ctx, end)
}

// job is an item with its place in the list.
type job[T any] struct {
	n    int64 // counted from 0
	item T
}

// queue holds the waiting jobs of one key. It is in run.queues while it has jobs or
// a worker works on it. In that time it is sent to run.ready once.
type queue[T any] struct {
	key  string
	jobs []*job[T]
}

// run is the state of one call of Run. The reader takes slots for each item. They
// are freed when the item's result is delivered.
type run[T any] struct {
	*Work[T]
	window chan struct{}  // one element for each slot that is taken
	ready  chan *queue[T] // never full, because each queue has an item with a slot
	done   chan *job[T]

	mu     sync.Mutex
	queues map[string]*queue[T]
}

// readEnd is the result of reading the list: the number of items, and the error.
type readEnd struct {
	total int64
	err   error
}

// read puts the items of the list into their queues.
func (r *run[T]) read(ctx context.Context, list func(yield func(T) bool) error) readEnd {
	var n int64
	err := list(func(item T) bool {
		for range r.Slots(item) {
			select {
			case r.window <- struct{}{}:
			case <-ctx.Done():
				return false
			}
		}
		r.add(&job[T]{n, item})
		n++
		return true
	})
	return readEnd{n, err}
}

// add puts a job at the end of its queue.
func (r *run[T]) add(j *job[T]) {
	key := r.Key(j.item)
	r.mu.Lock()
	defer r.mu.Unlock()
	q, ok := r.queues[key]
	if !ok {
		q = &queue[T]{key: key}
		r.queues[key] = q
		r.ready <- q
	}
	q.jobs = append(q.jobs, j)
}

// take removes and returns the jobs of a queue. If there are none, it removes the
// queue.
func (r *run[T]) take(q *queue[T]) []*job[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	if jobs == nil {
		delete(r.queues, q.key)
	}
	return jobs
}

// work processes queues until ctx ends.
func (r *run[T]) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-r.ready:
			for jobs := r.take(q); jobs != nil; jobs = r.take(q) {
				for _, j := range jobs {
					if !r.Do(ctx, j.item) {
						return // ctx has ended
					}
					select {
					case r.done <- j:
					case <-ctx.Done():
						return
					}
				}
			}
		}
	}
}

// deliver calls Result for each finished job, in the order of the list.
func (r *run[T]) deliver(ctx context.Context, end chan readEnd) error {
	waiting := map[int64]*job[T]{}
	var next int64
	total := readEnd{total: -1}
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for next != total.total {
		select {
		case j := <-r.done:
			waiting[j.n] = j
			for j, ok := waiting[next]; ok; j, ok = waiting[next] {
				delete(waiting, next)
				next++
				if err := r.Result(j.item); err != nil {
					return err
				}
				for range r.Slots(j.item) {
					<-r.window
				}
			}
		case total = <-end:
		case <-ticks.C:
			if err := r.Idle(); err != nil {
				return err
			}
		case <-ctx.Done():
			return r.deliverRest(ctx, waiting, next)
		}
	}
	return total.err
}

// deliverRest calls Result for the jobs that are finished when ctx ends.
func (r *run[T]) deliverRest(ctx context.Context, waiting map[int64]*job[T], next int64) error {
	for more := true; more; {
		select {
		case j := <-r.done:
			waiting[j.n] = j
		default:
			more = false
		}
	}
	for ; len(waiting) > 0; next++ {
		j, ok := waiting[next]
		if !ok {
			continue
		}
		delete(waiting, next)
		if err := r.Result(j.item); err != nil {
			return err
		}
	}
	return ctx.Err()
}
