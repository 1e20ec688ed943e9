//go:build unix

package redis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
)

// A worker process finds in these what it is to do; without them it is no worker.
const (
	workerStore    = "POLITE_TEST_WORKER_STORE"
	workerOrigin   = "POLITE_TEST_WORKER_ORIGIN"
	workerVisits   = "POLITE_TEST_WORKER_VISITS"
	workerGap      = "POLITE_TEST_WORKER_GAP"
	workerParallel = "POLITE_TEST_WORKER_PARALLEL"
	workerSpan     = "POLITE_TEST_WORKER_SPAN" // instead of visits: ask for this long
	workerRest     = "POLITE_TEST_WORKER_REST" // Limits.Rest; the longest is ten times as long
	workerDial     = "POLITE_TEST_WORKER_DIAL" // each request makes a connection, in a time up to this
)

// turnHeader says when the request got its turn, in microseconds.
const turnHeader = "Turn"

// storeAway is what a worker says when the store has not answered in time.
const storeAway = "the store is away:"

const tooBusy = "this machine is too busy for its own redis-server, which took more than a second to answer"

// TestPaceWorker is one process of a fleet: this test binary, started again by the tests below. It makes its
// visits as fast as the pacer lets it.
func TestPaceWorker(t *testing.T) {
	store, origin := os.Getenv(workerStore), os.Getenv(workerOrigin)
	if store == "" {
		t.Skip("a process of the fleet tests; no test by itself")
	}
	visits, _ := strconv.Atoi(os.Getenv(workerVisits))
	gap, _ := time.ParseDuration(os.Getenv(workerGap))
	parallel, _ := strconv.Atoi(os.Getenv(workerParallel))
	rest, _ := time.ParseDuration(os.Getenv(workerRest))
	p, err := pace.New(pace.Limits{Gap: gap, Parallel: parallel, Rest: rest, RestMax: 10 * rest}, &pace.Options{
		Shared:   opened(t, store, slow),
		OnShared: func(err error) { fmt.Println(storeAway, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	client := http.DefaultClient
	if dial, _ := time.ParseDuration(os.Getenv(workerDial)); dial > 0 {
		client = slowClient(dial)
	}
	visit := func(ctx context.Context) error {
		turn, err := p.Wait(ctx, origin, 0)
		if err != nil {
			return err
		}
		defer turn.Done()
		resp := get(t, client, origin+"/page", turn.Sent)
		turn.Answer(resp.StatusCode, resp.Header)
		return nil
	}
	// The origin answers this when all are there.
	get(t, http.DefaultClient, origin+"/ready", func() {})
	var wg sync.WaitGroup
	for range visits {
		wg.Go(func() {
			if err := visit(context.Background()); err != nil {
				t.Errorf("Wait: %v", err)
			}
		})
	}
	if span, _ := time.ParseDuration(os.Getenv(workerSpan)); span > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), span)
		defer cancel()
		for range 8 {
			wg.Go(func() {
				for visit(ctx) == nil {
				}
			})
		}
	}
	wg.Wait()
}

// slowClient returns a client that makes a connection for each request, in a random time up to most.
func slowClient(most time.Duration) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			<-time.After(rand.N(most))
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
}

