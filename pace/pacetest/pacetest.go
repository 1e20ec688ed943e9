// Package pacetest tests a [pace.Store] against every promise of package pace.
//
//	func TestStore(t *testing.T) {
//		pacetest.Run(t, func(t *testing.T) pace.Store {
//			store, err := mystore.Open("mystore://localhost")
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// Each failure is a sentence that says which promise the store broke. A process that is
// killed, stopped or cut off is one whose calls end, come late, or get no answer; so the
// tests need only one process. They use the clock of the store, and take some seconds of
// real time.
package pacetest

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/pace"
)

const (
	// long is a life that does not end within a test.
	long = time.Hour
	// short is a life that ends within a test.
	short = 200 * time.Millisecond
)

// Run runs the tests as subtests of t. Each subtest calls open, which returns a store
// without the keys of earlier subtests and closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) pace.Store) {
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) { p.test(newFleet(t, open(t))) })
	}
}

var promises = []struct {
	name string
	test func(*fleet)
}{
	{"one_holder", (*fleet).oneHolder},
	{"order", (*fleet).order},
	{"same_call_again", (*fleet).sameCallAgain},
	{"lapsed_place", (*fleet).lapsedPlace},
	{"lapsed_holder", (*fleet).lapsedHolder},
	{"late_call", (*fleet).lateCall},
	{"late_call_of_an_earlier_claim", (*fleet).earlierClaim},
	{"renewed", (*fleet).renewed},
	{"state", (*fleet).state},
	{"news", (*fleet).news},
	{"keys", (*fleet).keys},
	{"any_text", (*fleet).anyText},
	{"any_span", (*fleet).anySpan},
	{"at_once", (*fleet).atOnce},
	{"notify_a_holder", (*fleet).notifyHolder},
	{"notify_the_next", (*fleet).notifyNext},
	{"notify_all", (*fleet).notifyAll},
	{"count", (*fleet).count},
}

// A fleet makes calls about one key that must not fail.
type fleet struct {
	*testing.T
	store   pace.Store
	key     string
	returns map[string]uint64 // number of calls of Return by process
}

func newFleet(t *testing.T, s pace.Store) *fleet {
	return &fleet{t, s, "https://example.com", map[string]uint64{}}
}

// at returns a fleet for another key.
func (f *fleet) at(key string) *fleet { return &fleet{f.T, f.store, key, map[string]uint64{}} }

// claim is the claim of a process.
func (f *fleet) claim(process string) pace.Claim {
	return pace.Claim{Key: f.key, Process: process, Number: f.returns[process]}
}

func (f *fleet) lease(process string, life time.Duration) pace.Lease {
	f.Helper()
	c := f.claim(process)
	l, err := f.store.Lease(f.Context(), c, life)
	if err != nil {
		f.Fatalf("Lease(%.100q, %v) = %v", c, life, err)
	}
	f.check(process, l)
	return l
}

func (f *fleet) keep(process string, life time.Duration, s pace.State, tell bool) pace.Lease {
	f.Helper()
	c := f.claim(process)
	l, err := f.store.Keep(f.Context(), c, life, s, tell)
	if err != nil {
		f.Fatalf("Keep(%.100q, %v) = %v", c, life, err)
	}
	f.check(process, l)
	return l
}

func (f *fleet) giveBack(process string, s pace.State) {
	f.Helper()
	c := f.claim(process)
	if err := f.store.Return(f.Context(), c, s); err != nil {
		f.Fatalf("Return(%.100q) = %v", c, err)
	}
	f.returns[process]++
}

// check verifies what is true of each answer.
func (f *fleet) check(process string, l pace.Lease) {
	f.Helper()
	switch {
	case l.Granted && (l.Ahead != 0 || l.Free != 0):
		f.Errorf("%.50q has the lease, and is told that %d processes come first and that it is free in %v; want 0 and 0", process, l.Ahead, l.Free)
	case !l.Granted && l.Wanted:
		f.Errorf("%.50q does not have the lease, and is told that others wait for it; want that told to a holder", process)
	case l.Free < 0 || l.Age < 0 || l.Lost < 0 || l.Ahead < 0:
		f.Errorf("%.50q gets %+v; want no span and no number below 0", process, l)
	}
}

