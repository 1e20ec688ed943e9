package fetcher_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// opened is a file that allows what text disallows.
var opened = httptest.Text("User-agent: *\nDisallow: /elsewhere\n")

// A failing store fails the operations whose switch is on.
type failing struct {
	*union
	all, put bool
}

func (s *failing) Get(ctx context.Context, key string) ([]byte, error) {
	if s.all {
		return nil, errors.New("away")
	}
	return s.union.Get(ctx, key)
}

func (s *failing) Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (bool, error) {
	if s.all || s.put {
		return false, errors.New("away")
	}
	return s.union.Swap(ctx, key, old, value, keep)
}

// Of the record in memory and the record in the store, the one learnt later is in
// force, although the other one expires later.
func TestMemoryIsNewerThanStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Status(404), text.Header("Cache-Control", "max-age=60"), httptest.Status(503))
		store := &failing{union: newUnion()}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		tr.Check(t.Context(), must(private))
		time.Sleep(20 * time.Hour)
		store.put = true
		tr.Refresh(t.Context(), must(private))
		time.Sleep(2 * time.Minute)
		d, err := tr.Check(t.Context(), must(private))
		if got := short(d); err != nil || got != "disallow 2.4 stale" {
			t.Errorf("got  %s, %v; want disallow 2.4 stale: the 404 in the store is older than the rules", got, err)
		}
	})
}

// A process that was frozen while it wrote its record does not overwrite what
// others have learnt since, and uses it.
func TestFrozenWriter(t *testing.T) {
	for name, own := range map[string]httptest.Step{"answer": opened, "failure": httptest.Reset()} {
		t.Run("4.2/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(own)
				u := newUnion()
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: u, Attempts: 1})
				connected(t, web, tr, 1)
				var theirs []byte
				u.frozen = func() {
					time.Sleep(2 * time.Second)
					theirs = stored(t, policy.RFC9309(), site, shut, time.Now())
					u.Put(t.Context(), siteKey, theirs, day)
				}
				d, err := tr.Check(t.Context(), must(public))
				if got := short(d); err != nil || got != "disallow 2.2.2" {
					t.Errorf("got  %s, %v; want disallow 2.2.2, as the others have learnt", got, err)
				}
				if d, _ := tr.Peek(must(public)); short(d) != "disallow 2.2.2" {
					t.Errorf("in memory: got  %s, want disallow 2.2.2", short(d))
				}
				if now, _ := u.Get(t.Context(), siteKey); string(now) != string(theirs) {
					t.Errorf("the store has another record than the newer one")
				}
			})
		})
	}
}

// A failure that began before another process had an answer changes nothing,
// in any kind of store.
func TestFailureBeganBefore(t *testing.T) {
	for name, store := range map[string]cache.Store{"swapper": newUnion(), "plain": cache.NewMemory(1 << 20)} {
		t.Run("4.2/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Hang())
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store, Attempts: 1, Timeout: 20 * time.Second})
				connected(t, web, tr, 1)
				var d policy.Decision
				var caller sync.WaitGroup
				caller.Go(func() { d, _ = tr.Check(t.Context(), must(private)) })
				time.Sleep(10 * time.Second)
				theirs := stored(t, policy.RFC9309(), site, rules, time.Now())
				store.Put(t.Context(), siteKey, theirs, day)
				caller.Wait()
				now, _ := store.Get(t.Context(), siteKey)
				if short(d) != "disallow 2.2.2" || !d.DownSince.IsZero() || string(now) != string(theirs) {
					t.Errorf("got  %v\nwant the rules that another process had meanwhile, and its record in the store", d)
				}
			})
		})
	}
}

