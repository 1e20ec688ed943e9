//go:build unix

package redis

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// An illness makes an origin fail until a process that had the probe was killed and its successors have failed twice.
type illness struct {
	least time.Duration // it lasts at least so long
	end   func()        // called when the origin has answered well again

	failed, beside                      int // requests, and those of them beside a probe
	began, killed, next, ended, healthy time.Time
	last                                int // value of failed when the illness may end
}

// burst bounds the requests that fail before each of them is a probe. Four may be in flight when the host falls ill.
// Those of them that end well, and say so late, begin the count of failures again.
const burst = 10

// fails is the fails of an origin.
func (i *illness) fails(o *origin, process string) bool {
	switch {
	case time.Since(o.met) < time.Second:
		return false
	case i.last > 0 && i.failed >= i.last && time.Since(i.began) > i.least:
		if i.ended.IsZero() {
			i.ended = time.Now()
		}
	}
	if !i.ended.IsZero() {
		if i.healthy.IsZero() {
			i.healthy = time.Now()
			i.end()
		}
		return false
	}
	if i.failed++; i.failed == 1 {
		i.began = time.Now()
	}
	if i.failed > burst && o.flying > 1 {
		i.beside++
	}
	switch {
	case !i.killed.IsZero() && i.next.IsZero():
		i.next, i.last = time.Now(), i.failed+2
	case i.killed.IsZero() && i.failed > burst:
		if pid, err := strconv.Atoi(process); err == nil {
			i.killed = time.Now()
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return true
}

// Eight processes visit a host that fails for a while. Together they send as few requests as one process would,
// never a second one beside the probe, and use the host again after its recovery. A process that is killed with the
// probe delays the next one by the life of its ticket.
func TestPaceHealth(t *testing.T) {
	const rest, longest = 100 * time.Millisecond, time.Second
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ill := &illness{end: end}
	if os.Getenv(measureAll) != "" {
		ill.least = 25 * time.Second
	}
	o := &origin{fleet: 8, takes: 30 * time.Millisecond, ready: make(chan struct{})}
	o.fails = func(_ int, process string) bool { return ill.fails(o, process) }
	web := httptest.NewServer(o)
	defer web.Close()
	store := start(t).url()
	var wg sync.WaitGroup
	dead, away := 0, false
	for range o.fleet {
		wg.Go(func() {
			worker := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPaceWorker$", "-test.timeout=5m")
			worker.Env = append(os.Environ(), workerStore+"="+store, workerOrigin+"="+web.URL, workerRest+"="+rest.String(),
				workerSpan+"=2m", workerGap+"=20ms", workerParallel+"=4")
			out, err := worker.CombinedOutput()
			o.mu.Lock()
			defer o.mu.Unlock()
			if err != nil && ctx.Err() == nil {
				if dead++; dead > 1 {
					t.Errorf("worker: %v\n%s", err, out)
				}
			}
			away = away || bytes.Contains(out, []byte(storeAway))
		})
	}
	wg.Wait()
	if away {
		t.Skip(tooBusy)
	}
	if ill.healthy.IsZero() {
		t.Fatalf("6: the host is not used again: %+v", ill)
	}
	lasted := ill.ended.Sub(ill.began)
	t.Logf("%d requests failed in %v; the next probe came %v after the kill", ill.failed, lasted, ill.next.Sub(ill.killed))
	// Four rests pass until the longest. A busy machine makes every rest longer, and none shorter.
	if most := burst + 4 + int(lasted/longest) + 1; ill.failed > most || ill.beside > 0 {
		t.Errorf("6: %d requests in %v, %d of them beside a probe; want at most %d, and none", ill.failed, lasted, ill.beside, most)
	}
	// The life counts from before the request arrives, and a busy machine may be late on either side.
	if gap := ill.next.Sub(ill.killed); gap < 2*time.Second || gap > time.Minute {
		t.Errorf("6: the next probe came %v after its holder was killed, want about 5s", gap)
	}
}
