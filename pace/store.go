package pace

import (
	"context"
	"time"
)

// A Store says which process of a fleet works on a host now, and hands what is known of the
// host from one process to the next. Use *redis.Store of package cache/redis, or write one: the
// rest of this comment is for you, and package pace/pacetest tests what it says.
//
// # The queue of a key
//
// A key names a host or a scope, and is any string. For each key the store keeps a queue of
// claims, and a State with the moment when it was saved. The first in the queue has the lease.
// A process has one place in a queue at most.
//
// A process that needs a key makes a [Claim] and calls Lease, at least three times in a life,
// until it has the lease: an answer says so, or a message. It renews the lease by Keep. It ends the
// lease, or leaves the queue, by Return. A place lasts for the life that the latest call gave. Then
// the store drops it; the lease of the first is lost.
//
// # What a store must be ready for
//
// Each method is one atomic step, however many processes call. All moments are by the
// store's own clock, and only spans leave it, so no clocks are compared. A call may take effect
// although its answer is lost. It is then made again, and changes nothing more. A call may come
// late, also after the lease of its process has ended. A message may be lost. A store whose
// server is down fails at once. A life of less than a millisecond counts as a millisecond.
//
// A store may forget a key without a queue, but not before the Keep of its State has passed, and
// a minute since its latest lease ended.
type Store interface {
	// Lease puts c at the end of the queue, for life from now. If the process is in the queue, its
	// place lasts for life from now, with the number of c. The holder is notified of each process
	// that is new behind it.
	Lease(ctx context.Context, c Claim, life time.Duration) (Lease, error)

	// Keep renews the lease of c for life from now and saves s. If tell is true, all that
	// wait are notified: the state has news for them. If c does not have the lease, Keep changes
	// nothing.
	Keep(ctx context.Context, c Claim, life time.Duration, s State, tell bool) (Lease, error)

	// Return takes c out of the queue. If it had the lease, Return saves s. The zero State is not
	// saved: the process does not know that it had the lease, which counts as lost now. The next in
	// the queue has the lease then and is notified.
	Return(ctx context.Context, c Claim, s State) error

	// Notify calls f with each claim of process that is notified, and with what Lease would
	// answer, until stop is called. Who gets the lease by the call of another process, or when
	// a lease is lost, is notified, too. f does not block.
	Notify(process string, f func(c Claim, l Lease)) (stop func())

	// Count registers a process for life and returns the number of processes registered.
	Count(ctx context.Context, process string, life time.Duration) (int, error)
}

// A Claim is what a process says with each call about a key.
type Claim struct {
	Key string
	// Process is the name of the process in the fleet.
	Process string
	// Number is greater for each further claim of the process, which makes one after a
	// Return. A call with a lower number than the place of the process came late: it changes
	// nothing, and the answer is not Granted.
	Number uint64
}

// A Lease is what a Store answers about a claim.
type Lease struct {
	// Granted says that the claim has the lease.
	Granted bool
	// Wanted says that the claim has the lease and others wait for it.
	Wanted bool
	// Ahead is the number of claims that come before this one, the holder included.
	Ahead int
	// Free is when the lease of another holder ends if it is not renewed, 0 if there is none.
	Free time.Duration
	// State is the state saved last, and zero if none is known.
	State State
	// Age is the time since State was saved.
	Age time.Duration
	// Lost is the time since a lease was lost, and more than 0, until a holder saves a State.
	// Otherwise it is 0. The holder that was lost may have started a request until then.
	Lost time.Duration
}

// A State is what the next holder of a host must know. Its spans count from the moment when it
// is saved. The zero State says nothing, and is never saved.
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
	// Keep is how long the state matters, and more than 0. A store may forget it after that.
	Keep time.Duration
}