// A process without a network does not keep its fleet from any site. One of eight
// processes has lost its network and checks three hundred sites first; the others
// fetch them all. A process with a network reports to the fleet which sites are
// down.
func TestSickProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites = 300
		web := httptest.New(t)
		u := newUnion()
		cut := newTransport(t, &fetcher.Options{Store: u, Attempts: 1, Base: unreachable{}})
		well := make([]*fetcher.Transport, crawlers-1)
		for i := range well {
			well[i] = newTransport(t, &fetcher.Options{Base: web.Transport(), Store: u, Attempts: 1})
		}
		var got tallied
		for i := range sites {
			name := fmt.Sprintf("http://site%d.test", i)
			web.Site(name).Robots(text)
			if d, err := cut.Check(t.Context(), must(name+"/private")); err != nil || d.Verdict != policy.Defer {
				t.Fatalf("without a network: got  %v, %v; want defer", d, err)
			}
			for _, tr := range well {
				got.add(tr.Check(t.Context(), must(name+"/private")))
			}
		}
		if len(got.by) != 1 || got.by["disallow 2.2.2"] != sites*len(well) {
			t.Errorf("got  %v; want disallow 2.2.2 for all: the sites are up", got.by)
		}
		web.Site(site).Down()
		asked := func() int { return len(web.Dials()) }
		before := asked()
		for _, tr := range well {
			if d, err := tr.Check(t.Context(), must(private)); err != nil || d.Verdict != policy.Defer {
				t.Errorf("a site that is down: got  %v, %v; want defer", d, err)
			}
		}
		if n := asked() - before; n != 1 {
			t.Errorf("%d connections to a site that is down, want one in the whole fleet", n)
		}
	})
}

// A process whose requests get lost delays the fleet at a few sites only. Then it
// takes no leases until it has an answer.
func TestSickProcessTakesNoLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites = 100
		web := httptest.New(t)
		u := newUnion()
		lost := newTransport(t, &fetcher.Options{Store: u, Attempts: 1, Base: unreachable{hangs: true}})
		well := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: u, Attempts: 1})
		var waited time.Duration
		var got tallied
		var sick sync.WaitGroup
		for i := range sites {
			name := fmt.Sprintf("http://site%d.test", i)
			web.Site(name).Robots(text)
			sick.Wait() // the sick process fetches first
			sick.Go(func() { lost.Check(t.Context(), must(name+"/private")) })
			synctest.Wait()
			began := time.Now()
			got.add(well.Check(t.Context(), must(name+"/private")))
			waited += time.Since(began)
		}
		sick.Wait()
		if got.by["disallow 2.2.2"] != sites || waited > 2*time.Minute {
			t.Errorf("got  %v after %v; want disallow 2.2.2 for all %d, and to wait for three retrievals of 30s", got.by, waited, sites)
		}
	})
}

// An answer to a page shows that the process has a network. Its records of other
// sites are believed, and it takes leases again.
func TestPagesShowTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(opened).Path("/*", httptest.Text("a page"))
		web.Site("http://down.test").Down()
		u := newUnion()
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: u, Attempts: 1})
		read := func() {
			if err := get(&http.Client{Transport: tr}, public); err != nil {
				t.Fatal(err)
			}
		}
		read()
		for range 30 { // robots.txt stays fresh, its answer is soon too old to count
			time.Sleep(time.Minute)
			read()
		}
		tr.Check(t.Context(), must("http://down.test/"))
		if _, err := u.Get(t.Context(), "http://down.test rfc9309"); err != nil {
			t.Errorf("4.2/pages_are_answers: %v; want the record of a site that is down in the store", err)
		}
	})
}

// unreachable is a base without a network.
type unreachable struct{ hangs bool }

func (u unreachable) RoundTrip(req *http.Request) (*http.Response, error) {
	if u.hangs {
		<-req.Context().Done()
	}
	return nil, errors.New("network is unreachable")
}

