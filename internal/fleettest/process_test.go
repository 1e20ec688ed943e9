//go:build unix

package fleettest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
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
	server := redistest.Start(t)
	return server.URL(), server.Kill, server.Run
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

// newTransport returns a Transport that does not pace unless o does.
func newTransport(t *testing.T, o fetcher.Options) *fetcher.Transport {
	t.Helper()
	if o.Pace == nil {
		o.Pace = pace.Unlimited()
	}
	tr, err := fetcher.New("ExampleBot/0.1", &o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func must(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// await returns when ok returns true.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what was waited for has not happened in two minutes")
		}
	}
}
