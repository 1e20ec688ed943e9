//go:build unix

package redis

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
)

// opened returns a store on the server and closes it at the end of the test.
func opened(t testing.TB, url string, o *Options) *Store {
	t.Helper()
	s, err := Open(url, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// slow is a delay for tests in which the server is well and the machine may be busy.
var slow = &Options{Timeout: 10 * time.Second}

// answered makes a call of a server that is well. Only a machine too busy to run it makes it seem down.
func answered(t testing.TB, call func() error) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; <-time.After(10 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		if !errors.Is(err, ErrDown) || time.Now().After(end) {
			t.Fatalf("a call of a server that is well: %v", err)
		}
	}
}

func TestKeepsThePromises(t *testing.T) {
	srv := start(t)
	cachetest.Run(t, func(t *testing.T) cache.Store {
		srv.do("FLUSHALL")
		return opened(t, srv.url(), slow)
	})
}

func TestBadURL(t *testing.T) {
	for _, row := range []struct{ name, url string }{
		{"empty", ""},
		{"scheme", "http://user:secret@localhost"},
		{"database", "redis://user:secret@localhost/one"},
		{"malformed", "redis://user:secret@local host\x7f"},
		{"parameter", "redis://user:secret@localhost?dial_timeout=secret"},
	} {
		t.Run("house/"+row.name, func(t *testing.T) {
			_, err := Open(row.url, nil)
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("Open(%q): %v, want an error that does not tell the password", row.url, err)
			}
		})
	}
}

func TestPasswordAndDatabase(t *testing.T) {
	srv := start(t, "--requirepass", "secret")
	with := func(user string) string {
		return strings.Replace(srv.url(), "redis://", "redis://"+user+"@", 1) + "/3"
	}
	good := opened(t, with(":secret"), slow)
	if err := good.Put(t.Context(), "k", []byte("v"), time.Hour); err != nil {
		t.Errorf("Put with the password: %v", err)
	}
	bad := opened(t, with(":wrong"), slow)
	if _, err := bad.Get(t.Context(), "k"); err == nil || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "wrong:") {
		t.Errorf("Get with a wrong password: %v, want an error that is not absence", err)
	}
}

func TestAfterClose(t *testing.T) {
	srv := start(t)
	for name, use := range map[string]bool{"used": true, "unused": false} {
		s := opened(t, srv.url(), slow)
		if use {
			s.Get(t.Context(), "k")
		}
		s.Close()
		s.Close()
		if _, err := s.Get(t.Context(), "k"); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: Get after Close: %v, want %v", name, err, fs.ErrClosed)
		}
	}
}
