//go:build unix

package redis

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

// A worker process finds in these what it is to do; without them it is no worker.
const (
	workerStore    = "POLITE_TEST_WORKER_STORE"
	workerOrigin   = "POLITE_TEST_WORKER_ORIGIN"
	workerVisits   = "POLITE_TEST_WORKER_VISITS"
	workerGap      = "POLITE_TEST_WORKER_GAP"
	workerParallel = "POLITE_TEST_WORKER_PARALLEL"
)

// TestPaceWorker is one process of a fleet: this test binary, started anew by the tests below. It makes its
// visits as fast as the pacer lets it.
func TestPaceWorker(t *testing.T) {
	store, origin := os.Getenv(workerStore), os.Getenv(workerOrigin)
	if store == "" {
		t.Skip("a process of the fleet tests; no test by itself")
	}
	visits, _ := strconv.Atoi(os.Getenv(workerVisits))
	gap, _ := time.ParseDuration(os.Getenv(workerGap))
	parallel, _ := strconv.Atoi(os.Getenv(workerParallel))
	p, err := pace.New(pace.Limits{Gap: gap, Parallel: parallel}, &pace.Options{
		Shared:   opened(t, store, slow),
		OnShared: func(err error) { t.Errorf("the store: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// The origin answers this when all are there.
	get(t, origin+"/ready", func() {})
	var wg sync.WaitGroup
	for range visits {
		wg.Go(func() {
			turn, err := p.Wait(context.Background(), origin, 0)
			if err != nil {
				t.Errorf("Wait: %v", err)
				return
			}
			defer turn.Done()
			resp := get(t, origin+"/page", turn.Sent)
			turn.Answer(resp.StatusCode, resp.Header)
		})
	}
	wg.Wait()
}

// get asks for a page and reads it to its end.
func get(t *testing.T, url string, sent func()) *http.Response {
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { sent() },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Errorf("GET %s: %v", url, err)
		return &http.Response{}
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("GET %s: %v", url, err)
	}
	return resp
}

// An origin is a server that logs what reaches it.
type origin struct {
	fleet int           // processes
	takes time.Duration // each page
	turn  int           // the request away with a Retry-After of one second; 0: none

	mu           sync.Mutex
	ready        chan struct{}
	arrived      []time.Time
	flying, most int
	waiting      int
	away         time.Time // when the 429 was sent
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ready" {
		o.meet(r.Context())
		return
	}
	o.mu.Lock()
	o.arrived = append(o.arrived, time.Now())
	o.flying++
	o.most = max(o.most, o.flying)
	turnAway := len(o.arrived) == o.turn
	o.mu.Unlock()
	<-time.After(o.takes)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying--
	if turnAway {
		o.away = time.Now()
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// meet returns when all processes have come.
func (o *origin) meet(ctx context.Context) {
	o.mu.Lock()
	if o.waiting++; o.waiting == o.fleet {
		close(o.ready)
	}
	o.mu.Unlock()
	select {
	case <-o.ready:
	case <-ctx.Done():
	}
}

// crawl sends the fleet to the origin: each of its processes makes so many visits.
func (o *origin) crawl(t *testing.T, visits int, gap time.Duration, parallel int) {
	t.Helper()
	o.ready = make(chan struct{})
	web := httptest.NewServer(o)
	defer web.Close()
	srv := start(t)
	var wg sync.WaitGroup
	for range o.fleet {
		wg.Go(func() {
			worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPaceWorker$", "-test.timeout=1m")
			worker.Env = append(os.Environ(), workerStore+"="+srv.url(), workerOrigin+"="+web.URL,
				workerVisits+"="+strconv.Itoa(visits), workerGap+"="+gap.String(), workerParallel+"="+strconv.Itoa(parallel))
			if out, err := worker.CombinedOutput(); err != nil {
				t.Errorf("worker: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if got, want := len(o.arrived), visits*o.fleet; got != want {
		t.Errorf("%d requests arrived, want %d", got, want)
	}
}

// Eight processes on one server keep one gap: at the origin no two requests are closer than it, less 5 ms
// for the way there. Where it does not hold but the machine itself was late by much of that, a request may
// have stood still between its turn and the origin's log; the run is made again, a few times.
func TestPaceGap(t *testing.T) {
	const gap, off, busy, runs = 50 * time.Millisecond, 5 * time.Millisecond, 2 * time.Millisecond, 5
	for range runs {
		o := &origin{fleet: 8}
		late := lateness(func() { o.crawl(t, 5, gap, 0) })
		slices.SortFunc(o.arrived, time.Time.Compare)
		var gaps []time.Duration
		for i := 1; i < len(o.arrived); i++ {
			gaps = append(gaps, o.arrived[i].Sub(o.arrived[i-1]))
		}
		slices.Sort(gaps)
		t.Logf("gap %v: shortest %v, median %v, longest %v; machine late by %v", gap, gaps[0], gaps[len(gaps)/2], gaps[len(gaps)-1], late)
		if gaps[0] >= gap-off {
			return
		}
		if late <= busy {
			t.Fatalf("limit %v: two requests %v apart, want at least %v", gap, gaps[0], gap-off)
		}
	}
	t.Errorf("limit %v, less %v: not kept in any of %d runs", gap, off, runs)
}

// lateness runs f and returns by how much a timer of this process was late meanwhile, at the worst.
func lateness(f func()) (worst time.Duration) {
	const tick = time.Millisecond
	done := make(chan struct{})
	go func() { // ends with f
		defer close(done)
		f()
	}()
	for {
		begun := time.Now()
		select {
		case <-done:
			return worst
		case <-time.After(tick):
			worst = max(worst, time.Since(begun)-tick)
		}
	}
}

// Eight processes together have no more requests in flight than one may have.
func TestPaceParallel(t *testing.T) {
	o := &origin{fleet: 8, takes: 10 * time.Millisecond}
	o.crawl(t, 4, 0, 3)
	if o.most > 3 || o.most < 2 {
		t.Errorf("%d requests in flight at the most, want 3", o.most)
	}
}

// A 429 to one of eight processes holds all of them for its Retry-After.
func TestPacePause(t *testing.T) {
	o := &origin{fleet: 8, turn: 10}
	o.crawl(t, 3, 20*time.Millisecond, 1)
	for i, at := range o.arrived[o.turn:] {
		if wait := at.Sub(o.away); wait < time.Second {
			t.Errorf("request %d came %v after the 429, want at least its Retry-After of 1s", o.turn+i, wait)
		}
	}
}