// granted is a Lease that must be granted.
func (f *fleet) granted(process string, life time.Duration, why string) pace.Lease {
	f.Helper()
	l := f.lease(process, life)
	if !l.Granted {
		f.Fatalf("%s does not get the lease; want it granted: %s (%+v)", process, why, l)
	}
	return l
}

// waits is a Lease that must not be granted, with a number of processes ahead.
func (f *fleet) waits(process string, life time.Duration, ahead int, why string) pace.Lease {
	f.Helper()
	l := f.lease(process, life)
	if l.Granted {
		f.Fatalf("%s gets the lease; want it to wait: %s", process, why)
	}
	if l.Ahead != ahead {
		f.Errorf("%s is told that %d processes come first, want %d: %s", process, l.Ahead, ahead, why)
	}
	return l
}

func (f *fleet) oneHolder() {
	if l := f.granted("a", long, "nobody has it"); l != (pace.Lease{Granted: true}) {
		f.Errorf("the first lease of a key is %+v; want only Granted, since nothing is known", l)
	}
	l := f.waits("b", long, 1, "a has the lease")
	if l.Free <= long/2 || l.Free > long {
		f.Errorf("the lease of a is free in %v, want about %v, its life", l.Free, long)
	}
	f.waits("c", long, 2, "a has the lease and b came before")
	if l := f.granted("a", long, "it has it already"); !l.Wanted {
		f.Error("a holder is not told that others are in the queue")
	}
	f.giveBack("a", pace.State{})
	f.granted("b", long, "a has returned the lease, and b is first")
	f.waits("a", long, 2, "b has the lease and c came before")
}

func (f *fleet) order() {
	f.granted("a", long, "nobody has it")
	queue := []string{"b", "c", "d", "e"}
	for i, p := range queue {
		f.waits(p, long, i+1, "a has the lease, and the queue is in order of the first call")
	}
	f.giveBack("c", pace.State{Failures: 1}) // it waits no more
	f.giveBack("a", pace.State{})
	l := f.waits("e", long, 2, "b and d came before, and b has the lease now")
	if l.Free <= long/2 || l.Free > long {
		f.Errorf("the lease of b is free in %v, want about %v, the life of its place", l.Free, long)
	}
	f.waits("f", long, 3, "it is new, and others are in the queue")
	for _, p := range []string{"b", "d", "e"} {
		if l := f.granted(p, long, "it is first in the queue"); l.State.Failures != 0 {
			f.Error("c left the queue, and its State was saved; want only that of a holder")
		}
		f.giveBack(p, pace.State{})
	}
	f.granted("f", long, "all others have left")
	if l := f.granted("f", long, "it has it"); l.Wanted {
		f.Error("f is told that another process is in the queue; want none: all have left")
	}
}

func (f *fleet) sameCallAgain() {
	f.granted("a", short, "nobody has it")
	time.Sleep(short + short/2)
	first := f.granted("b", long, "the lease of a has ended")
	again := f.granted("b", long, "it has it: its first answer may be lost")
	if first.Lost == 0 || again.Lost < first.Lost {
		f.Errorf("b is told that a was lost %v ago, and again, %v ago; want it told until b saves a State", first.Lost, again.Lost)
	}
	for range 3 {
		f.waits("c", long, 1, "b has the lease: who asks again has one place")
	}
	f.waits("d", long, 2, "b has the lease, and c one place")
	s := pace.State{Failures: 3}
	for range 2 {
		if l := f.keep("b", long, s, false); !l.Granted || l.Lost != 0 {
			f.Errorf("Keep by the holder = %+v, want it granted and no loss", l)
		}
	}
	f.giveBack("b", s)
	if l := f.granted("c", long, "it is first"); l.Lost != 0 || l.State != s {
		f.Errorf("after a Return the next holder gets %+v, want State %+v and no loss", l, s)
	}
	f.giveBack("b", pace.State{})
	f.waits("d", long, 1, "c has the lease: a second Return by b does not end it")
	f.giveBack("c", pace.State{})
	if l := f.granted("d", long, "it is first"); l.State != s || l.Lost == 0 {
		f.Errorf("d gets %+v; want State %+v, and c lost: the zero State is not saved", l, s)
	}
}

