package cache

import (
	"context"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/lru"
)

// Memory is a [Store] inside the process, bounded in bytes. It gives two crawlers of one process their
// copies in common, and tests a store without outside parts. A single fetcher needs none: it has a memory
// of its own.
//
// When it is full, the value goes that was used least recently; see NewMemory for what counts. A value
// whose time has passed is not returned, and goes in the same order.
type Memory struct {
	items *lru.Cache[item, struct{}]
	base  time.Time // of the clock that item.end is on, which no change of the wall clock moves
}

type item struct {
	text string        // the key, then the value: one object for the collector
	key  int           // length of the key
	end  time.Duration // since Memory.base
}

// NewMemory returns an empty store of at most maxBytes bytes: keys, values and what it takes to find
// them. With a bound of zero or less it keeps nothing. A value larger than the bound is not kept, which is
// no error.
func NewMemory(maxBytes int64) *Memory {
	return &Memory{items: lru.New[item, struct{}](maxBytes), base: time.Now()}
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	it, ok := m.items.Get(key)
	if !ok || time.Since(m.base) >= it.end {
		return nil, fs.ErrNotExist
	}
	return []byte(it.text[it.key:]), nil
}

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if keep <= 0 {
		m.items.Delete(key)
		return nil
	}
	end := time.Since(m.base)
	if end += keep; end < 0 {
		end = math.MaxInt64
	}
	var b strings.Builder
	b.Grow(len(key) + len(value))
	b.WriteString(key)
	b.Write(value)
	it := item{b.String(), len(key), end}
	m.items.Put(it.text[:it.key], it, int64(b.Cap()), nil)
	return nil
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.items.Delete(key)
	return nil
}
