//go:build !wasm

package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

// TestFullDisk checks that every Put fails while the disk is full, that no stored value is lost, and that Put works
// again when there is room.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	s, err := openWith(path, nil, bbolt.Options{MaxSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "early", "value", time.Hour)
	flushing{s}.flushNow()

	put(t, s, "large", string(make([]byte, 1<<20)), time.Hour)
	waitFor(t, "the transaction to fail", func() bool { return s.failure() != nil })
	if err := s.Put(t.Context(), "late", []byte("value"), time.Hour); err == nil {
		t.Errorf("Put while the disk is full: nil, want an error")
	}
	want(t, s, "early", "value")
	want(t, s, "late", "value")
	if got, err := s.Get(t.Context(), "large"); err != nil || len(got) != 1<<20 {
		t.Errorf("Get of a pending value: %d bytes, %v, want %d", len(got), err, 1<<20)
	}

	if err := s.Delete(t.Context(), "large"); err == nil {
		t.Errorf("Delete while the disk is full: nil, want an error")
	}
	waitFor(t, "the transaction to succeed", func() bool { return s.failure() == nil })
	put(t, s, "last", "value", time.Hour)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	s = opened(t, path)
	for _, key := range []string{"early", "late", "last"} {
		want(t, s, key, "value")
	}
	want(t, s, "large", "")
}

// TestFullDiskKeepsMemoryBounded checks that the pending values are bounded while the disk is full, and that Close
// returns the error.
func TestFullDiskKeepsMemoryBounded(t *testing.T) {
	s, err := openWith(filepath.Join(t.TempDir(), "robots.db"), nil, bbolt.Options{MaxSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "large", string(make([]byte, 1<<20)), time.Hour)
	waitFor(t, "the transaction to fail", func() bool { return s.failure() != nil })
	for i := range 60 {
		if err := s.Put(t.Context(), fmt.Sprint(i), make([]byte, 1<<20), time.Hour); err == nil {
			t.Errorf("Put %d: nil, want an error", i)
		}
	}
	s.mu.Lock()
	size := s.size
	s.mu.Unlock()
	if size > maxPending+2<<20 {
		t.Errorf("%d bytes wait in memory, want about %d at most", size, maxPending)
	}
	if err := s.Close(); err == nil {
		t.Errorf("Close: nil, want the error of the last transaction")
	}
}

func (s *Store) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// TestSlowDisk checks that Put waits for a slow disk, but not longer than its context.
func TestSlowDisk(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "robots.db"))
	tx, err := s.db.Begin(true) // the writer must wait until this transaction ends
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 12<<20)
	var last string
	for i := range 12 {
		last = fmt.Sprint(i)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err = s.Put(ctx, last, value, time.Hour)
		cancel()
		if err != nil {
			break
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Put while there is no room: %v, want %v", err, context.DeadlineExceeded)
	}
	tx.Rollback()
	if err := s.Put(t.Context(), last, value, time.Hour); err != nil {
		t.Errorf("Put when the disk works again: %v", err)
	}
	if got, err := s.Get(t.Context(), last); err != nil || !bytes.Equal(got, value) {
		t.Errorf("Get: %d bytes, %v, want %d", len(got), err, len(value))
	}
}

// TestInTheFileWithinASecond checks that a value is in the file a second after its Put has returned, on slow and on
// fast disks.
func TestInTheFileWithinASecond(t *testing.T) {
	for _, row := range []struct {
		name string
		rate int           // speed of the disk in bytes per second
		seek time.Duration // fixed time of each transaction
	}{
		{"slow", 200 << 10, 0},
		{"medium", 2 << 20, 20 * time.Millisecond},
		{"fast", 8 << 20, 5 * time.Millisecond},
	} {
		t.Run("house/"+row.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { writeSlowly(t, row.rate, row.seek) }) })
	}
}

func writeSlowly(t *testing.T, rate int, seek time.Duration) {
	s, err := openWith(filepath.Join(t.TempDir(), "robots.db"), nil, bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	inFile := map[string]time.Time{} // used only by the writer until Close
	s.commit = func(entries map[string][]byte) error {
		size := 0
		for key, e := range entries {
			size += cost(key, e)
		}
		time.Sleep(seek + time.Duration(size)*time.Second/time.Duration(rate))
		err := s.writeAll(entries)
		for key := range entries {
			inFile[key] = time.Now()
		}
		return err
	}
	returned := map[string]time.Time{}
	written, start := 0, time.Now()
	for i := 0; time.Since(start) < 5*time.Second; i++ {
		key := fmt.Sprint(i)
		put(t, s, key, string(make([]byte, 1000)), time.Hour)
		returned[key] = time.Now()
		written += 1000
		if i%20 == 19 { // vary the rate of Put, so that the disk is sometimes faster and sometimes slower
			time.Sleep(time.Duration(i%400) * 4 * time.Microsecond)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	var most time.Duration
	for key, at := range returned {
		most = max(most, inFile[key].Sub(at))
	}
	if most > time.Second {
		t.Errorf("a value was in the file %v after its Put, want a second at most", most)
	}
	if written < rate*5/3 {
		t.Errorf("%d bytes written in 5 s, want at least a third of the disk's speed: %d", written, rate*5/3)
	}
}

// TestDamageWhilePutWaits checks that a Put that waits for room returns ErrDamaged if the file turns out to be
// damaged.
func TestDamageWhilePutWaits(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "robots.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() }) // Close leaves it open, and Windows removes no open file
	begun, end := make(chan bool), make(chan bool)
	s.commit = func(map[string][]byte) error {
		begun <- true
		<-end
		panic("damaged")
	}
	put(t, s, "a", string(make([]byte, maxValue)), time.Hour)
	<-begun
	time.AfterFunc(10*time.Millisecond, func() { close(end) })
	if err := s.Put(t.Context(), "b", nil, time.Hour); !errors.Is(err, ErrDamaged) {
		t.Errorf("Put: %v, want %v", err, ErrDamaged)
	}
	if err := s.Close(); !errors.Is(err, ErrDamaged) {
		t.Errorf("Close: %v, want %v", err, ErrDamaged)
	}
}

// TestDamageIsNotTriedAgain checks that the writer rests after the file turned out to be damaged: nothing can be
// written any more.
func TestDamageIsNotTriedAgain(t *testing.T) {
	for _, broken := range []error{nil, ErrDamaged} {
		s := &Store{wake: make(chan struct{}, 1), room: make(chan struct{}), pending: map[string][]byte{"a": nil}, broken: broken}
		s.commit = func(map[string][]byte) error { return errors.New("no space left") }
		s.flush()
		if tries := len(s.wake) > 0; tries != (broken == nil) {
			t.Errorf("house/damage_is_final: the writer tries again after %v: %v, want it only after an error that may pass", s.failed, tries)
		}
	}
}
