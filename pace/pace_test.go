package pace

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// A value without meaning is refused. The error says the field and what it wants.
func TestNew(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits Limits
		want   string // "" for no error
	}{
		{"zero", Limits{}, ""},
		{"greatest", Limits{Gap: math.MaxInt64, Delay: Honour, DelayCap: math.MaxInt64, Parallel: math.MaxInt, Pause: math.MaxInt64, MaxWait: math.MaxInt64}, ""},
		{"gap", Limits{Gap: -1}, "pace: Limits.Gap is -1ns; want a positive duration, or 0 for none"},
		{"mode", Limits{Delay: 3}, "pace: Limits.Delay is mode(3); want Cap, Ignore or Honour"},
		{"delay_cap", Limits{DelayCap: -time.Second}, "pace: Limits.DelayCap is -1s; want a positive duration, or 0 for 60s"},
		{"parallel", Limits{Parallel: -2}, "pace: Limits.Parallel is -2; want a positive number, or 0 for no bound"},
		{"pause", Limits{Pause: -1}, "pace: Limits.Pause is -1ns; want a positive duration, or 0 for 15m"},
		{"max_wait", Limits{MaxWait: -1}, "pace: Limits.MaxWait is -1ns; want a positive duration, or 0 for the caller's context alone"},
		{"off", *Unlimited(), ""},
		{"default", *Default(), ""},
		{"off_and_a_gap", Limits{Off: true, Gap: 1}, "pace: Limits.Off is set together with other fields; want every other field zero"},
		{"failures", Limits{Failures: -1}, "pace: Limits.Failures is -1; want a positive number, or 0 for 3"},
		{"rest", Limits{Rest: -1}, "pace: Limits.Rest is -1ns; want a positive duration, or 0 for 10s"},
		{"rest_max", Limits{RestMax: -1}, "pace: Limits.RestMax is -1ns; want a positive duration, or 0 for 15m"},
		{"rest_over_rest_max", Limits{Rest: time.Hour}, "pace: Limits.Rest is 1h0m0s; want at most RestMax, 15m0s"},
		{"statuses", Limits{Statuses: map[int]Health{403: Overloaded, 200: Neutral}}, ""},
		{"statuses_without_meaning", Limits{Statuses: map[int]Health{403: 4}}, "pace: Limits.Statuses maps 403 to health(4); want a status and one of Neutral, Healthy, Failing and Overloaded"},
		{"statuses_of_no_answer", Limits{Statuses: map[int]Health{0: Failing}}, "pace: Limits.Statuses maps 0 to failing; want a status and one of Neutral, Healthy, Failing and Overloaded"},
		{"off_and_statuses", Limits{Off: true, Statuses: map[int]Health{403: Failing}}, "pace: Limits.Off is set together with other fields; want every other field zero"},
	} {
		t.Run("house/"+test.name, func(t *testing.T) {
			p, err := New(&test.limits, nil)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want || (p == nil) != (err != nil) {
				t.Errorf("New(%+v) = %v, %q; want error %q", test.limits, p, got, test.want)
			}
		})
	}
}

// Nil limits are Default, and each Pacer has a copy.
func TestNewOfNil(t *testing.T) {
	p, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := Default().filled(); !p.limits.equal(&want) {
		t.Errorf("house/nil: limits %+v, want %+v", p.limits, want)
	}
	for m, want := range map[Mode]string{Cap: "cap", Ignore: "ignore", Honour: "honour"} {
		if got := m.String(); got != want {
			t.Errorf("house/mode: Mode %d is %q, want %q", m, got, want)
		}
	}
}

// A host of this machine has no gap by default. A gap that is set explicitly applies
// everywhere.
func TestFreeLoopback(t *testing.T) {
	for _, test := range []struct {
		authority string
		want      bool
	}{
		{"http://localhost", true}, {"https://LOCALHOST.:8443", true}, {"http://a.b.localhost:80", true},
		{"http://127.0.0.1:8080", true}, {"http://127.255.0.3", true}, {"http://[::1]:8080", true},
		{"http://localhost.example.com", false}, {"http://notlocalhost", false}, {"http://128.0.0.1", false},
		{"http://127.0.0.1.example.com", false}, {"http://[::2]", false}, {"http://10.0.0.1", false},
		{"", false}, {"http://[::1", false},
	} {
		t.Run("6/"+test.authority, func(t *testing.T) {
			for _, l := range []*Limits{Default(), {Gap: 500 * ms}} {
				gap := pacer(t, *l, nil).hostOf(test.authority).ownGap
				if want := 500 * ms; (gap == 0) != (test.want && l.FreeLoopback) || gap != 0 && gap != want {
					t.Errorf("a gap of %v with FreeLoopback %t; want none: %t", gap, l.FreeLoopback, test.want)
				}
			}
		})
	}
}

// Turns that are not paced are free, cost nothing and end without effect.
func TestOff(t *testing.T) {
	p := pacer(t, *Unlimited(), nil)
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		turn, err := p.Wait(ctx, host1, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		turn.Answer(429, nil)
	})
	if at, why := peek(p, host1, time.Hour); n != 0 || why != ReasonNone || time.Until(at) > 0 || p.Stats() != (Stats{Off: true}) {
		t.Errorf("6/off: %v allocations, then a turn at %v because of %q, %+v; want none, now, and nothing counted", n, at, why, p.Stats())
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := p.Wait(gone, host1, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("6/off: a caller that is gone gets %v, want context.Canceled", err)
	}
}

// A field that is zero means what its comment says.
func TestZeroLimits(t *testing.T) {
	want := Limits{
		Delay: Cap, DelayCap: time.Minute, Pause: 15 * time.Minute, MaxWait: maxSpan,
		Failures: 3, Rest: 10 * time.Second, RestMax: 15 * time.Minute,
	}
	if got := (Limits{}).filled(); !reflect.DeepEqual(got, want) {
		t.Errorf("zero Limits\ngot  %+v\nwant %+v", got, want)
	}
}

// An error may quote an authority of any length.
func TestRefusedErrorBounded(t *testing.T) {
	e := &RefusedError{Authority: strings.Repeat("x\n", 10_000), Reason: ReasonGap}
	if got := e.Error(); len(got) > 1000 || strings.Contains(got, "\n") {
		t.Errorf("Error() has %d bytes; want it quoted and bounded", len(got))
	}
}
