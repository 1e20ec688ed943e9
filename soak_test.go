package polite_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/disk"
	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// A siteKind says what the faults of a site have in common, and so what holds at all times.
type siteKind uint8

const (
	ruled siteKind = iota // its robots.txt is soakRules, or the site is down
	free                  // it has no rules, or the site is down
	dead                  // it is always down
)

const (
	soakHub      = "http://93.184.219.1"
	soakProbe    = "https://probe.example"
	soakProcs    = 8
	soakCrowd    = 500             // small sites that never change
	soakLong     = 30              // so many rounds fill the caches and meet every fault
	soakDeadline = time.Minute     // no call takes longer
	soakRest     = 5 * time.Second // after a round, beyond the time of a fetch, until nothing is left of it
)

var soakPaths = []string{"/open", "/closed"}

// may reports whether a verdict on a path can be right, whatever the present fault.
func (k siteKind) may(path string, v policy.Verdict) bool {
	switch {
	case v == policy.Defer:
		return true
	case k == dead:
		return false
	case k == ruled && path == "/closed":
		return v == policy.Disallow
	}
	return v == policy.Allow
}

// suits reports whether a site of this kind can have a fault with this meaning.
func (k siteKind) suits(m meaning) bool {
	switch m {
	case hasRules:
		return k == ruled
	case hasNone, isUnclear:
		return k == free
	}
	return true
}

// want returns the only verdict on a path that is right after a fetch under the fault; ok is
// false if more than one can be.
func (f soakFault) want(path string) (v policy.Verdict, ok bool) {
	switch {
	case f.means == hasRules && path == "/closed":
		return policy.Disallow, true
	case f.means == hasRules || f.means == hasNone:
		return policy.Allow, true
	}
	return 0, false
}

// A soakProcess is one crawler of the fleet. It is reopened from time to time.
type soakProcess struct {
	profile *policy.Profile
	file    string      // its own disk store; "" if it has none
	shared  cache.Store // store of the fleet; nil if it has none
	base    *http.Transport
	timeout time.Duration // of a fetch
	watched bool          // its base is not known to be an *http.Transport

	own *disk.Store
	tr  atomic.Pointer[fetcher.Transport]
}

// open begins the process, again if it has begun before.
func (p *soakProcess) open(t *testing.T) {
	p.close(t)
	o := &fetcher.Options{
		Profile: p.profile, Store: p.shared, Base: p.base, MaxBytes: 64 << 10, Timeout: p.timeout,
		Pace: &pace.Limits{Gap: 2 * time.Millisecond, Parallel: 4, MaxWait: 2 * time.Second, Pause: 200 * time.Millisecond,
			Rest: 20 * time.Millisecond, RestMax: 200 * time.Millisecond},
	}
	if p.file != "" {
		var err error
		if p.own, err = disk.Open(p.file, nil); err != nil {
			t.Fatal(err)
		}
		o.Store = p.own
	}
	if p.watched {
		o.Base = &oneAtATime{RoundTripper: p.base, t: t, flying: map[string]context.Context{}}
	}
	tr, err := fetcher.New(agent, o)
	if err != nil {
		t.Fatal(err)
	}
	p.tr.Store(tr)
}

func (p *soakProcess) close(t *testing.T) {
	if tr := p.tr.Load(); tr != nil {
		tr.CloseIdleConnections()
	}
	if p.own != nil {
		if err := p.own.Close(); err != nil {
			t.Errorf("closing %s: %v", p.file, err)
		}
	}
}

// oneAtATime is a base that fails the test if a host gets two requests for its robots.txt at once.
type oneAtATime struct {
	http.RoundTripper
	t      *testing.T
	mu     sync.Mutex
	flying map[string]context.Context // of the request for robots.txt under way, by host
}

