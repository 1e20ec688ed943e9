package fetcher_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// shut is a file that no site of these tests serves. A decision by it comes from a
// record that must not count.
const shut = "User-agent: *\nDisallow: /\n"

// stored returns the stored form of a record that a crawler with some profile
// learnt at a time.
func stored(t *testing.T, p *policy.Profile, authority, body string, at time.Time) []byte {
	t.Helper()
	rec := p.Learn(nil, policy.Attempt{
		Robots: authority + "/robots.txt", Served: authority + "/robots.txt", Status: 200,
		Header: http.Header{"Etag": {`"1"`}}, Body: []byte(body), Sent: at, Received: at,
	})
	data, err := rec.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A stored record is used like any other record. A value that is not a whole record
// of this authority and profile counts as missing.
func TestStoreIsRead(t *testing.T) {
	rfc := policy.RFC9309()
	ours := func(t *testing.T, at time.Time) []byte { return stored(t, rfc, site, rules, at) }
	for _, tt := range []struct {
		name     string
		value    func(t *testing.T) []byte
		robots   httptest.Step
		asked    string
		want     string
		requests int
		tag      string // the validator that the request must carry
		bad      bool   // reported as a value that is not what was put
	}{
		{name: "fresh", value: func(t *testing.T) []byte { return ours(t, time.Now().Add(-day+1)) },
			asked: private, want: "disallow 2.2.2"},
		{name: "expired_is_renewed", value: func(t *testing.T) []byte { return ours(t, time.Now().Add(-day)) },
			robots: httptest.Status(304), asked: private, want: "disallow 2.2.2", requests: 1, tag: `"1"`},
		{name: "expired_governs_an_outage", value: func(t *testing.T) []byte { return ours(t, time.Now().Add(-20*day)) },
			robots: httptest.Status(503), asked: private, want: "disallow 2.4 stale", requests: 1, tag: `"1"`},
		{name: "from_the_future", value: func(t *testing.T) []byte { return stored(t, rfc, site, shut, time.Now().Add(2*time.Hour)) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, tag: `"1"`},
		{name: "of_a_clock_a_little_ahead", value: func(t *testing.T) []byte { return ours(t, time.Now().Add(time.Second)) },
			asked: private, want: "disallow 2.2.2"},
		{name: "of_another_profile", value: func(t *testing.T) []byte { return stored(t, policy.Strict(), site, shut, time.Now()) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "of_another_authority", value: func(t *testing.T) []byte { return stored(t, rfc, "http://other.test", shut, time.Now()) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "of_another_scheme", value: func(t *testing.T) []byte { return stored(t, rfc, "https://example.com", shut, time.Now()) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "of_another_port", value: func(t *testing.T) []byte { return stored(t, rfc, "http://example.com:8080", shut, time.Now()) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "of_a_longer_name", value: func(t *testing.T) []byte { return stored(t, rfc, "http://example.com.test", shut, time.Now()) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "cut", value: func(t *testing.T) []byte { v := ours(t, time.Now()); return v[:len(v)-1] },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "one_byte_changed", value: func(t *testing.T) []byte {
			v := ours(t, time.Now())
			v[len(v)-20] ^= 1 // in the text, before the checksum
			return v
		}, robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "empty", value: func(*testing.T) []byte { return []byte{} },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
		{name: "a_robots_txt_itself", value: func(*testing.T) []byte { return []byte(shut) },
			robots: text, asked: public, want: "allow 2.2.2", requests: 1, bad: true},
	} {
		t.Run("2.4/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(tt.robots)
				store := cache.NewMemory(1 << 20)
				if err := store.Put(t.Context(), siteKey, tt.value(t), day); err != nil {
					t.Fatal(err)
				}
				var trouble []string
				tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store, Trace: &fetcher.Trace{
					Store: func(op, authority string, _ error) { trouble = append(trouble, op+" "+authority) },
				}})
				d, err := tr.Check(t.Context(), must(tt.asked))
				if got := short(d); err != nil || got != tt.want || len(web.Requests()) != tt.requests {
					t.Errorf("got  %s, %v after %v\nwant %s after %d requests", got, err, web.Requests(), tt.want, tt.requests)
				}
				for _, r := range web.Requests() {
					if got := r.Header.Get("If-None-Match"); got != tt.tag {
						t.Errorf("the request carries the validator %s, want %q", got, tt.tag)
					}
				}
				if reported := slices.Equal(trouble, []string{"load " + site}); reported != tt.bad || !tt.bad && len(trouble) > 0 {
					t.Errorf("reported %q, want load %v", trouble, tt.bad)
				}
			})
		})
	}
}

// A noting store records what is put, and for how long.
type noting struct {
	*cache.Memory
	puts []string
	keep time.Duration // the shortest
}

func (s *noting) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	s.puts = append(s.puts, key)
	if s.keep == 0 || keep < s.keep {
		s.keep = keep
	}
	return s.Memory.Put(ctx, key, value, keep)
}

// Every fetch changes the record, at least in the time of the next fetch, and the record
// is written before the decision is returned. It is kept for as long as an outage can make
// use of it.
func TestStoreIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(text.ETag(`"1"`), httptest.Status(304), httptest.Status(503).Header("Connection", "close"), httptest.Reset(), httptest.Status(404), text)
		store := &noting{Memory: cache.NewMemory(1 << 20)}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store, Attempts: 1})
		for i := range 6 {
			d, err := tr.Check(t.Context(), must(private))
			if err != nil {
				t.Fatal(err)
			}
			rec, _ := tr.Record(t.Context(), must(private))
			want, _ := rec.MarshalBinary()
			got, err := store.Get(t.Context(), siteKey)
			if err != nil || !bytes.Equal(got, want) || len(store.puts) != i+1 || store.puts[i] != siteKey {
				t.Errorf("retrieval %d: the store has %d bytes after %q, %v; want the record of %d bytes after one Put each", i, len(got), store.puts, err, len(want))
			}
			again, err := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store}).Check(t.Context(), must(private))
			if err != nil || again.String() != d.String() || len(web.Requests()) != i+1 {
				t.Errorf("retrieval %d: after a restart\ngot  %v, %v after %d requests\nwant %v after %d", i, again, err, len(web.Requests()), d, i+1)
			}
			time.Sleep(time.Until(d.Expires))
		}
		if store.keep < 60*day {
			t.Errorf("kept for %v, want for the 24 hours of a copy and the 30 days of an outage at least, and as long again", store.keep)
		}
	})
}

