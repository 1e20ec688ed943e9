//go:build unix

package redis

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Eight processes visit a host that fails for a while. Together they send as few requests as one process would,
// never a second one beside the probe, and use the host again within one rest of its recovery. A process that is
// killed with the probe delays the next one by the life of its ticket.
func TestPaceHealth(t *testing.T) {
	const rest, longest, warmup = 100 * time.Millisecond, time.Second, time.Second
	sick, after := 10*time.Second, 4*time.Second
	if os.Getenv(measureAll) != "" {
		sick = 25 * time.Second
	}
	var began, recovered, killed, next time.Time
	var failed, beside int
	o := &origin{fleet: 8, takes: 30 * time.Millisecond, ready: make(chan struct{})}
	o.fails = func(n int, process string) bool { // with o.mu held
		since := time.Since(o.met)
		if since < warmup {
			return false
		}
		if since > warmup+sick {
			if recovered.IsZero() {
				recovered = time.Now()
			}
			return false
		}
		if failed++; failed == 1 {
			began = time.Now()
		}
		if failed > 6 && o.flying > 1 {
			beside++
		}
		switch {
		case !killed.IsZero() && next.IsZero():
			next = time.Now()
		case killed.IsZero() && failed > 6:
			pid, err := strconv.Atoi(process)
			if err == nil {
				killed = time.Now()
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return true
	}
	web := httptest.NewServer(o)
	defer web.Close()
	store := start(t).url()
	var wg sync.WaitGroup
	dead, away := 0, false
	for range o.fleet {
		wg.Go(func() {
			worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPaceWorker$", "-test.timeout=2m")
			worker.Env = append(os.Environ(), workerStore+"="+store, workerOrigin+"="+web.URL, workerRest+"="+rest.String(),
				workerSpan+"="+(warmup+sick+after).String(), workerGap+"=20ms", workerParallel+"=4")
			out, err := worker.CombinedOutput()
			o.mu.Lock()
			defer o.mu.Unlock()
			if err != nil {
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
	t.Logf("%d requests failed; the next probe came %v after the kill; in use again after %v", failed, next.Sub(killed), recovered.Sub(began.Add(sick)))
	// The first few may be in flight together, and some rests pass until the longest.
	if most := 10 + int(sick/longest); failed > most || beside > 0 {
		t.Errorf("6: %d requests in %v, %d of them beside a probe; want at most %d, and none", failed, sick, beside, most)
	}
	if gap := next.Sub(killed); killed.IsZero() || gap < 4*time.Second || gap > 9*time.Second {
		t.Errorf("6: the next probe came %v after its holder was killed, want about 5s", gap)
	}
	if late := recovered.Sub(o.met.Add(warmup + sick)); recovered.IsZero() || late > longest+2*time.Second {
		t.Errorf("6: in use again %v after the recovery, want at most the longest rest, %v", late, longest)
	}
}
