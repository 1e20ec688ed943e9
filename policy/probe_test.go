package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// TestWantsProbe checks when two more requests are made. The events come one after the
// other, each with its time; the last one asks for a Probe or not.
func TestWantsProbe(t *testing.T) {
	for _, tt := range []struct {
		name, profile string
		events        []string
		want          bool
	}{
		{"house/500", "google", []string{"0: 500"}, true},
		{"house/599", "google2019", []string{"0: 599"}, true},
		{"house/after_a_404", "google", []string{"0: 404", "24h: 503"}, true},
		{"house/after_a_probe_that_showed_a_404", "google", []string{"0: 503 probe 200 503", "1h: 503"}, true},
		{"house/after_a_failure", "google", []string{"0: dns", "1m: 503"}, true},
		{"house/not_asked_for_want_of_a_turn", "google", []string{"0: 503", "1m: 503"}, true},
		{"house/within_a_day", "google", []string{"0: 503 probe 503 0", "23h59m: 503"}, false},
		{"house/within_a_day_after_more_failures", "google", []string{"0: 503 probe 503 0", "1h: dns", "2h: 503", "23h59m: 503"}, false},
		{"house/after_a_day", "google", []string{"0: 503 probe 503 0", "1h: 503", "24h: 503"}, true},
		{"house/in_the_next_outage", "google", []string{"0: 503 probe 503 0", "1h: 404", "2h: 503"}, true},
		{"house/within_a_day_of_the_second", "google", []string{"0: 503 probe 503 0", "24h: 503 probe 200 500", "47h: 503"}, false},
		{"house/the_clock_was_set_back", "google", []string{"2h: 503 probe 503 0", "0: 503"}, true},
		{"house/a_copy_is_known", "google", []string{"0: 200 rules", "48h: 503"}, false},
		{"house/429", "google", []string{"0: 429"}, false},
		{"house/600", "google", []string{"0: 600"}, false},
		{"house/499", "google", []string{"0: 499"}, false},
		{"house/a_broken_answer", "google", []string{"0: 503 body"}, false},
		{"house/a_redirect_was_followed", "google", []string{"0: 503 after 1"}, false},
		{"house/a_redirect_led_back", "google", []string{"0: 503 after 1 from " + robots}, true},
		{"house/served_elsewhere", "google", []string{"0: 503 from https://cdn.example/r"}, false},
		{"2.3.1.4/rfc9309", "rfc9309", []string{"0: 503"}, false},
		{"2.3.1.4/strict", "strict", []string{"0: 503"}, false},
		{"2.3.1.4/draft2019", "draft2019", []string{"0: 503"}, false},
		{"3.1/koster1996", "koster1996", []string{"0: 503"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, tt.profile)
			var rec *policy.Record
			for i, e := range tt.events {
				var when, what string
				fmt.Sscanf(e, "%s %s", &when, &what)
				a := attempt(t, e[len(when):], start.Add(span(t, when[:len(when)-1])))
				if got := p.WantsProbe(rec, a); i == len(tt.events)-1 && got != tt.want {
					t.Errorf("%q: got %v, want %v", tt.events, got, tt.want)
				}
				rec = reload(t, p, learn(t, p, rec, a))
			}
		})
	}
	p := policy.Google()
	other := attempt(t, "503", start)
	other.Robots = "https://other.example/robots.txt"
	if rec := p.Learn(nil, attempt(t, "503 probe 503 0", start)); !p.WantsProbe(rec, other) {
		t.Error("house/another_authority: want a Probe")
	}
}

// TestProbeInAFleet checks that a Probe of one process counts for all, in any order.
func TestProbeInAFleet(t *testing.T) {
	p := policy.Google()
	one := learn(t, p, nil, attempt(t, "503 probe 503 0", start))
	other := learn(t, p, learn(t, p, nil, attempt(t, "503", start.Add(time.Minute))), attempt(t, "dns", start.Add(time.Hour)))
	now := start.Add(2 * time.Hour)
	for _, rec := range []*policy.Record{one.Merge(other, now), other.Merge(one, now)} {
		if p.WantsProbe(reload(t, p, rec), attempt(t, "503", now)) {
			t.Errorf("%v: want no Probe within a day of one", decide(t, rec, private, now))
		}
	}
}

