package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
)

func TestMemoryKeepsThePromises(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Store { return cache.NewMemory(64 << 20) })
}

func TestMemoryTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := cache.NewMemory(1 << 20)
		m.Put(t.Context(), "k", []byte("v"), 24*time.Hour)
		time.Sleep(24*time.Hour - time.Nanosecond)
		if got, err := m.Get(t.Context(), "k"); err != nil || string(got) != "v" {
			t.Errorf("just before it expires: %q, %v, want \"v\"", got, err)
		}
		time.Sleep(time.Nanosecond)
		if _, err := m.Get(t.Context(), "k"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("when it expires: %v, want %v", err, fs.ErrNotExist)
		}
	})
}

func TestMemoryBound(t *testing.T) {
	for _, row := range []struct {
		bound int64
		value int
		least int // smallest number of the 1000 entries that are kept
		most  int // largest number of the 1000 entries that are kept
	}{
		{0, 1, 0, 0},
		{-1, 1, 0, 0},
		{100, 1000, 0, 0},
		{20_000, 1000, 12, 20},
		{200_000, 1000, 150, 200},
		{10 << 20, 1000, 1000, 1000},
	} {
		t.Run(fmt.Sprintf("house/%d_bytes", row.bound), func(t *testing.T) {
			m := cache.NewMemory(row.bound)
			kept := 0
			for i := range 1000 {
				if err := m.Put(t.Context(), fmt.Sprint(i), make([]byte, row.value), time.Hour); err != nil {
					t.Fatalf("Put: %v, want nil: no room is no error", err)
				}
			}
			for i := range 1000 {
				if _, err := m.Get(context.Background(), fmt.Sprint(i)); err == nil {
					kept++
				}
			}
			if kept < row.least || kept > row.most {
				t.Errorf("kept %d values of %d bytes, want %d to %d", kept, row.value, row.least, row.most)
			}
		})
	}
}