// A troubled store breaks the rules of a store in some of its calls.
type troubled struct {
	cache.Store
	op   string // "get" or "put", or "" for both
	does func(ctx context.Context) ([]byte, error)
}

func (s *troubled) Get(ctx context.Context, key string) ([]byte, error) {
	if s.op != "put" {
		return s.does(ctx)
	}
	return s.Store.Get(ctx, key)
}

func (s *troubled) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if s.op != "get" {
		_, err := s.does(ctx)
		return err
	}
	return s.Store.Put(ctx, key, value, keep)
}

// A failure of the store is reported, takes no longer than a stated time for each
// call, and changes no decision.
func TestStoreInTrouble(t *testing.T) {
	failing := func(context.Context) ([]byte, error) { return nil, errors.New("disk on fire") }
	waiting := func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	deaf := func(context.Context) ([]byte, error) { time.Sleep(time.Hour); return nil, nil }
	nothing := func(context.Context) ([]byte, error) { return nil, nil }
	const call = 3 * time.Second
	for _, tt := range []struct {
		name, op string
		does     func(ctx context.Context) ([]byte, error)
		want     string
		most     time.Duration
	}{
		{"get_fails", "get", failing, "get put", 0},
		{"put_fails", "put", failing, "put", 0},
		{"all_fails", "", failing, "get put", 0},
		{"get_waits_for_its_context", "get", waiting, "get put", 2 * call},
		{"put_waits_for_its_context", "put", waiting, "put", call},
		{"all_is_deaf", "", deaf, "get put", 2 * call},
		{"get_returns_neither_value_nor_error", "get", nothing, "load", 0},
	} {
		t.Run("house/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(text)
				var trouble []string
				tr := newTransport(t, &fetcher.Options{
					Base:  web.Transport(),
					Store: &troubled{cache.NewMemory(1 << 20), tt.op, tt.does},
					Trace: &fetcher.Trace{Store: func(op, _ string, _ error) { trouble = append(trouble, op) }},
				})
				began := time.Now()
				d, err := tr.Check(t.Context(), must(private))
				took := time.Since(began)
				if short(d) != "disallow 2.2.2" || err != nil || took > tt.most {
					t.Errorf("got  %s, %v after %v\nwant disallow 2.2.2 after %v at most", short(d), err, took, tt.most)
				}
				if got := strings.Join(trouble, " "); got != tt.want || tr.Stats().StoreFailures != int64(len(trouble)) {
					t.Errorf("reported %q, counted %d; want %q", got, tr.Stats().StoreFailures, tt.want)
				}
				time.Sleep(time.Hour) // the deaf call ends
			})
		})
	}
}