// TestDownIsNoMissingFile crawls sites that fail for a time and then work. While a site
// fails, all that it answers is a failure or a random 5xx. Its robots.txt is fetched
// when that is due, and a Probe is made whenever one is wanted.
func TestDownIsNoMissingFile(t *testing.T) {
	seeds := 400
	if testing.Short() {
		seeds = 100
	}
	found := 0
	for seed := range seeds {
		draw := rand.New(rand.NewPCG(uint64(seed), 404))
		answer := func(least, most int) int { return least + draw.IntN(most+1-least) }
		p := profile(t, names[2+seed%2])
		var rec *policy.Record
		var probed time.Time
		down, now := true, start
		for range 100 {
			if draw.IntN(20) == 0 {
				down = !down
			}
			a := policy.Attempt{Robots: robots, Sent: now, Received: now, Status: answer(500, 504)}
			probe := &policy.Probe{Root: answer(500, 504), Missing: a.Status}
			switch {
			case !down:
				probe.Root, probe.Missing = answer(200, 302), answer(a.Status-1, a.Status)
			case draw.IntN(3) == 0:
				a.Status, a.Err = 0, &policy.Failure{Class: policy.Connect}
			case draw.IntN(3) == 0:
				probe.Root = 0
			}
			if p.WantsProbe(rec, a) {
				if d := rec.Decide("ExampleBot", private, now); d.Access == policy.Unreachable && now.Before(probed.Add(days)) && rec != nil {
					t.Errorf("seed %d: a Probe at %v and at %v of one outage", seed, probed, now)
				}
				a.Probe, probed = probe, now
			}
			rec = reload(t, p, p.Learn(rec, a))
			d := decide(t, rec, private, now)
			missing := d.Access == policy.Unavailable
			if want := a.Probe != nil && a.Probe.Root/100 == 2 && a.Probe.Missing == a.Status; missing != want || missing && down {
				t.Fatalf("seed %d: down %v, %s, probe %+v\ngot  %v\nwant a missing file: %v", seed, down, show(a), a.Probe, d, want)
			}
			if missing {
				found++
				probed = time.Time{} // the outage has ended
			}
			now = rec.NextTry().Add(time.Duration(draw.IntN(3)) * time.Hour)
		}
	}
	if found < seeds/10 {
		t.Errorf("%d of %d sites have no file; want more", found, seeds)
	}
}

// FuzzProbe learns from an attempt with any statuses. It means that there is no file only
// if "/" has an answer and the other path fails as robots.txt does.
func FuzzProbe(f *testing.F) {
	f.Add(byte(2), 500, 200, 500, byte(0), false)
	f.Add(byte(3), 503, 302, 503, byte(0), true)
	f.Add(byte(0), 503, 200, 503, byte(1), false)
	f.Fuzz(func(t *testing.T, name byte, status, root, missing int, followed byte, known bool) {
		p := profile(t, names[int(name)%len(names)])
		a := policy.Attempt{Robots: robots, Status: status, Hops: hops(int(followed)), Probe: &policy.Probe{Root: root, Missing: missing}, Sent: start, Received: start}
		var old *policy.Record
		if known {
			old = p.Learn(nil, attempt(t, "200 rules + Cache-Control: max-age=60", start.Add(-days)))
		}
		d := decide(t, reload(t, p, learn(t, p, old, a)), private, start)
		works := root/100 == 2 && root > 0
		want := p.ProbeMissing && status >= 500 && status <= 599 && works && missing == status && followed == 0 && !known
		if got := d.Access == policy.Unavailable && (status < 400 || status > 499) && !redirects(status); got != want {
			t.Errorf("%s, / %d, another path %d, a copy known %v\ngot  %v\nwant a missing file: %v", show(a), root, missing, known, d, want)
		}
		a.Probe = nil
		if without := p.Learn(old, a); !want && outcome(t, without, start) != outcome(t, p.Learn(old, a), start) {
			t.Errorf("%s: a Probe that shows nothing changes the decision", show(a))
		}
	})
}
