package disk

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/bbolt"
)

const (
	// A value waits at most flushEvery and two transactions of batchTime, less than the promised second.
	flushEvery = 400 * time.Millisecond
	batchTime  = 200 * time.Millisecond
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

// A batch is what one transaction writes. A nil entry deletes its key.
type batch struct {
	entries map[string][]byte
	size    int // bytes of all entries that were added, about
}

// add puts an entry into the batch and replaces an earlier entry of the key.
func (b *batch) add(key string, e []byte) {
	if b.entries == nil {
		b.entries = make(map[string][]byte)
	}
	b.entries[key] = e
	b.size += cost(key, e)
}

func cost(key string, e []byte) int { return len(key) + len(e) + entryCost }

// enqueue hands an entry to the writer. It waits while there is no room, unless transactions fail.
func (s *Store) enqueue(ctx context.Context, key string, e []byte) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		room, err := s.tryEnqueue(key, e)
		if err != nil {
			return fmt.Errorf("disk: %s: %w", s.path, err)
		}
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
		case <-s.quit:
		}
	}
}

// tryEnqueue adds an entry to the pending ones. If there is no room it returns a channel that is closed when
// there may be.
func (s *Store) tryEnqueue(key string, e []byte) (room chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.pending.size == 0 || s.pending.size+cost(key, e) <= s.limit {
		s.pending.add(key, e)
		raise(s.wake)
		return nil, s.failed
	}
	if s.failed == nil { // else the writer makes a pause
		raise(s.full)
	}
	return s.room, s.failed
}

// raise puts an element into a channel that has room for one.
func raise(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // there is one
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

// flush writes the pending entries. Entries that could not be written are pending again, unless their key was
// put again in the meantime.
func (s *Store) flush() {
	s.mu.Lock()
	if s.broken != nil || len(s.pending.entries) == 0 {
		s.mu.Unlock()
		return
	}
	s.writing, s.pending = s.pending, batch{}
	b := s.writing
	close(s.room)
	s.room = make(chan struct{})
	s.mu.Unlock()

	start := time.Now()
	err := s.guard(func() error {
		return s.update(func(tx *bbolt.Tx) error { return s.apply(tx.Bucket(copies), b.entries) })
	})
	took := time.Since(start)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.writing = err, batch{}
	if err == nil {
		s.limit = nextLimit(s.limit, b.size, took)
		return
	}
	for key, e := range s.pending.entries {
		b.add(key, e)
	}
	s.pending, s.limit = b, maxPending
	raise(s.wake)
}

// nextLimit returns how many bytes may be pending, after a transaction of that size took so long.
func nextLimit(limit, size int, took time.Duration) int {
	if took > batchTime {
		limit = int(float64(size) * float64(batchTime) / float64(took))
	} else if size > limit/2 {
		limit *= 2
	}
	return min(max(limit, minPending), maxPending)
}

// apply writes a batch and removes some expired entries. It writes in the order of the keys, because a page
// with many new keys costs the square of their number in random order.
func (s *Store) apply(b *bbolt.Bucket, entries map[string][]byte) error {
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		var err error
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
