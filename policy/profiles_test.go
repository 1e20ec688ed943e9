package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

var names = []string{"rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"}

// row returns the cells of a line of a table, nil for a blank line.
func row(t *testing.T, line string, columns int) []string {
	t.Helper()
	if strings.TrimSpace(line) == "" {
		return nil
	}
	cells := strings.Split(line, "|")
	if len(cells) != columns {
		t.Fatalf("%d cells in the row %q; want %d", len(cells), line, columns)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func profile(t testing.TB, name string) *policy.Profile {
	t.Helper()
	p, ok := policy.ByName(name)
	if !ok {
		t.Fatalf("no profile %q", name)
	}
	return p
}

// TestOutage checks the decisions at the edges of every phase of an outage. The second
// column is the answer of the authority, the third says whether there is a copy.
func TestOutage(t *testing.T) {
	edges := []string{"0", "11h59m", "12h", "29d23h", "30d", "30d1h", "400d"}
	const table = `
		rfc9309    | 503           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | dns           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 503, then dns | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | dns, then 503 | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 429           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 503, then 429 | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 302           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 100           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 103           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 202           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 304           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 999           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 0             | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 200 body      | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 503 body      | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 206           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 407           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		rfc9309    | 421           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		rfc9309    | 503           | copy | stale | stale | stale       | stale       | stale       | stale       | stale
		rfc9309    | dns           | copy | stale | stale | stale       | stale       | stale       | stale       | stale
		rfc9309    | 429           | copy | stale | stale | stale       | stale       | stale       | stale       | stale
		strict     | 503           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		strict     | dns           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		strict     | 403           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		strict     | 503           | copy | defer | defer | defer       | defer       | defer       | defer       | defer
		google     | 503           | none | defer | defer | allow       | allow       | allow       | allow       | allow
		google     | dns           | none | defer | defer | allow       | allow       | defer       | defer       | defer
		google     | 429           | none | defer | defer | allow       | allow       | allow       | allow       | allow
		google     | 503           | copy | defer | defer | stale       | stale       | allow       | allow       | allow
		google     | dns           | copy | defer | defer | stale       | stale       | defer       | defer       | defer
		google2019 | 503           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		google2019 | dns           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		google2019 | 503           | copy | defer | defer | defer       | defer       | stale       | stale       | stale
		draft2019  | 503           | none | defer | defer | defer       | defer       | allow       | allow       | allow
		draft2019  | dns           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		draft2019  | 429           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		draft2019  | 503           | copy | stale | stale | stale       | stale       | stale       | stale       | stale
		koster1996 | 503           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		koster1996 | 410           | none | defer | defer | defer       | defer       | defer       | defer       | defer
		koster1996 | 503           | copy | defer | defer | defer       | defer       | defer       | defer       | defer`
	for line := range strings.Lines(table) {
		cells := row(t, line, 3+len(edges))
		if cells == nil {
			continue
		}
		first, then, changes := strings.Cut(cells[1], ", then ")
		if !changes {
			then = first
		}
		for i, edge := range edges {
			name := fmt.Sprintf("2.3.1.4/%s/%s/%s/%s", cells[0], strings.ReplaceAll(cells[1], ", ", "_"), cells[2], edge)
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				outage(t, cells[0], first, then, cells[2] == "copy", span(t, edge), cells[3+i], cells[3])
			})
		}
	}
}

// outage checks the decision when the span has passed after the first failure: once if
// every planned fetch has failed, and once if nothing was fetched since.
func outage(t *testing.T, name, first, then string, copied bool, after time.Duration, want, alone string) {
	p := profile(t, name)
	began := start.Add(2 * time.Hour)
	now := began.Add(after)
	var rec *policy.Record
	if copied {
		rec = learn(t, p, nil, attempt(t, "200 rules + Cache-Control: max-age=3600", start))
	}
	rec = reload(t, p, learn(t, p, rec, attempt(t, first, began)))
	again := rec
	if after != 0 {
		again = throughout(t, p, rec, then, now)
		again = reload(t, p, learn(t, p, again, attempt(t, then, now)))
	}
	check := func(how string, r *policy.Record, want string) {
		d := decide(t, r, private, now)
		got := d.Verdict.String()
		if d.Stale {
			got = "stale"
		}
		if got != want {
			t.Errorf("%s, %v into the outage, %s:\ngot  %s\nwant %s", name, after, how, got, want)
		}
		if d.Access != policy.Unreachable || !d.DownSince.Equal(began) {
			t.Errorf("access %v since %v; want unreachable since %v", d.Access, d.DownSince, began)
		}
	}
	check("fetched as planned", again, want)
	check("not fetched again", rec, alone)
}

