package pace

import (
	"context"
	"time"
)

// A Store keeps the queues of a fleet of processes; *redis.Store of package
// cache/redis is one. Each method is one atomic step. Times are spans by the
// store's own clock, so the clocks of the processes need not agree. A Store whose
// server is down fails at once.
//
// A ticket names one request. It consists of the name of its process, a full stop
// and a number. A ticket is in the queue until it is granted a start, and then in
// flight until Hold ends it.
type Store interface {
	// Reserve asks for a start at authority.
	Reserve(ctx context.Context, authority string, r Reservation) (Grant, error)

	// Hold keeps a ticket in flight for life from now. A life of 0 ends the
	// ticket. A late over 0 says that the request has started so much later than
	// granted. rest is the time in which no further request of this ticket may
	// start.
	Hold(ctx context.Context, authority, ticket string, life, late time.Duration) (rest time.Duration, err error)

	// Pause forbids starts at authority for wait from now. It never ends a
	// pause sooner. A level with a wait can only raise the level known, and a
	// level without a wait can only lower it.
	Pause(ctx context.Context, authority string, wait, level time.Duration) error

	// Watch calls wake when ticket should ask again, until stop is called.
	// A call may be lost. wake does not block.
	Watch(ticket string, wake func()) (stop func())

	// Count registers a process for life and returns the number of processes
	// registered.
	Count(ctx context.Context, process string, life time.Duration) (int, error)
}

// A Reservation is a request for a start.
type Reservation struct {
	// Ticket names the request.
	Ticket string
	// Used says that the ticket is in flight and asks for one more start. If
	// it is false, a ticket in flight has not used its start and asks for a
	// later one.
	Used bool
	// Gap is the time kept to the starts before and after.
	Gap time.Duration
	// Keep is how long the start is remembered for callers with a larger gap.
	Keep time.Duration
	// Life is how long the ticket stays in flight without Hold.
	Life time.Duration
	// Lead is the time the answer needs. Where a gap is kept, the gap behind
	// the start counts from then or later.
	Lead time.Duration
	// Ahead is how far in the future a start may be granted.
	Ahead time.Duration
	// Parallel is the number of tickets in flight at once; 0 is no bound.
	Parallel int
}

// A Grant is the answer to a Reservation.
type Grant struct {
	// Granted says that the request may start after Wait. Otherwise the ticket
	// stays where it is and asks again after Wait or after five seconds,
	// whichever is sooner, or loses its place.
	Granted bool
	// Wait counts from the moment Clock.
	Wait time.Duration
	// Slack is how much later than Wait the request may start. The gap behind
	// it counts from the end of Slack.
	Slack time.Duration
	// Level is the level last given to Pause.
	Level time.Duration
	// Clock is the time at the store when it answered, since any fixed moment.
	Clock time.Duration
}
