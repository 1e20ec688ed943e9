// Package disk is a [cache.Store] in one file. A crawler that starts again uses the copies that it fetched
// before, and remembers outages for the 30 days of RFC 9309, section 2.3.1.4.
//
//	store, err := disk.Open("robots.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # When values are written
//
// Put keeps the value in memory, where Get finds it, and a goroutine of the store writes it within a second,
// with others, in one transaction. While more values arrive than the disk writes in that time, Put waits.
// Close writes the rest. A process that is killed loses at most the writes of its last second. If the disk is
// full the transaction is tried again, and every Put until then reports the error. Each transaction also
// removes some expired values. The file does not shrink, but the space is used again.
//
// # One process
//
// The file belongs to one process at a time. A second process gets [ErrInUse] from Open, at once or after
// Options.Wait. A fleet needs package redis.
//
// # Damage
//
// Open reads the whole file once, about a second for each gigabyte, and checks its structure. A file that is
// damaged, of another version, or not a store is [ErrDamaged]: remove it. The bytes of a value are not
// checked: the fetcher does so, and values of your own need a checksum. A program that changes the file
// while it is open can make the store fail, return other bytes, or end the process.
package disk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// Options adjust a [Store]. Nil means the zero Options.
type Options struct {
	// Wait is how long Open waits for another process to close the file; zero means not at all. A crawler
	// that is restarted while the old process still finishes needs some seconds.
	Wait time.Duration
}

var (
	// ErrInUse is the error of opening a file that another process or another Store has open.
	ErrInUse = errors.New("file is in use")
	// ErrDamaged is the error of opening a file that is damaged, of another version, or not a store, and of
	// every call after a fault was found in the open file.
	ErrDamaged = errors.New("file is damaged or not a store")
)

// Store is a cache.Store in a file. Its methods may be called from any number of goroutines.
type Store struct {
	path    string
	db      *bbolt.DB
	commit  func(map[string][]byte) error // writeAll; tests make it slow
	wake    chan struct{}                 // holds an element if there is something to write
	full    chan struct{}                 // holds an element if a Put waits for room
	quit    chan struct{}                 // closed by Close
	closing sync.Once                     // for Close
	writer  sync.WaitGroup                // for the goroutine that writes
	sweep   []byte                        // key at which the writer goes on to look for expired values

	mu      sync.Mutex
	pending map[string][]byte // entries that are not in the file yet, nil for a deletion
	size    int               // cost of pending
	limit   int               // bound of size
	room    chan struct{}     // closed, and replaced, after each transaction
	failed  error             // error of the last transaction
	broken  error             // ErrDamaged or ErrClosed once the file must not be used any more
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
		return nil, s.named(err)
	case expired(e, time.Now()):
		return nil, fs.ErrNotExist
	}
	return e[endSize:], nil
}

// Put implements [cache.Store]. It waits, as long as ctx allows, while more is put than the disk writes. If
// the last transaction failed it returns that error, and keeps the value in memory if there is room.
func (s *Store) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if keep <= 0 {
		return s.Delete(ctx, key)
	}
	if len(key) > maxKey || len(value) > maxValue {
		return s.named(fmt.Errorf("key of %d or value of %d bytes is too large", len(key), len(value)))
	}
	e := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(keep).UnixMilli()+1)) // not too early
	return s.enqueue(ctx, key, append(e, value...))
}

// Delete implements [cache.Store]. It waits and fails as Put does.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.enqueue(ctx, key, nil)
}

// Close writes what is pending, ends the goroutine of the store and closes the file. It returns the error of
// the last transaction. A second Close does nothing. All other methods fail with [io/fs.ErrClosed] afterwards.
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
		// After a panic the database may hold a lock that its Close would wait for. Then the operating
		// system closes the file with the process.
		if broken == fs.ErrClosed {
			broken = s.db.Close()
		}
		err = s.named(errors.Join(failed, broken))
	})
	return err
}

// named adds the name of the file to an error.
func (s *Store) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("disk: %s: %w", s.path, err)
}

// guard runs a transaction. Where the file has changed since it was checked, the database panics or reads
// memory that is not there. The store is broken afterwards, but the process goes on.
func (s *Store) guard(transaction func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			err = fmt.Errorf("%w: %.200v", ErrDamaged, r)
			s.broken = err
		}
	}()
	return transaction()
}

// endSize is the length of the head of an entry: when it expires, in milliseconds since 1970, big-endian.
const endSize = 8

// expired reports whether the end of an entry has passed. An entry that is too short has expired.
func expired(e []byte, now time.Time) bool {
	return len(e) < endSize || int64(binary.BigEndian.Uint64(e)) <= now.UnixMilli()
}

// fileKey is the key in the file. The database takes no empty key, so each begins with one more byte.
func fileKey(key string) []byte { return append([]byte{'k'}, key...) }
