//go:build unix

package redis

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/internal/redistest"
)

// A server is a redis-server of the test's own.
type server struct {
	*redistest.Server
	t testing.TB
}

func start(t testing.TB, args ...string) *server {
	t.Helper()
	return &server{redistest.Start(t, args...), t}
}

func (s *server) url() string               { return s.URL() }
func (s *server) do(words ...string) string { s.t.Helper(); return s.Do(words...) }
func (s *server) start()                    { s.t.Helper(); s.Run() }
func (s *server) kill()                     { s.Kill() }
func (s *server) pause()                    { s.Pause() }
func (s *server) resume()                   { s.Resume() }

// client returns a client of the server that has nothing to do with a Store.
func (s *server) client() rueidis.Client {
	s.t.Helper()
	o := rueidis.MustParseURL(s.url())
	o.ForceSingleClient, o.DisableCache = true, true
	c, err := rueidis.NewClient(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}
