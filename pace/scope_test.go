package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A step asks for a turn and keeps it for takes. start is when it starts.
type step struct {
	authority string
	delay     time.Duration
	scopes    []Scope
	takes     time.Duration
	start     time.Duration
}

// scopeTests are requests that all come at the moment 0, in this order.
var scopeTests = []struct {
	name   string
	limits Limits
	steps  []step
}{
	{"gap_of_a_domain", Limits{}, []step{
		{authority: "a", scopes: []Scope{{Key: "d", Limits: Limits{Gap: time.Second}}}},
		{authority: "b", scopes: []Scope{{Key: "d", Limits: Limits{Gap: time.Second}}}, start: time.Second},
		{authority: "c", scopes: []Scope{{Key: "d", Limits: Limits{Gap: time.Second}}}, start: 2 * time.Second},
		{authority: "c", scopes: []Scope{{Key: "e", Limits: Limits{Gap: time.Second}}}, start: 2 * time.Second}, // behind another of its authority
		{authority: "f"},
	}},
	{"parallel_of_all", Limits{}, []step{
		{authority: "a", scopes: []Scope{{Key: "all", Limits: Limits{Parallel: 2}}}, takes: time.Second},
		{authority: "b", scopes: []Scope{{Key: "all", Limits: Limits{Parallel: 2}}}, takes: 3 * time.Second},
		{authority: "c", scopes: []Scope{{Key: "all", Limits: Limits{Parallel: 2}}}, takes: time.Second, start: time.Second},
		{authority: "d", scopes: []Scope{{Key: "all", Limits: Limits{Parallel: 2}}}, takes: time.Second, start: 2 * time.Second},
	}},
	{"all_have_room_at_the_same_moment", Limits{Gap: time.Second}, []step{
		{authority: "a", takes: time.Minute, scopes: []Scope{{Key: "d", Limits: Limits{Gap: 3 * time.Second}}, {Key: "all", Limits: Limits{Gap: 100 * ms}}}},
		{authority: "a", scopes: []Scope{{Key: "all", Limits: Limits{Gap: 100 * ms}}}, start: time.Second},
		{authority: "b", scopes: []Scope{{Key: "d", Limits: Limits{Gap: 3 * time.Second}}, {Key: "all", Limits: Limits{Gap: 100 * ms}}}, start: 3 * time.Second},
	}},
	{"a_crawl_delay_is_of_the_authority_alone", Limits{}, []step{
		{authority: "a", delay: 10 * time.Second, scopes: []Scope{{Key: "d", Limits: Limits{Gap: time.Second}}}},
		{authority: "b", scopes: []Scope{{Key: "d", Limits: Limits{Gap: time.Second}}}, start: time.Second},
		{authority: "a", delay: 10 * time.Second, scopes: []Scope{{Key: "d", Limits: Limits{Gap: time.Second}}}, start: 10 * time.Second},
	}},
	{"own_limits_of_a_host", Limits{Gap: time.Second}, []step{
		{authority: "a", scopes: []Scope{{Key: "a", Limits: Limits{Gap: 3 * time.Second}}}},
		{authority: "a", scopes: []Scope{{Key: "a", Limits: Limits{Gap: 3 * time.Second}}}, start: 3 * time.Second},
		{authority: "b"},
		{authority: "b", start: time.Second},
	}},
	{"own_limits_of_a_host_and_a_domain", Limits{Gap: time.Second}, []step{
		{authority: "a", scopes: []Scope{{Key: "d", Limits: Limits{Gap: 2 * time.Second}}, {Key: "a", Limits: Limits{}}}},
		{authority: "a", scopes: []Scope{{Key: "d", Limits: Limits{Gap: 2 * time.Second}}, {Key: "a", Limits: Limits{}}}, start: 2 * time.Second},
	}},
	{"own_limits_last_until_others_are_given", Limits{Gap: time.Second}, []step{
		{authority: "a", scopes: []Scope{{Key: "a", Limits: Limits{Gap: 3 * time.Second}}}},
		{authority: "a", start: 3 * time.Second},
	}},
	{"own_limits_change_for_those_in_line", Limits{Gap: time.Second}, []step{
		{authority: "a"},
		{authority: "a", start: 3 * time.Second},
		{authority: "a", scopes: []Scope{{Key: "a", Limits: Limits{Gap: 3 * time.Second}}}, start: 6 * time.Second},
	}},
	{"own_crawl_delay_mode", Limits{}, []step{
		{authority: "a", delay: time.Minute, scopes: []Scope{{Key: "a", Limits: Limits{Delay: Ignore}}}},
		{authority: "a", delay: time.Minute, scopes: []Scope{{Key: "a", Limits: Limits{Delay: Ignore}}}},
	}},
	{"own_limits_off", Limits{Gap: time.Second}, []step{
		{authority: "a", delay: time.Minute, scopes: []Scope{{Key: "a", Limits: Limits{Off: true}}, {Key: "all", Limits: Limits{Gap: 100 * ms}}}},
		{authority: "a", delay: time.Minute, scopes: []Scope{{Key: "a", Limits: Limits{Off: true}}, {Key: "all", Limits: Limits{Gap: 100 * ms}}}, start: 100 * ms},
	}},
	{"scopes_of_a_pacer_that_is_off", Limits{Off: true}, []step{
		{authority: "a", delay: time.Minute},
		{authority: "a", delay: time.Minute},
		{authority: "a", delay: time.Minute, scopes: []Scope{{Key: "all", Limits: Limits{Gap: time.Second}}}},
		{authority: "a", delay: time.Minute, scopes: []Scope{{Key: "all", Limits: Limits{Gap: time.Second}}}, start: time.Second},
	}},
	{"no_gap_on_loopback", Limits{}, []step{
		{authority: "http://localhost", scopes: []Scope{{Key: "http://localhost", Limits: *Default()}}},
		{authority: "http://localhost", scopes: []Scope{{Key: "http://localhost", Limits: *Default()}}},
	}},
	{"another_authority_as_a_scope", Limits{Gap: time.Second}, []step{
		{authority: "http://a", scopes: []Scope{{Key: "https://a", Limits: Limits{Gap: time.Second}}}},
		{authority: "https://a", start: time.Second},
		{authority: "http://a", scopes: []Scope{{Key: "https://a", Limits: Limits{Gap: time.Second}}}, start: 2 * time.Second},
		{authority: "https://a", start: 3 * time.Second},
	}},
}

