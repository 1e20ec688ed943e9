// Package redistest starts Redis servers for tests.
package redistest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Start starts a server on a port of loopback, with nothing in it, and waits until it accepts
// connections. The server ends with the test. args are further options, and the first of
// them may be a configuration file.
//
// The program is redis-server, or what POLITE_REDIS_SERVER names: any server that speaks the
// protocol, such as valkey-server. Without one the test is skipped. It fails if
// POLITE_REQUIRE_REDIS is 1.
func Start(t testing.TB, port int, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"))
	if err != nil {
		if os.Getenv("POLITE_REQUIRE_REDIS") == "1" {
			t.Fatalf("POLITE_REQUIRE_REDIS=1, but there is no server: %v", err)
		}
		t.Skip("no redis-server on this machine, and POLITE_REDIS_SERVER names none")
	}
	files := 0
	if len(args) > 0 && !strings.HasPrefix(args[0], "--") {
		files = 1
	}
	args = slices.Insert(slices.Clone(args), files, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	server := exec.Command(program, args...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			conn.Close()
			return server
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer: %v", program, err)
		}
	}
}

// FreePort returns a port of loopback that nothing listens on. It is below the ports that systems
// give to connections and to listeners without a port, so that nobody takes it while its
// server is not there.
func FreePort(t testing.TB) int {
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
