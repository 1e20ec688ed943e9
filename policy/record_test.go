package policy_test

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// TestLimit reads files of about the limit of section 2.5. If the last rule,
// "Disallow: /public-archive", were cut in two, it would disallow /public.
func TestLimit(t *testing.T) {
	const rule = "Disallow: /public-archive\n"
	head := bodies["rules"]
	limit := policy.RFC9309().Limit
	if limit != 512000 {
		t.Errorf("the limit is %d; want 512000", limit)
	}
	pad := func(n int) string { return head + "#" + strings.Repeat("x", n-len(head)-2) + "\n" }
	half := strings.Index(rule, "-archive")
	for _, tt := range []struct {
		name, body string
		cut        bool
		want       string
	}{
		{"2.5/a_rule_before_the_limit", pad(limit-len(rule)) + strings.Replace(rule, "-archive", "", 1), false, "disallow 2.2.2"},
		{"2.5/a_rule_at_the_limit", (pad(limit-len(rule)) + rule)[:limit], true, "rules 2.2.2"},
		{"2.5/half_a_rule_at_the_limit", (pad(limit-half) + rule)[:limit], true, "rules 2.2.2"},
		{"2.5/half_a_rule_before_the_limit", head + rule[:half], true, "rules 2.2.2"},
		{"2.5/the_end_of_a_whole_file", head + rule[:half], false, "disallow 2.2.2"},
		{"2.5/a_last_line_that_ends_at_the_limit", (pad(limit-half) + rule)[:limit], false, "disallow 2.2.2"},
		{"2.5/a_rule_before_a_line_end_at_the_limit", pad(limit-half) + rule[:half] + "\n", true, "disallow 2.2.2"},
		{"2.5/a_rule_before_a_return_at_the_limit", pad(limit-half) + rule[:half] + "\r\nDis", false, "disallow 2.2.2"},
		{"2.5/a_rule_across_the_limit", pad(limit-half) + rule, false, "rules 2.2.2"},
		{"2.5/a_rule_after_the_limit", pad(limit) + "Disallow: /public\n", false, "rules 2.2.2"},
		{"2.5/old_line_ends", strings.ReplaceAll(head+rule[:half], "\n", "\r"), true, "rules 2.2.2"},
		{"2.5/half_a_line_after_an_empty_line", "\nUser-agent: *", true, "allow 2.2.1"},
		{"2.5/one_endless_line", strings.Repeat("x", 2*limit), false, "allow 2.2.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.RFC9309()
			a := policy.Attempt{Robots: robots, Status: 200, Body: []byte(tt.body), Cut: tt.cut, Received: start}
			if got := outcome(t, reload(t, p, learn(t, p, nil, a)), start); got != tt.want {
				t.Errorf("%d bytes, cut %v:\ngot  %s\nwant %s", len(tt.body), tt.cut, got, tt.want)
			}
		})
	}
}

// TestAnotherAuthority checks that a record of one authority, or of one profile, says
// nothing about another.
func TestAnotherAuthority(t *testing.T) {
	p := policy.RFC9309()
	rules := attempt(t, `200 rules + ETag: "a"`, start)
	for _, other := range []string{
		"http://example.com/robots.txt", "https://www.example.com/robots.txt", "https://example.com:8443/robots.txt", "",
	} {
		t.Run("2.3/"+other, func(t *testing.T) {
			rec := learn(t, p, nil, rules)
			a := attempt(t, "503", start.Add(time.Hour))
			a.Robots = other
			if rec.Merge(learn(t, p, nil, a), start.Add(time.Hour)) != rec {
				t.Errorf("a record of %s is merged with one of %s", robots, other)
			}
			if rec = learn(t, p, rec, a); rec.File() != nil || rec.Validators() != nil || outcome(t, rec, start.Add(time.Hour)) != "defer 2.3.1.4" {
				t.Errorf("the rules of %s govern %s", robots, other)
			}
		})
	}
	if rec := learn(t, p, nil, rules); rec.Merge(learn(t, policy.Strict(), nil, attempt(t, "503", start.Add(time.Hour))), start.Add(time.Hour)) != rec {
		t.Errorf("a record of rfc9309 is merged with one of strict")
	}
	rec := learn(t, policy.Strict(), learn(t, p, nil, rules), attempt(t, "503", start))
	if rec.File() != nil {
		t.Errorf("strict has the copy of rfc9309, want none")
	}
}

