package pacetest

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/pace"
)

// The store in memory is tested in virtual time, which no busy machine delays.
func TestMemory(t *testing.T) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { p.test(newFleet(t, &Memory{})) })
		})
	}
}

// A broken store breaks one promise.
type broken struct {
	Memory
	how string
}

func (b *broken) Lease(ctx context.Context, c pace.Claim, life time.Duration) (l pace.Lease, err error) {
	switch b.how {
	case "never ends a lease":
		life = 1000 * time.Hour
	case "folds keys":
		c.Key = strings.ToLower(c.Key)
	case "decides in two steps":
		nobody := pace.Claim{Key: c.Key, Process: "nobody"}
		if l, err = b.Memory.Lease(ctx, nobody, time.Millisecond); l.Granted {
			b.Return(ctx, nobody, l.State)
			time.Sleep(time.Millisecond)
			return l, err
		}
	case "puts who asks again last":
		if l, _ := b.Memory.Keep(ctx, c, life, pace.State{}, false); !l.Granted {
			b.Return(ctx, c, pace.State{})
		}
	}
	l, err = b.Memory.Lease(ctx, c, life)
	switch {
	case b.how == "grants to all":
		l.Granted = true
	case b.how == "forgets the state", b.how == "hides the state from who waits" && !l.Granted:
		l.State = pace.State{}
	case b.how == "says that the state is new":
		l.Age = 0
	case b.how == "counts the holder not" && l.Ahead > 0:
		l.Ahead--
	case b.how == "counts who asks as waiting" && !l.Granted:
		l.Wanted = true
	case b.how == "is never free":
		l.Free = 0
	case b.how == "says that a holder was lost once" && l.Granted:
		b.mu.Lock()
		b.keys[c.Key].lost = time.Time{}
		b.mu.Unlock()
	case b.how == "needs valid text":
		l.State.Cause = strings.ToValidUTF8(l.State.Cause, "?")
	}
	return l, err
}

func (b *broken) Keep(ctx context.Context, c pace.Claim, life time.Duration, s pace.State, tell bool) (pace.Lease, error) {
	switch b.how {
	case "never ends a lease":
		life = 1000 * time.Hour
	case "brings a lease back":
		b.Memory.Lease(ctx, c, life)
	case "renews nothing":
		life = short
	case "tells nobody":
		tell = false
	}
	return b.Memory.Keep(ctx, c, life, s, tell)
}

func (b *broken) Return(ctx context.Context, c pace.Claim, s pace.State) error {
	switch b.how {
	case "lets anybody return":
		if q := b.keys[c.Key]; q != nil && len(q.places) > 0 {
			c = q.places[0].Claim
		}
	case "takes a late return":
		c.Number = math.MaxUint64
	case "saves the zero state":
		s.Keep = max(s.Keep, 1)
	}
	return b.Memory.Return(ctx, c, s)
}

func (b *broken) Notify(process string, f func(pace.Claim, pace.Lease)) (stop func()) {
	return b.Memory.Notify(process, func(c pace.Claim, l pace.Lease) {
		switch b.how {
		case "sends no message":
			return
		case "sends no answer":
			l = pace.Lease{}
		case "sends no number":
			c.Number = 0
		}
		f(c, l)
	})
}

func (b *broken) Count(ctx context.Context, process string, life time.Duration) (int, error) {
	if b.how == "counts the gone" {
		life = 1000 * time.Hour
	}
	return b.Memory.Count(ctx, process, life)
}

// breaches are ways to break a promise, and the test that must notice.
var breaches = []struct{ how, test string }{
	{"grants to all", "one_holder"},
	{"counts who asks as waiting", "one_holder"},
	{"is never free", "one_holder"},
	{"counts the holder not", "order"},
	{"puts who asks again last", "same_call_again"},
	{"says that a holder was lost once", "same_call_again"},
	{"never ends a lease", "lapsed_place"},
	{"never ends a lease", "lapsed_holder"},
	{"brings a lease back", "late_call"},
	{"lets anybody return", "late_call"},
	{"takes a late return", "late_call_of_an_earlier_claim"},
	{"saves the zero state", "same_call_again"},
	{"renews nothing", "renewed"},
	{"hides the state from who waits", "state"},
	{"says that the state is new", "state"},
	{"forgets the state", "news"},
	{"folds keys", "keys"},
	{"needs valid text", "any_text"},
	{"decides in two steps", "at_once"},
	{"sends no message", "notify_a_holder"},
	{"sends no message", "notify_the_next"},
	{"sends no answer", "notify_the_next"},
	{"sends no number", "notify_the_next"},
	{"tells nobody", "notify_all"},
	{"counts the gone", "count"},
}

// inChild is set in the environment of a child process, which runs the tests that must fail.
const inChild = "POLITE_PACETEST_BREACHES"

func TestBreach(t *testing.T) {
	if os.Getenv(inChild) == "" {
		t.Skip("run by TestEveryBreachIsNoticed")
	}
	for _, b := range breaches {
		for _, p := range promises {
			if p.name == b.test {
				t.Run(strings.ReplaceAll(b.how, " ", "_")+"/"+p.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { p.test(newFleet(t, &broken{how: b.how})) })
				})
			}
		}
	}
}

func TestEveryBreachIsNoticed(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestBreach$", "-test.v")
	child.Env = append(os.Environ(), inChild+"=1")
	out, err := child.CombinedOutput()
	if err == nil {
		t.Fatalf("all promises held of stores that break them:\n%s", out)
	}
	for _, b := range breaches {
		line := fmt.Sprintf("--- FAIL: TestBreach/%s/%s ", strings.ReplaceAll(b.how, " ", "_"), b.test)
		if !strings.Contains(string(out), line) {
			t.Errorf("a store that %s passes the test %q", b.how, b.test)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