func (f *fleet) lapsedPlace() {
	f.granted("a", long, "nobody has it")
	f.waits("b", long, 1, "a has it")
	f.waits("c", long, 2, "a has it")
	f.waits("b", short, 1, "a has it")
	time.Sleep(short + short/2)
	f.waits("c", long, 1, "b has not asked for longer than the life that it gave")
	f.waits("b", short, 2, "it has lost its place")
	f.waits("b", long, 2, "it asks in time")
	time.Sleep(short + short/2)
	f.giveBack("a", pace.State{})
	f.giveBack("c", pace.State{})
	f.waits("d", short, 1, "b has the lease: its latest call gave its place a longer life")
	f.giveBack("b", pace.State{Failures: 1})
	time.Sleep(short + short/2)
	if l := f.granted("e", long, "d, which had the lease, did not call again"); l.Lost == 0 {
		f.Error("d had the lease to the end of its place, and is not lost")
	}
}

func (f *fleet) lapsedHolder() {
	s := pace.State{Pause: time.Minute, Why: pace.ReasonPause, Keep: time.Hour}
	f.granted("a", long, "nobody has it")
	f.waits("b", long, 1, "a has it")
	f.keep("a", short, s, false)
	time.Sleep(2 * short)
	if l := f.waits("c", long, 1, "b is first"); l.Lost == 0 {
		f.Error("a process that waits is not told that the holder was lost")
	}
	l := f.granted("b", long, "the lease of a has ended, as that of a process that was killed")
	if l.Lost < short/2 || l.Lost > l.Age-short/2 {
		f.Errorf("the lease of a ended %v ago, and its State was saved %v ago; want about %v between them", l.Lost, l.Age, short)
	}
	if l.State != s {
		f.Errorf("after the death of a holder the State is %+v, want the one that it saved, %+v", l.State, s)
	}
	f.giveBack("b", s)
	if l := f.granted("c", long, "it is next"); l.Lost != 0 {
		f.Errorf("the lease of a ended %v ago; want no loss, since b has saved a State", l.Lost)
	}
}

// A process was stopped, or its calls come late.
func (f *fleet) lateCall() {
	s := pace.State{Failures: 1, Keep: time.Hour}
	f.granted("a", short, "nobody has it")
	f.keep("a", short, s, false)
	time.Sleep(short + short/2)
	if l := f.keep("a", long, pace.State{Failures: 2}, false); l.Granted {
		f.Error("Keep brings back a lease that has ended; want it not granted")
	}
	f.giveBack("a", pace.State{Failures: 2})
	if l := f.granted("b", long, "the lease of a has ended"); l.State != s || l.Lost == 0 {
		f.Errorf("b gets %+v; want State %+v, and the lease of a lost: a late call changes nothing", l, s)
	}
	if l := f.keep("a", long, pace.State{Failures: 2}, false); l.Granted || l.Ahead != 1 || l.Free == 0 {
		f.Errorf("Keep by a process that does not have the lease = %+v; want it not granted, and b ahead", l)
	}
	f.giveBack("a", pace.State{Failures: 2})
	if l := f.granted("b", long, "it has it"); l.State != s || l.Wanted {
		f.Errorf("b gets %+v; want State %+v, and nobody in the queue: calls by others change nothing", l, s)
	}
}

