package policy_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A fleet is a few processes that share a store. Their one site changes its file, and
// fails at times. Each process merges its record with the stored record before it
// fetches and before it saves.
type fleet struct {
	t       *testing.T
	draw    *rand.Rand
	p       *policy.Profile
	now     time.Time
	version int  // version of the site's file, written in its Sitemap line
	down    bool // the site does not answer
	workers []worker
	store   []byte
	late    [][]byte // writes that have not arrived yet
	broken  bool     // writes of the store may be lost, be late or change their order, and there is no lease
	newest  int      // the newest version that any process has acted on
}

// worker is one process.
type worker struct {
	rec      *policy.Record
	fetching bool
	sent     time.Time
	acted    int // the newest version it has acted on
}

// TestFleet checks that no process acts on an older file than it did before, with any
// store. With a store that works, no process acts on an older file than any other did.
func TestFleet(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 60
	}
	for _, broken := range []bool{false, true} {
		for seed := range seeds {
			f := fleet{t: t, draw: rand.New(rand.NewPCG(uint64(seed), 42)), p: policy.RFC9309(), now: start, version: 1, broken: broken, workers: make([]worker, 2+seed%2)}
			for step := 0; step < 150 && !t.Failed(); step++ {
				f.step()
			}
			if t.Failed() {
				t.Fatalf("seed %d, broken store %v", seed, broken)
			}
		}
	}
}

// step advances the clock and lets one process act.
func (f *fleet) step() {
	f.now = f.now.Add(time.Duration(f.draw.IntN(600)) * time.Second)
	if f.draw.IntN(10) == 0 {
		f.version++
	}
	if f.draw.IntN(10) == 0 {
		f.down = !f.down
	}
	if len(f.late) > 0 && f.draw.IntN(3) == 0 {
		i := f.draw.IntN(len(f.late))
		f.store, f.late = f.late[i], append(f.late[:i:i], f.late[i+1:]...)
	}
	w := &f.workers[f.draw.IntN(len(f.workers))]
	switch {
	case w.fetching:
		f.finish(w)
		f.act(w)
	case !w.rec.Due(f.now):
		f.act(w)
	default:
		if w.rec = w.rec.Merge(f.load(), f.now); !w.rec.Due(f.now) {
			f.act(w)
		} else if f.broken || !f.leased() {
			w.fetching, w.sent = true, f.now
		}
	}
}

// leased reports whether a process is fetching.
func (f *fleet) leased() bool {
	for _, w := range f.workers {
		if w.fetching {
			return true
		}
	}
	return false
}

// finish ends a fetch with the file that the site has at that moment.
func (f *fleet) finish(w *worker) {
	a := policy.Attempt{Robots: robots, Sent: w.sent, Received: f.now}
	if f.down {
		a.Err = &policy.Failure{Class: policy.Connect}
	} else {
		a.Status = 200
		a.Body = fmt.Appendf(nil, "User-agent: *\nDisallow: /\nSitemap: %d\n", f.version)
		a.Header = map[string][]string{"Cache-Control": {fmt.Sprintf("max-age=%d", 60+f.draw.IntN(7200))}}
	}
	w.rec, w.fetching = w.rec.Merge(f.p.Learn(w.rec, a), f.now), false
	w.rec = w.rec.Merge(f.load(), f.now)
	f.save(stored(f.t, w.rec))
}

func (f *fleet) load() *policy.Record {
	if f.store == nil {
		return nil
	}
	rec, err := f.p.Load(f.store)
	if err != nil {
		f.t.Fatal(err)
	}
	return rec
}

func (f *fleet) save(data []byte) {
	switch luck := f.draw.IntN(3); {
	case !f.broken || luck == 0:
		f.store = data
	case luck == 1:
		f.late = append(f.late, data)
	}
}

// act takes a decision by the record of the process, and checks its version.
func (f *fleet) act(w *worker) {
	if w.rec.Due(f.now) {
		return
	}
	d := decide(f.t, w.rec, private, f.now)
	version := 0
	if file := w.rec.File(); file != nil && !d.Fetched.IsZero() {
		version, _ = strconv.Atoi(file.Sitemaps()[0])
	}
	if version < w.acted {
		f.t.Errorf("a process acts on version %d after it acted on %d: %v", version, w.acted, d)
	}
	if !f.broken && version < f.newest {
		f.t.Errorf("a process acts on version %d after another acted on %d: %v", version, f.newest, d)
	}
	w.acted, f.newest = max(w.acted, version), max(f.newest, version)
}