func TestScopes(t *testing.T) {
	for _, test := range scopeTests {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, zero := pacer(t, test.limits, nil), time.Now()
				var wg sync.WaitGroup
				for i, s := range test.steps {
					wg.Go(func() {
						turn, err := p.Wait(context.Background(), s.authority, s.delay, s.scopes...)
						if at := time.Since(zero); err != nil || at != s.start {
							t.Errorf("request %d, %+v: Wait = %v at %v; want a turn at %v", i, s, err, at, s.start)
						}
						time.Sleep(s.takes)
						turn.Done()
					})
					synctest.Wait()
				}
				wg.Wait()
			})
		})
	}
}

// A Scope without a meaning is an error of its request, which changes nothing.
func TestScopeErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		scopes []Scope
		want   string
	}{
		{"no_key", []Scope{{Key: "", Limits: Limits{}}}, "pace: the Key of a Scope is empty; want a name"},
		{"negative_gap", []Scope{{Key: "d", Limits: Limits{Gap: -1}}}, `scope "d": pace: Limits.Gap is -1ns; want a positive duration, or 0 for none`},
		{"own_limits", []Scope{{Key: "a", Limits: Limits{Parallel: -1}}}, `scope "a": pace: Limits.Parallel is -1; want a positive number, or 0 for no bound`},
		{"twice", []Scope{{Key: "d", Limits: Limits{}}, {Key: "d", Limits: Limits{}}}, `pace: two scopes have the Key "d"; want one`},
		{"authority_twice", []Scope{{Key: "a", Limits: Limits{}}, {Key: "a", Limits: Limits{}}}, `pace: two scopes have the Key "a"; want one`},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			p := pacer(t, Limits{}, nil)
			turn, err := p.Wait(context.Background(), "a", 0, test.scopes...)
			if turn != (Turn{}) || err == nil || err.Error() != test.want {
				t.Errorf("Wait = %v, %v; want the error %q", turn, err, test.want)
			}
			if s := p.Stats(); s.Turns != 0 || s.InFlight != 0 || s.Waiting != 0 {
				t.Errorf("Stats() = %+v; want no turn", s)
			}
		})
	}
}