// TestOwnProfile checks that the tables of a profile decide what classes of failure and
// statuses mean.
func TestOwnProfile(t *testing.T) {
	p := policy.RFC9309()
	p.Name = "own"
	p.Failures = map[policy.Class]policy.Access{policy.DNS: policy.Unavailable, policy.TLS: policy.Restricted}
	p.Status = append([]policy.StatusRule{{From: 530, To: 530, Access: policy.Unavailable, Clause: "house", Interval: 2 * time.Hour}}, p.Status...)
	p.Hops = 7
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	play(t, p, story{"house/own_tables", `
		0:  dns                           -> allow house; next 1h
		1h: tls                           -> disallow house; next 1h
		2h: connect                       -> defer 2.3.1.4; next 1m
		3h: 530                           -> allow house; next 2h
		5h: 301 after 6 + Location: /x    -> defer 2.3.1.4; next 1m
		5h: 301 after 7 + Location: /x    -> allow 2.3.1.2; next 1h`})
	p.Outage = nil
	play(t, p, story{"2.3.1.4/no_phases_mean_defer", `
		0:    200 rules -> rules 2.2.2
		24h:  503       -> defer 2.3.1.4; next 1m
		999d: 503       -> defer 2.3.1.4`})
	p = policy.RFC9309()
	p.Name, p.Status = "plain", []policy.StatusRule{{From: 200, To: 299, Access: policy.Successful}}
	play(t, p, story{"2.3.1.1/a_204_has_no_content_whatever_it_declares", `
		0: 204 + Content-Length: 99 -> allow 2.2.1; next 24h
		0: 205 + Content-Length: 99 -> allow 2.2.1; next 1m`})
	p = policy.RFC9309()
	p.Name, p.TooManyRedirects = "careful", policy.Unreachable
	play(t, p, story{"2.3.1.2/too_many_redirects_prove_that_there_is_a_server", `
		0:      301 after 5 + Location: /x -> defer 2.3.1.2; next 1h
		to 31d: 301 after 5 + Location: /x -> allow 2.3.1.4; next 1h`})
}

