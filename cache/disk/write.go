package disk

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/rfc9309/polite/cache/internal/seal"
)

const (
	// flushEvery leaves a transaction half of the second after which a write is promised to be safe.
	flushEvery = 500 * time.Millisecond
	// flushAt is how many octets do not wait for the half second.
	flushAt = 4 << 20
	// maxPending is how many octets wait in memory before Put has to.
	maxPending = 32 << 20
	maxValue   = maxPending / 2
	// maxKey is one octet less than the database takes; see fileKey.
	maxKey = bbolt.MaxKeySize - 1
	// A transaction looks at this many entries, and at sweepFactor for each of its own, for some
	// whose time has passed: so the file cannot fill with them faster than they are found.
	sweepLeast  = 256
	sweepFactor = 4
	// entryCost stands for what an entry takes in memory besides its octets.
	entryCost = 64
)

// A batch is what one transaction writes. A nil entry is a deletion.
type batch struct {
	entries map[string][]byte
	size    int
}

// add puts an entry into the batch, in place of an earlier one of the key.
func (b *batch) add(key string, sealed []byte) {
	if b.entries == nil {
		b.entries = make(map[string][]byte)
	}
	if old, ok := b.entries[key]; ok {
		b.size -= cost(key, old)
	}
	b.entries[key] = sealed
	b.size += cost(key, sealed)
}

func cost(key string, sealed []byte) int { return len(key) + len(sealed) + entryCost }

// enqueue hands an entry to the writer. While there is no room it waits, unless the writer is failing:
// then there will be none soon.
func (s *Store) enqueue(ctx context.Context, key string, sealed []byte) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.mu.Lock()
		err, room := s.usable(), s.room
		if err == nil && s.pending.size+cost(key, sealed) <= maxPending {
			s.pending.add(key, sealed)
			s.signal()
			room, err = nil, s.failed
		} else if err == nil {
			err = s.failed
		}
		s.mu.Unlock()
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

// signal tells the writer what there is. The caller holds mu.
func (s *Store) signal() {
	raise := func(c chan struct{}) {
		select {
		case c <- struct{}{}:
		default: // it has been told
		}
	}
	raise(s.wake)
	if s.pending.size >= flushAt && s.failed == nil {
		raise(s.full)
	}
}

// write is the store's goroutine. It ends when Close closes quit, after a last transaction.
func (s *Store) write() {
	defer close(s.done)
	for {
		select {
		case <-s.wake:
		case <-s.quit:
			s.flush()
			return
		}
		wait := time.NewTimer(flushEvery)
		select {
		case <-wait.C:
		case <-s.full:
		case <-s.quit:
		}
		wait.Stop()
		s.flush()
	}
}

// flush writes what is pending. What it could not write is pending again, save for what has been put anew
// since, and the writer is told so.
func (s *Store) flush() {
	s.mu.Lock()
	if s.broken != nil || len(s.pending.entries) == 0 {
		s.mu.Unlock()
		return
	}
	s.writing, s.pending = s.pending, batch{}
	entries := s.writing.entries
	close(s.room)
	s.room = make(chan struct{})
	s.mu.Unlock()

	err := s.guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error { return s.apply(tx.Bucket(copies), entries) })
	})

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed = err; err != nil {
		newer := s.pending.entries
		s.pending, s.writing = s.writing, batch{}
		for key, sealed := range newer {
			s.pending.add(key, sealed)
		}
		s.signal()
	}
	s.writing = batch{}
}

// apply puts a batch into the bucket and removes some entries whose time has passed.
func (s *Store) apply(b *bbolt.Bucket, entries map[string][]byte) error {
	for key, sealed := range entries {
		var err error
		if sealed == nil {
			err = b.Delete(fileKey(key))
		} else {
			err = b.Put(fileKey(key), sealed)
		}
		if err != nil {
			return err
		}
	}
	return s.sweepSome(b, sweepLeast+sweepFactor*len(entries), time.Now())
}

// sweepSome looks at the next n entries, in a circle through the file over several transactions, and
// removes those whose time has passed.
func (s *Store) sweepSome(b *bbolt.Bucket, n int, now time.Time) error {
	var passed [][]byte
	c := b.Cursor()
	k, v := c.Seek(s.sweep)
	for ; n > 0 && k != nil; n-- {
		if seal.Passed(v, now) {
			passed = append(passed, clone(k))
		}
		k, v = c.Next()
	}
	s.sweep = clone(k) // nil after the last: begin again
	for _, k := range passed {
		if err := b.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// fileKey is the key in the file. The database takes no empty key, so each begins with one octet more.
func fileKey(key string) []byte { return append([]byte{'k'}, key...) }
