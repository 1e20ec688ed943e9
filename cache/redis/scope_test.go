//go:build unix

package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
)

// A ward is the starts and the requests in flight of one authority or scope.
type ward struct {
	limits       pace.Limits
	starts       []time.Time
	flying, most int
}

// A scopeLog is what the requests of a fleet show of their limits.
type scopeLog struct {
	began time.Time
	mu    sync.Mutex
	wards map[string]*ward
	waits []time.Duration
	busy  error // a call of the store took too long for the machine; nil if none did
}

func newScopeLog(limits map[string]pace.Limits) *scopeLog {
	l := &scopeLog{began: time.Now(), wards: map[string]*ward{}}
	for name, limit := range limits {
		l.wards[name] = &ward{limits: limit}
	}
	return l
}

// scopes are the scopes with these names.
func (l *scopeLog) scopes(names []string) (all []pace.Scope) {
	for _, name := range names {
		all = append(all, pace.Scope{Key: name, Limits: l.wards[name].limits})
	}
	return all
}

// visit makes one request that takes a time.
func (l *scopeLog) visit(ctx context.Context, p *pace.Pacer, authority string, names []string, takes time.Duration) error {
	came := time.Now()
	turn, err := p.Wait(ctx, authority, 0, l.scopes(names)...)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.waits = append(l.waits, time.Since(came))
	for _, name := range names {
		w := l.wards[name]
		w.starts = append(w.starts, time.Now())
		w.flying++
		w.most = max(w.most, w.flying)
	}
	l.mu.Unlock()
	turn.Sent()
	<-time.After(takes)
	l.mu.Lock()
	for _, name := range names {
		l.wards[name].flying--
	}
	l.mu.Unlock()
	turn.Done()
	return nil
}

// check compares what was logged with the limits.
func (l *scopeLog) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy != nil {
		t.Skipf("this machine is too busy for its own servers: %v", l.busy)
	}
	for name, w := range l.wards {
		shortest := time.Hour
		for i := 1; i < len(w.starts); i++ {
			shortest = min(shortest, w.starts[i].Sub(w.starts[i-1]))
		}
		t.Logf("%s: %d starts, shortest gap %v of %v, %d in flight of %d", name, len(w.starts), shortest, w.limits.Gap, w.most, w.limits.Parallel)
		if os.Getenv(measureAll) != "" && shortest < w.limits.Gap-3*time.Millisecond {
			t.Errorf("6: %s: two starts %v apart, want %v", name, shortest, w.limits.Gap)
		}
		// A busy machine delays a request after its turn, but makes none early, as origin.keptGap says.
		for i, start := range w.starts {
			if got, want := start.Sub(l.began), time.Duration(i)*w.limits.Gap-clockError; got < want {
				t.Errorf("6: %s: start %d came after %v, want at least %v", name, i, got, want)
				break
			}
		}
		if w.limits.Parallel > 0 && w.most > w.limits.Parallel {
			t.Errorf("6: %s: %d requests in flight, want at most %d", name, w.most, w.limits.Parallel)
		}
	}
	slices.Sort(l.waits)
	if n := len(l.waits); n > 0 {
		t.Logf("%d turns, waits: median %v, longest %v", n, l.waits[n/2], l.waits[n-1])
	}
}

// scopeFleet returns four pacers with two stores, as of two processes with two each.
func scopeFleet(t *testing.T, url string, o Options, limits pace.Limits, onShared func(error)) (fleet []*pace.Pacer) {
	t.Helper()
	o.Delay = slow.Delay
	for range 2 {
		store := opened(t, url, &o)
		for range 2 {
			p, err := pace.New(limits, &pace.Options{Shared: store, OnShared: onShared})
			if err != nil {
				t.Fatal(err)
			}
			fleet = append(fleet, p)
		}
	}
	return fleet
}

// mustShare fails the test if the store is away. If the machine is too busy, check skips the test.
func (l *scopeLog) mustShare(t *testing.T) func(error) {
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case tooSlow(err):
			l.busy = err
		case err != nil:
			t.Errorf("OnShared(%v), want no call", err)
		}
	}
}

// tooSlow reports whether an error says that a call of the store took too long.
func tooSlow(err error) bool {
	return err != nil && strings.Contains(err.Error(), context.DeadlineExceeded.Error())
}

