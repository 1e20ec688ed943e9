package bounded

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever a function does, its caller gets a result within the time of its
// context.
func TestCall(t *testing.T) {
	for name, tt := range map[string]struct {
		f    func(context.Context) (int, error)
		want int
		err  string
	}{
		"7/value":  {func(context.Context) (int, error) { return 7, nil }, 7, ""},
		"7/error":  {func(context.Context) (int, error) { return 0, io.EOF }, 0, "EOF"},
		"7/panic":  {func(context.Context) (int, error) { panic("oh\x1b" + strings.Repeat("o", 400)) }, 0, "panic: oh?" + strings.Repeat("o", 294) + "…"},
		"7/goexit": {func(context.Context) (int, error) { runtime.Goexit(); return 7, nil }, 0, "the goroutine exited"},
		"7/slow":   {func(ctx context.Context) (int, error) { <-ctx.Done(); time.Sleep(time.Hour); return 7, nil }, 0, "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				got, err := Call(ctx, slog.New(slog.DiscardHandler), tt.f, nil)
				if got != tt.want || err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
					t.Errorf("got %d, %v; want %d, %q", got, err, tt.want, tt.err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("took %v, want a second at most", took)
				}
				time.Sleep(2 * time.Hour) // the goroutine left behind ends
			})
		})
	}
}

// A value that comes when the caller leaves goes to exactly one of the caller and late. A
// panic of late harms nobody.
func TestLate(t *testing.T) {
	for name, took := range map[string]time.Duration{"7/in_time": 0, "7/at_the_moment": time.Second, "7/late": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 200 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					var got atomic.Int32
					v, err := Call(ctx, nil, func(context.Context) (int32, error) { time.Sleep(took); return 1, nil },
						func(v int32) { got.Add(v); panic("late") })
					time.Sleep(2 * time.Hour)
					if n := got.Load() + v; n != 1 || (err == nil) != (v == 1) {
						t.Fatalf("the caller got %d, %v, and late %d; want the value in one place", v, err, got.Load())
					}
					cancel()
				}
			})
		})
	}
}

// The stack of a panic leads to its place.
func TestStack(t *testing.T) {
	_, err := Call(t.Context(), nil, func(context.Context) (int, error) { return thisPanics() }, nil)
	var p *PanicError
	if !errors.As(err, &p) || !strings.Contains(p.Stack, "thisPanics") {
		t.Errorf("7/stack: %#v, want a PanicError with the stack of thisPanics", err)
	}
}

func thisPanics() (int, error) { panic("here") }