// A store that returns values far longer than a record takes no memory for them while
// the fetches wait for their sites. Such a value is removed, and replaced by the record.
func TestStoreReturnsTooMuch(t *testing.T) {
	const flights, size = 16, 20 << 20
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		store := &longValues{Memory: cache.NewMemory(1 << 20), size: size}
		for i := range flights {
			web.Site(fmt.Sprintf("http://s%d.test", i)).Robots(text.After(10 * time.Second))
		}
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Store: store})
		var all sync.WaitGroup
		for i := range flights {
			all.Go(func() { tr.Check(t.Context(), must(fmt.Sprintf("http://s%d.test/private", i))) })
		}
		time.Sleep(time.Second) // all requests are under way
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > flights*size/4 {
			t.Errorf("house/garbage: %d MiB in use for %d fetches, want %d at most", m.HeapAlloc>>20, flights, flights*size/4>>20)
		}
		all.Wait()
		for i := range flights {
			if v, err := store.Get(t.Context(), fmt.Sprintf("http://s%d.test rfc9309", i)); err != nil || len(v) > 1000 {
				t.Errorf("house/garbage: the store has %d bytes, %v, for s%d.test; want its record", len(v), err, i)
			}
		}
	})
}

// longValues is a store that has a long value under every key until that is deleted.
type longValues struct {
	*cache.Memory
	size    int
	deleted sync.Map
}

func (h *longValues) Get(ctx context.Context, key string) ([]byte, error) {
	if _, gone := h.deleted.Load(key); !gone {
		return make([]byte, h.size), nil
	}
	return h.Memory.Get(ctx, key)
}

func (h *longValues) Delete(ctx context.Context, key string) error {
	h.deleted.Store(key, true)
	return h.Memory.Delete(ctx, key)
}

// A union is the store of a fleet, with values and leases and without a server.
type union struct {
	*cache.Memory
	down error // of every Lease

	mu     sync.Mutex
	leases map[string]time.Time
	asked  int
	before func() // runs in the next Lease
	frozen func() // runs before the next Swap
}

func newUnion() *union {
	return &union{Memory: cache.NewMemory(1 << 20), leases: map[string]time.Time{}}
}

func (u *union) Lease(_ context.Context, key string, _ time.Duration) (func(), error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	if u.before != nil {
		u.before()
		u.before = nil
	}
	switch {
	case u.down != nil:
		return nil, u.down
	case time.Now().Before(u.leases[key]):
		return nil, cache.ErrHeld
	}
	u.leases[key] = time.Now().Add(1000 * day) // nobody dies while this test has its lease
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.leases, key)
	}, nil
}

// Swap replaces a value, as cache/redis does.
func (u *union) Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (bool, error) {
	u.mu.Lock()
	frozen := u.frozen
	u.frozen = nil
	u.mu.Unlock()
	if frozen != nil {
		frozen()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if now, err := u.Get(ctx, key); !bytes.Equal(now, old) || (err == nil) != (old != nil) {
		return false, nil
	}
	return true, u.Put(ctx, key, value, keep)
}

// held returns the number of leases that are held.
func (u *union) held() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.leases)
}

// crawlers is the number of processes of a fleet that check at once.
const crawlers = 8

