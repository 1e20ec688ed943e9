// Package lanes works through a list of any length in parallel and hands back
// the results in the order of the list.
//
// Items that share a lane, such as the URLs of one site, are worked on one after
// another by one worker at a time: a site that takes its time holds one worker
// and no more. The items between the reader of the list and the results never take
// more than Window slots, which bounds the memory.
package lanes

import (
	"context"
	"sync"
	"time"
)

// Window is how many slots there are for items under way. It is wide enough that
// a site that takes its time does not soon stop the others.
const Window = 32 << 10

// tick is how often Idle is called.
const tick = 200 * time.Millisecond

// Work is what is done with the items of a list.
type Work[T any] struct {
	Workers int
	Lane    func(item T) string
	Slots   func(item T) int // how many the item takes, from 1 to Window; always the same

	// Do works on one item and reports whether it could before ctx ended. It
	// is called by the workers.
	Do func(ctx context.Context, item T) bool
	// Result takes the items done, in order, on the goroutine of Run.
	Result func(item T) error
	// Idle is called now and then, on the goroutine of Run.
	Idle func() error
}

// Run works through a list. It returns when all results are out, when one of the
// functions fails, or when ctx ends: then the results are out that were there,
// in order, with gaps, and the error is that of ctx. A list that waits for its
// next item is left behind, and workers that do not heed ctx are.
func (w *Work[T]) Run(ctx context.Context, list func(yield func(T) bool) error) error {
	r := &run[T]{
		Work: w, lanes: map[string]*lane[T]{},
		slots: make(chan struct{}, Window), ready: make(chan *lane[T], Window), done: make(chan *job[T], w.Workers),
	}
	inner, stop := context.WithCancel(ctx)
	defer stop() // ends the reader and the workers
	end := make(chan ending, 1)
	go func() { end <- r.read(inner, list) }()
	for range w.Workers {
		go r.work(inner)
	}
	return r.results(ctx, end)
}

// job is an item with its place in the list.
type job[T any] struct {
	n    int64 // from 0
	item T
}

// lane is a line of jobs. It is in the map while jobs wait in it or a worker
// serves it, and in ready once in that time.
type lane[T any] struct {
	name string
	jobs []*job[T]
}

// run is one Run. The reader takes the slots of each item, workers serve
// lanes, and the results free the slots in order.
type run[T any] struct {
	*Work[T]
	slots chan struct{}
	ready chan *lane[T] // never full, for an item in a lane has a slot
	done  chan *job[T]

	mu    sync.Mutex
	lanes map[string]*lane[T]
}

// ending is what the reader leaves behind.
type ending struct {
	total int64
	err   error
}

// read hands out the list.
func (r *run[T]) read(ctx context.Context, list func(yield func(T) bool) error) ending {
	var n int64
	err := list(func(item T) bool {
		for range r.Slots(item) {
			select {
			case r.slots <- struct{}{}:
			case <-ctx.Done():
				return false
			}
		}
		r.add(&job[T]{n, item})
		n++
		return true
	})
	return ending{n, err}
}

// add puts a job at the end of its lane.
func (r *run[T]) add(j *job[T]) {
	name := r.Lane(j.item)
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.lanes[name]
	if !ok {
		l = &lane[T]{name: name}
		r.lanes[name] = l
		r.ready <- l
	}
	l.jobs = append(l.jobs, j)
}

// take removes what waits in a lane, and the lane itself if that is nothing.
func (r *run[T]) take(l *lane[T]) []*job[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := l.jobs
	l.jobs = nil
	if jobs == nil {
		delete(r.lanes, l.name)
	}
	return jobs
}

// work serves lanes until ctx ends.
func (r *run[T]) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-r.ready:
			for jobs := r.take(l); jobs != nil; jobs = r.take(l) {
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

// results passes jobs on in the order of the list as they come in.
func (r *run[T]) results(ctx context.Context, end chan ending) error {
	waiting := map[int64]*job[T]{}
	var next int64
	total := ending{total: -1}
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
					<-r.slots
				}
			}
		case total = <-end:
		case <-ticks.C:
			if err := r.Idle(); err != nil {
				return err
			}
		case <-ctx.Done():
			return r.rest(ctx, waiting, next)
		}
	}
	return total.err
}

// rest passes on what is done when all ends early.
func (r *run[T]) rest(ctx context.Context, waiting map[int64]*job[T], next int64) error {
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
