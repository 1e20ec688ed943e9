package pace

import (
	"context"
	"time"
)

// A Store says which process of a fleet works on a host now, and hands what is known of the
// host from one process to the next. Use *redis.Store of package cache/redis, or write one: the
// rest of this comment is for you, and package pace/pacetest tests what it says.
//
// # Keys and processes
//
// A key names a host or a scope, and is any string. A process has a name of its own in the
// fleet. For each key the store keeps the holder and the end of its lease, a queue of
// processes, and a State with the moment when it was saved.
//
// A process that needs a key calls Lease, again and again until it has the lease: at least
// three times in a life, and at once when Notify names the key. It renews the lease by Keep and
// ends it by Return. The queue is in order of the first call. A place in the queue lasts for
// the life that the latest call gave; then the store drops it.
//
// # What a store must be ready for
//
// Each method is one atomic step, however many processes call. All moments are by the
// store's own clock, and only spans leave it, so no clocks are compared. A call may take effect
// although its answer is lost. It is then made again, and changes nothing more. A call may come
// late, also after the lease of its process has ended. A message may be lost. A store whose
// server is down fails at once. A life of less than a millisecond counts as a millisecond.
//
// A store may forget a key that nobody has or waits for, but not before the Keep of its State
// has passed, and a minute since its latest lease ended.
type Store interface {
	// Lease asks for key. If nobody has the lease and no other process is first in the
	// queue, process leaves the queue and has the lease for life from now. A process that has
	// the lease already keeps it for life from now. Otherwise process is in the queue, at its
	// end if it is new there, and a holder is notified of each process that is new. If
	// nobody has the lease, the first in the queue is notified.
	Lease(ctx context.Context, key, process string, life time.Duration) (Lease, error)

	// Keep renews the lease of process for life from now and saves s. If tell is true, all
	// in the queue are notified: the state has news for them. If process does not have the
	// lease, Keep changes nothing and the answer is not Granted.
	Keep(ctx context.Context, key, process string, life time.Duration, s State, tell bool) (Lease, error)

	// Return ends the lease of process and saves s. If process does not have the lease, it
	// leaves the queue, and nothing is saved. If nobody has the lease then, the first in
	// the queue is notified.
	Return(ctx context.Context, key, process string, s State) error

	// Notify calls f with each key that process is notified of, until stop is called. f
	// does not block.
	Notify(process string, f func(key string)) (stop func())

	// Count registers a process for life and returns the number of processes registered.
	Count(ctx context.Context, process string, life time.Duration) (int, error)
}

// A Lease is what a Store answers about a key.
type Lease struct {
	// Granted says that the process has the lease.
	Granted bool
	// Wanted says that another process is in the queue.
	Wanted bool
	// Ahead is the number of processes that come before this one, the holder included. It is
	// 0 if Granted.
	Ahead int
	// Free is when the lease of another holder ends if it is not renewed; 0 if nobody has
	// the lease.
	Free time.Duration
	// State is the state saved last, and zero if none is known.
	State State
	// Age is the time since State was saved.
	Age time.Duration
	// Lost is the time since a lease ended without a Return, and more than 0, until the next
	// holder saves a State. Otherwise it is 0. The holder that was lost may have started a
	// request until its lease ended.
	Lost time.Duration
}

// A State is what the next holder of a host must know. Its spans count from the moment when it
// is saved. The zero State says nothing.
type State struct {
	// SinceStart is the time since the last request started; 0 means that none is known.
	SinceStart time.Duration
	// Delay is the Crawl-delay of the last request.
	Delay time.Duration
	// Pause is what remains of a pause or a rest. There is no start before its end.
	Pause time.Duration
	// Why is what Pause is for: ReasonPause, ReasonQuota or ReasonBreaker.
	Why Reason
	// Level is what the next pause starts from.
	Level time.Duration
	// Failures is the number of failed requests in a row.
	Failures int
	// Open says that so many requests have failed that only a probe may start.
	Open bool
	// Rest is the length of the latest rest, halved by each success since.
	Rest time.Duration
	// Cause is what failed last.
	Cause string
	// Took is how long requests are in flight, on average.
	Took time.Duration
	// Keep is how long the state matters. A store may forget it after that.
	Keep time.Duration
}
