package bounded

import (
	"io"
	"testing"
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