// TestFarTimes checks that times of a wrong clock do not overflow.
func TestFarTimes(t *testing.T) {
	p := policy.RFC9309()
	for _, year := range []int{-1 << 20, 0, 1, 1969, 1970, 2199, 2200, 2262, 2263, 9999, 1 << 20} {
		now := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		for _, event := range []string{"200 rules", "404", "503"} {
			rec := learn(t, p, nil, attempt(t, event, now))
			reload(t, p, rec)
			d := rec.Decide("ExampleBot", private, now)
			if d.Allowed() != (event == "404") && !rec.Due(now) {
				t.Errorf("%s in the year %d: %v", event, year, d)
			}
			if year < 1970 && !d.At.Equal(time.Unix(0, 1)) {
				t.Errorf("%s in the year %d: decided at %v; want the first nanosecond of 1970", event, year, d.At)
			}
			if year >= 2200 && d.At.Year() != 2199 {
				t.Errorf("%s in the year %d: decided at %v; want the last moment, in 2199", event, year, d.At)
			}
			if year >= 1970 && year < 2200 && rec.NextTry().Before(now) {
				t.Errorf("%s in the year %d: the next try is at %v", event, year, rec.NextTry())
			}
		}
	}
	last := time.Unix(0, 0).Add(230 * 365 * days)
	if d := learn(t, p, nil, attempt(t, "404", start)).Decide("ExampleBot", private, last.Add(time.Second/2)); !d.At.Equal(last) {
		t.Errorf("half a second after the last moment: decided at %v; want %v", d.At, last)
	}
	for _, at := range []time.Time{time.Unix(0, 1).UTC(), time.Unix(0, 5e8).UTC()} {
		if d := learn(t, p, nil, attempt(t, "200 rules", at)).Decide("ExampleBot", private, at); !d.Fetched.Equal(at) {
			t.Errorf("2.4/a file of the first second of 1970: got fetched at %v; want %v", d.Fetched, at)
		}
	}
}

func TestShare(t *testing.T) {
	p := policy.RFC9309()
	text := func(p *policy.Profile, event string) *policy.Text {
		return p.Learn(nil, attempt(t, event, start)).Text()
	}
	r, same := learn(t, p, nil, attempt(t, "200 rules", start)), text(p, "200 rules")
	if s := r.Share(same); s == r || s.Text() != same || !bytes.Equal(stored(t, s), stored(t, r)) {
		t.Errorf("an equal text is not shared")
	}
	if r.Text() == same {
		t.Errorf("Share changed its receiver")
	}
	for name, text := range map[string]*policy.Text{
		"another_text": text(p, "200 others"), "another_dialect": text(policy.Google(), "200 rules"), "itself": r.Text(), "none": nil,
	} {
		if s := r.Share(text); s != r {
			t.Errorf("%s: got another record; want the same", name)
		}
	}
	var none *policy.Record
	if none.Share(same) != nil || none.Size() != 0 || none.Text().Size() != 0 {
		t.Error("a nil record has a copy or a size, want none")
	}
}

