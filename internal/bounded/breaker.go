package bounded

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// This file stops calling a server that does not answer.

// A Breaker keeps calls from a server that does not answer, so that each need not
// wait for it. It lets all calls through until Failures of them in a row have
// failed. Then it lets none through for First, then one call as a test, then none for
// twice as long, and so on, up to Most between two calls. A call that succeeds lets all
// through again.
type Breaker struct {
	// Failures is the number of failures in a row that begin the first rest.
	Failures int
	// First is the length of the first rest.
	First time.Duration
	// Most is the length of the longest rest.
	Most time.Duration

	mu    sync.Mutex
	inRow int           // failures in a row
	cause error         // of the last failure
	rest  time.Duration // length of the last rest; 0 while the server answers
	until time.Time     // end of that rest
}

// Enter returns nil if a call may be made now, and else the last error. A call that it lets
// through as a test begins the next rest, which ends at once if the call succeeds.
func (b *Breaker) Enter(now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inRow < b.Failures {
		return nil
	}
	if now.Before(b.until) {
		return b.cause
	}
	b.beginRest(now)
	return nil
}

// Leave records how a call ended. The calls that were under way when a rest began
// do not make it longer.
func (b *Breaker) Leave(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause = err; err == nil {
		b.inRow, b.rest = 0, 0
		return
	}
	if b.inRow++; b.inRow == b.Failures {
		b.beginRest(now)
	}
}

// beginRest begins the next rest.
func (b *Breaker) beginRest(now time.Time) {
	b.rest = min(max(2*b.rest, b.First), b.Most)
	b.until = now.Add(b.rest)
}

// errHangs is the error of a call that is not made because earlier ones were not
// answered.
var errHangs = errors.New("the store has not answered in time lately")

// InTime is Call within a limit, and tells b how the call ended. Only a call that exceeds the
// limit is a failure for b: its goroutine stays, for ever if the store hangs.
func InTime[T any](ctx context.Context, log *slog.Logger, b *Breaker, limit time.Duration, f func(ctx context.Context) (T, error), late func(T)) (T, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := Call(limited, log, f, late)
	switch {
	case ctx.Err() != nil: // the caller left
	case limited.Err() != nil:
		b.Leave(time.Now(), errHangs)
	default:
		b.Leave(time.Now(), nil)
	}
	return v, err
}

// Start starts f on a goroutine of its own, and calls done once: with the result of f on the same
// goroutine, or with an error on another one when the limit has passed or b lets no call
// through. A result that comes later is dropped. Start tells b how the call ended, as InTime does.
func Start[T any](b *Breaker, limit time.Duration, f func(ctx context.Context) (T, error), done func(T, error)) {
	var none T
	if err := b.Enter(time.Now()); err != nil {
		go done(none, err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	inTime := context.AfterFunc(ctx, func() {
		b.Leave(time.Now(), errHangs)
		done(none, errHangs)
	})
	go func() { // ends when f does
		run(ctx, f, func(v T, err error) {
			if inTime() {
				b.Leave(time.Now(), nil)
				done(v, err)
			}
			cancel()
		})
	}()
}
