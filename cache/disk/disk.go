// Package disk is a [cache.Store] in one file, so that a crawler that starts again does not ask again, and
// remembers for the 30 days of RFC 9309, section 2.3.1.4.
//
//	store, err := disk.Open("robots.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # When it is written
//
// Put keeps the value in memory, where Get finds it, and a goroutine of the store writes what has come
// together every half second in one transaction. Close writes the rest. A process that is killed loses the
// writes of its last second at most; the file is never left half written. A write that fails, on a full
// disk say, is tried again every half second and reported by every Put until then.
//
// # One process
//
// The file belongs to one process at a time. To a second one Open says [ErrInUse] at once, or after
// Options.Wait. For a fleet there is package redis.
//
// # Damage
//
// Open reads the whole file once, about a second for each gigabyte, and checks how it hangs together
// before anything relies on it. A file that does not fails with [ErrDamaged]: remove it and begin anew.
// Each value names its key and carries a checksum; one that does not fit reads as absent. A file that a
// later version has written is refused, and so is a database of another program.
//
// What is not covered: another program that changes the file while it is open here.
//
// # Size
//
// Values whose time has passed are removed while others are written. The file does not shrink; what is
// removed makes room. There is no bound on it other than the times that values are kept for.
package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/rfc9309/polite/cache/internal/seal"
)

// Options adjust a [Store]. Nil means the zero Options.
type Options struct {
	// Wait is how long Open waits for another process to close the file. Zero means not at all. A
	// crawler that is restarted while its predecessor still finishes needs some seconds.
	Wait time.Duration
}

var (
	// ErrInUse is the error of opening a file that another process, or another Store of this one, has open.
	ErrInUse = errors.New("file is in use")
	// ErrDamaged is the error of opening a file that is cut short, overwritten or no store at all, and of
	// all further use of one that breaks while it is open.
	ErrDamaged = errors.New("file is damaged or not a store")
)

// Store is a cache.Store in a file. Its methods may be called from any number of goroutines.
type Store struct {
	db   *bbolt.DB
	path string
	wake chan struct{} // there is something to write; holds one
	full chan struct{} // it should not wait; holds one
	quit chan struct{} // closed by Close
	done chan struct{} // closed by the writer when it has ended

	closing sync.Once

	mu      sync.Mutex
	pending batch         // put since the last transaction began
	writing batch         // in the present transaction
	room    chan struct{} // closed, and made anew, when pending has been taken
	failed  error         // of the last transaction
	broken  error         // the file is not to be touched again
	closed  bool

	sweep []byte // where the next look for passed values starts; the writer's own
}

// Get implements [cache.Store]. It reads the file without regard to ctx once it has begun.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sealed, err := s.lookup(key)
	if err != nil {
		return nil, fmt.Errorf("disk: %s: %w", s.path, err)
	}
	if sealed == nil {
		return nil, fs.ErrNotExist
	}
	value, end, err := seal.Open(key, sealed)
	// Damage is absence here: whoever asked retrieves anew, and the next Put mends it.
	if err != nil || !time.Now().Before(end) {
		return nil, fs.ErrNotExist
	}
	return value, nil
}

// lookup returns a copy of what is stored under key, nil if there is nothing.
func (s *Store) lookup(key string) ([]byte, error) {
	s.mu.Lock()
	err := s.usable()
	sealed, ok := s.pending.entries[key]
	if !ok {
		sealed, ok = s.writing.entries[key]
	}
	s.mu.Unlock()
	if err != nil || len(key) > maxKey {
		return nil, err
	}
	if ok {
		return clone(sealed), nil
	}
	var found []byte
	err = s.guard(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			found = clone(tx.Bucket(copies).Get(fileKey(key)))
			return nil
		})
	})
	return found, err
}

// Put implements [cache.Store]. It waits, as long as ctx allows, while far more is put than the disk
// takes. An error that is not the context's tells that the last transaction failed; the value is kept in
// memory for the next one as long as there is room.
func (s *Store) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if keep <= 0 {
		return s.Delete(ctx, key)
	}
	if len(key) > maxKey || len(value) > maxValue {
		return fmt.Errorf("disk: %s: key of %d or value of %d octets is too large", s.path, len(key), len(value))
	}
	sealed, err := seal.Seal(key, value, endOf(time.Now(), keep))
	if err != nil {
		return fmt.Errorf("disk: %s: %w", s.path, err)
	}
	return s.enqueue(ctx, key, sealed)
}

// Delete implements [cache.Store]. It waits and fails as Put does.
func (s *Store) Delete(ctx context.Context, key string) error {
	if len(key) > maxKey {
		return nil
	}
	return s.enqueue(ctx, key, nil)
}

// Close writes what is pending, ends the store's goroutine and closes the file. It returns the error of
// that last write. A second Close does nothing. Other methods fail with [io/fs.ErrClosed] afterwards.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.quit)
		<-s.done

		s.mu.Lock()
		err = errors.Join(s.failed, s.broken)
		broken := s.broken
		s.mu.Unlock()
		// A transaction that panicked may have left the database's own lock taken; to close it could
		// wait for ever. The operating system closes the file with the process.
		if broken == nil {
			err = errors.Join(err, s.db.Close())
		}
		if err != nil {
			err = fmt.Errorf("disk: %s: %w", s.path, err)
		}
	})
	return err
}

// usable returns why nothing can be done any more. The caller holds mu.
func (s *Store) usable() error {
	if s.closed {
		return fs.ErrClosed
	}
	return s.broken
}

// guard runs a transaction. The database trusts its file and maps it into memory: where the file is not
// what it was when it was checked, the database panics or touches memory that is not there. That must not
// end the crawler, nor be tried again.
func (s *Store) guard(transaction func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %.200v", ErrDamaged, r)
			s.mu.Lock()
			s.broken = err
			s.mu.Unlock()
		}
	}()
	return transaction()
}

// endOf is now and keep, or the last moment that can be written down.
func endOf(now time.Time, keep time.Duration) time.Time {
	// A millisecond more, because the end is cut to milliseconds and a value stays its whole time.
	return now.Add(keep).Add(time.Millisecond)
}

// clone copies b; nil stays nil, and an empty slice empty.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}