// A call comes so late that its process has made another claim.
func (f *fleet) earlierClaim() {
	late := f.claim("a")
	again := func() {
		if err := f.store.Return(f.Context(), late, pace.State{Failures: 2}); err != nil {
			f.Fatalf("Return = %v", err)
		}
		if l, err := f.store.Keep(f.Context(), late, short, pace.State{Failures: 2}, true); err != nil || l.Granted {
			f.Errorf("Keep for an earlier claim = %+v, %v; want it not granted", l, err)
		}
		if l, err := f.store.Lease(f.Context(), late, short); err != nil || l.Granted {
			f.Errorf("Lease for an earlier claim = %+v, %v; want it not granted", l, err)
		}
		time.Sleep(short + short/2)
	}
	s := pace.State{Failures: 1, Keep: time.Hour}
	f.granted("a", long, "nobody has it")
	f.giveBack("a", s)
	f.granted("a", long, "nobody has it")
	again()
	if l := f.waits("b", long, 1, "a has the lease: calls for its earlier claim change nothing"); l.State != s || l.Lost != 0 {
		f.Errorf("b gets %+v; want State %+v and no loss", l, s)
	}
	f.giveBack("a", s)
	f.waits("a", long, 1, "b has the lease")
	again()
	f.waits("c", long, 2, "a is in the queue: calls for its earlier claims change nothing")
	late.Number = 1
	again()
	f.granted("b", long, "it has it")
	f.giveBack("b", s)
	f.granted("a", long, "it is first")
}

func (f *fleet) renewed() {
	f.granted("a", short, "nobody has it")
	f.keep("a", long, pace.State{}, false)
	f.waits("b", long, 1, "a has it")
	time.Sleep(short + short/2)
	f.waits("b", long, 1, "a has renewed its lease by Keep")
	f.giveBack("a", pace.State{})
	f.granted("b", short, "it is first")
	f.granted("b", long, "it has it")
	time.Sleep(short + short/2)
	f.waits("a", long, 1, "b has renewed its lease by Lease")
	f.granted("b", short, "it has it")
	time.Sleep(short + short/2)
	f.granted("a", long, "the latest call of b gave a shorter life")
}

func (f *fleet) state() {
	for i, s := range []pace.State{
		{SinceStart: 1, Delay: 2, Pause: 3, Why: pace.ReasonQuota, Level: 4, Failures: 5, Open: true, Rest: 6, Cause: "503 \"\x00\xff\r\nü", Took: 7, Keep: time.Hour},
		{SinceStart: math.MaxInt64, Delay: math.MinInt64, Pause: math.MaxInt64 - 1, Level: -1, Failures: math.MaxInt, Rest: math.MinInt64, Took: math.MaxInt64, Keep: time.Hour},
		{Keep: 1},
	} {
		f.granted("a", long, "nobody has it")
		l := f.keep("a", long, s, false)
		began := time.Now()
		if l.State != s || l.Age > time.Minute {
			f.Errorf("Keep saves State %d as %+v, %v old; want %+v", i, l.State, l.Age, s)
		}
		l = f.waits("b", long, 1, "a has it")
		if most := time.Since(began) + short; l.State != s || l.Age > most {
			f.Errorf("a process that waits gets %+v, %v old; want %+v, at most %v old: whoever waits knows the pause", l.State, l.Age, s, most)
		}
		time.Sleep(short)
		f.granted("a", long, "it has it") // saves nothing
		if l := f.waits("b", long, 1, "a has it"); l.State != s || l.Age < short/2 {
			f.Errorf("the State is %+v, %v old; want %+v, at least %v old: it counts from when it was saved", l.State, l.Age, s, short)
		}
		f.giveBack("b", s)
		f.giveBack("a", s)
	}
}

func (f *fleet) news() {
	f.granted("a", long, "nobody has it")
	f.keep("a", long, pace.State{Failures: 1}, true)
	f.waits("b", long, 1, "a has it")
	f.giveBack("a", pace.State{Failures: 2})
	if l := f.granted("b", long, "it is first"); l.State.Failures != 2 {
		f.Errorf("after a Return %d failures are known, want the 2 of the Return: it saves its State", l.State.Failures)
	}
}