// A refusal and Obstacle name the scope that is in the way.
func TestScopeRefusals(t *testing.T) {
	gap, full := Scope{Key: "d", Limits: Limits{Gap: time.Minute, MaxWait: 30 * time.Second}}, Scope{Key: "all", Limits: Limits{Parallel: 1}}
	for _, test := range []struct {
		name    string
		scopes  []Scope
		refused time.Duration // when
		retry   time.Duration
		scope   string
		peek    time.Duration
	}{
		{"gap", []Scope{gap}, 0, time.Minute, "d", time.Minute},
		{"gap_comes_last", []Scope{gap, full}, 0, time.Minute, "d", time.Minute},
		{"in_flight", []Scope{full}, time.Hour, time.Hour + time.Second, "all", 0},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, zero := pacer(t, Limits{MaxWait: time.Hour}, nil), time.Now()
				if o, waits := p.Obstacle("b", 0, gap, full); waits {
					t.Errorf("Obstacle of the first request = %v; want none", o)
				}
				if _, err := p.Wait(context.Background(), "a", 0, gap, full); err != nil {
					t.Fatal(err)
				}
				seen := &RefusedError{Authority: "b", RetryAt: zero.Add(test.peek), Reason: ReasonScope, Scope: test.scope}
				if o, _ := p.Obstacle("b", 0, test.scopes...); !reflect.DeepEqual(&o, seen) {
					t.Errorf("Obstacle = %+v, want %+v", o, seen)
				}
				_, err := p.Wait(context.Background(), "b", 0, test.scopes...)
				want := &RefusedError{Authority: "b", RetryAt: zero.Add(test.retry), Reason: ReasonScope, Scope: test.scope}
				if !reflect.DeepEqual(err, want) || time.Since(zero) != test.refused {
					t.Errorf("Wait = %v after %v, want %v after %v", err, time.Since(zero), want, test.refused)
				}
				if why := want.Why(); why != `scope "`+test.scope+`"` {
					t.Errorf("Why() = %q; want the scope and its key", why)
				}
			})
		})
	}
}

// A request whose MaxWait is over at a busy host is refused until its scope has room.
func TestRetryAtKnowsScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, zero, d := pacer(t, Limits{Parallel: 1, MaxWait: time.Second}, nil), time.Now(), Scope{Key: "d", Limits: Limits{Gap: time.Minute}}
		take(t, p, "a", 0)
		time.AfterFunc(500*ms, func() { p.Wait(t.Context(), "b", 0, d) })
		_, err := p.Wait(t.Context(), "a", 0, d)
		want := &RefusedError{Authority: "a", RetryAt: zero.Add(time.Minute + 500*ms), Reason: ReasonScope, Scope: "d"}
		if !reflect.DeepEqual(err, want) {
			t.Errorf("6: Wait = %v, want %v", err, want)
		}
	})
}

// A 429 pauses the authority, and not those that share a scope with it. Nor does a
// host that fails.
func TestScopesArePausedByNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, all := pacer(t, Limits{Failures: 1}, nil), Scope{Key: "all", Limits: Limits{Failures: 1}}
		for _, authority := range []string{"a", "b"} {
			turn, err := p.Wait(context.Background(), authority, 0, all)
			if err != nil {
				t.Fatal(err)
			}
			if authority == "a" {
				turn.Answer(429, http.Header{"Retry-After": {"600"}})
			} else {
				turn.Fail(errors.New("test"))
			}
			turn.Done()
		}
		for authority, want := range map[string]Reason{"a": ReasonPause, "b": ReasonBreaker, "c": ReasonNone} {
			if _, why := peek(p, authority, 0, all); why != want {
				t.Errorf("peek(%q) = %q, want %q", authority, why, want)
			}
		}
		off := Scope{Key: "d", Limits: Limits{Off: true}}
		turn, err := p.Wait(context.Background(), "d", 0, off)
		if err != nil {
			t.Fatal(err)
		}
		turn.Answer(429, http.Header{"Retry-After": {"600"}})
		turn.Fail(errors.New("test"))
		turn.Done()
		if _, why := peek(p, "d", 0, off); why != ReasonNone {
			t.Errorf("peek of a host without pacing = %q after a 429, want %q", why, ReasonNone)
		}
	})
}

