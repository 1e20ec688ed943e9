//go:build unix

package redis

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestPaceArrivals looks at the log of a server that eight processes visit: no request arrives sooner than the gap
// permits for as many, though each connection takes up to 40 ms, one process is killed and another stopped again and
// again. On a quiet machine no two requests arrive closer than the gap.
//
// A process that is stopped between its turn and its connection cannot know it. Such a request may arrive at any
// moment and is left out.
func TestPaceArrivals(t *testing.T) {
	const gap = 50 * time.Millisecond
	span, kinds := 6*time.Second, []bool{false, true}
	if os.Getenv(measureAll) == "" {
		span, kinds = 2*time.Second, []bool{true}
	}
	for _, away := range []far{{}, {10 * time.Millisecond, 5 * time.Millisecond}} {
		for _, parallel := range []int{1, 2, 4} {
			for _, trouble := range kinds {
				l := load{parallel, 30 * time.Millisecond * time.Duration(parallel), gap, away}
				t.Run(fmt.Sprintf("6/%s_trouble_%v", l.name(), trouble), func(t *testing.T) {
					l.checkArrivals(t, span, trouble)
				})
			}
		}
	}
}

// checkArrivals runs the load and compares the arrivals with the gap.
func (l load) checkArrivals(t *testing.T, span time.Duration, trouble bool) {
	o := &origin{fleet: 8, takes: l.takes, ready: make(chan struct{})}
	web := httptest.NewServer(o)
	defer web.Close()
	var fleet []*exec.Cmd
	var away atomic.Bool
	var wg sync.WaitGroup
	store := l.far.store(t, start(t))
	for i := range o.fleet {
		worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPaceWorker$", "-test.timeout=5m")
		worker.Env = append(os.Environ(), workerStore+"="+store, workerOrigin+"="+web.URL, workerSpan+"="+span.String(),
			workerGap+"="+l.gap.String(), workerParallel+"="+strconv.Itoa(l.parallel), workerDial+"=40ms")
		var out bytes.Buffer
		worker.Stdout, worker.Stderr = &out, &out
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		fleet = append(fleet, worker)
		wg.Go(func() {
			err := worker.Wait()
			if err != nil && !(trouble && i == 0) {
				t.Errorf("worker: %v\n%s", err, &out)
			}
			if bytes.Contains(out.Bytes(), []byte(storeAway)) {
				away.Store(true)
			}
		})
	}
	<-o.ready
	var stops [][2]time.Time
	if trouble {
		stops = disturb(fleet, span)
	}
	wg.Wait()
	if away.Load() {
		t.Skip(tooBusy)
	}
	stopped := func(v visit) bool {
		return v.process == strconv.Itoa(fleet[1].Process.Pid) && slices.ContainsFunc(stops, func(s [2]time.Time) bool {
			return v.turned.Before(s[1]) && v.arrived.After(s[0])
		})
	}
	slices.SortFunc(o.visits, func(a, b visit) int { return a.arrived.Compare(b.arrived) })
	o.keptGap(t, l.gap)
	shortest, left, early := time.Hour, 0, 0
	for i := 1; i < len(o.visits); i++ {
		a, b := o.visits[i-1], o.visits[i]
		if stopped(a) || stopped(b) {
			left++
			continue
		}
		apart := b.arrived.Sub(a.arrived)
		shortest = min(shortest, apart)
		if apart < l.gap-3*time.Millisecond {
			early++
			t.Logf("two requests arrive %v apart: turn and arrival of process %s at %v and %v, of process %s at %v and %v", apart,
				a.process, a.turned.Sub(o.met), a.arrived.Sub(o.met), b.process, b.turned.Sub(o.met), b.arrived.Sub(o.met))
		}
	}
	// A busy machine may deliver a request late, which shortens the gap behind it.
	if early > 0 && os.Getenv(measureAll) != "" {
		t.Errorf("%d of %d requests arrive less than %v after the one before", early, len(o.visits), l.gap)
	}
	t.Logf("%d requests, %.1f a second; shortest gap %v; %d pairs left out; %d in flight", len(o.visits),
		float64(len(o.visits))/span.Seconds(), shortest.Round(100*time.Microsecond), left, o.most)
}

// disturb kills the first process of a fleet, and stops the second again and again. It returns the times in which
// the second was stopped.
func disturb(fleet []*exec.Cmd, span time.Duration) (stops [][2]time.Time) {
	began := time.Now()
	<-time.After(span / 4)
	fleet[0].Process.Signal(syscall.SIGKILL)
	for time.Since(began) < span*3/4 {
		begin := time.Now()
		fleet[1].Process.Signal(syscall.SIGSTOP)
		<-time.After(130 * time.Millisecond)
		fleet[1].Process.Signal(syscall.SIGCONT)
		stops = append(stops, [2]time.Time{begin, time.Now()})
		<-time.After(70 * time.Millisecond)
	}
	return stops
}