func (f *fleet) keys() {
	keys := []string{"https://example.com", "http://example.com", "https://example.com:8443", "scope", "https://EXAMPLE.com", "https://example.com "}
	for i, k := range keys {
		f.at(k).granted("a", long, "no other key has this name")
		f.at(k).keep("a", long, pace.State{Failures: i, Keep: time.Hour}, false)
	}
	for i, k := range keys {
		if l := f.at(k).waits("b", long, 1, "a has it"); l.State.Failures != i {
			f.Errorf("the State of %q is that of key %d, want %d", k, l.State.Failures, i)
		}
	}
	f.at(keys[0]).giveBack("a", pace.State{})
	f.at(keys[0]).granted("b", long, "a has returned it")
	f.at(keys[1]).waits("b", long, 1, "a has returned another key only")
}

var texts = []string{"", " ", "a b", "*", "{a}", "}{", "a:b", "a\x00b", "\xff\xfe", "\r\n", "%7B%s", "\"'\\", "ü", "holder", string(make([]byte, 3000))}

func (f *fleet) anyText() {
	for i, text := range texts {
		k := f.at(text)
		k.granted("a", long, "no other key has this name")
		k.keep("a", long, pace.State{Failures: i, Cause: text, Keep: time.Hour}, false)
		if l := k.waits(text, long, 1, "a has it"); l.State.Failures != i || l.State.Cause != text {
			f.Errorf("the State of key %.50q is %+v, want failures %d and the key as cause", text, l.State, i)
		}
		for _, other := range texts[:i] {
			k.waits(other, long, 2+slices.Index(texts, other), "a process of any name has a place of its own")
		}
		k.giveBack("a", pace.State{})
		k.granted(text, long, "it is first")
	}
}

func (f *fleet) anySpan() {
	f.granted("a", math.MaxInt64, "nobody has it")
	f.keep("a", math.MaxInt64, pace.State{Keep: math.MaxInt64}, false)
	if l := f.waits("b", math.MaxInt64, 1, "a has it"); l.Free < long {
		f.Errorf("a lease for the longest life is free in %v", l.Free)
	}
	f.giveBack("a", pace.State{Failures: 7, Keep: math.MaxInt64})
	if l := f.granted("b", long, "it is first"); l.State.Failures != 7 {
		f.Errorf("a State to keep for the longest time is %+v, want 7 failures", l.State)
	}
	f.keep("b", long, pace.State{Keep: math.MinInt64}, false)
	f.waits("a", long, 1, "b has it: a State that need not be kept does not end the lease")
	f.keep("b", math.MinInt64, pace.State{Keep: time.Hour}, false)
	time.Sleep(short)
	f.granted("a", 0, "the lease of b has ended: a life below zero counts as a millisecond")
	time.Sleep(short)
	f.granted("c", long, "the lease of a has ended: a life of zero counts as a millisecond")
}

func (f *fleet) atOnce() {
	var mu sync.Mutex
	var holder string
	var turns int
	var all sync.WaitGroup
	for i := range 20 {
		process := string(rune('a' + i))
		all.Go(func() {
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				l, err := f.store.Lease(f.Context(), pace.Claim{Key: f.key, Process: process}, long)
				if err != nil {
					f.Errorf("Lease = %v", err)
					return
				}
				if !l.Granted {
					continue
				}
				mu.Lock()
				if holder != "" {
					f.Errorf("%s gets the lease while %s has it: each call is one atomic step", process, holder)
				}
				holder = process
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				holder = ""
				turns++
				n := turns
				mu.Unlock()
				if err := f.store.Return(f.Context(), pace.Claim{Key: f.key, Process: process}, pace.State{Failures: n}); err != nil {
					f.Errorf("Return = %v", err)
				}
				return
			}
		})
	}
	all.Wait()
	if l := f.granted("z", long, "all have returned it"); turns != 20 || l.State.Failures != 20 {
		f.Errorf("of 20 processes %d had the lease, and the State is the one of turn %d; want 20 and 20", turns, l.State.Failures)
	}
}

