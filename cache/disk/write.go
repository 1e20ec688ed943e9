//go:build !wasm

package disk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

const (
	flushEvery  = 400 * time.Millisecond // longest time that an entry waits for the writer
	writeTime   = 300 * time.Millisecond // longest time in which the disk should write all pending entries
	minPending  = 16 << 10               // smallest limit of pending bytes, for a slow disk
	maxPending  = 32 << 20               // largest limit of pending bytes, for a fast disk
	entryCost   = 64                     // approximate memory of an entry besides its bytes
	maxValue    = maxPending / 2
	maxKey      = bbolt.MaxKeySize - 1 // one byte less because of fileKey
	sweepFactor = 4                    // entries checked for expiry for each entry written
)

func cost(key string, e []byte) int { return len(key) + len(e) + entryCost }

// enqueue passes an entry to the writer. A nil entry deletes the key. If there is no room, enqueue waits, unless the
// last transaction failed.
func (s *Store) enqueue(ctx context.Context, key string, e []byte) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		size := s.size + cost(key, e)
		if old, ok := s.pending[key]; ok {
			size -= cost(key, old)
		}
		err, room := s.broken, s.room
		fits := err == nil && (len(s.pending) == 0 || size <= s.limit)
		if fits {
			s.pending[key], s.size = e, size
			signal(s.wake)
		}
		err = cmp.Or(err, s.failed)
		if !fits && err == nil {
			signal(s.full)
		}
		s.mu.Unlock()
		if fits || err != nil {
			return s.withPath(err)
		}
		select {
		case <-room:
		case <-ctx.Done():
		case <-s.quit:
		}
	}
	return ctx.Err()
}

// signal puts an element into a channel with a buffer of one, unless it has one already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write is the goroutine of the store. When Close closes quit, it makes a last transaction and ends.
func (s *Store) write() {
	for open := true; open; {
		select {
		case <-s.wake:
			select {
			case <-time.After(flushEvery):
			case <-s.full:
			case <-s.quit:
			}
		case <-s.quit:
			open = false
		}
		s.flush()
	}
}

// flush writes the pending entries, and adapts the limit to the speed of the disk. If the transaction fails, the
// entries stay pending.
func (s *Store) flush() {
	s.mu.Lock()
	entries, err := maps.Clone(s.pending), s.broken
	s.mu.Unlock()
	if len(entries) == 0 {
		return
	}
	start := time.Now()
	if !errors.Is(err, ErrDamaged) { // Close sets fs.ErrClosed before the last transaction
		err = s.guard(func() error { return s.commit(entries) })
	}
	took := time.Since(start)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.room)
	s.room, s.failed = make(chan struct{}), err
	if err != nil {
		s.limit = maxPending // while the disk fails, memory has the new values
		if !errors.Is(err, ErrDamaged) {
			signal(s.wake) // try again
		}
		return
	}
	written := 0
	for key, e := range entries {
		written += cost(key, e)
		if bytes.Equal(s.pending[key], e) { // the key was not put again
			delete(s.pending, key)
			s.size -= cost(key, e)
		}
	}
	if took > writeTime {
		s.limit = int(float64(written) * float64(writeTime) / float64(took))
	} else if written > s.limit/2 {
		s.limit *= 2
	}
	s.limit = min(max(s.limit, minPending), maxPending)
}

// writeAll writes entries and removes some expired entries, in one transaction. It writes in the order of the keys:
// in random order, the time for a page would grow with the square of its number of new keys.
func (s *Store) writeAll(entries map[string][]byte) error {
	return s.db.Update(func(tx *bbolt.Tx) (err error) {
		b := tx.Bucket(copies)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if e := entries[key]; e == nil {
				err = b.Delete(fileKey(key))
			} else {
				err = b.Put(fileKey(key), e)
			}
			if err != nil {
				return err
			}
		}
		return s.removeExpired(b, sweepFactor*(len(entries)+64), time.Now())
	})
}

// removeExpired checks the next n entries of the file, beginning where the last call ended, and removes the expired
// ones.
func (s *Store) removeExpired(b *bbolt.Bucket, n int, now time.Time) error {
	c := b.Cursor()
	k, e := c.Seek(s.sweep)
	for ; n > 0 && k != nil; n-- {
		if expired(e, now) {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		k, e = c.Next() // after Delete this may skip an entry
	}
	s.sweep = bytes.Clone(k) // nil after the last entry, which means the first one
	return nil
}