// Crawlers of two profiles share a store, each with records of its own.
func TestProfilesShareAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text)
		store := cache.NewMemory(1 << 20)
		for _, p := range []*policy.Profile{policy.RFC9309(), policy.Strict(), policy.RFC9309(), policy.Strict()} {
			o := &fetcher.Options{Base: web.Transport(), Store: store, Profile: p, Trace: &fetcher.Trace{
				Store: func(op, authority string, err error) { t.Errorf("%s %s: %v", op, authority, err) },
			}}
			if d, err := newTransport(t, o).Check(t.Context(), must(private)); err != nil || short(d) != "disallow 2.2.2" {
				t.Errorf("%s: got  %v, %v; want disallow 2.2.2", p.Name, d, err)
			}
		}
		if n := len(web.Requests()); n != 2 {
			t.Errorf("%d requests, want one a profile", n)
		}
	})
}

// A record whose sender forbade to store it stays in memory, and the older record
// in the store is deleted.
func TestNoStore(t *testing.T) {
	for name, store := range map[string]cache.Store{"swapper": newUnion(), "plain": cache.NewMemory(1 << 20)} {
		t.Run("RFC9111-5.2.2.5/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				forbidden := text.Header("Cache-Control", "no-store")
				web.Site(site).Robots(opened, forbidden, httptest.Status(503), opened)
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
				for i, want := range []struct {
					decision string
					kept     bool
				}{{"allow 2.2.2", true}, {"disallow 2.2.2", false}, {"disallow 2.4 stale", false}, {"allow 2.2.2", true}} {
					d, err := tr.Refresh(t.Context(), must(private))
					_, missing := store.Get(t.Context(), siteKey)
					if got := short(d); err != nil || got != want.decision || errors.Is(missing, fs.ErrNotExist) == want.kept {
						t.Errorf("retrieval %d: got  %s, %v, then %v from the store; want %s, stored %v", i, got, err, missing, want.decision, want.kept)
					}
					time.Sleep(time.Hour)
				}
			})
		})
	}
}

// A process whose reads fail does not replace a record it has not seen, in any kind
// of store.
func TestUnseenRecordStays(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("4.2/plain_%v", plain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(opened)
				u := newUnion()
				o := &fetcher.Options{Base: web.Transport(), Store: &blind{union: u}}
				if plain {
					o.Store = &troubled{Store: u.Memory, op: "get", does: func(context.Context) ([]byte, error) { return nil, errors.New("away") }}
				}
				theirs := stored(t, policy.RFC9309(), site, shut, time.Now().Add(time.Hour))
				u.Put(t.Context(), siteKey, theirs, day)
				tr := newTransport(t, o)
				tr.Check(t.Context(), must(public))
				if now, _ := u.Get(t.Context(), siteKey); !bytes.Equal(now, theirs) {
					t.Error("the store has another record than the one the process could not read")
				}
				if n := tr.Stats().StoreFailures; n == 0 {
					t.Error("nothing reported, want the record that was not written")
				}
			})
		})
	}
}

// A blind store fails every read.
type blind struct{ *union }

func (s *blind) Get(context.Context, string) ([]byte, error) { return nil, errors.New("away") }

// A record that the store did not take is in force, and the next fetch is saved.
func TestStoreTakesTheNextFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text, opened)
		store := &failing{union: newUnion(), all: true}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		tr.Check(t.Context(), must(private))
		store.all = false
		time.Sleep(day - time.Second)
		if d, err := tr.Check(t.Context(), must(private)); err != nil || short(d) != "disallow 2.2.2" {
			t.Errorf("7/store_away: got %v, %v; want disallow 2.2.2", d, err)
		}
		time.Sleep(time.Minute)
		tr.Check(t.Context(), must(private))
		other := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		if d, err := other.Check(t.Context(), must(private)); err != nil || !d.Allowed() || len(web.Requests()) != 2 {
			t.Errorf("7/store_back: got %v, %v after %d requests; want the second file after 2", d, err, len(web.Requests()))
		}
	})
}

