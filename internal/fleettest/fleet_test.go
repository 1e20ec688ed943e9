//go:build unix

package fleettest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	nethttptest "net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// The fleet is this test binary, started once for each worker, on a redis-server
// of the test's own. What an origin on loopback sees is all that counts. These
// tests run by the real clock of a machine that may be busy: they require that
// nothing happens too early, and never that anything happens soon. A request that
// is late may come close to the next one. But none comes before its turn, and the
// nth turn comes n gaps after the first, however late a process runs.

// An order is what a worker has to do.
type order struct {
	Name          string
	Store, Origin string
	Gap           time.Duration
	Parallel      int
	Pages         []string // requested at once
	Refresh       bool     // fetches robots.txt too, due or not
}

// byWorker is the header that names the worker of a request.
const byWorker = "Polite-Test-Worker"

// A named is the base of the worker with this name.
type named string

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(byWorker, string(n))
	return http.DefaultTransport.RoundTrip(req)
}

// TestFleetWorker is one process of a fleet.
func TestFleetWorker(t *testing.T) {
	var o order
	readOrder(t, &o)
	store, err := redis.Open(o.Store, &redis.Options{Delay: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	say := printer()
	tr := newTransport(t, fetcher.Options{
		Store: store, Base: named(o.Name), Pace: &pace.Limits{Gap: o.Gap, Parallel: o.Parallel},
		Trace: &fetcher.Trace{Fleet: func(err error) { say(fmt.Sprint("fleet: ", err)) }},
	})
	var wg sync.WaitGroup
	for _, page := range o.Pages {
		wg.Go(func() {
			resp, err := (&http.Client{Transport: tr}).Get(o.Origin + page)
			if err != nil {
				t.Errorf("GET %s: %v", page, err)
				return
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Errorf("GET %s: %v", page, err)
			}
		})
	}
	if o.Refresh {
		if _, err := tr.Refresh(context.Background(), must(o.Origin)); err != nil {
			t.Errorf("Refresh: %v", err)
		}
	}
	wg.Wait()
	if s := tr.Stats().Pace; s.InFlight != 0 || s.Waiting != 0 || s.Unshared != 0 {
		say(fmt.Sprintf("fleet: %+v", s))
	}
}

// An arrival is one request in the origin's log.
type arrival struct {
	at           time.Time
	path, worker string
}

// An origin logs the requests that arrive. Its robots.txt and one page are
// redirects, and one page is answered 429.
type origin struct {
	busy int // the first page from this arrival on is, with a Retry-After of a second; 0: none
	hold chan struct{}

	mu           sync.Mutex
	log          []arrival
	flying, most int
	turned       int       // the arrival it was
	away         time.Time // when its answer left, at the earliest
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.log = append(o.log, arrival{time.Now(), r.URL.Path, r.Header.Get(byWorker)})
	o.flying++
	o.most = max(o.most, o.flying)
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.flying--
	}()
	n, isPage := len(o.log), r.URL.Path != "/robots.txt" && r.URL.Path != "/rules"
	busy := o.busy > 0 && n >= o.busy && o.turned == 0 && isPage
	if busy {
		o.turned, o.away = n, time.Now()
	}
	o.mu.Unlock()
	switch {
	case busy:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case r.URL.Path == "/robots.txt":
		http.Redirect(w, r, "/rules", http.StatusFound)
	case r.URL.Path == "/rules":
		io.WriteString(w, "User-agent: *\nDisallow: /private\n")
	case r.URL.Path == "/moved":
		http.Redirect(w, r, "/here", http.StatusFound)
	case r.URL.Path == "/hold":
		select { // until the worker is gone
		case <-r.Context().Done():
		case <-o.hold:
		}
	default:
		io.WriteString(w, "a page")
	}
}

// seen returns a copy of the log.
func (o *origin) seen() []arrival {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.log)
}

// trouble returns what a worker said of trouble with the store, when it has ended.
// The other lines are from package testing.
func trouble(t *testing.T, p *process) (all []string) {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(p.end(t))); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, `"`) {
			all = append(all, line)
		}
	}
	return all
}

// keptGap fails the test if, counted from since, the nth request came sooner than n gaps.
func keptGap(t *testing.T, log []arrival, since time.Time, gap time.Duration) {
	t.Helper()
	for i, a := range log {
		if got, want := a.at.Sub(since), time.Duration(i)*gap; got < want {
			t.Errorf("request %d, %s of worker %s, came after %v; want at least %v, a gap of %v for each", i, a.path, a.worker, got, want, gap)
			return
		}
	}
}

// clockError is how far a process may be wrong about the store's clock: by half of a
// call, and one of more than a second counts as failed.
const clockError = time.Second / 2

