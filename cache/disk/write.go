package disk

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// What is pending can be written in writeTime, and the writer waits for flushEvery at most: together less
	// than the promised second.
	flushEvery = 400 * time.Millisecond
	writeTime  = 300 * time.Millisecond
	minPending = 16 << 10 // bytes that wait in memory on a slow disk
	maxPending = 32 << 20 // bytes that wait in memory on a fast disk
	entryCost  = 64       // memory that an entry takes besides its bytes, about
	maxValue   = maxPending / 2
	maxKey     = bbolt.MaxKeySize - 1 // see fileKey
	// A transaction looks for expired values among sweepLeast entries, and among sweepFactor more for each
	// entry that it writes, so that it finds them faster than the file fills.
	sweepLeast  = 256
	sweepFactor = 4
)

func cost(key string, e []byte) int { return len(key) + len(e) + entryCost }

// enqueue hands an entry to the writer; nil deletes the key. It waits while there is no room, unless
// transactions fail.
func (s *Store) enqueue(ctx context.Context, key string, e []byte) error {
	for ctx.Err() == nil {
		s.mu.Lock()
		size := s.size + cost(key, e)
		if old, ok := s.pending[key]; ok {
			size -= cost(key, old)
		}
		err, room := s.usable(), s.room
		fits := err == nil && (len(s.pending) == 0 || size <= s.limit)
		if fits {
			s.pending[key], s.size = e, size
			raise(s.wake)
		}
		err = cmp.Or(err, s.failed)
		if !fits && err == nil {
			raise(s.full)
		}
		s.mu.Unlock()
		if fits || err != nil {
			return s.named(err)
		}
		select {
		case <-room:
		case <-ctx.Done():
		case <-s.quit:
		}
	}
	return ctx.Err()
}

// raise puts an element into a channel that has room for one.
func raise(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// write is the goroutine of the store. It ends after Close has closed quit, with a last transaction.
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

// flush writes the pending entries. If that fails they stay pending.
func (s *Store) flush() {
	s.mu.Lock()
	entries, broken := maps.Clone(s.pending), s.broken
	s.mu.Unlock()
	if len(entries) == 0 || broken != nil {
		return
	}
	start := time.Now()
	err := s.guard(func() error { return s.commit(entries) })
	took := time.Since(start)

	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.room)
	s.room, s.failed = make(chan struct{}), err
	if err != nil {
		s.limit = maxPending
		raise(s.wake) // try again
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
	s.limit = nextLimit(s.limit, written, took)
}

// nextLimit returns how many bytes may be pending, after a transaction of that size took so long.
func nextLimit(limit, size int, took time.Duration) int {
	if took > writeTime {
		limit = int(float64(size) * float64(writeTime) / float64(took))
	} else if size > limit/2 {
		limit *= 2
	}
	return min(max(limit, minPending), maxPending)
}

// writeAll writes entries and removes some expired entries, in one transaction. It writes in the order of the
// keys, because a page with many new keys costs the square of their number in random order.
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
		return s.removeExpired(b, sweepLeast+sweepFactor*len(entries), time.Now())
	})
}

// removeExpired looks at the next n entries of the file, from the place where the last call ended, and
// removes the expired ones.
func (s *Store) removeExpired(b *bbolt.Bucket, n int, now time.Time) error {
	c := b.Cursor()
	k, e := c.Seek(s.sweep)
	for ; n > 0 && k != nil; n-- {
		if expired(e, now) {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		k, e = c.Next() // it may skip an entry after Delete
	}
	s.sweep = bytes.Clone(k) // nil after the last: begin again
	return nil
}
