package fetcher

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/rfc9309/polite/internal/bounded"
)

// This file calls the user's code, which may panic or block.

// callBounded calls f on a goroutine of its own and waits for it no longer than ctx. A panic
// of f is logged and returned as an error: a hook, a transport or a store of the user's must
// not end a fetch or the program.
func callBounded[T any](ctx context.Context, log *slog.Logger, f func(context.Context) (T, error)) (T, error) {
	v, err := bounded.Call(ctx, f)
	logPanic(log, err)
	return v, err
}

// logPanic logs err if it is a panic.
func logPanic(log *slog.Logger, err error) {
	if p, ok := err.(*bounded.PanicError); ok {
		log.Warn("panic caught", "panic", p.Value, "stack", p.Stack)
	}
}

// none is the result of a function that returns only an error.
type none struct{}

// catchPanic calls f on a goroutine of its own and waits until it ends. A panic of f is
// logged and returned as an error.
func catchPanic(log *slog.Logger, f func() error) error {
	_, err := callBounded(context.Background(), log, func(context.Context) (none, error) { return none{}, f() })
	return err
}

// addressRule returns Options.Egress as a function that never panics; nil if it is not set.
// net/http may call the rule on a goroutine of its own, where a panic would end the program.
func addressRule(log *slog.Logger, rule func(netip.Addr) error) func(context.Context, netip.Addr) error {
	if rule == nil {
		return nil
	}
	return func(ctx context.Context, addr netip.Addr) error {
		_, err := callBounded(ctx, log, func(context.Context) (none, error) { return none{}, rule(addr) })
		return err
	}
}