func (o *oneAtATime) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/robots.txt" {
		o.mu.Lock()
		if before := o.flying[r.URL.Host]; before != nil && before.Err() == nil {
			o.t.Errorf("%s: got two requests for robots.txt at once", r.URL.Host)
		}
		o.flying[r.URL.Host] = r.Context()
		o.mu.Unlock()
		defer func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.flying[r.URL.Host] == r.Context() {
				delete(o.flying, r.URL.Host)
			}
		}()
	}
	return o.RoundTripper.RoundTrip(r)
}

// A soakSize says how much a soak does.
type soakSize struct {
	sites   int
	workers int
	real    bool          // in real time, so that a machine can be too busy to answer within timeout
	think   time.Duration // mean time between two calls of a worker
	stay    time.Duration // mean time that a fault stays
	timeout time.Duration // of a fetch
	whole   time.Duration // of the soak
	length  time.Duration // of a round, without the time to finish it
}

// A soak is a crawl that meets every fault for as long as it is told to.
type soak struct {
	t       *testing.T
	began   time.Time
	web     *httptest.Web
	visited []*soakSite
	procs   []*soakProcess
	soakSize

	calls, cancelled, decided, paced, slow atomic.Int64
	draining                               atomic.Int64 // closed Transports that may still have fetches
	dumped                                 sync.Once

	mu    sync.Mutex
	all   []soakFault    // every fault, each made once: some have a body of a megabyte
	decks [3][]soakFault // by siteKind: the faults to come
	exact map[string]int // by fault: how many decisions were checked right after a fetch under it

	lagMu   sync.Mutex
	probing time.Time // when the present plain request began
	lagged  time.Time // when a slow plain request last ended
}

func newSoak(t *testing.T, size soakSize, shared func() cache.Store) *soak {
	s := &soak{t: t, began: time.Now(), web: httptest.New(t), soakSize: size, all: soakFaults(), exact: map[string]int{}}
	s.web.Site(soakHub).Path("/rules", httptest.Text(soakRules))
	s.web.Site(soakProbe).Path("/", httptest.Text("page"))
	s.web.Site("http://*.crowd.example").Path("/*", httptest.Text("page")).Robots(httptest.Text(soakRules + strings.Repeat("# a long file\n", 40)))
	for n := range s.sites {
		s.visited = append(s.visited, newSoakSite(t, s.web, n, siteKind(n/3%3)))
	}
	dir := t.TempDir()
	var filled sync.WaitGroup
	for n := range soakProcs {
		name := []string{"rfc9309", "rfc9309", "rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"}[n]
		profile, _ := policy.ByName(name)
		p := &soakProcess{profile: profile, base: s.web.Transport(), timeout: s.timeout, watched: n%2 == 1}
		switch {
		case n < 2 || n == 4:
			p.shared = shared()
		case n == 2 || n == 3 || n == 7:
			p.file = filepath.Join(dir, fmt.Sprintf("%d.db", n))
		}
		p.open(t)
		s.procs = append(s.procs, p)
		filled.Go(func() { s.fill(p) })
	}
	filled.Wait()
	return s
}

// fill makes a process that begins visit all small sites, in real time. Otherwise its memory, and what net/http keeps
// for each host, would grow for an hour, and a leak could not be seen beside that.
func (s *soak) fill(p *soakProcess) {
	for n := 0; s.real && n < soakCrowd; n++ {
		s.bounded("a call for a small site", soakDeadline, func(ctx context.Context) { s.visitCrowd(ctx, p.tr.Load(), n, "/open") })
	}
}

// drain ends the fetches that callers of a closed Transport have left behind. Until then they can put what they saw of
// an earlier fault into the store of the fleet, so that nothing is checked right after a change that began before.
func (s *soak) drain(tr *fetcher.Transport) {
	var all sync.WaitGroup
	for _, site := range s.visited {
		all.Go(func() {
			for !site.enter() {
				time.Sleep(10 * time.Millisecond)
			}
			defer site.leave()
			s.bounded("Refresh of "+site.Origin(), soakDeadline, func(ctx context.Context) {
				for ctx.Err() == nil { // a Refresh without a turn joins no fetch
					if d, err := tr.Refresh(ctx, mustURL(site.Origin())); err == nil && !isPaced(d) {
						return
					}
					pause(ctx, s.timeout/20)
				}
			})
		})
	}
	all.Wait()
}

