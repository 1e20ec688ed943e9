package bounded

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Each step is a moment, whether a call is let through then, and how it ends.
func TestBreaker(t *testing.T) {
	b := Breaker{Failures: 2, First: time.Second, Most: 3 * time.Second}
	began := time.Now()
	for _, tt := range []struct {
		name string
		at   time.Duration
		open bool
		ends error
	}{
		{"first_failure", 0, true, io.EOF},
		{"success_resets_the_count", 0, true, nil},
		{"first_failure_again", 0, true, io.EOF},
		{"second_failure", 0, true, io.EOF},
		{"rest", time.Second - 1, false, nil},
		{"one_to_see", time.Second, true, io.EOF},
		{"twice_as_long", 3*time.Second - 1, false, nil},
		{"another_to_see", 3 * time.Second, true, io.EOF},
		{"most", 6*time.Second - 1, false, nil},
		{"back", 6 * time.Second, true, nil},
		{"first_failure_after", 6 * time.Second, true, io.EOF},
		{"second_failure_after", 6 * time.Second, true, io.EOF},
		{"first_rest_again", 7*time.Second - 1, false, nil},
		{"end_of_first_rest", 7 * time.Second, true, nil},
	} {
		now := began.Add(tt.at)
		err := b.Enter(now)
		if (err == nil) != tt.open || err != nil && err != io.EOF {
			t.Fatalf("house/%s: at %v got %v, want let through %v", tt.name, tt.at, err, tt.open)
		}
		if err == nil {
			b.Leave(now, tt.ends)
		}
	}
}

// While the one call that is a test is under way, no other is let through.
func TestBreakerLetsOneThrough(t *testing.T) {
	b := Breaker{Failures: 1, First: time.Second, Most: time.Hour}
	now := time.Now()
	b.Leave(now, io.EOF)
	b.Leave(now, io.EOF) // it was under way
	now = now.Add(time.Second)
	if first, second := b.Enter(now), b.Enter(now); first != nil || second == nil {
		t.Errorf("house/one_to_see: got %v and %v, want the first let through", first, second)
	}
}

// Whatever a function does, done gets one result within the limit.
func TestStart(t *testing.T) {
	for name, tt := range map[string]struct {
		f    func(context.Context) (int, error)
		want string // results, each with the time that it took
	}{
		"7/value":         {func(context.Context) (int, error) { time.Sleep(time.Millisecond); return 7, nil }, "7 <nil> 1ms;"},
		"7/error":         {func(context.Context) (int, error) { return 0, io.EOF }, "0 EOF 0s;"},
		"7/panic":         {func(context.Context) (int, error) { panic("oh") }, "0 panic: oh 0s;"},
		"7/goexit":        {func(context.Context) (int, error) { runtime.Goexit(); return 7, nil }, "0 the goroutine exited 0s;"},
		"7/late":          {func(context.Context) (int, error) { time.Sleep(time.Hour); return 7, nil }, "0 the store has not answered in time lately 1s;"},
		"7/panics_late":   {func(context.Context) (int, error) { time.Sleep(time.Hour); panic("oh") }, "0 the store has not answered in time lately 1s;"},
		"7/obeys_context": {func(ctx context.Context) (int, error) { <-ctx.Done(); return 7, nil }, "0 the store has not answered in time lately 1s;"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := Breaker{Failures: 1, First: time.Hour, Most: time.Hour}
				began, got, mu := time.Now(), "", sync.Mutex{}
				done := func(v int, err error) {
					mu.Lock()
					defer mu.Unlock()
					got += fmt.Sprintf("%d %v %v;", v, err, time.Since(began))
				}
				Start(&b, time.Second, tt.f, done)
				time.Sleep(time.Minute)
				mu.Lock()
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				got = ""
				mu.Unlock()
				Start(&b, time.Second, func(context.Context) (int, error) { return 8, nil }, done)
				time.Sleep(2 * time.Hour) // the goroutine left behind ends
				mu.Lock()
				defer mu.Unlock()
				if hung := strings.Contains(tt.want, "1s"); strings.HasPrefix(got, "8") == hung {
					t.Errorf("then got %q; want a second call: %t", got, !hung)
				}
			})
		})
	}
}
