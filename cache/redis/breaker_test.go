package redis

import (
	"errors"
	"testing"
	"time"
)

// After a pause one call tests the server. How calls end that began before it says
// nothing.
func TestBreakerCountsTheTestingCall(t *testing.T) {
	var b breaker
	began, down := time.Now(), errors.New("down")
	failed := began.Add(time.Millisecond)
	b.fail(began, failed, down)
	testing := failed.Add(firstPause)
	if err := b.enter(testing); err != nil {
		t.Fatalf("house: the call after the pause got %v, want it let through", err)
	}
	b.fail(began, testing, down)
	if err := b.enter(testing); err == nil {
		t.Error("house: a second call was let through while the first tests the server")
	}
	b.fail(testing, testing, down)
	if want := 2 * firstPause; b.pause != want || b.enter(testing.Add(firstPause)) == nil {
		t.Errorf("house: the pause after the second failure is %v, want %v", b.pause, want)
	}
}