// The gap of a scope counts from when the request was sent. A caller that leaves gives
// the room back in all scopes.
func TestScopesSentAndLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, d := pacer(t, Limits{}, nil), Scope{Key: "d", Limits: Limits{Gap: time.Second, Parallel: 1}}
		first, err := p.Wait(context.Background(), "a", 0, d)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * ms)
		first.Sent()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := p.Wait(ctx, "b", 0, d); err != context.DeadlineExceeded {
			t.Errorf("Wait = %v, want %v", err, context.DeadlineExceeded)
		}
		var left *waiter
		p.mu.Lock()
		if h, scopes, err := p.hostsOf("c", []Scope{d}, p.now()); err == nil {
			_, left, _ = p.enter(t.Context(), h, scopes, 0, maxSpan, p.now())
		}
		p.mu.Unlock()
		time.AfterFunc(time.Second, first.Done)
		time.Sleep(time.Second)
		synctest.Wait()
		p.mu.Lock()
		p.step(left, context.Canceled) // at the moment of its turn
		p.mu.Unlock()
		if at, why := peek(p, "e", 0, d); at.After(time.Now()) || why != ReasonNone {
			t.Errorf("peek after a caller has left = %v, %q; want a free turn", time.Until(at), why)
		}
		if at := p.hosts.byName["d"].starts.last; at != 300*ms {
			t.Errorf("the last start in the scope is %v; want that of the first request, 300ms", at)
		}
	})
}

// A request whose scope has room later than was known, and too late, is refused when that is seen.
func TestScopesRefuseTheLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r, d := pacer(t, Limits{}, nil), newTrail(), Scope{Key: "d", Limits: Limits{Gap: time.Second}}
		first, err := p.Wait(t.Context(), "a", 0, d)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(900*ms, first.Sent)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*ms)
		defer cancel()
		var refused *RefusedError
		if _, err := p.Wait(ctx, "b", 0, d); errors.As(err, &refused) {
			r.add("refused until %v", refused.RetryAt.Sub(r.zero))
		}
		r.check(t, "1s refused until 1.9s")
	})
}

// Limits that a call gives count for the first in line at once.
func TestScopesOwnLimitsWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{Gap: time.Minute}, nil), newTrail()
		take(t, p, host1, 0).Done()
		settled := queue(p, r, 1)
		time.Sleep(2 * time.Second)
		turn, err := p.Wait(t.Context(), host1, 0, Scope{Key: host1, Limits: Limits{Gap: time.Second}})
		r.add("caller %v", err)
		turn.Done()
		settled()
		r.check(t, "2s 0", "3s caller <nil>")
	})
}

