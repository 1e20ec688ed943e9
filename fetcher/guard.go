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

// panicError is a function of the caller's that did not return.
type panicError struct{ text string }

func (p *panicError) Error() string { return p.text }

// run starts f on a goroutine of its own, which ends with f, and delivers f's
// error once. A panic or a Goexit in f is an error too: a hook, a transport or a
// store of the caller's must not take a retrieval with it, nor the program.
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

// guarded is run, waited for.
func guarded(log *slog.Logger, f func() error) error { return <-run(log, f) }

// addressRule is Options.Egress, guarded; nil if that is. net/http may call it on
// a goroutine of its own, where a panic would end the program.
func addressRule(log *slog.Logger, rule func(netip.Addr) error) func(netip.Addr) error {
	if rule == nil {
		return nil
	}
	return func(addr netip.Addr) error { return guarded(log, func() error { return rule(addr) }) }
}

// within is run, waited for no longer than ctx. What f returns later is dropped,
// so f must hand its result over by its return value alone.
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
