package cache

import (
	"context"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/lru"
)

// This file has the store in memory.

// Memory is a [Store] in memory, bounded in bytes. Two crawlers of one process can share it, and tests can use
// it. A single fetcher does not need it, because the fetcher has a memory of its own.
//
// A full Memory removes the values that were used least recently. It does not return expired values. They are
// removed in the same order as other values.
type Memory struct {
	items *lru.Cache[item, struct{}]
	base  time.Time // start of the monotonic clock of item.end
}

type item struct {
	text string        // the key followed by the value, so that an item is one object in memory
	key  int           // length of the key in text
	end  time.Duration // when the value expires, since Memory.base
}

// NewMemory returns an empty store of at most maxBytes bytes. Keys, values and internal tables count. If maxBytes
// is zero or less the store keeps nothing. A value that is larger than the bound is not kept, and Put returns no
// error for it.
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
