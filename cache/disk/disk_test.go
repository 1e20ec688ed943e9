//go:build !wasm

package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
)

// opened opens a store in the file and closes it at the end of the test.
func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, nil)
	if err != nil {
		t.Fatalf("Open(%s): %v", filepath.Base(path), err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// put puts a value and fails the test if Put fails.
func put(t *testing.T, s *Store, key, value string, keep time.Duration) {
	t.Helper()
	if err := s.Put(t.Context(), key, []byte(value), keep); err != nil {
		t.Fatalf("Put(%q): %v", key, err)
	}
}

// want compares the result of Get with a value. "" means that the key must be absent.
func want(t *testing.T, s *Store, key, value string) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if value == "" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get(%q) = %q, %v, want %v", key, got, err, fs.ErrNotExist)
	}
	if value != "" && (err != nil || string(got) != value) {
		t.Errorf("Get(%q) = %q, %v, want %q", key, got, err, value)
	}
}

func TestKeepsThePromises(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store {
		return opened(t, filepath.Join(t.TempDir(), "robots.db"))
	})
}

// TestKeepsThePromisesThroughTheFile tests the promises with values that are in the file already.
func TestKeepsThePromisesThroughTheFile(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store {
		return flushing{opened(t, filepath.Join(t.TempDir(), "robots.db"))}
	})
}

// A flushing store writes at once.
type flushing struct{ *Store }

func (f flushing) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	err := f.Store.Put(ctx, key, value, keep)
	f.flushNow()
	return err
}

func (f flushing) Delete(ctx context.Context, key string) error {
	err := f.Store.Delete(ctx, key)
	f.flushNow()
	return err
}

// flushNow makes the writer write, and waits until all values are written.
func (f flushing) flushNow() {
	for {
		f.mu.Lock()
		room, idle := f.room, len(f.pending) == 0
		if !idle {
			select {
			case f.full <- struct{}{}:
			default:
			}
		}
		fails := f.broken != nil || f.failed != nil
		f.mu.Unlock()
		if idle || fails {
			return
		}
		select {
		case <-room:
		case <-time.After(time.Millisecond):
		}
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	s := opened(t, path)
	put(t, s, "a", "one", time.Hour)
	put(t, s, "b", "two", time.Hour)
	put(t, s, "c", "three", time.Hour)
	s.Close()

	s = opened(t, path)
	want(t, s, "a", "one")
	put(t, s, "a", "1", time.Hour)
	if err := s.Delete(t.Context(), "b"); err != nil {
		t.Errorf("Delete: %v", err)
	}
	want(t, s, "a", "1")
	want(t, s, "b", "")
	s.Close()

	s = opened(t, path)
	want(t, s, "a", "1")
	want(t, s, "b", "")
	want(t, s, "c", "three")
}

func TestFlushedWithinASecondAndEndsWithClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	// The bubble fails the test if the store's goroutine outlives Close.
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			put(t, s, fmt.Sprint(i), "value", 24*time.Hour)
			time.Sleep(time.Second)
			synctest.Wait()
			s.mu.Lock()
			waiting := len(s.pending)
			s.mu.Unlock()
			if waiting != 0 {
				t.Errorf("a second after Put %d, %d values are not written, want 0", i, waiting)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

func TestAfterClose(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "robots.db"))
	s.Close()
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v, want nil", err)
	}
	if _, err := s.Get(t.Context(), "k"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Get: %v, want %v", err, fs.ErrClosed)
	}
	if err := s.Put(t.Context(), "k", nil, time.Hour); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Put: %v, want %v", err, fs.ErrClosed)
	}
	if err := s.Delete(t.Context(), "k"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Delete: %v, want %v", err, fs.ErrClosed)
	}
}

func TestSecondOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	first := opened(t, path)
	start := time.Now()
	if _, err := Open(path, nil); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("second Open: %v, want %v with the path", err, ErrInUse)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("second Open took %v, want it refused at once", took)
	}
	if _, err := Open(path, &Options{Wait: 100 * time.Millisecond}); !errors.Is(err, ErrInUse) {
		t.Errorf("second Open with a short wait: %v, want %v", err, ErrInUse)
	}
	time.AfterFunc(100*time.Millisecond, func() { first.Close() })
	second, err := Open(path, &Options{Wait: 20 * time.Second})
	if err != nil {
		t.Fatalf("second Open while the first closes: %v, want the store", err)
	}
	second.Close()
}

func TestExpiredValuesAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	s := opened(t, path)
	for i := range 3000 {
		put(t, s, fmt.Sprint("old", i), "value", time.Nanosecond)
	}
	put(t, s, "lasts", "value", time.Hour)
	for i := range 30 {
		put(t, s, fmt.Sprint("new", i), "value", time.Hour)
		flushing{s}.flushNow()
	}
	s.Close()
	if got := entriesIn(t, path); got != 31 {
		t.Errorf("%d entries in the file, want 31", got)
	}
	s = opened(t, path)
	want(t, s, "lasts", "value")
}

// entriesIn counts the entries in the file.
func entriesIn(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.View(func(tx *bbolt.Tx) error {
		n = tx.Bucket(copies).Stats().KeyN
		return nil
	})
	return n
}

func TestOtherFiles(t *testing.T) {
	with := func(change func(*bbolt.Tx) error) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			opened(t, path).Close()
			edit(t, path, change)
		}
	}
	named := func(name string) func(t *testing.T, path string) {
		return with(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte(name))
			return errors.Join(err, tx.DeleteBucket(copies))
		})
	}
	emptied := with(func(tx *bbolt.Tx) error { return tx.DeleteBucket(copies) })
	foreign := func(t *testing.T, path string) {
		edit(t, path, func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("accounts"))
			return err
		})
	}
	for _, row := range []struct {
		name  string
		write func(t *testing.T, path string)
		want  error
	}{
		{"newer_version", named("polite 3"), ErrDamaged},
		{"damaged_version", named("polite \xb2"), ErrDamaged},
		{"no_version", emptied, ErrDamaged},
		{"another_program", foreign, ErrDamaged},
		{"text", file("User-agent: *\nDisallow: /\n"), ErrDamaged},
		{"long_text", file(strings.Repeat("User-agent: *\nDisallow: /\n", 5000)), ErrDamaged},
		{"zeros", file(strings.Repeat("\x00", 1<<16)), ErrDamaged},
		{"folder", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, errNotRegular},
		{"no_folder", func(t *testing.T, path string) { os.Remove(filepath.Dir(path)) }, fs.ErrNotExist},
	} {
		t.Run("house/"+row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub", "robots.db")
			os.Mkdir(filepath.Dir(path), 0o700)
			row.write(t, path)
			before, _ := os.ReadFile(path)
			s, err := Open(path, nil)
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, row.want) {
				t.Errorf("Open: %v, want %v", err, row.want)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("Open changed a file that is not a store")
			}
		})
	}
}

func file(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// edit changes the database while no store has it open. If change is nil, it only creates the file.
func edit(t *testing.T, path string, change func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize})
	if err == nil && change != nil {
		err = db.Update(change)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnfinishedFileIsNew opens an empty file, and a database without buckets, which a process leaves that is killed
// in its first Open. Both must open as new stores.
func TestUnfinishedFileIsNew(t *testing.T) {
	for name, write := range map[string]func(*testing.T, string){
		"empty":      file(""),
		"no_buckets": func(t *testing.T, path string) { edit(t, path, nil) },
	} {
		t.Run("house/"+name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "robots.db")
			write(t, path)
			s := opened(t, path)
			put(t, s, "k", "value", time.Hour)
			want(t, s, "k", "value")
		})
	}
}

func TestTooLarge(t *testing.T) {
	s := opened(t, filepath.Join(t.TempDir(), "robots.db"))
	long := strings.Repeat("k", maxKey)
	put(t, s, long, "value", time.Hour)
	flushing{s}.flushNow()
	want(t, s, long, "value")
	if err := s.Put(t.Context(), long+"k", nil, time.Hour); err == nil {
		t.Errorf("Put of a key of %d bytes: nil, want an error", len(long)+1)
	}
	want(t, s, long+"k", "")
	if err := s.Put(t.Context(), "k", make([]byte, maxValue+1), time.Hour); err == nil {
		t.Errorf("Put of a value of %d bytes: nil, want an error", maxValue+1)
	}
}