// crowd has callers that ask for random hosts and scopes, for a while.
func (l *scopeLog) crowd(t *testing.T, fleet []*pace.Pacer, span time.Duration, draw func(*rand.Rand) (authority string, names []string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(9309, uint64(i)))
			for ctx.Err() == nil {
				authority, names := draw(rng)
				one, stop := ctx, func() {}
				if rng.IntN(10) == 0 { // it leaves
					one, stop = context.WithTimeout(ctx, time.Duration(rng.IntN(300))*time.Millisecond)
				}
				err := l.visit(one, fleet[i%len(fleet)], authority, names, time.Duration(5+rng.IntN(30))*time.Millisecond)
				stop()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*pace.RefusedError)) {
					t.Errorf("Wait = %v, want a turn", err)
				}
			}
		})
	}
	wg.Wait()
}

// Random requests of a fleet with random scopes break no limit.
func TestScopesOnAServer(t *testing.T) {
	srv := start(t)
	l := newScopeLog(map[string]pace.Limits{
		"s0": {Gap: 60 * time.Millisecond}, "s1": {Parallel: 2}, "s2": {Gap: 40 * time.Millisecond, Parallel: 1}, "s3": {Gap: 30 * time.Millisecond, Parallel: 3}, "s4": {Parallel: 1},
	})
	l.crowd(t, scopeFleet(t, srv.url(), Options{}, pace.Limits{Parallel: 2}, l.mustShare(t)), 4*time.Second, func(rng *rand.Rand) (string, []string) {
		names := []string{"s0", "s1", "s2", "s3", "s4"}
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		return fmt.Sprintf("http://host%d", rng.IntN(10)), names[:1+rng.IntN(3)]
	})
	l.check(t)
}

// scopeLoads are scopes that bound the rate of a fleet, and the rate that they permit.
var scopeLoads = []struct {
	name      string
	limits    map[string]pace.Limits
	names     func(host int) []string
	permitted float64
}{
	{"gap", map[string]pace.Limits{"all": {Gap: 25 * time.Millisecond}}, func(int) []string { return []string{"all"} }, 40},
	{"parallel", map[string]pace.Limits{"all": {Parallel: 4}}, func(int) []string { return []string{"all"} }, 4 / 0.1},
	{"domains", map[string]pace.Limits{"d0": {Gap: 100 * time.Millisecond}, "d1": {Gap: 100 * time.Millisecond}, "all": {Parallel: 8}},
		func(host int) []string { return []string{fmt.Sprint("d", host%2), "all"} }, 20},
}

// A fleet gets nearly all that its scopes permit, and never more.
func TestScopeShare(t *testing.T) {
	const span = 4 * time.Second
	for _, load := range scopeLoads {
		t.Run("6/"+load.name, func(t *testing.T) {
			srv := start(t)
			l := newScopeLog(load.limits)
			fleet := scopeFleet(t, srv.url(), Options{}, pace.Limits{Gap: 10 * time.Millisecond, Parallel: 1}, l.mustShare(t))
			ctx, cancel := context.WithTimeout(t.Context(), span)
			defer cancel()
			var wg sync.WaitGroup
			for i := range 80 {
				wg.Go(func() {
					for l.visit(ctx, fleet[i%4], fmt.Sprint("http://host", i/4), load.names(i/4), 100*time.Millisecond) == nil {
					}
				})
			}
			wg.Wait()
			l.check(t)
			rate := float64(len(l.waits)) / span.Seconds()
			t.Logf("%.1f of %.1f requests a second, %.0f %%", rate, load.permitted, 100*rate/load.permitted)
			if rate == 0 || rate < 0.9*load.permitted && os.Getenv(measureAll) != "" { // a busy machine loses any part
				t.Errorf("share of the permitted rate %.2f, want at least 0.9", rate/load.permitted)
			}
		})
	}
}