// get asks for a page and reads it to its end.
func get(t *testing.T, client *http.Client, url string, sent func()) *http.Response {
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { sent() },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(turnHeader, strconv.FormatInt(time.Now().UnixMicro(), 10))
	req.Header.Set("User-Agent", strconv.Itoa(os.Getpid()))
	resp, err := client.Do(req)
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

// A visit is a request as its server sees it.
type visit struct {
	arrived time.Time
	turned  time.Time // when it got its turn
	process string
}

// An origin is a server that logs what reaches it.
type origin struct {
	fleet int                              // processes
	takes time.Duration                    // each page
	turn  int                              // the request away with a Retry-After of one second; 0: none
	fails func(n int, process string) bool // whether request n gets a 500

	mu           sync.Mutex
	ready        chan struct{}
	met          time.Time // when all processes were there
	arrived      []time.Time
	visits       []visit
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
	now := time.Now()
	o.arrived = append(o.arrived, now)
	turned, _ := strconv.ParseInt(r.Header.Get(turnHeader), 10, 64)
	o.visits = append(o.visits, visit{now, time.UnixMicro(turned), r.UserAgent()})
	o.flying++
	o.most = max(o.most, o.flying)
	turnAway := len(o.arrived) == o.turn
	fails := o.fails != nil && o.fails(len(o.arrived), r.UserAgent())
	o.mu.Unlock()
	<-time.After(o.takes)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying--
	if fails {
		w.WriteHeader(http.StatusInternalServerError)
	}
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
		o.met = time.Now()
		close(o.ready)
	}
	o.mu.Unlock()
	select {
	case <-o.ready:
	case <-ctx.Done():
	}
}

// clockError is how far a process can be wrong about the store's clock: by half of a call, and one of more than a
// second counts as failed.
const clockError = time.Second / 2

// keptGap fails the test if a request arrived sooner than the gap permits for as many. The store grants starts that
// are at least the gap apart, none before all processes are there, and no request arrives before its start, but for
// the error of the clock. So a machine that is late in anything makes no request early.
func (o *origin) keptGap(t *testing.T, gap time.Duration) {
	t.Helper()
	slices.SortFunc(o.arrived, time.Time.Compare)
	for i, at := range o.arrived {
		if got, want := at.Sub(o.met), time.Duration(i)*gap-clockError; got < want {
			t.Errorf("request %d of %d processes, gap %v, came %v after the start, want at least %v", i, o.fleet, gap, got, want)
			return
		}
	}
}

// crawl sends the fleet to the origin: each of its processes makes so many visits.
func (o *origin) crawl(t *testing.T, visits int, gap time.Duration, parallel int) {
	t.Helper()
	o.ready = make(chan struct{})
	web := httptest.NewServer(o)
	defer web.Close()
	srv := start(t)
	var away atomic.Bool
	var wg sync.WaitGroup
	for range o.fleet {
		wg.Go(func() {
			worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPaceWorker$", "-test.timeout=5m")
			worker.Env = append(os.Environ(), workerStore+"="+srv.url(), workerOrigin+"="+web.URL,
				workerVisits+"="+strconv.Itoa(visits), workerGap+"="+gap.String(), workerParallel+"="+strconv.Itoa(parallel))
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
	if got, want := len(o.arrived), visits*o.fleet; got != want {
		t.Errorf("%d requests arrived, want %d", got, want)
	}
}

// Eight processes on one server keep one gap between all their requests.
func TestPaceGap(t *testing.T) {
	const gap, visits = 50 * time.Millisecond, 5
	o := &origin{fleet: 8}
	o.crawl(t, visits, gap, 0)
	o.keptGap(t, gap)
}

// Eight processes together have no more requests in flight than one may have.
func TestPaceParallel(t *testing.T) {
	o := &origin{fleet: 8, takes: 10 * time.Millisecond}
	o.crawl(t, 4, 0, 3)
	if o.most > 3 {
		t.Errorf("%d requests in flight at the most, want 3", o.most)
	}
}

// A 429 to one of eight processes holds all of them for its Retry-After.
func TestPacePause(t *testing.T) {
	o := &origin{fleet: 8, turn: 10}
	o.crawl(t, 3, 20*time.Millisecond, 1)
	for i, at := range o.arrived[o.turn:] {
		if wait := at.Sub(o.away); wait < time.Second-clockError {
			t.Errorf("request %d came %v after the 429, want at least its Retry-After of 1s", o.turn+i, wait)
		}
	}
}

// A Store keeps every promise of package pace.
func TestPaceStore(t *testing.T) {
	srv := start(t)
	pacetest.Run(t, func(t *testing.T) pace.Store {
		srv.do("FLUSHALL")
		return opened(t, srv.url(), slow)
	})
}
