package cache

import (
	"bytes"
	"context"
	"io/fs"
	"math"
	"time"

	"github.com/rfc9309/polite/internal/lru"
)

// Memory is a [Store] inside the process, bounded in octets. It gives two crawlers of one process their
// copies in common, and tests a store without outside parts. A single fetcher needs none: it has a memory
// of its own.
//
// When it is full, the value goes that was used least recently; see NewMemory for what counts. A value
// whose time has passed is not returned, and goes in the same order.
type Memory struct {
	values *lru.Cache[item, struct{}]
	base   time.Time // of the clock that item.end is on, which no change of the wall clock moves
}

type item struct {
	value []byte
	end   time.Duration // since Memory.base
}

// NewMemory returns an empty store of at most maxBytes octets: keys, values and what it takes to find
// them. With a bound of zero or less it keeps nothing. A value larger than the bound is not kept, which is
// no error.
func NewMemory(maxBytes int64) *Memory {
	return &Memory{values: lru.New[item, struct{}](maxBytes), base: time.Now()}
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	it, ok := m.values.Get(key)
	if !ok || time.Since(m.base) >= it.end {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(it.value), nil
}

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if keep <= 0 {
		m.values.Delete(key)
		return nil
	}
	end := time.Since(m.base)
	if end += keep; end < 0 {
		end = math.MaxInt64
	}
	// A copy of exactly the value's length: what is retained is what is charged.
	kept := make([]byte, len(value))
	copy(kept, value)
	m.values.Put(key, item{kept, end}, int64(cap(kept)), nil)
	return nil
}

// Delete implements [Store].
func (m *Memory) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.values.Delete(key)
	return nil
}
