package fetcher

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/rfc9309/polite/internal/bounded"
)

// This file calls the user's code, which may panic or block.

// call is bounded.Call, and logs a panic: a hook, a transport or a store of the
// caller's must not end a fetch or the program.
func call[T any](ctx context.Context, log *slog.Logger, f func(context.Context) (T, error)) (T, error) {
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

// none is the result of a call that has none.
type none struct{}

// guarded is call for a function without a result. It waits until f ends.
func guarded(log *slog.Logger, f func() error) error {
	_, err := call(context.Background(), log, func(context.Context) (none, error) { return none{}, f() })
	return err
}

// addressRule is Options.Egress, guarded; nil if that is. net/http may call it on
// a goroutine of its own, where a panic would end the program.
func addressRule(log *slog.Logger, rule func(netip.Addr) error) func(context.Context, netip.Addr) error {
	if rule == nil {
		return nil
	}
	return func(ctx context.Context, addr netip.Addr) error {
		_, err := call(ctx, log, func(context.Context) (none, error) { return none{}, rule(addr) })
		return err
	}
}