// Eight processes request pages, redirects and robots.txt from one host. None arrives
// before the end of a Retry-After, and behind it the gap lies between any two.
func TestFleetKeepsOnePace(t *testing.T) {
	const gap = 60 * time.Millisecond
	workers := 8
	o := &origin{busy: 12}
	web := nethttptest.NewServer(o)
	defer web.Close()
	store, _, _ := redisServer(t)
	var fleet []*process
	for i := range workers {
		fleet = append(fleet, launch(t, "TestFleetWorker", order{
			Name: strconv.Itoa(i), Store: store, Origin: web.URL, Gap: gap, Parallel: 1,
			Pages: []string{"/1", "/2", "/moved"}, Refresh: i%2 == 0,
		}))
	}
	for _, w := range fleet {
		if said := trouble(t, w); len(said) > 0 {
			t.Skipf("this machine is too busy for its own redis-server: %v", said)
		}
	}
	log := o.seen()
	counts := map[string]int{}
	for _, a := range log {
		counts[a.path]++
	}
	if counts["/1"] != workers || counts["/2"] != workers || counts["/moved"] != workers || counts["/robots.txt"] == 0 || counts["/rules"] == 0 || o.turned == 0 {
		t.Fatalf("arrived %v, number %d turned away; want %d of each page, robots.txt and what it leads to, and one turned away", counts, o.turned, workers)
	}
	keptGap(t, log[o.turned:], o.away.Add(time.Second-clockError), gap) // its Retry-After is a second
	if o.most != 1 {
		t.Errorf("%d requests in flight at once, want 1", o.most)
	}
	t.Logf("%d requests of %d processes: %v; %d behind the 429, in %v", len(log), workers, counts, len(log)-o.turned, log[len(log)-1].at.Sub(o.away))
}

// One process sends the requests of twenty callers to one host. At the origin they
// arrive in order, one at a time, and no sooner than the gap permits.
func TestOneProcessKeepsOnePace(t *testing.T) {
	const callers, gap = 20, 20 * time.Millisecond
	o := &origin{hold: make(chan struct{})}
	web := nethttptest.NewServer(o)
	defer web.Close()
	tr := newTransport(t, fetcher.Options{Base: named("alone"), Pace: &pace.Limits{Gap: gap, Parallel: 1}})
	var wg sync.WaitGroup
	get := func(page string) {
		wg.Go(func() {
			resp, err := (&http.Client{Transport: tr}).Get(web.URL + page)
			if err != nil {
				t.Errorf("GET %s: %v", page, err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		})
	}
	get("/hold")
	await(t, func() bool { return len(o.seen()) == 3 }) // behind robots.txt and what it leads to
	want := []string{"/robots.txt", "/rules", "/hold"}
	for i := range callers {
		page := "/" + strconv.Itoa(i)
		get(page)
		want = append(want, page)
		await(t, func() bool { return tr.Stats().Pace.Waiting == i+1 })
	}
	released := time.Now()
	close(o.hold)
	wg.Wait()
	log := o.seen()
	var got []string
	for _, a := range log {
		got = append(got, a.path)
	}
	if !slices.Equal(got, want) || o.most != 1 {
		t.Errorf("arrived %v, %d at once at the most; want %v, one at a time", got, o.most, want)
	}
	keptGap(t, log[3:], released, gap)
}

// A worker that is killed frees its place among the requests in flight.
func TestFleetWorkerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the half minute after which a worker counts as dead")
	}
	t.Parallel()
	o := &origin{hold: make(chan struct{})}
	web := nethttptest.NewServer(o)
	defer web.Close()
	defer close(o.hold)
	store, _, _ := redisServer(t)
	dies := launch(t, "TestFleetWorker", order{Name: "dies", Store: store, Origin: web.URL, Parallel: 1, Pages: []string{"/hold"}})
	await(t, func() bool { return slices.ContainsFunc(o.seen(), func(a arrival) bool { return a.path == "/hold" }) })
	lives := launch(t, "TestFleetWorker", order{Name: "lives", Store: store, Origin: web.URL, Parallel: 1, Pages: []string{"/1"}})
	killed := time.Now()
	dies.Process.Kill()
	dies.Wait()
	if said := trouble(t, lives); len(said) > 0 {
		t.Skipf("this machine is too busy for its own redis-server: %v", said)
	}
	log := o.seen()
	last := log[len(log)-1]
	if last.path != "/1" || last.worker != "lives" || last.at.Before(killed) {
		t.Errorf("the last to arrive is %+v, want the page of the worker that lives, after the other was killed", last)
	}
	t.Logf("the place was taken again %v after the kill", last.at.Sub(killed))
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

// While Redis is away a process keeps its own gap and reports it. When Redis is
// back the process shares its pace again.
func TestFleetWithoutRedis(t *testing.T) {
	const gap = 30 * time.Millisecond
	o := &origin{}
	web := nethttptest.NewServer(o)
	defer web.Close()
	url, stop, start := redisServer(t)
	store, err := redis.Open(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var mu sync.Mutex
	var reported []error
	began := time.Now()
	tr := newTransport(t, fetcher.Options{Store: store, Base: named("alone"), Pace: &pace.Limits{Gap: gap}, Trace: &fetcher.Trace{Fleet: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err)
	}}})
	heard := func(want error) bool {
		resp, err := (&http.Client{Transport: tr}).Get(web.URL + "/1")
		if err != nil {
			t.Fatalf("GET: %v; want a page whatever becomes of the store", err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		mu.Lock()
		defer mu.Unlock()
		return len(reported) > 0 && (reported[len(reported)-1] == nil) == (want == nil)
	}
	heard(nil)
	stop()
	await(t, func() bool { return heard(errors.New("away")) })
	alone := tr.Stats().Pace.Unshared
	for range 3 {
		heard(nil)
	}
	if got := tr.Stats().Pace.Unshared; alone == 0 || got != alone+3 {
		t.Errorf("%d and then %d turns without Redis, want 3 more", alone, got)
	}
	start()
	await(t, func() bool { return heard(nil) })
	keptGap(t, o.seen(), began.Add(-clockError), gap)
}