// TestClone checks that a change of the original does not change its clone.
func TestClone(t *testing.T) {
	for _, name := range names {
		p := profile(t, name)
		p.Failures = map[policy.Class]policy.Access{policy.DNS: policy.Unavailable}
		clone, want := p.Clone(), fmt.Sprintf("%+v", *p)
		if got := fmt.Sprintf("%+v", *clone); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
		clear(p.Failures)
		clear(p.Status)
		clear(p.Outage)
		if got := fmt.Sprintf("%+v", *clone); got != want {
			t.Errorf("%s, after a change of the original:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// TestValidate checks that Validate accepts each profile, and finds each number that makes no
// sense.
func TestValidate(t *testing.T) {
	for _, name := range names {
		if err := profile(t, name).Validate(); err != nil {
			t.Errorf("%s is not valid: %v", name, err)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*policy.Profile)
	}{
		{"house/no_name", func(p *policy.Profile) { p.Name = "" }},
		{"2.5/less_than_500_KiB", func(p *policy.Profile) { p.Limit = 500<<10 - 1 }},
		{"2.3.1.2/negative_hops", func(p *policy.Profile) { p.Hops = -1 }},
		{"2.3.1.2/no_hops", func(p *policy.Profile) { p.Hops = 0 }},
		{"2.4/no_floor", func(p *policy.Profile) { p.Fresh.Min = 0 }},
		{"2.4/lifetimes_out_of_order", func(p *policy.Profile) { p.Fresh.Max = time.Second }},
		{"2.4/default_under_the_floor", func(p *policy.Profile) { p.Fresh.Default = time.Second }},
		{"house/no_first_retry", func(p *policy.Profile) { p.Retry.Min = 0 }},
		{"house/retries_out_of_order", func(p *policy.Profile) { p.Retry.MaxLater = time.Second }},
		{"2.3.1.4/a_phase_without_an_end_that_is_not_the_last", func(p *policy.Profile) { p.Outage[0].Until = 0 }},
		{"2.3.1.4/a_last_phase_that_ends", func(p *policy.Profile) { p.Outage[len(p.Outage)-1].Until = 99 * 24 * time.Hour }},
		{"2.3.1.4/phases_out_of_order", func(p *policy.Profile) { p.Outage[1].Until = time.Hour }},
		{"2.3.1.4/two_phases_that_end_together", func(p *policy.Profile) { p.Outage = []policy.Phase{{Until: 9}, {Until: 9}, {}} }},
		{"2.3.1.4/a_failure_that_succeeds", func(p *policy.Profile) { p.Failures = map[policy.Class]policy.Access{policy.DNS: policy.Successful} }},
		{"2.3.1.2/redirects_that_succeed", func(p *policy.Profile) { p.TooManyRedirects = policy.Successful }},
		{"2.3.1.2/redirects_with_an_unknown_access", func(p *policy.Profile) { p.TooManyRedirects = 9 }},
		{"2.3.1.4/a_failure_with_an_unknown_access", func(p *policy.Profile) { p.Failures = map[policy.Class]policy.Access{policy.DNS: 9} }},
		{"2.3.1.4/a_phase_with_an_unknown_verdict", func(p *policy.Profile) { p.Outage[1].WithoutCopy = 9 }},
		{"2.3.1/an_unknown_access", func(p *policy.Profile) { p.Status[0].Access = 9 }},
		{"2.3.1/a_range_that_ends_before_it_begins", func(p *policy.Profile) { p.Status[0].From, p.Status[0].To = 203, 202 }},
		{"2.3.1/an_error_that_succeeds", func(p *policy.Profile) { p.Status[0].To = 300 }},
		{"2.3.1/a_1xx_that_succeeds", func(p *policy.Profile) { p.Status[0].From = 199 }},
		{"2.3.1/a_negative_interval", func(p *policy.Profile) { p.Status[0].Interval = -1 }},
		{"2.3.1/a_copy_kept_for_a_negative_time", func(p *policy.Profile) { p.Status[0].Keep = policy.UntilExpiry - 1 }},
		{"2.4/a_negative_lifetime_of_a_page", func(p *policy.Profile) { p.Fresh.MaxHTML = -1 }},
		{"2.4/a_negative_lifetime_of_a_stale_answer", func(p *policy.Profile) { p.Fresh.MinStale = -1 }},
		{"house/a_negative_retry_after", func(p *policy.Profile) { p.Retry.MaxRetryAfter = -1 }},
		{"house/a_negative_time_after_redirects", func(p *policy.Profile) { p.Retry.AfterTooManyRedirects = -1 }},
		{"house/a_negative_time_after_a_refused_redirect", func(p *policy.Profile) { p.Retry.AfterRefusedRedirect = -1 }},
		{"2.3.1.4/a_negative_interval_with_a_copy", func(p *policy.Profile) { p.Outage[0].IntervalWithCopy = -1 }},
		{"2.3.1.4/a_negative_interval_without_a_copy", func(p *policy.Profile) { p.Outage[1].Interval = -1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.RFC9309()
			tt.change(p)
			if err := p.Validate(); err == nil {
				t.Errorf("Validate of %+v:\ngot  nil\nwant an error", p)
			}
		})
	}
	edges := policy.RFC9309()
	edges.Hops = 1
	edges.Fresh = policy.Fresh{Default: time.Second, Max: time.Second, Min: time.Second}
	edges.Retry = policy.Retry{Min: time.Second, MaxFirstDay: time.Second, MaxLater: time.Second}
	edges.Status = []policy.StatusRule{{From: 200, To: 299, Access: policy.Successful}, {From: 404, To: 404, Access: policy.Unavailable}}
	for _, edges.Outage = range [][]policy.Phase{nil, {{Until: 1}, {}}} {
		if err := edges.Validate(); err != nil {
			t.Errorf("Validate of a profile with the smallest numbers:\ngot  %v\nwant nil", err)
		}
	}
	if p, ok := policy.ByName("bing"); ok || p != nil {
		t.Errorf("ByName(bing) = %v, %v; want nil, false", p, ok)
	}
}