// On a cluster, all names of a request are on one slot, as Options.Slot says. Without it each process keeps its share
// of the limits, and says so once.
func TestScopesOnACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes some seconds to start")
	}
	c := redistest.StartCluster(t)
	limits := map[string]pace.Limits{"d0": {Gap: 60 * time.Millisecond}, "d1": {Parallel: 2}}
	draw := func(rng *rand.Rand) (string, []string) {
		i := rng.IntN(10)
		return fmt.Sprintf("http://host%d.d%d", i, i%2), []string{fmt.Sprint("d", i%2)}
	}
	t.Run("6/one_slot_for_each_domain", func(t *testing.T) {
		l := newScopeLog(limits)
		slot := func(name string) string { return name[len(name)-2:] }
		fleet := scopeFleet(t, c.URL(), Options{Slot: slot}, pace.Limits{Parallel: 2}, l.mustShare(t))
		l.crowd(t, fleet, 3*time.Second, draw)
		l.check(t)
		for _, p := range fleet {
			if n := p.Stats().Unshared; n > 0 {
				t.Errorf("%d turns at the pace of one process, want none", n)
			}
		}
	})
	t.Run("6/no_slot", func(t *testing.T) {
		l := newScopeLog(limits)
		var mu sync.Mutex
		var said []error
		fleet := scopeFleet(t, c.URL(), Options{Prefix: "other"}, pace.Limits{Parallel: 2}, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, err)
		})
		l.crowd(t, fleet, 3*time.Second, draw)
		mu.Lock()
		defer mu.Unlock()
		if i := slices.IndexFunc(said, tooSlow); i >= 0 {
			t.Skipf("this machine is too busy for its own servers: %v", said[i])
		}
		if len(said) != len(fleet) {
			t.Errorf("OnShared was called %d times by %d processes: %v; want once by each", len(said), len(fleet), said)
		}
		for _, err := range said {
			if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "want Options.Slot") {
				t.Errorf("OnShared(%v), want an error that says what to set", err)
			}
		}
		if len(l.waits) == 0 {
			t.Error("no turn in 3s, want some of each process")
		}
	})
}

// A process that is gone keeps the scopes of its requests for some seconds, and those in whose queues it was.
func TestScopesOfAProcessThatIsGone(t *testing.T) {
	srv := start(t)
	l := newScopeLog(map[string]pace.Limits{"one": {Parallel: 1}, "two": {Parallel: 1}})
	fleet := scopeFleet(t, srv.url(), Options{}, pace.Limits{}, nil)
	gone := opened(t, srv.url(), slow)
	p, err := pace.New(pace.Limits{}, &pace.Options{Shared: gone})
	if err != nil {
		t.Fatal(err)
	}
	for i, names := range [][]string{{"one"}, {"two", "one"}, {"one", "two"}} {
		go p.Wait(t.Context(), fmt.Sprint("http://host", i), 0, l.scopes(names)...)
		<-time.After(100 * time.Millisecond)
	}
	gone.Close()
	closed := time.Now()
	for i := range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := l.visit(ctx, fleet[i%len(fleet)], fmt.Sprint("http://host", i), []string{"two", "one"}, time.Millisecond); err != nil {
			t.Fatalf("6: Wait = %v %v after a process was gone; want its places free after some seconds", err, time.Since(closed))
		}
		cancel()
	}
	t.Logf("ten turns until %v after a process was gone", time.Since(closed))
}

// A server that is short of memory may drop one of the three keys of a name. What is left of a process that is gone does not
// stop the others, and every key made new has a time to live.
func TestScopesOfLostKeys(t *testing.T) {
	for _, lost := range []string{":state", ":line", ":alive"} {
		t.Run("6/"+lost[1:], func(t *testing.T) {
			srv := start(t)
			s := opened(t, srv.url(), slow)
			reserve := func(ticket, authority string) (g pace.Grant) {
				answered(t, func() (err error) {
					g, err = s.Reserve(t.Context(), authority, pace.Reservation{
						Ticket: ticket, Life: time.Minute, Scopes: []pace.ScopeReservation{{Key: "scope", Parallel: 1}},
					})
					return err
				})
				return g
			}
			end := func(life, started time.Duration) {
				answered(t, func() error {
					_, err := s.Hold(t.Context(), site, pace.Holding{Ticket: "a.1", Life: life, Started: started, Scopes: []string{"scope"}})
					return err
				})
			}
			if g := reserve("a.1", site); !g.Granted {
				t.Fatalf("Reserve = %+v, want a start", g)
			}
			if g := reserve("gone.1", "https://gone.example"); g.Granted || g.Scope != "scope" {
				t.Fatalf("Reserve = %+v, want the scope in the way", g)
			}
			keys, _ := s.paceNames([]string{site, "scope", "https://gone.example"})
			for _, key := range keys {
				if strings.HasSuffix(key, lost) {
					srv.do("DEL", key)
				}
			}
			end(time.Minute, 1)
			for _, key := range keys {
				if srv.do("PTTL", key) == "-1" {
					t.Errorf("key %q has no time to live", key)
				}
			}
			end(0, 1)
			if g := reserve("b.1", "https://b.example"); lost == ":alive" && !g.Granted {
				t.Errorf("Reserve behind a ticket that nobody knows = %+v, want a start", g)
			}
		})
	}
}