// TestSize checks that Size counts the strings of a record.
func TestSize(t *testing.T) {
	const wide = strconv.IntSize == 64 // pointers are smaller elsewhere
	p := policy.RFC9309()
	small := learn(t, p, nil, attempt(t, "200 rules", start))
	if got, want := small.Size(), 64+80+len(robots); wide && got != want {
		t.Errorf("the size of a record with a copy is %d; want %d", got, want)
	}
	if got := small.Text().Size(); wide && got <= 64 {
		t.Errorf("the size of a text is %d; want more than the 64 bytes that are always there", got)
	}
	gone := learn(t, p, nil, attempt(t, "404", start))
	if got, want := gone.Size(), 64+len(robots); wide && got != want {
		t.Errorf("the size of a record of a 404 is %d; want %d", got, want)
	}
	down := learn(t, p, nil, attempt(t, "503", start))
	if got, want := down.Size(), 64+56+48+len(robots)+len("status 503 Service Unavailable")+len("2.3.1.4"); wide && got != want {
		t.Errorf("the size of a record of an outage is %d; want %d", got, want)
	}
	for _, tt := range []struct {
		what  string
		times int // how often the record has the text
		fill  func(a *policy.Attempt, text string)
	}{
		{"Robots", 1, func(a *policy.Attempt, text string) { a.Robots += text }},
		{"Served of a copy", 2, func(a *policy.Attempt, text string) { a.Served = robots + "?" + text }},
		{"Served of none", 1, func(a *policy.Attempt, text string) { a.Served, a.Status = robots+"?"+text, 404 }},
		{"ETag", 1, func(a *policy.Attempt, text string) { a.Header.Set("ETag", `"`+text+`"`) }},
		{"Err", 1, func(a *policy.Attempt, text string) { a.Err = errors.New(text) }},
	} {
		size := func(n int) int {
			a := attempt(t, "200 rules", start)
			tt.fill(&a, strings.Repeat("x", n))
			return learn(t, p, nil, a).Size()
		}
		if got, want := size(150)-size(50), 100*tt.times; got != want {
			t.Errorf("100 bytes more of %s add %d; want %d", tt.what, got, want)
		}
	}
}

// TestFetched checks that Decision.Fetched is set only if the copy decides.
func TestFetched(t *testing.T) {
	for _, tt := range []struct {
		name, profile string
		events        []string
		copied        bool
	}{
		{"2.4/fresh", "rfc9309", []string{"200 rules"}, true},
		{"2.4/stale", "rfc9309", []string{"200 rules + Cache-Control: max-age=0", "503"}, true},
		{"2.3.1.4/kept_but_not_used", "strict", []string{"200 rules + Cache-Control: max-age=0", "503"}, false},
		{"2.3.1.3/unavailable", "rfc9309", []string{"404"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, tt.profile)
			var rec *policy.Record
			for i, e := range tt.events {
				rec = learn(t, p, rec, attempt(t, e, start.Add(time.Duration(i)*time.Minute)))
			}
			d := decide(t, rec, private, start.Add(time.Minute))
			if want := start; d.Fetched.Equal(want) != tt.copied || d.Fetched.IsZero() == tt.copied {
				t.Errorf("%q:\ngot  fetched %v\nwant %v: %v", tt.events, d.Fetched, want, tt.copied)
			}
		})
	}
}

// TestState compares State with Decide for several profiles, and checks that it
// allocates nothing.
func TestState(t *testing.T) {
	target := &url.URL{Scheme: "https", Host: "example.com", Path: "/x"}
	answers := []string{"200 rules", "404", "403", "429", "503", "dns"}
	for _, p := range []*policy.Profile{policy.RFC9309(), policy.Strict(), policy.Google(), policy.Koster1996()} {
		for _, first := range answers {
			for _, second := range answers {
				rec := learn(t, p, learn(t, p, nil, attempt(t, first, start)), attempt(t, second, start.Add(25*time.Hour)))
				for _, later := range []time.Duration{0, 26 * time.Hour, 60 * 24 * time.Hour} {
					now := start.Add(later)
					d := rec.Decide("ExampleBot", target, now)
					want := policy.Decision{Profile: d.Profile, Robots: d.Robots, Served: d.Served, Access: d.Access, Status: d.Status,
						Cause: d.Cause, Fetched: d.Fetched, Expires: d.Expires, Stale: d.Stale, DownSince: d.DownSince}
					if got := rec.State(now); got != want {
						t.Errorf("%s: %s, then %s, after %v\ngot  %+v\nwant %+v", p.Name, first, second, later, got, want)
					}
					if n := testing.AllocsPerRun(10, func() { rec.State(now) }); n != 0 {
						t.Errorf("%s: %s, then %s, after %v: got %v allocations, want none", p.Name, first, second, later, n)
					}
				}
			}
		}
	}
	if got := (*policy.Record)(nil).State(start); got != (policy.Decision{}) {
		t.Errorf("no record: got %+v, want nothing", got)
	}
}