// However many scopes there are, their number in memory is bounded, and those in use are
// not forgotten.
func TestManyScopes(t *testing.T) {
	const n = maxHosts * 3 / 2
	synctest.Test(t, func(t *testing.T) {
		p := pacer(t, Limits{Delay: Ignore}, nil)
		l := Limits{Gap: 24 * time.Hour, Delay: Ignore}
		all := Scope{Key: "all", Limits: Limits{Gap: 10 * ms, Delay: Ignore}}
		full, err := p.Wait(context.Background(), "first", 0, Scope{Key: "full", Limits: Limits{Parallel: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { // a request that waits, at a host and in a scope that are at rest
			if _, err := p.Wait(context.Background(), "waits", 0, all, Scope{Key: "rare", Limits: l}, Scope{Key: "full", Limits: Limits{Parallel: 1}}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		most, zero := 0, time.Now()
		for i := range n {
			turn, err := p.Wait(context.Background(), "a", 0, Scope{Key: strconv.Itoa(i), Limits: l}, all)
			if err != nil {
				t.Fatal(err)
			}
			turn.Done()
			most = max(most, p.Stats().Authorities)
		}
		if most > maxHosts*5/4 || p.Stats().Forgotten < uint64(n-maxHosts*5/4) {
			t.Errorf("%d remembered of %d scopes, %d forgotten; want about %d remembered", most, n, p.Stats().Forgotten, maxHosts)
		}
		if took := time.Since(zero); took < time.Duration(n-1)*10*ms {
			t.Errorf("%d requests took %v; want a gap of 10ms between any two", n, took)
		}
		full.Done()
		wg.Wait()
		if _, why := peek(p, "z", 0, Scope{Key: "rare", Limits: l}); why != ReasonScope {
			t.Errorf("peek of a scope with a request in flight = %q, want %q", why, ReasonScope)
		}
	})
}

// Each field of Limits counts when two are compared.
func TestLimitsEqual(t *testing.T) {
	fields := reflect.TypeFor[Limits]()
	for i := range fields.NumField() {
		a, b := Limits{}, Limits{}
		switch f := reflect.ValueOf(&b).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint8:
			f.SetUint(1)
		case reflect.Map:
			f.Set(reflect.ValueOf(map[int]Health{403: Overloaded}))
		default:
			f.SetInt(1)
		}
		if a.equal(&b) || !b.equal(&b) {
			t.Errorf("%s: limits that differ are equal; want them to differ", fields.Field(i).Name)
		}
	}
}

func TestDomain(t *testing.T) {
	for _, test := range []struct{ host, want string }{
		{"www.example.co.uk", "example.co.uk"}, {"example.co.uk", "example.co.uk"}, {"a.b.EXAMPLE.com.", "example.com"},
		{"www.example.com:8443", "example.com"}, {"user.github.io", "user.github.io"}, {"github.io", "github.io"},
		{"co.uk", "co.uk"}, {"www.müller.de", "xn--mller-kva.de"}, {"localhost", "localhost"}, {"intranet:8080", "intranet"},
		{"192.0.2.1", "192.0.2.1"}, {"192.0.2.1:80", "192.0.2.1"}, {"2001:DB8::1", "[2001:db8::1]"}, {"[2001:DB8::1]", "[2001:db8::1]"},
		{"[2001:db8::1]:443", "[2001:db8::1]"}, {"", ""}, {"a b", "a b"},
	} {
		if got := Domain(test.host); got != test.want {
			t.Errorf("Domain(%q) = %q, want %q", test.host, got, test.want)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, test := range []struct {
		found []string
		err   error
		want  string
	}{
		{found: []string{"192.0.2.7", "192.0.2.1"}, want: "192.0.2.1"},
		{found: []string{"2001:db8::1", "192.0.2.7"}, want: "192.0.2.7"},
		{found: []string{"::ffff:192.0.2.7"}, want: "192.0.2.7"},
		{found: []string{"2001:db8::2", "2001:db8::1"}, want: "2001:db8::1"},
		{err: errors.New("no such host")},
		{},
	} {
		got, err := Address(context.Background(), "example.com", func(_ context.Context, network, host string) (addrs []netip.Addr, _ error) {
			if network != "ip" || host != "example.com" {
				t.Errorf("looked up %q, %q; want ip, example.com", network, host)
			}
			for _, a := range test.found {
				addrs = append(addrs, netip.MustParseAddr(a))
			}
			return addrs, test.err
		})
		if got != test.want || (err == nil) != (test.want != "") || test.err != nil && !errors.Is(err, test.err) {
			t.Errorf("Address with %v, %v = %q, %v; want %q", test.found, test.err, got, err, test.want)
		}
	}
	if got, err := Address(context.Background(), "192.0.2.1", nil); got != "192.0.2.1" || err != nil {
		t.Errorf("Address of an address = %q, %v; want it", got, err)
	}
	if _, err := Address(context.Background(), strings.Repeat("x", 300), nil); err == nil {
		t.Error("Address of no name: no error; want one")
	}
}

// A scopeCrowd is many workers that take one turn after another, each at a random host and
// with random scopes in random order. It compares each turn with the limits alone.
type scopeCrowd struct {
	t      *testing.T
	p      *Pacer
	limits map[string]Limits // by authority and Key

	mu     sync.Mutex
	rng    *rand.Rand
	flying map[string]int
	last   map[string]time.Time
	waits  []time.Duration
}

// start is a start in each of the places, and its end when done is called.
func (c *scopeCrowd) start(places []string, waited time.Duration) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, waited)
	for _, at := range places {
		l := c.limits[at]
		if apart := time.Since(c.last[at]); apart < l.Gap {
			c.t.Errorf("%s: two starts %v apart, want at least %v", at, apart, l.Gap)
		}
		c.last[at] = time.Now()
		c.flying[at]++
		if l.Parallel > 0 && c.flying[at] > l.Parallel {
			c.t.Errorf("%s: %d requests in flight, want at most %d", at, c.flying[at], l.Parallel)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, at := range places {
			c.flying[at]--
		}
	}
}

// draw returns the scopes of the next request, how long it takes, and how long it waits
// at most, 0 for as long as need be.
func (c *scopeCrowd) draw(hosts int) (places []string, scopes []Scope, takes, leaves time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	places = append(places, "host"+strconv.Itoa(c.rng.IntN(hosts)))
	for key := range c.limits {
		if key[0] == 's' {
			places = append(places, key)
		}
	}
	slices.Sort(places[1:])
	c.rng.Shuffle(len(places)-1, func(i, j int) { places[i+1], places[j+1] = places[j+1], places[i+1] })
	n := 2 + c.rng.IntN(3)
	if c.rng.IntN(20) == 0 {
		n += 2 // more scopes than a className has
	}
	places = places[:n]
	for _, key := range places[1:] {
		scopes = append(scopes, Scope{Key: key, Limits: c.limits[key]})
	}
	if c.rng.IntN(10) == 0 {
		leaves = time.Duration(1+c.rng.IntN(1000)) * ms
	}
	return places, scopes, time.Duration(1+c.rng.IntN(40)) * ms, leaves
}

func (c *scopeCrowd) work(hosts, requests int) {
	for range requests {
		places, scopes, takes, leaves := c.draw(hosts)
		came := time.Now()
		ctx, cancel := context.Background(), func() {}
		if leaves > 0 {
			ctx, cancel = context.WithTimeout(ctx, leaves)
		}
		turn, err := c.p.Wait(ctx, places[0], 0, scopes...)
		cancel()
		if leaves > 0 && (err == context.DeadlineExceeded || errors.As(err, new(*RefusedError))) {
			continue
		}
		if err != nil {
			c.t.Errorf("Wait = %v; want a turn", err)
			return
		}
		done := c.start(places, time.Since(came))
		time.Sleep(takes)
		done()
		turn.Done()
	}
}

// watch checks every few milliseconds, until stop is closed, that nobody waits while all that it
// needs have room.
func (c *scopeCrowd) watch(stop <-chan struct{}) {
	for range 20_000 { // if all are stuck, synctest says so then
		select {
		case <-stop:
			return
		case <-time.After(7 * ms):
		}
		synctest.Wait()
		c.p.mu.Lock()
		for name, h := range c.p.hosts.byName {
			if w := h.line.first(); w != nil && w.obstacle(c.p.now()).in == nil {
				c.t.Errorf("the first in line at %s waits for %q, but has room", name, w.waitsFor.why)
			}
		}
		c.p.mu.Unlock()
	}
}

// rest checks that nothing is left when all workers have ended.
func (c *scopeCrowd) rest() {
	if s := c.p.Stats(); s.Waiting != 0 || s.InFlight != 0 || int(s.Turns) != len(c.waits) {
		c.t.Errorf("after all have left: %+v; want nothing waiting, nothing in flight, %d turns", s, len(c.waits))
	}
	if n := len(c.p.classes); n != 0 {
		c.t.Errorf("%d classes; want none", n)
	}
	for name, h := range c.p.hosts.byName {
		if h.busy() || h.guests.first() != nil || h.guests.count != 0 || h.guests.keptFor != nil {
			c.t.Errorf("%s: %d in flight, %d pending, %d and %d in line, room kept: %t; want nothing", name, h.starts.flying, h.guests.pending, h.line.len(), h.guests.waiters.Len(), h.guests.keptFor != nil)
		}
	}
}

// Random requests with random scopes: no limit is broken, everybody gets a turn, nobody waits
// much longer than the others, and nobody waits while there is room.
func TestScopeModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run("6/"+strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 9309))
				const hosts = 12
				c := &scopeCrowd{t: t, rng: rng, p: pacer(t, Limits{Gap: 10 * ms, Parallel: 2}, nil),
					limits: map[string]Limits{}, flying: map[string]int{}, last: map[string]time.Time{}}
				for i := range hosts {
					c.limits["host"+strconv.Itoa(i)] = Limits{Gap: 10 * ms, Parallel: 2}
				}
				for i := range 6 {
					l := Limits{Gap: time.Duration(rng.IntN(2)) * 20 * ms, Parallel: rng.IntN(3)}
					if l.Gap == 0 && l.Parallel == 0 {
						l.Parallel = 1
					}
					c.limits["s"+strconv.Itoa(i)] = l
				}
				stop := make(chan struct{})
				go c.watch(stop)
				var wg sync.WaitGroup
				for range 60 {
					wg.Go(func() { c.work(hosts, 30) })
				}
				wg.Wait()
				close(stop)
				slices.Sort(c.waits)
				median, longest := c.waits[len(c.waits)/2], c.waits[len(c.waits)-1]
				if longest > 3*median {
					t.Errorf("longest wait %v, median %v; want at most three times the median", longest, median)
				}
				c.rest()
			})
		})
	}
}

