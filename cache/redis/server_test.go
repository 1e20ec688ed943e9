//go:build unix

package redis

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
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
	s := &server{t: t, port: freePort(t), args: args}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) url() string { return fmt.Sprintf("redis://127.0.0.1:%d", s.port) }

// start starts the server on its port, with nothing in it.
func (s *server) start() {
	s.t.Helper()
	// Any server that speaks the protocol can be used, such as valkey-server.
	program, err := exec.LookPath(cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"))
	if err != nil {
		if os.Getenv("POLITE_REQUIRE_REDIS") == "1" {
			s.t.Fatalf("POLITE_REQUIRE_REDIS=1, but there is no server: %v", err)
		}
		s.t.Skip("no redis-server on this machine, and POLITE_REDIS_SERVER names none")
	}
	dir := s.t.TempDir()
	args := append([]string{"--port", "PORT", "--bind", "127.0.0.1", "--save", "", "--dir", dir}, s.args...)
	if s.config != "" {
		file := filepath.Join(dir, "server.conf")
		if err := os.WriteFile(file, []byte(s.config), 0o600); err != nil {
			s.t.Fatal(err)
		}
		args = append([]string{file}, args...)
	}
	for i := range args {
		args[i] = strings.Replace(args[i], "PORT", fmt.Sprint(s.port), 1)
	}
	s.cmd = exec.Command(program, args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("redis-server does not answer: %v", err)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// kill ends the server as a power cut would.
func (s *server) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.cmd = nil
	}
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

// freePort returns a port that nothing listens on. It is below the ports that systems give to connections and to
// listeners without a port, so that nobody takes it while its server is not there.
func freePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
