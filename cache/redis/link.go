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
	// dialTime bounds the making of a connection. It is longer than most Timeouts, so that a slow
	// connection is made in the end and serves later calls.
	dialTime = 2500 * time.Millisecond
	// After a failure no call is made for firstPause. The pause doubles, up to lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
	// An idle connection is tested every pingEvery, and closed if there is no answer within pingWait.
	pingEvery = time.Second
	pingWait  = 2 * time.Second
	// buffer is the size of the two buffers of a connection, in bytes.
	buffer = 64 << 10
)

// A link runs commands on the server. All commands of this package go through do.
type link struct {
	option  rueidis.ClientOption
	timeout time.Duration
	calls   chan struct{} // holds an element for each call under way
	breaker bounded.Breaker

	mu     sync.Mutex
	client rueidis.Client // nil until the server was reached for the first time
	dial   *dial          // under way; nil if none is
	closed bool
}

// A dial is an attempt to make the client.
type dial struct {
	done chan struct{} // closed at its end
	err  error
}

func newLink(option rueidis.ClientOption, timeout time.Duration) *link {
	option.DisableRetry = true // it would retry as long as the context lasts
	option.DisableCache = true // the server need not report changes
	option.AlwaysPipelining = true
	option.PipelineMultiplex = -1 // one connection to a server carries more than a crawler asks
	option.ReadBufferEachConn = buffer
	option.WriteBufferEachConn = buffer
	option.Dialer.Timeout = dialTime
	option.Dialer.KeepAlive = pingEvery
	option.Sentinel.Dialer = option.Dialer
	option.ConnWriteTimeout = pingWait
	return &link{
		option:  option,
		timeout: timeout,
		calls:   make(chan struct{}, maxCalls),
		breaker: bounded.Breaker{Failures: 1, First: firstPause, Most: lastPause},
	}
}

// do runs a command, at most until ctx or the timeout ends. The error is ctx's error, a reply of the server such
// as nil, or ErrDown.
func do[T any](ctx context.Context, l *link, command func(context.Context, rueidis.Client) (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	client, err := l.ready()
	if err != nil {
		return none, fmt.Errorf("redis: %w", err)
	}
	// One breaker for a cluster would keep calls from the servers that are well.
	if client == nil || client.Mode() != rueidis.ClientModeCluster {
		if err := l.breaker.Enter(time.Now()); err != nil {
			return none, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	v, err := run(limited, l, command)
	var reply *rueidis.RedisError
	switch {
	case err == nil || errors.As(err, &reply): // an error reply is a reply
		l.breaker.Leave(time.Now(), nil)
		return v, err
	case ctx.Err() != nil: // this says nothing of the server
		return none, ctx.Err()
	case errors.Is(err, fs.ErrClosed):
		return none, fmt.Errorf("redis: %w", err)
	case limited.Err() != nil:
		err = fmt.Errorf("redis: %w: no answer within %v", ErrDown, l.timeout)
	default:
		err = fmt.Errorf("redis: %w: %.200v", ErrDown, err)
	}
	l.breaker.Leave(time.Now(), err)
	return none, err
}

// run runs a command on the connected client.
func run[T any](ctx context.Context, l *link, command func(context.Context, rueidis.Client) (T, error)) (none T, err error) {
	select {
	case l.calls <- struct{}{}:
		defer func() { <-l.calls }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	client, err := l.connect(ctx)
	if err != nil {
		return none, err
	}
	v, err := command(ctx, client)
	// The client also closes the connection to a server whose place another has taken.
	if _, closed := l.ready(); errors.Is(err, rueidis.ErrClosing) && closed != nil {
		err = closed
	}
	return v, err
}

// connect returns the client. If there is none yet, it waits until one is made.
func (l *link) connect(ctx context.Context) (rueidis.Client, error) {
	l.mu.Lock()
	client, d := l.client, l.dial
	switch {
	case l.closed:
		l.mu.Unlock()
		return nil, fs.ErrClosed
	case client == nil && d == nil:
		d = &dial{done: make(chan struct{})}
		l.dial = d
		go l.makeClient(d) // ends within about dialTime for each address
	}
	l.mu.Unlock()
	if client != nil {
		return client, nil
	}
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d.err != nil {
		return nil, d.err
	}
	return l.ready()
}

// makeClient ends a dial.
func (l *link) makeClient(d *dial) {
	client, err := rueidis.NewClient(l.option)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(d.done)
	l.dial, d.err = nil, err
	switch {
	case err != nil:
	case l.closed:
		go client.Close() // ends within about a second
	default:
		l.client = client
	}
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