// A request with two scopes, each of which is busy with requests that have one scope
// alone, waits little longer than such a request, whatever the order of its scopes.
func TestScopesDoNotStarve(t *testing.T) {
	const callers = 50
	busy := []Limits{{Gap: 20 * ms}, {Gap: 35 * ms}, {Parallel: 1}, {Parallel: 3}}
	for i, a := range busy {
		for j, b := range busy {
			t.Run(fmt.Sprintf("6/%d/%d", i, j), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := pacer(t, Limits{}, nil)
					ctx, stop := context.WithCancel(context.Background())
					var wg sync.WaitGroup
					worker := func(name string, takes time.Duration, scopes ...Scope) {
						for ctx.Err() == nil {
							turn, err := p.Wait(ctx, name, 0, scopes...)
							if err == nil {
								time.Sleep(takes)
								turn.Done()
							}
						}
					}
					for n := range callers {
						wg.Go(func() { worker(fmt.Sprint("a", n), 33*ms, Scope{Key: "a", Limits: a}) })
						wg.Go(func() {
							time.Sleep(7 * ms) // never at the same moment, if the gaps are equal
							worker(fmt.Sprint("b", n), 27*ms, Scope{Key: "b", Limits: b})
						})
					}
					time.Sleep(5 * time.Second)
					for range 20 {
						zero := time.Now()
						turn, err := p.Wait(ctx, "both", 0, Scope{Key: "a", Limits: a}, Scope{Key: "b", Limits: b})
						if took, most := time.Since(zero), (callers+5)*35*ms; err != nil || took > most {
							t.Errorf("Wait = %v after %v; want a turn after at most %v", err, took, most)
						}
						turn.Done()
					}
					stop()
					wg.Wait()
				})
			})
		}
	}
}

