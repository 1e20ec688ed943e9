package pace

import (
	"context"
	"time"
)

// A Store keeps the queues of a fleet of processes; *redis.Store of package
// cache/redis is one. Each method is one atomic step. All moments are by the
// store's own clock, counted from any fixed moment, so the clocks of the processes
// need not agree. A Store whose server is down fails at once. After three calls of a
// method that took longer than a second, that method is called now and then only.
//
// A ticket names one request. It consists of the name of its process, a full stop
// and a number. A ticket is in the queue until it is granted a start, and then in
// flight until Hold ends it.
type Store interface {
	// Reserve asks for a start at authority. A ticket that is granted one and
	// asks again gets the same answer for half a second, and then a later start.
	//
	// If requests run in parallel, the gap behind a start counts from the moment
	// that Hold reports. Until then nobody else is granted a start, for a second
	// at most.
	Reserve(ctx context.Context, authority string, r Reservation) (Grant, error)

	// Hold keeps a ticket in flight for life from now. A life of 0 ends the
	// ticket. started is when its latest request was sent; 0 means that the
	// latest start granted has not been used, and a ticket that ends so gives
	// it back. rest is what remains of a pause.
	Hold(ctx context.Context, authority, ticket string, life, started time.Duration) (rest time.Duration, err error)

	// Pause forbids starts at authority for wait from now. It never ends a
	// pause sooner. A level with a wait can only raise the level known, and a
	// level without a wait can only lower it.
	Pause(ctx context.Context, authority string, wait, level time.Duration) error

	// Watch calls wake when ticket is granted a start, or should ask again
	// earlier than the last answer said, until stop is called. A call may be
	// lost. wake does not block.
	Watch(ticket string, wake func(Grant)) (stop func())

	// Count registers a process for life and returns the number of processes
	// registered.
	Count(ctx context.Context, process string, life time.Duration) (int, error)
}

// A Reservation is a request for a start.
type Reservation struct {
	// Ticket names the request.
	Ticket string
	// Gap is the time kept to the starts before and after.
	Gap time.Duration
	// Keep is how long the start is remembered for callers with a larger gap.
	Keep time.Duration
	// Life is how long the ticket stays in flight without Hold.
	Life time.Duration
	// Ahead is how far in the future a start may be granted. It is the time
	// that the answer may need.
	Ahead time.Duration
	// Parallel is the number of tickets in flight at once; 0 is no bound.
	Parallel int
	// After is set for a ticket in flight that asks for one more start, to
	// use its place for the next request: the start is not before this
	// moment. Such a ticket stays in flight and comes before the queue.
	After time.Duration
}

// A Grant is the answer to a Reservation, at once or later.
type Grant struct {
	// Granted says that the request may start at Start. Otherwise the ticket
	// stays where it is and asks again at Start or after five seconds, whichever
	// is sooner, or loses its place.
	Granted bool
	// Start is the start granted or the moment of the next question.
	Start time.Duration
	// Level is the level last given to Pause.
	Level time.Duration
	// Clock is when the store answered.
	Clock time.Duration
}
