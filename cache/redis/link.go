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
	// full pipeline makes the client wait without regard to contexts. Of 8,000 calls at once on a busy
	// machine none was late with the bound, and thousands were without it.
	maxCalls = 512
	// workLimit ends a call that nobody waits for any more. It is longer than any useful Delay, so that a
	// slow connection is made in the end and serves later calls.
	workLimit = 5 * time.Second
	// After a failure no call is made for firstPause. The pause doubles, up to lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	// An idle connection is tested every pingEvery, and closed if there is no answer within pingWait.
	pingEvery = time.Second
	pingWait  = 2 * time.Second
	// buffer is the size of the two buffers of a connection, in bytes.
	buffer = 64 << 10
)

// A link runs commands on the server and bounds the time that a caller waits. All commands of this package go
// through do.
type link struct {
	option  rueidis.ClientOption
	delay   time.Duration
	calls   chan struct{} // holds an element for each call under way
	dialing chan struct{} // holds an element while a call makes the client
	breaker bounded.Breaker

	mu     sync.Mutex
	client rueidis.Client // nil until the server was reached for the first time
	closed bool
}

func newLink(option rueidis.ClientOption, delay time.Duration) *link {
	option.DisableRetry = true // it would retry as long as the context lasts
	option.DisableCache = true // the server need not report changes
	option.AlwaysPipelining = true
	option.PipelineMultiplex = -1 // one connection to a server carries more than a crawler asks
	option.ReadBufferEachConn = buffer
	option.WriteBufferEachConn = buffer
	option.Dialer.Timeout = workLimit / 2
	option.Dialer.KeepAlive = pingEvery
	option.Sentinel.Dialer = option.Dialer
	option.ConnWriteTimeout = pingWait
	return &link{
		option:  option,
		delay:   delay,
		calls:   make(chan struct{}, maxCalls),
		dialing: make(chan struct{}, 1),
		breaker: bounded.Breaker{Failures: 1, First: firstPause, Most: lastPause},
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
	if err := l.breaker.Enter(time.Now()); err != nil {
		return none, err
	}
	wait, cancel := context.WithTimeout(ctx, l.delay)
	defer cancel()
	select {
	case l.calls <- struct{}{}:
		v, err := bounded.Call(wait, nil, func(context.Context) (T, error) {
			defer func() { <-l.calls }()
			return work(wait, l, command)
		}, nil)
		if wait.Err() == nil || err != wait.Err() { // otherwise bounded.Call has given up
			return v, err
		}
	case <-wait.Done():
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	err = fmt.Errorf("redis: %w: no answer within %v", ErrDown, l.delay)
	l.breaker.Leave(time.Now(), err)
	return none, err
}

// work runs a command on the connected client and reports the result to the breaker. Once the caller has left,
// which wait shows, a failure does not count: the caller has reported it, and the server may be back.
func work[T any](wait context.Context, l *link, command func(context.Context, rueidis.Client) (T, error)) (v T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), workLimit)
	defer cancel()
	client, err := l.connect(ctx)
	if err == nil {
		v, err = command(ctx, client)
		// The client also closes the connection to a server whose place another has taken.
		if _, closed := l.ready(); errors.Is(err, rueidis.ErrClosing) && closed != nil {
			err = closed
		}
	}
	var reply *rueidis.RedisError
	switch {
	case errors.Is(err, fs.ErrClosed):
		err = fmt.Errorf("redis: %w", err)
	case client != nil && (err == nil || errors.As(err, &reply)):
		l.breaker.Leave(time.Now(), nil) // an error reply is a reply
	default:
		err = fmt.Errorf("redis: %w: %.200v", ErrDown, err)
		if wait.Err() == nil {
			l.breaker.Leave(time.Now(), err)
		}
	}
	return v, err
}

// connect returns the client, and makes it if there is none yet. One call at a time makes it.
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