// bounded calls f with a context, and fails the test if f takes longer than soakDeadline. On a machine that was too
// busy in this time, f has as much time again.
func (s *soak) bounded(what string, timeout time.Duration, f func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() { // ends with f
		for began := time.Now(); ; began = time.Now() {
			select {
			case <-done:
				return
			case <-time.After(2 * soakDeadline):
			}
			if !s.lags(began) {
				s.t.Errorf("%s does not return", what)
				s.dump()
				return
			}
		}
	}()
	s.calls.Add(1)
	f(ctx)
}

// probe makes one plain request after another, over a connection of its own, to see what the machine gives to a fetch.
// Nothing of the crawler is in its way.
func (s *soak) probe(ctx context.Context) {
	base := s.web.Transport()
	base.DisableKeepAlives = true
	for ctx.Err() == nil {
		s.beginProbe()
		resp, err := (&http.Client{Transport: base}).Get(soakProbe + "/")
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if late := s.endProbe(); err != nil && !late {
			s.t.Errorf("a plain request on a machine that is not busy: %v", err)
		}
		pause(ctx, s.timeout/20)
	}
}

func (s *soak) beginProbe() {
	s.lagMu.Lock()
	defer s.lagMu.Unlock()
	s.probing = time.Now()
}

// endProbe notes that the present plain request has ended, and reports whether it was slow.
func (s *soak) endProbe() (slow bool) {
	s.lagMu.Lock()
	defer s.lagMu.Unlock()
	if slow = s.slowSoFar(); slow {
		s.lagged = time.Now()
	}
	s.probing = time.Time{}
	return slow
}

// slowSoFar reports whether the present plain request has taken a tenth of the time of a fetch. It takes a thousandth
// on a machine that is not busy.
func (s *soak) slowSoFar() bool { return !s.probing.IsZero() && time.Since(s.probing) > s.timeout/10 }

// lags reports whether the machine has been too busy, since a moment, to blame the crawler for a call that is late.
func (s *soak) lags(since time.Time) bool {
	s.lagMu.Lock()
	defer s.lagMu.Unlock()
	return s.lagged.After(since) || s.slowSoFar()
}

// dump prints all goroutines, once.
func (s *soak) dump() {
	s.dumped.Do(func() {
		var b bytes.Buffer
		pprof.Lookup("goroutine").WriteTo(&b, 2)
		s.t.Logf("%s", b.Bytes())
	})
}

// isPaced reports whether a decision says only that the turn comes too late.
func isPaced(d policy.Decision) bool {
	return d.Verdict == policy.Defer && strings.HasPrefix(d.Pacing, "no turn ")
}

// judge checks a decision on a site under any fault.
func (s *soak) judge(site *soakSite, path string, d policy.Decision, err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.cancelled.Add(1)
		return
	case err != nil:
		s.t.Errorf("%s%s: no decision: %v", site.Origin(), path, err)
		return
	}
	s.decided.Add(1)
	if isPaced(d) {
		s.paced.Add(1)
		return
	}
	if !site.kind.may(path, d.Verdict) {
		s.t.Errorf("%s%s with fault %s: got %v", site.Origin(), path, site.fault.name, d)
	}
}