// A store that hangs in one kind of call delays a few checks, although its other calls
// succeed.
func TestStoreHangsInPart(t *testing.T) {
	for _, hangs := range []string{"put", "lease", "release"} {
		t.Run("house/"+hangs, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				store := &partlyStuck{union: newUnion(), in: hangs, until: make(chan struct{})}
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
				began := time.Now()
				for i := range 100 {
					name := fmt.Sprintf("http://site%d.test", i)
					web.Site(name).Robots(text)
					if d, err := tr.Check(t.Context(), must(name+"/private")); err != nil || short(d) != "disallow 2.2.2" {
						t.Fatalf("got  %v, %v; want disallow 2.2.2", d, err)
					}
				}
				if took, calls := time.Since(began), store.calls.Load(); took > 10*time.Second || calls != 3 {
					t.Errorf("100 sites took %v and %d calls that hang, want three calls of 3s", took, calls)
				}
				close(store.until)
				synctest.Wait()
			})
		})
	}
}

// A partlyStuck store hangs in one kind of call until a channel is closed.
type partlyStuck struct {
	*union
	in    string // "put", "lease" or "release"
	until chan struct{}
	calls atomic.Int32 // that hang
}

func (s *partlyStuck) hang(in string) {
	if s.in == in {
		s.calls.Add(1)
		<-s.until
	}
}

func (s *partlyStuck) Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (bool, error) {
	s.hang("put")
	return s.union.Swap(ctx, key, old, value, keep)
}

func (s *partlyStuck) Lease(ctx context.Context, key string, ttl time.Duration) (func(), error) {
	s.hang("lease")
	release, err := s.union.Lease(ctx, key, ttl)
	return func() { s.hang("release"); release() }, err
}

// A store that hangs delays a few calls, not each. When it answers again it is used
// again.
func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		store := &troubled{Store: cache.NewMemory(1 << 20), op: "get"}
		var calls atomic.Int32
		var well atomic.Bool
		store.does = func(ctx context.Context) ([]byte, error) {
			calls.Add(1)
			if !well.Load() {
				time.Sleep(time.Hour)
			}
			return nil, fs.ErrNotExist
		}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		check := func(i int) {
			name := fmt.Sprintf("http://site%d.test", i)
			web.Site(name).Robots(text)
			if d, err := tr.Check(t.Context(), must(name+"/private")); err != nil || short(d) != "disallow 2.2.2" {
				t.Errorf("got  %v, %v; want disallow 2.2.2", d, err)
			}
		}
		began := time.Now()
		for i := range 100 {
			check(i)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("100 sites took %v with a store that hangs, want three calls of 3s", took)
		}
		time.Sleep(30 * time.Second)
		calls.Store(0)
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() { check(1000 + i) })
		}
		callers.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls of a store that hangs after its rest, want one, as a test", n)
		}
		calls.Store(0)
		for i := range 24 * 60 {
			time.Sleep(time.Minute)
			check(2000 + i)
		}
		if n := calls.Load(); n > 30 {
			t.Errorf("%d calls in a day of a store that hangs, want one an hour in the end", n)
		}
		well.Store(true)
		time.Sleep(61 * time.Minute)
		check(100)
		failed := tr.Stats().StoreFailures
		check(101)
		if now := tr.Stats().StoreFailures; now != failed {
			t.Errorf("%d calls failed after the store answers again, want none", now-failed)
		}
		time.Sleep(time.Hour) // the calls that hang end
	})
}

// A lease that comes after the fetch has stopped waiting for it is given back.
func TestLateLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text)
		store := lateLeaser{newUnion()}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		if d, err := tr.Check(t.Context(), must(private)); err != nil || short(d) != "disallow 2.2.2" {
			t.Fatalf("got  %v, %v; want disallow 2.2.2", d, err)
		}
		time.Sleep(time.Minute)
		if n := store.held(); n > 0 || store.asked != 1 {
			t.Errorf("7/late_lease: %d of %d leases are held still, want none of one", n, store.asked)
		}
	})
}

// A lateLeaser gives a lease after four seconds.
type lateLeaser struct{ *union }

func (s lateLeaser) Lease(ctx context.Context, key string, ttl time.Duration) (func(), error) {
	time.Sleep(4 * time.Second)
	return s.union.Lease(ctx, key, ttl)
}
