package redis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/internal/bounded"
)

// ErrDown is the error of a call that the server did not answer in time, and of the calls that are not made for
// a while after it.
var ErrDown = errors.New("server is down or slow")

const (
	// maxCalls bounds the calls under way. It is less than the places in one connection's pipeline: a
	// full pipeline makes the client wait without regard to contexts.
	maxCalls = 512
	// workLimit ends a call that nobody waits for any more. It is longer than any useful Delay, so that a
	// slow connection is made in the end and serves later calls.
	workLimit = 5 * time.Second
	// An idle connection is tested this often, and given up if there is no answer for as long.
	pingEvery = time.Second
	pingWait  = 2 * time.Second
	buffer    = 64 << 10
)

// A link runs commands on the server and bounds the time that a caller waits. All commands of this package go
// through do.
type link struct {
	option  rueidis.ClientOption
	delay   time.Duration
	calls   chan struct{} // holds one for each call under way
	dialing chan struct{} // holds one while a call makes the client
	breaker breaker

	mu     sync.Mutex
	client rueidis.Client // nil until the server was reached for the first time
	closed bool
}

func newLink(option rueidis.ClientOption, delay time.Duration) *link {
	option.DisableRetry = true // it would retry as long as the context lasts
	option.AlwaysPipelining = true
	option.PipelineMultiplex = -1 // one connection to a server carries more than a crawler asks
	option.ReadBufferEachConn = buffer
	option.WriteBufferEachConn = buffer
	option.Dialer.Timeout = workLimit / 2
	option.Dialer.KeepAlive = pingEvery
	option.ConnWriteTimeout = pingWait
	return &link{
		option:  option,
		delay:   delay,
		calls:   make(chan struct{}, maxCalls),
		dialing: make(chan struct{}, 1),
	}
}

// do runs a command and waits for it, at most until ctx or the delay ends. After that the command continues
// with a context of its own, and its result is dropped. The error is ctx's error, a reply of the server such as
// nil, or ErrDown.
func do[T any](ctx context.Context, l *link, command func(context.Context, rueidis.Client) (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if _, err := l.ready(); err != nil {
		return none, fmt.Errorf("redis: %w", err)
	}
	began := time.Now()
	if err := l.breaker.enter(began); err != nil {
		return none, err
	}
	wait, cancel := context.WithTimeout(ctx, l.delay)
	defer cancel()
	select {
	case l.calls <- struct{}{}:
		v, err := bounded.Call(wait, func(context.Context) (T, error) {
			defer func() { <-l.calls }()
			return work(wait, l, began, command)
		})
		if wait.Err() == nil || err != wait.Err() {
			return v, err
		}
	case <-wait.Done():
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	err = fmt.Errorf("redis: %w: no answer within %v", ErrDown, l.delay)
	l.breaker.fail(began, time.Now(), err)
	return none, err
}

// work runs a command on the connected client and reports the result to the breaker. Once the caller has left,
// which wait shows, a failure does not count: the caller has reported it, and the server may be back.
func work[T any](wait context.Context, l *link, began time.Time, command func(context.Context, rueidis.Client) (T, error)) (v T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), workLimit)
	defer cancel()
	client, err := l.connect(ctx)
	if err == nil {
		v, err = command(ctx, client)
	}
	var reply *rueidis.RedisError
	switch {
	case errors.Is(err, fs.ErrClosed), errors.Is(err, rueidis.ErrClosing):
		err = fmt.Errorf("redis: %w", fs.ErrClosed)
	case client != nil && (err == nil || errors.As(err, &reply)):
		l.breaker.succeed() // an error reply is a reply
	default:
		err = fmt.Errorf("redis: %w: %.200v", ErrDown, err)
		if wait.Err() == nil {
			l.breaker.fail(began, time.Now(), err)
		}
	}
	return v, err
}

// connect returns the client, and makes it if there is none yet. One call at a time does so.
func (l *link) connect(ctx context.Context) (rueidis.Client, error) {
	if client, err := l.ready(); client != nil || err != nil {
		return client, err
	}
	select {
	case l.dialing <- struct{}{}:
		defer func() { <-l.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if client, err := l.ready(); client != nil || err != nil {
		return client, err
	}
	client, err := rueidis.NewClient(l.option)
	if errors.Is(err, rueidis.ErrNoCache) {
		// For example a proxy that does not report changes. Then each call asks the server.
		option := l.option
		option.DisableCache = true
		client, err = rueidis.NewClient(option)
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		go client.Close() // ends within about a second
		return nil, fs.ErrClosed
	}
	l.client = client
	return client, nil
}

// ready returns the client if there is one, and an error if the store is closed.
func (l *link) ready() (rueidis.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fs.ErrClosed
	}
	return l.client, nil
}

// close ends the client and all calls.
func (l *link) close() {
	l.mu.Lock()
	client := l.client
	l.closed, l.client = true, nil
	l.mu.Unlock()
	if client != nil {
		client.Close()
	}
}

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// A breaker lets calls through while the server answers. After a failure it lets none through for a pause, and
// then a single one in each pause, until one succeeds. With each failure in a row the pause doubles. The breaker
// of package fetcher does not do for this: package pace calls the store as well.
type breaker struct {
	mu    sync.Mutex
	cause error         // of the last failure; nil while the server answers
	pause time.Duration // after the last failure
	until time.Time     // end of the pause
	since time.Time     // calls that began before this do not count any more
}

// enter returns an error if no call may be made now.
func (b *breaker) enter(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != nil {
		if now.Before(b.until) {
			return b.cause
		}
		b.since, b.until = now, now.Add(b.pause)
	}
	return nil
}

// succeed records that the server answered a call, even if the caller has left.
func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cause, b.pause = nil, 0
}

// fail records at now that the server did not answer a call that began at began. Calls that began before the
// first failure, or before the call that was let through after a pause, do not count.
func (b *breaker) fail(began, now time.Time, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if began.Before(b.since) {
		return
	}
	b.pause = min(max(2*b.pause, firstPause), lastPause)
	b.cause, b.since, b.until = cause, now, now.Add(b.pause)
}