// told repeats a scene until process gets the message that the scene makes, since a message may be
// lost. The scene gets a name for each try.
func (f *fleet) told(process, what string, want pace.Lease, scene func(f *fleet)) {
	f.Helper()
	type message struct {
		pace.Claim
		pace.Lease
	}
	messages := make(chan message, 1000)
	stop := f.store.Notify(process, func(c pace.Claim, l pace.Lease) {
		l.Free, l.Age, l.Lost = 0, 0, 0
		select {
		case messages <- message{c, l}:
		default:
		}
	})
	defer stop()
	for try := range 5 {
		time.Sleep(50 * time.Millisecond << try) // it may take time to listen
		for len(messages) > 0 {
			<-messages
		}
		k := f.at(f.key + string(rune('0'+try)))
		k.returns[process] = 7
		scene(k)
		for timeout := time.After(time.Second << try); ; {
			select {
			case m := <-messages:
				if m == (message{k.claim(process), want}) {
					return
				}
				f.Errorf("%s is told %+v, want only %+v of %+v", process, m, want, k.claim(process))
				continue
			case <-timeout:
			}
			break
		}
	}
	f.Errorf("in five tries %s is not told: %s", process, what)
}

func (f *fleet) notifyHolder() {
	f.told("a", "a holder is told of each process that is new behind it", pace.Lease{Granted: true, Wanted: true}, func(f *fleet) {
		f.granted("a", long, "nobody has it")
		f.waits("b", long, 1, "a has it")
	})
}

func (f *fleet) notifyNext() {
	wait := func(f *fleet) {
		f.granted("a", long, "nobody has it")
		f.waits("b", long, 1, "a has it")
		f.waits("c", long, 2, "a has it")
	}
	s := pace.State{Failures: 1, Cause: "a\nb\x00\xff", Keep: time.Hour}
	f.told("b", "the next in the queue has the lease after a Return", pace.Lease{Granted: true, Wanted: true, State: s}, func(f *fleet) {
		wait(f)
		f.giveBack("a", s)
	})
	f.at("other").told("c", "the next in the queue has the lease when those before it have left", pace.Lease{Granted: true, State: s}, func(f *fleet) {
		wait(f)
		f.giveBack("b", pace.State{})
		f.giveBack("a", s)
	})
	f.at("any \xff\r\nkey").told("b", "by a Lease of another, the next in the queue has the lease after one is lost", pace.Lease{Granted: true, Wanted: true}, func(f *fleet) {
		f.granted("a", long, "nobody has it")
		f.waits("b", long, 1, "a has it")
		f.granted("a", short, "it has it")
		time.Sleep(short + short/2)
		f.waits("c", long, 1, "b came before")
	})
}

func (f *fleet) notifyAll() {
	s := pace.State{Pause: time.Minute, Keep: time.Hour}
	for i, p := range []string{"b", "c"} {
		f.at(p).told(p, "all that wait are told if Keep says so", pace.Lease{Ahead: i + 1, State: s}, func(f *fleet) {
			f.granted("a", long, "nobody has it")
			f.waits("b", long, 1, "a has it")
			f.waits("c", long, 2, "a has it")
			f.keep("a", long, s, true)
		})
	}
	stop := f.store.Notify("a", func(pace.Claim, pace.Lease) {})
	stop()
	stop() // changes nothing more
}

func (f *fleet) count() {
	register := func(process string, life time.Duration, want int, why string) {
		f.Helper()
		n, err := f.store.Count(f.Context(), process, life)
		if err != nil {
			f.Fatalf("Count(%.50q) = %v", process, err)
		}
		if n != want {
			f.Errorf("%d processes are registered, want %d: %s", n, want, why)
		}
	}
	register("a", long, 1, "a has registered")
	register("b", long, 2, "a and b have registered")
	register("a", long, 2, "a has registered twice")
	register("b", short, 2, "a and b have registered")
	time.Sleep(short + short/2)
	register("a", long, 1, "the life of b has ended")
	for i, p := range texts {
		register(p, math.MaxInt64, i+2, "each name counts")
	}
}
