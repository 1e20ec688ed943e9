//go:build !wasm

package disk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// Store is a cache.Store in a file. Its methods may be called from any number of goroutines.
type Store struct {
	path    string
	db      *bbolt.DB
	commit  func(map[string][]byte) error // writeAll, or a slower function in tests
	wake    chan struct{}                 // holds an element if there is something to write
	full    chan struct{}                 // holds an element if a Put waits for room
	quit    chan struct{}                 // closed by Close
	closing sync.Once                     // makes the second Close do nothing
	writer  sync.WaitGroup                // waits for the goroutine that writes
	sweep   []byte                        // key at which the next search for expired values begins

	mu      sync.Mutex
	pending map[string][]byte // entries that are not in the file yet, nil for a deletion
	size    int               // cost of all entries in pending, in bytes
	limit   int               // largest size
	room    chan struct{}     // closed and replaced after each transaction
	failed  error             // error of the last transaction
	broken  error             // ErrDamaged or ErrClosed if the file must not be used
}

// Get implements [cache.Store]. It does not watch ctx while it reads the file.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	err := s.broken
	e, ok := s.pending[key]
	s.mu.Unlock()
	if ok {
		e = bytes.Clone(e)
	} else if err == nil {
		err = s.guard(func() error {
			return s.db.View(func(tx *bbolt.Tx) error {
				e = bytes.Clone(tx.Bucket(copies).Get(fileKey(key)))
				return nil
			})
		})
	}
	switch {
	case err != nil:
		return nil, s.withPath(err)
	case expired(e, time.Now()):
		return nil, fs.ErrNotExist
	}
	return e[endSize:], nil
}

// Put implements [cache.Store]. If values arrive faster than the disk writes them, it waits until there is room or
// ctx ends. If the last transaction failed it returns that error, and keeps the value in memory if there is room.
func (s *Store) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if keep <= 0 {
		return s.Delete(ctx, key)
	}
	if len(key) > maxKey || len(value) > maxValue {
		return s.withPath(fmt.Errorf("key of %d or value of %d bytes is too large", len(key), len(value)))
	}
	e := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(keep).UnixMilli()+1)) // rounded up
	return s.enqueue(ctx, key, append(e, value...))
}

// Delete implements [cache.Store]. It waits and fails like Put.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.enqueue(ctx, key, nil)
}

// Close writes the pending values, ends the goroutine of the store and closes the file. It returns the error of the
// last transaction. A second Close does nothing. After Close all other methods return [io/fs.ErrClosed].
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.mu.Lock()
		s.broken = cmp.Or(s.broken, fs.ErrClosed)
		s.mu.Unlock()
		close(s.quit)
		s.writer.Wait()
		s.mu.Lock()
		failed, broken := s.failed, s.broken
		s.mu.Unlock()
		// After a panic the database may still hold a lock, and its Close would wait for it. Then the file is
		// closed when the process ends.
		if broken == fs.ErrClosed {
			broken = errors.Join(failed, s.db.Close())
		}
		err = s.withPath(broken)
	})
	return err
}

// withPath adds the name of the file to an error.
func (s *Store) withPath(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("disk: %s: %w", s.path, err)
}

// guard runs a transaction. If the file has changed since it was checked, the database may panic or read memory that
// is not mapped. Then the store is broken, but the process goes on.
func (s *Store) guard(transaction func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			err = damaged(r, "the file was changed while it was open")
			s.broken = err
		}
	}()
	return transaction()
}

// damaged returns ErrDamaged with what was found. r is what a reader of the file panicked with. If that is an error of
// the Go runtime, which says nothing about the file, found is the text.
func damaged(r any, found string) error {
	switch r.(type) {
	case interface{ Addr() uintptr }: // memory of the file that could not be read
		r = "a part of the file is gone or cannot be read: it was cut short while it was open, or the disk fails"
	case runtime.Error:
		r = found
	}
	return fmt.Errorf("%w: %.200v", ErrDamaged, r)
}

// endSize is the length of the time at the beginning of an entry: when the entry expires, in milliseconds since 1970,
// big-endian.
const endSize = 8

// expired reports whether an entry has expired. An entry that is too short counts as expired.
func expired(e []byte, now time.Time) bool {
	return len(e) < endSize || int64(binary.BigEndian.Uint64(e)) <= now.UnixMilli()
}

// fileKey returns the key in the file. It has one more byte at its beginning, because the database does not accept
// an empty key.
func fileKey(key string) []byte { return append([]byte{'k'}, key...) }
