package pace

import (
	"context"
	"time"
)

// A Store keeps the limits, pauses and health of hosts for a fleet of processes. Use
// *redis.Store of package cache/redis, or write one: the rest of this comment is for you,
// and pacetest.Run of package pace/pacetest tests what it says.
//
// # Tickets
//
// A ticket names one request, or several in a row that use one place. It consists of the
// name of its process, a full stop and a number, so that a message for the ticket can be
// sent to its process. The first Reserve puts it at the end of the queue of its authority.
// When it is granted a start, it leaves the queue and is in flight, until Hold ends it or
// its life is over. A ticket in the queue lives until two seconds after it was to ask
// again. So a process that was killed delays the others for some seconds, and one that
// was stopped for longer finds its tickets gone: a call for such a ticket never brings it
// back, and a Reserve makes it a new one, at the end of the queue.
//
// # When a start is granted
//
// The head of the queue is granted a start, and nobody overtakes it, as soon as
//
//   - fewer than Parallel tickets are in flight;
//   - the start is at least the larger Gap of two neighbours after the start before it;
//   - no pause and no rest is in force, and the host has not failed too often (see
//     [Condition]);
//   - the start is at most Ahead from now.
//
// Unless Parallel is 1, the gap counts from the moment that Hold reports. Until that
// report the request before counts as one that is sent a second after its start.
//
// Whenever a call changes any of this, it grants starts to as many tickets as it can, and
// sends them messages. A ticket whose message is lost gets its start when it asks.
//
// # Scopes
//
// A ticket with scopes is granted a start when it is the head of the queue of its
// authority, and its authority and all of its scopes have room: one step takes a place and
// a start in each, or in none. A scope has a gap, places and a queue as an authority has,
// and their names are one set. The next start in a scope does not wait for a report: the
// gap counts from the start, or from the moment that Hold reports, if no other start has
// been granted by then. So a connection that takes long does not stop a whole crawl. A
// start that keeps the gap of a scope is at least half of Ahead from now, so that it is
// used on time, and leaves no scope unused for more than an eighth of its gap.
//
// A ticket that some scopes have no room for waits in the queue of the one that has room
// last, too, and uses up nothing. Queues are ordered by when the requests came. Only the
// ticket's own Reserve grants it a start, since only that names its scopes. So when another
// call makes room for the head of a queue, it sends a message to ask now. If a ticket finds
// room in the scope that it waited for, and none in another in which a younger one has
// started, it keeps the scopes before the one that it waits for free of younger tickets,
// as long as it is the head there: until it can start, or two seconds after it should have
// asked. Package pace does the same within a process; the comment in its file scope.go
// says why nobody waits for ever.
//
// A store that cannot keep scopes returns an error that wraps [errors.ErrUnsupported] when
// a call names some. Then each process keeps its share of their limits.
//
// # What a store must be ready for
//
// Each method is one atomic step, however many processes call. All moments are by the
// store's own clock, counted from any fixed moment, and the answers do not depend on the
// clocks of the processes. A call may take effect although its answer is lost: it is then
// made again, and changes nothing more, except for Report, which is made once. A call may
// also come late. A store whose server is down fails at once. After three calls of a
// method that took longer than a second, that method is called now and then only.
//
// An authority that nobody asks for is forgotten once nothing of it matters: the gap, Keep,
// a pause, and for RestMax the failures.
type Store interface {
	// Reserve asks for a start at authority. A ticket that is granted one and
	// asks again gets the same answer for half a second after the start. Then the
	// start counts as not used, and the ticket comes before the queue for another.
	Reserve(ctx context.Context, authority string, r Reservation) (Grant, error)

	// Hold keeps a ticket in flight for Life from now. A Life of 0 ends the
	// ticket, wherever it is. Started is when its latest request was sent; a
	// moment in the future counts as now. 0 means that the latest start granted
	// has not been used: a ticket that ends so gives it back, and the gap counts
	// from the start before.
	Hold(ctx context.Context, authority string, h Holding) (Condition, error)

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
	// Ahead is how far in the future a start may be granted: the time that the
	// answer may need, a second at most.
	Ahead time.Duration
	// Parallel is the number of tickets in flight at once; 0 is no bound.
	Parallel int
	// After is set for a ticket in flight that asks for one more start, to use
	// its place for the next request. The start is not before this moment, also
	// if the store rounds. Such a ticket keeps its place and comes before the
	// queue.
	After time.Duration
	// Scopes are the further limits that the start keeps, in the order of the caller.
	// A ticket names the same ones in each call, and none is the authority. With
	// Scopes there is no After.
	Scopes []ScopeReservation
	// Waited is how long a request with Scopes has waited in its process. Its ticket is
	// placed in the queues as if it had first asked so long ago.
	Waited time.Duration
}

// A ScopeReservation is what a request needs of one [Scope].
type ScopeReservation struct {
	// Key names the scope.
	Key string
	// Gap is the time kept to the starts before and after.
	Gap time.Duration
	// Keep is how long the start is remembered for callers with a larger gap.
	Keep time.Duration
	// Parallel is the number of tickets in flight at once; 0 is no bound.
	Parallel int
}

// A Holding says what became of a ticket.
type Holding struct {
	// Ticket names the request.
	Ticket string
	// Life is how long the ticket stays in flight without another call; 0 ends it.
	Life time.Duration
	// Started is when the latest request was sent; 0 means not yet.
	Started time.Duration
	// Scopes are the Keys of the scopes of its Reservation.
	Scopes []string
}

// A Grant is the answer to a Reservation, at once or later.
type Grant struct {
	// Granted says that the request may start at Start. Otherwise the ticket
	// stays where it is, and loses its place unless it calls Reserve again at Start
	// or after five seconds, whichever is sooner.
	Granted bool
	// Start is the start granted, or the moment of the next Reserve.
	Start time.Duration
	// Scope is the Key of the scope that a start not granted waits for, empty if it
	// waits for the authority. A message that names a Scope has only the Clock of the
	// Condition.
	Scope string
	// Condition is the condition of the host. The Cause may be missing later.
	Condition
}

// A Report is what the answer to a request, or its failure, says of a host.
type Report struct {
	// Answered is the ticket of a request whose answer has begun; empty is none.
	// It no longer counts as one that may fail. With Healthy the answer began
	// well, which is no success yet: if the ticket is the probe, the host is not
	// Open any more, but its Failures and its Rest stay.
	Answered string
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
	// Level is what the next pause starts from; less than 0 is no news. With a
	// Wait it can only raise the level known, and without one it can only lower
	// it.
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
	// Cause is what failed last.
	Cause string
	// Open says that so many requests have failed that only a probe may start. A
	// success ends this, or a probe whose answer begins well.
	Open bool
	// Rest is the length of the latest rest, halved by each success since.
	Rest time.Duration
	// Probe is when the probe in flight started; 0 if there is none.
	Probe time.Duration
}
