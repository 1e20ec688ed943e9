//go:build unix

package fetcher_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A process is this test binary, started for one of its tests.
type process struct {
	*exec.Cmd
	printed bytes.Buffer // until it has ended
	failed  bytes.Buffer
}

// processOrder is the environment variable that tells a process what to do.
const processOrder = "POLITE_TEST_PROCESS_ORDER"

// launch starts a process for the test of the given name, which reads its order
// with readOrder. The process ends with t.
func launch(t *testing.T, test string, order any) *process {
	t.Helper()
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$", "-test.timeout=5m")}
	p.Env = append(os.Environ(), processOrder+"="+string(text))
	p.Stdout, p.Stderr = &p.printed, &p.failed
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// readOrder reads the order of a process. Any other process skips the test.
func readOrder(t *testing.T, order any) {
	t.Helper()
	text := os.Getenv(processOrder)
	if text == "" {
		t.Skip("a process of other tests; no test by itself")
	}
	if err := json.Unmarshal([]byte(text), order); err != nil {
		t.Fatal(err)
	}
}

// end waits until the process has ended and returns what it printed.
func (p *process) end(t *testing.T) (printed string) {
	t.Helper()
	if err := p.Wait(); err != nil {
		t.Errorf("a process ended with %v\n%s%s", err, p.printed.String(), p.failed.String())
	}
	return p.printed.String()
}

// printer returns a function that prints a value as one line of JSON for the test
// to read.
func printer() func(any) {
	var mu sync.Mutex
	return func(v any) {
		line, _ := json.Marshal(v)
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s\n", line)
	}
}

// redisServer starts a redis-server that ends with the test.
func redisServer(t *testing.T) (url string, stop, start func()) {
	t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"))
	if err != nil {
		if os.Getenv("POLITE_REQUIRE_REDIS") == "1" {
			t.Fatalf("POLITE_REQUIRE_REDIS=1, but there is no server: %v", err)
		}
		t.Skip("no redis-server on this machine, and POLITE_REDIS_SERVER names none")
	}
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	var server *exec.Cmd
	stop = func() {
		server.Process.Kill()
		server.Wait()
	}
	start = func() {
		server = exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
			if conn, err := net.Dial("tcp", address); err == nil {
				conn.Close()
				return
			}
			if time.Now().After(end) {
				t.Fatal("redis-server does not answer")
			}
		}
	}
	start()
	t.Cleanup(func() { stop() })
	return "redis://" + address, stop, start
}

// freeAddress returns a loopback address that nothing listens at. Its port is below
// those that systems give to connections and to listeners without a port, so that
// nobody takes it while its server is not there.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

// proxy returns the URL of a proxy of a redis-server. After cut its connections
// stay open, but no byte passes in either direction until heal.
func proxy(t *testing.T, store string) (url string, cut, heal func()) {
	t.Helper()
	const scheme = "redis://"
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var gate sync.RWMutex
	forward := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 4<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			gate.RLock()
			to.Write(buf[:n])
			gate.RUnlock()
		}
	}
	// It ends with the listener; what it starts ends with the process at either end.
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(store, scheme))
			if err != nil {
				near.Close()
				continue
			}
			go forward(far, near)
			go forward(near, far)
		}
	}()
	return scheme + l.Addr().String(), gate.Lock, gate.Unlock
}
