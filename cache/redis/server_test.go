//go:build unix

package redis

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/internal/redistest"
)

// A server is a redis-server of the test's own, on a free port of the loopback interface.
type server struct {
	t      testing.TB
	port   int
	args   []string
	config string // content of a configuration file; empty: none
	cmd    *exec.Cmd
}

// start starts a server and waits until it answers. It is ended with the test.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{t: t, port: redistest.FreePort(t), args: args}
	s.start()
	return s
}

func (s *server) url() string { return fmt.Sprintf("redis://127.0.0.1:%d", s.port) }

// start starts the server on its port, with nothing in it.
func (s *server) start() {
	s.t.Helper()
	var args []string
	if s.config != "" {
		file := filepath.Join(s.t.TempDir(), "server.conf")
		if err := os.WriteFile(file, []byte(s.config), 0o600); err != nil {
			s.t.Fatal(err)
		}
		args = append(args, file)
	}
	for _, arg := range s.args {
		args = append(args, strings.Replace(arg, "PORT", fmt.Sprint(s.port), 1))
	}
	s.cmd = redistest.Start(s.t, s.port, args...)
}

// kill ends the server as a power cut would.
func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// pause stops the server: it accepts connections and answers nothing, as one behind a
// network that has split.
func (s *server) pause()  { s.cmd.Process.Signal(syscall.SIGSTOP) }
func (s *server) resume() { s.cmd.Process.Signal(syscall.SIGCONT) }

// client returns a client of the server that has nothing to do with a Store.
func (s *server) client() rueidis.Client {
	s.t.Helper()
	c, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

func (s *server) dial() (rueidis.Client, error) {
	o := rueidis.MustParseURL(s.url())
	o.ForceSingleClient, o.DisableCache = true, true
	return rueidis.NewClient(o)
}

// do runs one command on the server itself.
func (s *server) do(words ...string) string {
	s.t.Helper()
	answer, err := s.try(words...)
	if err != nil {
		s.t.Fatalf("%q: %v", words, err)
	}
	return answer
}

// try is do for a server that may fail.
func (s *server) try(words ...string) (string, error) {
	c, err := s.dial()
	if err != nil {
		return "", err
	}
	defer c.Close()
	answer, err := c.Do(context.Background(), c.B().Arbitrary(words...).Build()).ToAny()
	if err != nil && !rueidis.IsRedisNil(err) {
		return "", err
	}
	return fmt.Sprint(answer), nil
}

// await runs a command on each server until its answer contains a text.
func await(t testing.TB, servers []*server, command, text string) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for _, s := range servers {
		for {
			answer, err := s.try(strings.Fields(command)...)
			if strings.Contains(answer, text) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %s, %v after a minute, want %q", command, answer, err, text)
			}
			<-time.After(20 * time.Millisecond)
		}
	}
}
