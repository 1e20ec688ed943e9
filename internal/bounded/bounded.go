// Package bounded calls code that the user has written, such as a store, a transport or
// a hook, which may panic, block or end its goroutine.
package bounded

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/rfc9309/polite/internal/clean"
)

// maxText bounds the text of a panic, in bytes.
const maxText = 300

// A PanicError is the error of a function that panicked or ended its goroutine.
type PanicError struct {
	// Value is the value of the panic as one line that is safe for a log. It is
	// empty if the function ended its goroutine.
	Value string
	// Stack is the stack of the goroutine when it panicked.
	Stack string
}

// Error returns one line without the stack.
func (p *PanicError) Error() string {
	if p.Stack == "" {
		return "the goroutine exited"
	}
	return "panic: " + p.Value
}

// newPanicError returns the error of a function that has panicked with x and is still on the
// stack.
func newPanicError(x any) *PanicError {
	return &PanicError{Value: clean.Text(fmt.Sprint(x), maxText), Stack: string(debug.Stack())}
}

func (p *PanicError) log(l *slog.Logger) { l.Warn("panic caught", "panic", p.Value, "stack", p.Stack) }

// Do runs f on the goroutine of its caller. The error is the error of f, or a *PanicError,
// which is logged. If f ends its goroutine, that is the caller's, which ends.
func Do(log *slog.Logger, f func() error) (err error) {
	defer func() {
		if x := recover(); x != nil {
			p := newPanicError(x)
			p.log(log)
			err = p
		}
	}()
	return f()
}

// Call runs f on a goroutine of its own and waits for it no longer than ctx. The
// error is the error of f, the error of ctx, or a *PanicError, which is logged unless log
// is nil.
//
// When ctx ends first, the goroutine is left behind: it ends when f returns. Then late
// gets the value, unless f failed, on the same terms as f. So the value is never lost. A
// nil late drops it.
func Call[T any](ctx context.Context, log *slog.Logger, f func(ctx context.Context) (T, error), late func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result)
	go func() { // ends when f does
		run(ctx, f, func(v T, err error) {
			select {
			case done <- result{v, err}:
			case <-ctx.Done():
				if err == nil && late != nil {
					Call(context.Background(), log, func(context.Context) (T, error) { late(v); return v, nil }, nil)
				}
			}
		})
	}()
	select {
	case r := <-done:
		if p, ok := r.err.(*PanicError); ok && log != nil {
			p.log(log)
		}
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// run runs f and then done. If f panics or ends its goroutine, the error is a *PanicError.
func run[T any](ctx context.Context, f func(ctx context.Context) (T, error), done func(T, error)) {
	var v T
	var err error
	returned := false
	defer func() {
		if x := recover(); x != nil {
			err = newPanicError(x)
		} else if !returned {
			err = new(PanicError)
		}
		done(v, err)
	}()
	v, err = f(ctx)
	returned = true
}