// A request that waits for one scope does not keep others out of another.
func TestAWaitHoldsNoScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := pacer(t, Limits{}, nil), newTrail()
		full, free := Scope{Key: "full", Limits: Limits{Parallel: 1}}, Scope{Key: "free", Limits: Limits{Parallel: 1}}
		ask := func(name string, scopes ...Scope) (Turn, error) {
			turn, err := p.Wait(context.Background(), name, 0, scopes...)
			r.add("%s %v", name, err)
			return turn, err
		}
		first, _ := ask("a", full)
		var wg sync.WaitGroup
		wg.Go(func() {
			turn, _ := ask("b", free, full)
			turn.Done()
		})
		wg.Go(func() {
			turn, _ := ask("c", full, free)
			turn.Done()
		})
		synctest.Wait()
		for range 2 {
			time.Sleep(time.Second)
			turn, _ := ask("d", free)
			turn.Done()
		}
		first.Done()
		wg.Wait()
		r.mu.Lock()
		slices.Sort(r.at)
		r.mu.Unlock()
		r.check(t, "0s a <nil>", "1s d <nil>", "2s b <nil>", "2s c <nil>", "2s d <nil>")
	})
}

// A crawl gets the rate that its scopes permit: ten hosts in each of ten domains with a gap
// of 500 ms, and five requests at once in all, each of 100 ms.
func TestNestedScopesCostNoSpeed(t *testing.T) {
	for _, all := range []int{1, 2, 5} {
		for _, wideFirst := range []bool{false, true} {
			t.Run(fmt.Sprintf("6/%d/%t", all, wideFirst), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, zero := pacer(t, Limits{Parallel: 1}, nil), time.Now()
					const each = 10
					var wg sync.WaitGroup
					for host := range 100 {
						wg.Go(func() {
							scopes := []Scope{{Key: fmt.Sprint("domain", host%10), Limits: Limits{Gap: 500 * ms}}, {Key: "all", Limits: Limits{Parallel: all}}}
							if wideFirst {
								slices.Reverse(scopes)
							}
							for range each {
								turn, err := p.Wait(context.Background(), fmt.Sprint("host", host), 0, scopes...)
								if err != nil {
									t.Error(err)
								}
								time.Sleep(100 * ms)
								turn.Done()
							}
						})
					}
					wg.Wait()
					permitted := max(100*each*100*ms/time.Duration(all), 10*each*500*ms)
					if took := time.Since(zero); took > permitted*110/100 {
						t.Errorf("took %v; the limits permit %v", took, permitted)
					}
				})
			})
		}
	}
}

