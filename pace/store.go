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
	// it back.
	Hold(ctx context.Context, authority, ticket string, life, started time.Duration) (Condition, error)

	// Report counts what the answer to a request, or its failure, says of the
	// host, as the fields of Report say.
	Report(ctx context.Context, authority string, r Report) (Condition, error)

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
	// Condition is the condition of the host. The Cause may be missing later.
	Condition
}

// A Report is what the answer to a request, or its failure, says of a host.
type Report struct {
	// Started is when the request started, by the store's clock. Requests that
	// started before the latest rest began neither fail nor succeed.
	Started time.Duration
	// Health is Failing for a request that failed, and Healthy for one that
	// ends the failures in a row. All else counts as Neutral.
	Health Health
	// Cause is what the failure was.
	Cause string
	// Wait forbids starts from now on. It never ends a pause or a rest sooner.
	Wait time.Duration
	// Why is what Wait is for.
	Why Reason
	// Level is what the next pause starts from. With a Wait it can only raise
	// the level known, and without one it can only lower it.
	Level time.Duration
	// Failures is the number of failures in a row after which the host rests.
	Failures int
	// Rest is the length of the first rest. Each failure after it doubles the
	// rest, and each success halves it; less than Rest is none.
	Rest time.Duration
	// RestMax is the longest rest.
	RestMax time.Duration
}

// A Condition is what a store knows of a host.
//
// While the host is Open, Reserve grants one start at a time, the probe, and the next
// when the ticket of the probe has ended. After the first failure in a row the requests
// in flight, and those started since, are as many as may fail before the host rests, and
// at least one.
type Condition struct {
	// Clock is when the store answered.
	Clock time.Duration
	// Until is the end of a pause or a rest. There is no start before it.
	Until time.Duration
	// Why is what Until is for: ReasonPause, ReasonQuota or ReasonBreaker.
	Why Reason
	// Level is what the next pause starts from.
	Level time.Duration
	// Failures is the number of failed requests in a row.
	Failures int
	// Cause is what the last of them was.
	Cause string
	// Open says that there were so many that only a probe may start. A success
	// ends that.
	Open bool
	// Rest is the length of the latest rest, halved by each success since.
	Rest time.Duration
	// Probe is when the probe in flight started; 0 if there is none.
	Probe time.Duration
}