// In a fleet that shares a Leaser one process fetches from the site, whatever the
// others do.
func TestLease(t *testing.T) {
	const timeout = 10 * time.Second
	const lease = 3 * time.Second
	for _, tt := range []struct {
		name     string
		before   func(t *testing.T, u *union)
		robots   []httptest.Step
		do       action
		want     string
		requests int
		span     span // until all have their decision
		leases   bool // one is left over, which nobody is there to end
	}{
		{name: "one_asks", robots: steps(text.After(time.Second)), want: "disallow 2.2.2", requests: 1, span: span{time.Second, 3 * time.Second}},
		{name: "one_asks_in_an_outage", robots: steps(httptest.Status(503)), want: "defer 2.3.1.4", requests: 1, span: span{0, 2 * time.Second}},
		{name: "one_asks_and_hangs", robots: steps(httptest.Hang()), want: "defer 2.3.1.4", requests: 1, span: span{timeout, timeout + 2*time.Second}},
		{name: "one_renews", before: expired, robots: steps(httptest.Status(304).After(time.Second)), want: "disallow 2.2.2", requests: 1, span: span{time.Second, 3 * time.Second}},
		{name: "one_refreshes", robots: steps(text.After(time.Second)), do: refresh, want: "disallow 2.2.2", requests: 1, span: span{time.Second, 3 * time.Second}},
		{name: "one_takes_over_from_the_dead", before: dead(1), robots: steps(text), want: "disallow 2.2.2", requests: 1, span: span{lease, lease + 3*time.Second}},
		{name: "winner_looks_again", before: faster, want: "disallow 2.2.2", span: span{0, 2 * time.Second}},
		{name: "each_alone_without_leases", before: leaseless, robots: steps(text.After(time.Second)), want: "disallow 2.2.2", requests: crawlers, span: exactly(time.Second)},
		{name: "nobody_waits_for_ever", before: dead(100), robots: steps(text.After(time.Second)), want: "disallow 2.2.2", requests: crawlers,
			span: span{26 * time.Second, 29 * time.Second}, leases: true},
	} {
		t.Run("house/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				if len(tt.robots) > 0 {
					web.Site(site).Robots(tt.robots...)
				}
				u := newUnion()
				all := make([]*fetcher.Transport, crawlers)
				for i := range all {
					all[i] = newTransport(t, &fetcher.Options{Base: web.Transport(), Store: u, Timeout: timeout, Attempts: 1})
					connected(t, web, all[i], i)
				}
				if tt.before != nil {
					tt.before(t, u)
				}
				u.asked = 0
				warm, began := len(web.Requests()), time.Now()
				var got tallied
				var fleet sync.WaitGroup
				for _, tr := range all {
					fleet.Go(func() { got.add(question{url: private, do: tt.do}.put(tr)) })
				}
				fleet.Wait()
				took := time.Since(began)
				if got.by[tt.want] != crawlers || len(web.Requests()) != warm+tt.requests || took < tt.span.least || took > tt.span.most {
					t.Errorf("got  %v, %d requests, after %v\nwant %s for all %d, %d requests, after %v to %v",
						got.by, len(web.Requests())-warm, took, tt.want, crawlers, tt.requests, tt.span.least, tt.span.most)
				}
				if left := u.held(); left > 0 && !tt.leases {
					t.Errorf("%d leases are held still, want none", left)
				}
				// Nobody tries to take the lease more than a few times a second.
				if most := crawlers * (10 + int(2*took/time.Second)); u.asked > most {
					t.Errorf("the lease was tried %d times in %v, want %d at most", u.asked, took, most)
				}
			})
		})
	}
}

// connected lets a crawler have an answer from a site of its own. Then the fleet
// believes the crawler when another site does not answer.
func connected(t *testing.T, web *httptest.Web, tr *fetcher.Transport, i int) {
	own := fmt.Sprintf("http://own%d.test", i)
	web.Site(own).Robots(text)
	if _, err := tr.Check(t.Context(), must(own+"/")); err != nil {
		t.Fatal(err)
	}
}

// expired puts a record that is due.
func expired(t *testing.T, u *union) {
	u.Put(t.Context(), siteKey, stored(t, policy.RFC9309(), site, rules, time.Now().Add(-day)), day)
}

// dead takes the lease for several holders that died one after the other.
func dead(times int) func(*testing.T, *union) {
	return func(_ *testing.T, u *union) {
		u.leases[siteKey] = time.Now().Add(time.Duration(times) * 3 * time.Second)
	}
}

// faster lets another process learn the record between the first look and the
// lease.
func faster(t *testing.T, u *union) {
	value := stored(t, policy.RFC9309(), site, rules, time.Now())
	u.before = func() { u.Put(context.Background(), siteKey, value, day) }
}

// leaseless makes every Lease fail.
func leaseless(_ *testing.T, u *union) { u.down = fmt.Errorf("no leases today") }
