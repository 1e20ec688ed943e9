package cachetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
)

// A model is a store that keeps every promise except the one named in breaks.
type model struct {
	breaks string

	mu     sync.Mutex
	values map[string]kept
	leases map[string]lease

	swaps sync.Mutex
}

type kept struct {
	value []byte
	end   time.Time
}

type lease struct {
	n   int
	end time.Time
}

func newModel(breaks string) *model {
	return &model{breaks: breaks, values: map[string]kept{}, leases: map[string]lease{}}
}

func (m *model) key(key string) string {
	switch m.breaks {
	case "folds keys":
		return strings.ToLower(key)
	case "cuts keys":
		return key[:min(len(key), 255)]
	case "ends keys at NUL":
		key, _, _ = strings.Cut(key, "\x00")
	}
	return key
}

func (m *model) Get(ctx context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		if m.breaks == "calls an ended context absence" {
			return nil, fs.ErrNotExist
		}
		return nil, ctx.Err()
	}
	v, ok := m.values[m.key(key)]
	if !ok || !time.Now().Before(v.end) && m.breaks != "keeps for ever" {
		if m.breaks == "has its own absence" {
			return nil, errors.New("absent")
		}
		return nil, fs.ErrNotExist
	}
	if m.breaks == "gives its slice away" {
		return v.value, nil
	}
	return bytes.Clone(v.value), nil
}

func (m *model) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil && m.breaks != "puts nothing silently" {
		return ctx.Err()
	}
	if ctx.Err() != nil || m.breaks == "keeps the first" && m.values[m.key(key)].value != nil {
		return nil
	}
	if keep <= 0 && m.breaks == "takes zero for ever" {
		keep = time.Hour
	}
	if m.breaks != "keeps the caller's slice" {
		value = bytes.Clone(value)
	}
	if m.breaks == "cuts values" {
		value = value[:min(len(value), 1<<20)]
	}
	end := time.Now().Add(keep)
	if m.breaks == "overflows" && keep > 1<<62 {
		end = time.Now().Add(-keep)
	}
	m.values[m.key(key)] = kept{value, end}
	return nil
}

func (m *model) Delete(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := m.values[m.key(key)]; !ok && m.breaks == "will not delete nothing" {
		return fs.ErrNotExist
	}
	if m.breaks != "does not delete" {
		delete(m.values, m.key(key))
	}
	if m.breaks == "deletes leases" {
		delete(m.leases, key)
	}
	return nil
}

func (m *model) Lease(ctx context.Context, key string, ttl time.Duration) (func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	old := m.leases[key]
	if time.Now().Before(old.end) && m.breaks != "leases to all" {
		if m.breaks == "has its own ErrHeld" {
			return nil, errors.New("held")
		}
		return nil, cache.ErrHeld
	}
	if m.breaks != "does not renew leases" {
		ttl = time.Hour
	}
	mine := lease{old.n + 1, time.Now().Add(ttl)}
	m.leases[key] = mine
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.leases[key].n == mine.n || m.breaks == "releases another's lease" {
			m.leases[key] = lease{n: mine.n + 1}
		}
	}, nil
}

func (m *model) Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (bool, error) {
	if m.breaks != "swaps in two steps" {
		m.swaps.Lock()
		defer m.swaps.Unlock()
	}
	now, err := m.Get(ctx, key)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return false, err
	}
	if m.breaks == "swaps in two steps" {
		<-time.After(time.Millisecond)
	}
	switch {
	case m.breaks == "swaps any value":
	case m.breaks == "swaps in an empty value for none" && len(now) == 0 && len(old) == 0:
	case absent != (old == nil), !bytes.Equal(now, old):
		return false, nil
	}
	if keep <= 0 && m.breaks != "deletes nothing by Swap" {
		return true, m.Delete(ctx, key)
	}
	return true, m.Put(ctx, key, value, max(keep, time.Hour))
}

// breaches are the promises that a model can break, each with the test that must notice it.
var breaches = []struct{ breaks, test string }{
	{"has its own absence", "absent"},
	{"keeps the first", "overwrite"},
	{"does not delete", "delete"},
	{"will not delete nothing", "delete"},
	{"keeps the caller's slice", "ownership"},
	{"gives its slice away", "ownership"},
	{"folds keys", "keys"},
	{"cuts keys", "keys"},
	{"ends keys at NUL", "keys"},
	{"cuts values", "sizes"},
	{"takes zero for ever", "keep_nothing"},
	{"overflows", "keep_forever"},
	{"keeps for ever", "keep_ends"},
	{"calls an ended context absence", "context"},
	{"puts nothing silently", "context"},
	{"leases to all", "lease"},
	{"has its own ErrHeld", "lease"},
	{"releases another's lease", "lease"},
	{"deletes leases", "lease"},
	{"does not renew leases", "lease_lasts"},
	{"swaps any value", "swap"},
	{"swaps in an empty value for none", "swap"},
	{"deletes nothing by Swap", "swap"},
	{"swaps in two steps", "swap_race"},
}

func TestModelKeepsThePromises(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Store { return newModel("") })
}

// inChild is set in the environment of a child process, which runs the tests that must fail.
const inChild = "POLITE_CACHETEST_BREACHES"

func TestBreach(t *testing.T) {
	if os.Getenv(inChild) == "" {
		t.Skip("run by TestEveryBreachIsNoticed")
	}
	for _, b := range breaches {
		t.Run(strings.ReplaceAll(b.breaks, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cachetest.Run(t, func(*testing.T) cache.Store { return newModel(b.breaks) })
		})
	}
}

func TestEveryBreachIsNoticed(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestBreach$", "-test.v", "-test.parallel=32")
	child.Env = append(os.Environ(), inChild+"=1")
	out, err := child.CombinedOutput()
	if err == nil {
		t.Fatalf("all promises held of stores that break them:\n%s", out)
	}
	for _, b := range breaches {
		line := fmt.Sprintf("--- FAIL: TestBreach/%s/%s ", strings.ReplaceAll(b.breaks, " ", "_"), b.test)
		if !strings.Contains(string(out), line) {
			t.Errorf("a store that %s passes the test %q", b.breaks, b.test)
		}
	}
}
