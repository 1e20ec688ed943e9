package fetcher

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime/debug"

	"github.com/rfc9309/polite/internal/clean"
)

// errGone is the error of a function that ended its goroutine.
var errGone error = &panicError{"the goroutine exited"}

// panicError is the error of a function that panicked or ended its goroutine.
type panicError struct{ text string }

func (p *panicError) Error() string { return p.text }

// run starts f on a goroutine of its own, which ends with f, and delivers f's error
// once. A panic or a Goexit in f is an error, too: a hook, a transport or a store of
// the caller's must not end a fetch or the program.
func run(log *slog.Logger, f func() error) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := errGone
		defer func() {
			if x := recover(); x != nil {
				log.Warn("panic caught", "panic", clean.Text(fmt.Sprint(x), maxLog), "stack", string(debug.Stack()))
				err = &panicError{fmt.Sprintf("panic: %v", x)}
			}
			done <- err
		}()
		err = f()
	}()
	return done
}

// guarded runs f and waits for it.
func guarded(log *slog.Logger, f func() error) error { return <-run(log, f) }

// addressRule is Options.Egress, guarded; nil if that is. net/http may call it on
// a goroutine of its own, where a panic would end the program.
func addressRule(log *slog.Logger, rule func(netip.Addr) error) func(netip.Addr) error {
	if rule == nil {
		return nil
	}
	return func(addr netip.Addr) error { return guarded(log, func() error { return rule(addr) }) }
}

// within runs f and waits for it no longer than ctx. A later result is dropped, so f
// must not deliver it in any other way than by returning it.
func within[T any](ctx context.Context, log *slog.Logger, f func() (T, error)) (T, error) {
	late := make(chan T, 1)
	var zero T
	done := run(log, func() error {
		v, err := f()
		late <- v
		return err
	})
	select {
	case err := <-done:
		if err != nil {
			return zero, err
		}
		return <-late, nil
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}
