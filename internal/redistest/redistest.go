//go:build unix

// Package redistest starts Redis servers for tests: one, a cluster, or some behind sentinels.
package redistest

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
	"time"

	"github.com/redis/rueidis"
)

// T is the part of testing.TB that this package needs.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Cleanup(f func())
	TempDir() string
}

// A Server is a process of its own on a free port of loopback, with nothing in it.
type Server struct {
	Port    int
	Process *exec.Cmd

	t      T
	args   []string
	config string // content of a configuration file; empty: none
}

// Start starts a server and waits until it accepts connections. The server ends with the test.
// args are further options, in which PORT stands for its port.
//
// The program is redis-server, or what POLITE_REDIS_SERVER names: any server that speaks the
// protocol, such as valkey-server. Without one the test is skipped. It fails if
// POLITE_REQUIRE_REDIS is 1.
func Start(t T, args ...string) *Server {
	t.Helper()
	s := &Server{Port: FreePort(t), t: t, args: args}
	s.Run()
	return s
}

// Run starts a server that was killed again, on its port, with nothing in it.
func (s *Server) Run() {
	s.t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"))
	if err != nil {
		if os.Getenv("POLITE_REQUIRE_REDIS") == "1" {
			s.t.Fatalf("POLITE_REQUIRE_REDIS=1, but there is no server: %v", err)
		}
		s.t.Skip("no redis-server on this machine, and POLITE_REDIS_SERVER names none")
	}
	var args []string
	dir := s.t.TempDir()
	if s.config != "" {
		file := filepath.Join(dir, "server.conf")
		if err := os.WriteFile(file, []byte(s.config), 0o600); err != nil {
			s.t.Fatalf("%v", err)
		}
		args = append(args, file)
	}
	args = append(args, "--port", fmt.Sprint(s.Port), "--bind", "127.0.0.1", "--save", "", "--dir", dir)
	for _, arg := range s.args {
		args = append(args, strings.Replace(arg, "PORT", fmt.Sprint(s.Port), 1))
	}
	s.Process = exec.Command(program, args...)
	if err := s.Process.Start(); err != nil {
		s.t.Fatalf("%v", err)
	}
	s.t.Cleanup(s.Kill)
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.Addr())
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s does not answer: %v", program, err)
		}
	}
}

// Addr is host and port.
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.Port) }

// URL is the URL for redis.Open.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Kill ends the server as a power cut would.
func (s *Server) Kill() {
	s.Process.Process.Kill()
	s.Process.Wait()
}

// Pause stops the server: it accepts connections and answers nothing, as one behind a network
// that has split. Resume lets it go on.
func (s *Server) Pause()  { s.Process.Process.Signal(syscall.SIGSTOP) }
func (s *Server) Resume() { s.Process.Process.Signal(syscall.SIGCONT) }

// Do runs one command on the server, which must not fail.
func (s *Server) Do(words ...string) string {
	s.t.Helper()
	answer, err := s.try(words...)
	if err != nil {
		s.t.Fatalf("%q: %v", words, err)
	}
	return answer
}

func (s *Server) try(words ...string) (string, error) {
	o := rueidis.MustParseURL(s.URL())
	o.ForceSingleClient, o.DisableCache = true, true
	c, err := rueidis.NewClient(o)
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

// Await runs a command on each server until its answer contains a text.
func Await(t T, servers []*Server, command, text string) {
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

// FreePort returns a port of loopback that nothing listens on. It is below the ports that systems
// give to connections and to listeners without a port, so that nobody takes it while its
// server is not there.
func FreePort(t T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatalf("no free port")
	return 0
}