// judgeExactly checks a decision that rests on a fetch under the present fault, which began after since. It reports
// false if the machine was too busy for the fetch.
func (s *soak) judgeExactly(site *soakSite, path string, d policy.Decision, since time.Time) bool {
	want, one := site.fault.want(path)
	if one && d.Verdict != want {
		if d.Verdict == policy.Defer && strings.HasPrefix(d.Cause, "timeout") && s.lags(since) {
			s.slow.Add(1)
			return false
		}
		s.t.Errorf("%s%s right after a fetch with fault %s: got %v\nwant %v", site.Origin(), path, site.fault.name, d, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact[site.fault.name]++
	return true
}

// change ends the present fault of a site and begins another one. Nobody else uses the site
// meanwhile. The first round of fetches ends those that callers have left behind, so the second one
// sees the new fault only. A fault that was never checked because the machine was too busy comes again.
func (s *soak) change(site *soakSite) {
	site.close()
	defer site.reopen()
	quiet := s.refreshAll(site, false) && s.draining.Load() == 0
	site.repair()
	site.fault = s.deal(site)
	site.fault.set(site)
	checked := s.refreshAll(site, quiet) && quiet
	s.mu.Lock()
	defer s.mu.Unlock()
	if !checked && s.exact[site.fault.name] == 0 {
		s.decks[site.kind] = append(s.decks[site.kind], site.fault)
	}
}

// deal returns the next fault for a site. All sites of a kind take from one shuffled deck.
func (s *soak) deal(site *soakSite) soakFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	deck := s.decks[site.kind]
	i := slices.IndexFunc(deck, func(f soakFault) bool { return f.where == nil || f.where(site) })
	if i < 0 {
		full := slices.DeleteFunc(slices.Clone(s.all), func(f soakFault) bool { return !site.kind.suits(f.means) })
		rand.Shuffle(len(full), func(i, j int) { full[i], full[j] = full[j], full[i] })
		deck = append(deck, full...)
		i = slices.IndexFunc(deck, func(f soakFault) bool { return f.where == nil || f.where(site) })
	}
	f := deck[i]
	s.decks[site.kind] = slices.Delete(deck, i, i+1)
	return f
}

// refreshAll fetches the robots.txt of a site in every process. It reports whether all of them did so in time. after
// says that no older fetch is under way.
func (s *soak) refreshAll(site *soakSite, after bool) bool {
	var all sync.WaitGroup
	var late atomic.Bool
	for _, p := range s.procs {
		all.Go(func() {
			path := soakPaths[rand.IntN(2)]
			s.bounded("Refresh of "+site.Origin(), soakDeadline, func(ctx context.Context) {
				began := time.Now()
				d, err := p.tr.Load().Refresh(ctx, mustURL(site.Origin()+path))
				switch {
				case err == nil:
				case s.lags(began):
					s.slow.Add(1)
				default:
					s.t.Errorf("Refresh of %s with profile %s and store %q after %v: %v", site.Origin(), p.profile.Name, p.file, soakDeadline, err)
					s.dump()
				}
				s.judge(site, path, d, err)
				if isPaced(d) || err != nil || after && !s.judgeExactly(site, path, d, began) {
					late.Store(true)
				}
			})
		})
	}
	all.Wait()
	return !late.Load()
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// work makes calls until ctx ends.
func (s *soak) work(ctx context.Context) {
	for ctx.Err() == nil {
		site, path := s.visited[rand.IntN(len(s.visited))], soakPaths[rand.IntN(2)]
		timeout := soakDeadline
		if rand.IntN(4) == 0 {
			timeout = time.Duration(rand.ExpFloat64() * float64(100*time.Millisecond))
		}
		tr := s.procs[rand.IntN(len(s.procs))].tr.Load()
		if rand.IntN(3) == 0 {
			s.bounded("a call for a small site", timeout, func(ctx context.Context) { s.visitCrowd(ctx, tr, rand.IntN(soakCrowd), path) })
		} else if site.enter() {
			s.bounded("a call for "+site.Origin(), timeout, func(ctx context.Context) { s.visit(ctx, tr, site, path) })
			site.leave()
		}
		pause(ctx, time.Duration(rand.ExpFloat64()*float64(s.think)))
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// visitCrowd checks a page of one of many small sites that never change.
func (s *soak) visitCrowd(ctx context.Context, tr *fetcher.Transport, n int, path string) {
	u := mustURL(fmt.Sprintf("http://h%d.crowd.example%s", n, path))
	d, err := tr.Check(ctx, u)
	if errors.Is(err, context.DeadlineExceeded) || isPaced(d) {
		return
	}
	if want := path == "/open"; err != nil || d.Allowed() != want && d.Verdict != policy.Defer {
		s.t.Errorf("%s: got %v, %v, want allowed %t", u, d, err, want)
	}
}

// visit makes one call of any kind for a site.
func (s *soak) visit(ctx context.Context, tr *fetcher.Transport, site *soakSite, path string) {
	u := mustURL(site.Origin() + path)
	switch rand.IntN(12) {
	case 0, 1, 2:
		d, err := tr.Check(ctx, u)
		s.judge(site, path, d, err)
	case 3, 4, 5, 6:
		s.get(ctx, tr, site, path)
	case 7:
		if d, ok := tr.Peek(u); ok {
			s.judge(site, path, d, nil)
		}
	case 8:
		a, d, err := tr.Admit(ctx, u)
		s.judge(site, path, d, err)
		if rand.IntN(2) == 0 {
			a.Answer(200, nil)
		}
		a.Done()
	case 9:
		if other, err := tr.As("OtherBot"); err != nil {
			s.t.Error(err)
		} else {
			d, err := other.Check(ctx, u)
			s.judge(site, path, d, err)
		}
	case 10:
		for key, rec := range tr.Records() {
			if rec.Robots() != key+"/robots.txt" {
				s.t.Errorf("%s has the record of %s", key, rec.Robots())
			}
		}
	case 11:
		tr.Invalidate(ctx, u)
	}
}

// get requests a page, and reads its body or leaves it.
func (s *soak) get(ctx context.Context, tr *fetcher.Transport, site *soakSite, path string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, site.Origin()+path, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	resp, err := tr.RoundTrip(req)
	var denied *fetcher.DeniedError
	switch {
	case (resp == nil) == (err == nil):
		s.t.Errorf("%s%s: got %v and %v, want one of them", site.Origin(), path, resp, err)
	case errors.As(err, &denied):
		s.judge(site, path, denied.Decision, nil)
	case resp != nil:
		s.judge(site, path, policy.Decision{Verdict: policy.Allow}, nil)
		if rand.IntN(4) > 0 {
			io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
	}
}

// round crawls for a while and then waits until nothing is left of it.
func (s *soak) round(n int) {
	s.crawl(n)
	for _, p := range s.procs {
		p.tr.Load().CloseIdleConnections()
		p.base.CloseIdleConnections()
	}
	time.Sleep(s.timeout + soakRest) // fetches whose callers have left end by themselves
	s.web.Forget()
}

// crawl makes calls and changes faults for a while.
func (s *soak) crawl(n int) {
	if s.real {
		probing, cancel := context.WithCancel(context.Background())
		var probe sync.WaitGroup
		probe.Go(func() { s.probe(probing) })
		defer probe.Wait()
		defer cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.length)
	defer cancel()
	var all sync.WaitGroup
	for range s.workers {
		all.Go(func() { s.work(ctx) })
	}
	for _, site := range s.visited {
		all.Go(func() {
			for ctx.Err() == nil {
				s.change(site)
				pause(ctx, time.Duration(rand.ExpFloat64()*float64(s.stay)))
			}
		})
	}
	pause(ctx, s.length/2)
	p := s.procs[n%len(s.procs)]
	before := p.tr.Load()
	s.draining.Add(1)
	p.open(s.t)
	all.Go(func() {
		defer s.draining.Add(-1)
		s.drain(before)
	})
	s.fill(p)
	all.Wait()
}

// A soakSample is what the process needs after a round.
type soakSample struct{ heap, goroutines int }

func sample() soakSample {
	runtime.GC()
	runtime.GC() // the first one only moves what is in a sync.Pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return soakSample{int(m.HeapAlloc), runtime.NumGoroutine()}
}

// run crawls in rounds and checks that heap and goroutines do not grow from the first quarter of the
// rounds to the last.
func (s *soak) run() {
	var samples []soakSample
	for n := 0; time.Since(s.began) < s.whole; n++ {
		s.round(n)
		samples = append(samples, sample())
		s.t.Logf("round %d: heap %d KiB, %d goroutines, %d calls", n+1, samples[n].heap>>10, samples[n].goroutines, s.calls.Load())
	}
	quarter, long := max(1, len(samples)/4), len(samples) >= soakLong
	first, last := medians(samples[:quarter]), medians(samples[len(samples)-quarter:])
	s.t.Logf("%d calls, %d cancelled, %d decisions, %d too late for a turn, %d too late because the machine was busy; median of the first quarter: heap %d KiB, %d goroutines; of the last: %d KiB, %d",
		s.calls.Load(), s.cancelled.Load(), s.decided.Load(), s.paced.Load(), s.slow.Load(), first.heap>>10, first.goroutines, last.heap>>10, last.goroutines)
	if long && last.heap > first.heap+first.heap/10+1<<20 || last.goroutines > first.goroutines+5 {
		s.t.Errorf("got %+v in the last quarter, want no more than in the first: %+v", last, first)
		s.dump()
	}
	s.everyFault(long)
	for _, p := range s.procs {
		p.close(s.t)
	}
}

// everyFault checks that a long soak has met every fault.
func (s *soak) everyFault(long bool) {
	least, sum := math.MaxInt, 0
	for _, f := range s.all {
		least, sum = min(least, s.exact[f.name]), sum+s.exact[f.name]
		if s.exact[f.name] == 0 && long {
			s.t.Errorf("fault %s: no decision was checked right after a fetch", f.name)
		}
	}
	s.t.Logf("%d faults, checked %d times right after a fetch, each at least %d times", len(s.all), sum, least)
}

func medians(samples []soakSample) soakSample {
	var heap, goroutines []int
	for _, m := range samples {
		heap, goroutines = append(heap, m.heap), append(goroutines, m.goroutines)
	}
	slices.Sort(heap)
	slices.Sort(goroutines)
	return soakSample{heap[len(heap)/2], goroutines[len(goroutines)/2]}
}

// TestSoak crawls sites that fail in every way with processes that come and go. It checks all
// decisions, that every call returns, and that memory and goroutines do not grow. It takes some
// minutes of virtual time. If POLITE_SOAK is a duration it takes that long in real time, with a Redis
// server as the store of the fleet if POLITE_REQUIRE_REDIS is set.
func TestSoak(t *testing.T) {
	if length, err := time.ParseDuration(os.Getenv("POLITE_SOAK")); err == nil {
		newSoak(t, soakSize{
			sites: 18, workers: 24, real: true, think: 50 * time.Millisecond, stay: 2 * time.Second, timeout: 10 * time.Second,
			whole: length, length: min(length/4, 40*time.Second),
		}, fleetStore(t)).run()
		return
	}
	synctest.Test(t, func(t *testing.T) {
		fleet := cache.NewMemory(1 << 20)
		newSoak(t, soakSize{
			sites: 9, workers: 8, think: 2 * time.Second, stay: 20 * time.Second, timeout: time.Second,
			whole: 40 * time.Second, length: 10 * time.Second,
		}, func() cache.Store { return fleet }).run()
	})
}

// fleetStore returns a function that returns the store of the fleet: for each process a client of one
// Redis server, or the same memory for all.
func fleetStore(t *testing.T) func() cache.Store {
	if os.Getenv("POLITE_REQUIRE_REDIS") == "" {
		fleet := cache.NewMemory(1 << 20)
		return func() cache.Store { return fleet }
	}
	server := exec.Command(cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"), "--port", "0", "--unixsocket", "redis.sock", "--save", "")
	server.Dir = t.TempDir()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	return func() cache.Store {
		store, err := redis.Open("unix://"+filepath.Join(server.Dir, "redis.sock"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		return store
	}
}