// If the first in line waits for a scope, then Obstacle, a refusal behind it and Hosts
// name the scope.
func TestScopesOfThoseInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, d, zero := pacer(t, Limits{}, nil), Scope{Key: "d", Limits: Limits{Gap: time.Minute}}, time.Now()
		var wg sync.WaitGroup
		for _, authority := range []string{"a", "b"} {
			wg.Go(func() {
				if _, err := p.Wait(context.Background(), authority, 0, d); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		late := &RefusedError{Authority: "b", RetryAt: zero.Add(time.Minute), Reason: ReasonScope, Scope: "d"}
		if o, _ := p.Obstacle("b", 0); !reflect.DeepEqual(&o, late) {
			t.Errorf("Obstacle behind one that waits for a scope = %+v, want %+v", o, late)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := p.Wait(ctx, "b", 0); !reflect.DeepEqual(err, late) {
			t.Errorf("Wait behind one that waits for a scope = %+v, want %+v", err, late)
		}
		got := map[string]HostStatus{}
		for s := range p.Hosts() {
			got[s.Authority] = s
		}
		next := zero.Add(time.Minute)
		want := map[string]HostStatus{
			"a": {Authority: "a", InFlight: 1, Next: zero},
			"b": {Authority: "b", Waiting: 1, Since: zero, Next: next, Reason: ReasonScope, Scope: "d"},
			"d": {Authority: "d", Guests: 1, InFlight: 1, Since: zero, Next: next, Reason: ReasonGap},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Hosts\n%+v\nwant\n%+v", got, want)
		}
		wg.Wait()
	})
}

// A request that waits for a scope while its authority is paused waits for the end of the
// pause, and others use the scope.
func TestAPauseWhileWaitingForAScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r, d := pacer(t, Limits{}, nil), newTrail(), Scope{Key: "d", Limits: Limits{Gap: 10 * time.Second}}
		first := take(t, p, "b", 0)
		var wg sync.WaitGroup
		for _, authority := range []string{"a", "b", "c", "b"} {
			wg.Go(func() {
				turn, err := p.Wait(context.Background(), authority, 0, d)
				r.add("%s %v", authority, err)
				turn.Done()
			})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		first.Answer(429, http.Header{"Retry-After": {"14"}})
		wg.Wait()
		r.check(t, "0s a <nil>", "10s c <nil>", "20s b <nil>", "30s b <nil>")
	})
}

// Room in a scope goes to the oldest request, even if that is behind another request of
// its authority.
func TestRoomGoesToTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r, all := pacer(t, Limits{Parallel: 1}, nil), newTrail(), Scope{Key: "all", Limits: Limits{Parallel: 1}}
		var wg sync.WaitGroup
		for i, authority := range []string{"a", "a", "b", "a", "c"} {
			wg.Go(func() {
				turn, err := p.Wait(context.Background(), authority, 0, all)
				r.add("%d %v", i, err)
				time.Sleep(time.Second)
				turn.Done()
			})
			synctest.Wait()
		}
		wg.Wait()
		r.check(t, "0s 0 <nil>", "1s 1 <nil>", "2s 2 <nil>", "3s 3 <nil>", "4s 4 <nil>")
	})
}

// A newcomer at an authority that older requests wait for as a scope has to wait, and Obstacle says so.
func TestObstacleOfAnAuthorityWithGuests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := pacer(t, Limits{Parallel: 1}, nil), Scope{Key: "a", Limits: Limits{Parallel: 2}}
		busy := Scope{Key: "busy", Limits: Limits{Gap: time.Second}}
		for _, scopes := range [][]Scope{{a, busy}, {a}} {
			if _, err := p.Wait(t.Context(), fmt.Sprint("host", len(scopes)), 0, scopes...); err != nil {
				t.Fatal(err)
			}
		}
		go p.Wait(t.Context(), "guest", 0, a)
		synctest.Wait()
		if o, waits := p.Obstacle("a", 0); !waits || o.Reason != ReasonParallel {
			t.Errorf("6: Obstacle of an authority without a place = %+v, want %q", o, ReasonParallel)
		}
		p.mu.Lock()
		p.hosts.byName["a"].starts.flying-- // before the guest is looked at
		p.mu.Unlock()
		want := &RefusedError{Authority: "a", RetryAt: time.Now(), Reason: ReasonScope, Scope: "a"}
		if o, _ := p.Obstacle("a", 0); !reflect.DeepEqual(&o, want) {
			t.Errorf("6: Obstacle of an authority with a guest = %+v, want %+v", o, want)
		}
		p.mu.Lock()
		p.hosts.byName["a"].starts.flying++
		p.mu.Unlock()
	})
}
