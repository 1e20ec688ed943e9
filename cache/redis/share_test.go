//go:build unix

package redis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A far proxy passes bytes to a server that then seems to be some way off: each byte arrives after the delay
// and a random part of the jitter.
type far struct {
	delay, jitter time.Duration
}

// store returns the URL of a server at this distance.
func (f far) store(t *testing.T, srv *server) string {
	if f.delay == 0 {
		return srv.url()
	}
	return "redis://" + f.listen(t, fmt.Sprintf("127.0.0.1:%d", srv.Port))
}

// listen returns the address of a proxy in front of the server.
func (f far) listen(t *testing.T, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // ends when the listener is closed
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			go f.pass(upstream, client)
			go f.pass(client, upstream)
		}
	}()
	return l.Addr().String()
}

// pass copies one direction until either side closes.
func (f far) pass(to, from net.Conn) {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	chunks := make(chan chunk, 4096)
	go func() { // ends when from is closed
		defer close(chunks)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if n > 0 {
				chunks <- chunk{b[:n], time.Now().Add(f.delay + rand.N(f.jitter+1))}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		<-time.After(time.Until(c.due))
		if _, err := to.Write(c.bytes); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
}

// A load is what eight processes ask of one origin.
type load struct {
	parallel int
	takes    time.Duration // each request
	gap      time.Duration
	far      far // where the Redis server is
}

func (l load) name() string {
	return fmt.Sprintf("parallel_%d_takes_%v_gap_%v_redis_%v", l.parallel, l.takes, l.gap, 2*l.far.delay)
}

// permitted is the number of starts that the limits permit in a second.
func (l load) permitted() float64 {
	rate := float64(l.parallel) / l.takes.Seconds()
	if l.gap > 0 {
		rate = min(rate, 1/l.gap.Seconds())
	}
	return rate
}

// measure runs the load for a while and returns the starts in a second, the shortest gap between two arrivals
// and the most requests in flight.
func (l load) measure(t *testing.T, span time.Duration) (rate float64, shortest time.Duration, most int) {
	// Towards the end of its time a worker is refused turns that would come too late.
	const warmup, cooldown = time.Second, 2 * time.Second
	o := &origin{fleet: 8, takes: l.takes, ready: make(chan struct{})}
	web := httptest.NewServer(o)
	defer web.Close()
	store := l.far.store(t, start(t))
	var away atomic.Bool
	var wg sync.WaitGroup
	for range o.fleet {
		wg.Go(func() {
			worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPaceWorker$", "-test.timeout=5m")
			worker.Env = append(os.Environ(), workerStore+"="+store, workerOrigin+"="+web.URL,
				workerSpan+"="+(warmup+span+cooldown).String(), workerGap+"="+l.gap.String(), workerParallel+"="+strconv.Itoa(l.parallel))
			out, err := worker.CombinedOutput()
			if err != nil {
				t.Errorf("worker: %v\n%s", err, out)
			}
			if bytes.Contains(out, []byte(storeAway)) {
				away.Store(true)
			}
		})
	}
	wg.Wait()
	if away.Load() {
		t.Skip(tooBusy)
	}
	if len(o.arrived) == 0 {
		t.Error("no request arrived")
	}
	o.keptGap(t, l.gap)
	begin, end := o.met.Add(warmup), o.met.Add(warmup+span)
	shortest = time.Hour
	n := 0
	for i, at := range o.arrived {
		if i > 0 {
			shortest = min(shortest, at.Sub(o.arrived[i-1]))
		}
		if at.After(begin) && at.Before(end) {
			n++
		}
	}
	return float64(n) / span.Seconds(), shortest, o.most
}

// measureAll makes TestPaceShare measure all loads and require the rate, as other tests require what holds on a quiet
// machine alone. Otherwise it runs a few loads, and only the limits are required.
const measureAll = "POLITE_TEST_SHARE"

// A fleet gets nearly all that its limits permit, with Redis near and far, and never more.
func TestPaceShare(t *testing.T) {
	var loads []load
	for _, away := range []far{{}, {10 * time.Millisecond, 5 * time.Millisecond}} {
		for _, gap := range []time.Duration{0, 50 * time.Millisecond} {
			for _, parallel := range []int{1, 2, 4} {
				for _, takes := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} {
					loads = append(loads, load{parallel, takes, gap, away})
				}
			}
		}
	}
	want, span := 0.9, 4*time.Second
	if os.Getenv(measureAll) == "" {
		want, span = 0, 2*time.Second
		loads = []load{loads[0], loads[12], loads[18]}
	}
	for _, l := range loads {
		t.Run("6/"+l.name(), func(t *testing.T) {
			rate, shortest, most := l.measure(t, span)
			share := rate / l.permitted()
			t.Logf("%.1f of %.1f requests a second, %.0f %%; shortest gap %v; %d in flight", rate, l.permitted(), 100*share, shortest.Round(100*time.Microsecond), most)
			if most > l.parallel {
				t.Errorf("%d requests in flight, want at most %d", most, l.parallel)
			}
			if share < want {
				t.Errorf("share of the permitted rate %.2f, want at least %.2f", share, want)
			}
		})
	}
}
