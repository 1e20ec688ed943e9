package pacetest

import (
	"context"
	"fmt"
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
			synctest.Test(t, func(t *testing.T) { p.test(&fleet{t, &Memory{}, "https://example.com"}) })
		})
	}
}

// A broken store breaks one promise.
type broken struct {
	Memory
	how string
}

func (b *broken) Lease(ctx context.Context, key, process string, life time.Duration) (l pace.Lease, err error) {
	switch b.how {
	case "never ends a lease":
		life = 1000 * time.Hour
	case "folds keys":
		key = strings.ToLower(key)
	case "decides in two steps":
		if l, err = b.Memory.Lease(ctx, key, "nobody", time.Millisecond); l.Granted {
			b.Return(ctx, key, "nobody", l.State)
			time.Sleep(time.Millisecond)
			return l, err
		}
	case "puts who asks again last":
		if l, _ := b.Memory.Keep(ctx, key, process, life, pace.State{}, false); !l.Granted {
			b.Return(ctx, key, process, pace.State{})
		}
	}
	l, err = b.Memory.Lease(ctx, key, process, life)
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
		b.keys[key].lost = time.Time{}
		b.mu.Unlock()
	case b.how == "needs valid text":
		l.State.Cause = strings.ToValidUTF8(l.State.Cause, "?")
	}
	return l, err
}

func (b *broken) Keep(ctx context.Context, key, process string, life time.Duration, s pace.State, tell bool) (pace.Lease, error) {
	switch b.how {
	case "never ends a lease":
		life = 1000 * time.Hour
	case "brings a lease back":
		b.Memory.Lease(ctx, key, process, life)
	case "renews nothing":
		life = short
	case "tells nobody":
		tell = false
	}
	return b.Memory.Keep(ctx, key, process, life, s, tell)
}

func (b *broken) Return(ctx context.Context, key, process string, s pace.State) error {
	if b.how == "lets anybody return" && b.keys[key] != nil {
		process = b.keys[key].holder
	}
	return b.Memory.Return(ctx, key, process, s)
}

func (b *broken) Notify(process string, f func(key string)) (stop func()) {
	if b.how == "sends no message" {
		f = func(string) {}
	}
	return b.Memory.Notify(process, f)
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
	{"renews nothing", "renewed"},
	{"hides the state from who waits", "state"},
	{"says that the state is new", "state"},
	{"forgets the state", "news"},
	{"folds keys", "keys"},
	{"needs valid text", "any_text"},
	{"decides in two steps", "at_once"},
	{"sends no message", "notify_a_holder"},
	{"sends no message", "notify_the_next"},
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
					synctest.Test(t, func(t *testing.T) { p.test(&fleet{t, &broken{how: b.how}, "https://example.com"}) })
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
