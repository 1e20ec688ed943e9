package policy_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// TestMerge merges the records that two processes have of one authority, and checks the
// decision after an hour. A process is a list of fetches within that hour.
func TestMerge(t *testing.T) {
	at := func(minute int, answer string) fetch { return fetch{minute, minute, answer} }

	const brief = " + Cache-Control: max-age=60"
	for _, tt := range []struct {
		name       string
		one, other []fetch
		want       string
		down       int // the minute of DownSince, -1 for none
	}{
		{"4.2/one_knows_nothing", []fetch{at(0, "200 rules")}, nil, "rules 2.2.2", -1},
		{"4.2/the_later_answer", []fetch{at(0, "200 rules")}, []fetch{at(1, "200 others")}, "others 2.2.2", -1},
		{"4.2/the_later_answer_though_it_expires_sooner", []fetch{at(0, "404")}, []fetch{at(1, "200 rules"+brief)}, "defer 2.4", -1},
		{"4.2/the_later_404", []fetch{at(0, "200 rules")}, []fetch{at(1, "404")}, "allow 2.3.1.3", -1},
		{"4.2/learnt_later_though_sent_earlier", []fetch{fetch{0, 9, "200 rules"}}, []fetch{fetch{5, 6, "200 others"}}, "rules 2.2.2", -1},
		{"4.2/a_failure_after_an_answer_has_its_copy",
			[]fetch{at(0, "200 rules"+brief)}, []fetch{at(3, "503")}, "rules stale 2.4", 3},
		{"4.2/a_failure_after_a_404_drops_the_copy",
			[]fetch{at(0, "200 rules"+brief), at(3, "404")}, []fetch{at(0, "200 rules"+brief), at(5, "503")}, "defer 2.3.1.4", 5},
		{"4.2/a_failure_that_began_before_an_answer_changes_nothing",
			[]fetch{at(5, "200 rules")}, []fetch{fetch{4, 9, "timeout"}}, "rules 2.2.2", -1},
		{"4.2/two_failures_are_one_outage",
			[]fetch{at(3, "503")}, []fetch{at(5, "dns")}, "defer 2.3.1.4", 3},
		{"4.2/two_failures_have_the_newer_copy",
			[]fetch{at(0, "200 rules"+brief), at(5, "503")}, []fetch{at(1, "200 others"+brief), at(4, "503")}, "others stale 2.4", 4},
		{"4.2/an_outage_that_an_answer_has_ended_adds_nothing",
			[]fetch{at(3, "503")}, []fetch{at(5, "200 rules"+brief), at(9, "503")}, "rules stale 2.4", 9},
		{"4.2/an_outage_goes_on_after_an_answer_it_did_not_know",
			[]fetch{at(3, "503"), at(9, "503")}, []fetch{at(5, "200 rules"+brief)}, "rules stale 2.4", 9},
		{"4.2/two_answers_of_one_moment", []fetch{at(5, "200 rules")}, []fetch{at(5, "404")}, "rules 2.2.2", -1},
		{"4.2/two_failures_that_end_in_one_moment", []fetch{fetch{3, 5, "503"}}, []fetch{fetch{4, 5, "dns"}}, "defer 2.3.1.4", 5},
		{"4.2/an_outage_that_begins_in_the_moment_of_an_answer_goes_on",
			[]fetch{at(5, "503"), at(9, "503")}, []fetch{at(5, "200 rules"+brief)}, "rules stale 2.4", 5},
		{"4.2/a_failure_in_the_moment_of_an_answer_is_after_it",
			[]fetch{at(3, "503"), at(5, "503")}, []fetch{at(5, "200 rules"+brief), at(9, "503")}, "rules stale 2.4", 5},
		{"4.2/a_fetch_that_begins_and_ends_in_the_moment_of_an_answer_and_fails",
			[]fetch{at(5, "503")}, []fetch{at(5, "200 rules"+brief)}, "rules stale 2.4", 5},
		{"4.2/the_earlier_failure_has_the_only_copy",
			[]fetch{at(0, "404"), at(5, "503")}, []fetch{at(0, "200 rules"+brief), at(4, "503")}, "rules stale 2.4", 4},
		{"4.2/the_later_failure_has_the_only_copy",
			[]fetch{at(0, "200 rules"+brief), at(5, "503")}, []fetch{at(0, "404"), at(4, "503")}, "rules stale 2.4", 4},
		{"4.2/the_earlier_failure_has_the_newer_copy",
			[]fetch{at(0, "200 rules"), at(3, "403"), at(5, "503")}, []fetch{at(3, "200 others"), at(4, "503")}, "others 2.2.2", 4},
		{"4.2/a_fetch_that_begins_in_the_moment_of_an_answer_and_fails",
			[]fetch{fetch{5, 6, "503"}}, []fetch{at(5, "200 rules"+brief)}, "rules stale 2.4", 6},
		{"4.2/a_429_after_an_answer", []fetch{at(0, "200 rules"+brief)}, []fetch{at(3, "429")}, "rules stale 2.4", 3},
		{"4.2/a_record_from_the_future_loses", []fetch{at(70, "200 rules")}, []fetch{at(1, "404")}, "allow 2.3.1.3", -1},
		{"4.2/two_records_from_the_future", []fetch{at(70, "200 rules")}, []fetch{at(80, "404")}, "defer 2.4", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, now := policy.RFC9309(), start.Add(time.Hour)
			one, other := process(t, p, tt.one), process(t, p, tt.other)
			got := one.Merge(other, now)
			if r := outcome(t, got, now); r != tt.want {
				t.Errorf("%v and %v:\ngot  %s\nwant %s", tt.one, tt.other, r, tt.want)
			}
			want := time.Time{}
			if tt.down >= 0 {
				want = start.Add(time.Duration(tt.down) * time.Minute)
			}
			if d := decide(t, got, private, now); !d.DownSince.Equal(want) {
				t.Errorf("%v and %v:\ngot  down since %v\nwant %v", tt.one, tt.other, d.DownSince, want)
			}
			for how, again := range map[string]*policy.Record{
				"the other way round": other.Merge(one, now), "merged twice": got.Merge(other, now).Merge(one, now), "with itself": got.Merge(reload(t, p, got), now),
			} {
				if !bytes.Equal(stored(t, again), stored(t, got)) {
					t.Errorf("%v and %v %s:\ngot  %q\nwant %q", tt.one, tt.other, how, stored(t, again), stored(t, got))
				}
			}
		})
	}
}

// TestFirstFailureAfterAnAnswer checks that an answer that another process has seen ends an
// outage: the failed fetch after it is the first of the next one, whose steps and observed
// length begin again.
func TestFirstFailureAfterAnAnswer(t *testing.T) {
	p := policy.RFC9309()
	p.Outage = []policy.Phase{{Until: time.Hour, WithoutCopy: policy.Defer}, {WithoutCopy: policy.Allow, NeedsAnswer: true, Clause: "2.3.1.4"}}
	down := process(t, p, []fetch{{1, 1, "503"}, {2, 2, "503"}, {4, 4, "503"}, {9, 9, "dns"}})
	up := process(t, p, []fetch{{8, 8, "404"}})
	merged := down.Merge(up, start.Add(9*time.Minute))
	for after, want := range map[time.Duration]string{time.Hour - 1: "defer 2.3.1.4", time.Hour: "allow 2.3.1.4"} {
		now := start.Add(9*time.Minute + after)
		rec := learn(t, p, merged, attempt(t, "503", now))
		if got := outcome(t, rec, now); got != want {
			t.Errorf("503 after %v:\ngot  %s\nwant %s", after, got, want)
		}
		if next := rec.NextTry().Sub(now); next < time.Minute || next >= 2*time.Minute {
			t.Errorf("503 after %v: the next fetch is after %v; want 1m to 2m, as after two failures", after, next)
		}
	}
	now := start.Add(9*time.Minute + time.Hour)
	if got := outcome(t, learn(t, p, merged, attempt(t, "dns", now)), now); got != "defer 2.3.1.4" {
		t.Errorf("dns after an hour:\ngot  %s\nwant defer 2.3.1.4, as the server answered only before this outage", got)
	}
}

// TestFirstPhase checks that the first phase of an outage ends to the nanosecond, whether
// the failed fetch is the first of all or the first after an answer that another process has seen.
func TestFirstPhase(t *testing.T) {
	p := policy.RFC9309()
	p.Outage = []policy.Phase{{Until: 30 * time.Second, WithoutCopy: policy.Defer}, {WithoutCopy: policy.Disallow, Clause: "2.3.1.4"}}
	first, down, up := []fetch{{9, 9, "503"}}, []fetch{{1, 1, "503"}, {9, 9, "503"}}, []fetch{{8, 8, "404"}}
	begin := start.Add(9 * time.Minute)
	for name, rec := range map[string]*policy.Record{
		"2.3.1.4/the_first_failure":         process(t, p, first),
		"4.2/the_first_failure_after_a_404": process(t, p, down).Merge(process(t, p, up), begin),
	} {
		t.Run(name, func(t *testing.T) {
			for after, want := range map[time.Duration]string{30*time.Second - 1: "defer 2.3.1.4", 30 * time.Second: "disallow 2.3.1.4"} {
				if got := outcome(t, rec, begin.Add(after)); got != want {
					t.Errorf("after %v:\ngot  %s\nwant %s", after, got, want)
				}
			}
		})
	}
}

// fetch is an answer with the minutes when the fetch began and ended.
type fetch struct {
	sent, received int
	answer         string
}

// process has the fetches of one process.
func process(t *testing.T, p *policy.Profile, fetches []fetch) (rec *policy.Record) {
	for _, f := range fetches {
		rec = learn(t, p, rec, fetched(t, f))
	}
	return rec
}

func fetched(t *testing.T, f fetch) policy.Attempt {
	return during(t, f, time.Minute)
}

// during returns the attempt of a fetch. Its times count in units.
func during(t *testing.T, f fetch, unit time.Duration) policy.Attempt {
	a := attempt(t, f.answer, start.Add(time.Duration(f.received)*unit))
	a.Sent = start.Add(time.Duration(f.sent) * unit)
	return a
}

// TestLearnInOrder checks that an attempt that is older than the record changes nothing.
// Times are in units of ten seconds.
func TestLearnInOrder(t *testing.T) {
	for _, tt := range []struct {
		name string
		old  fetch
		then fetch
		want string // after both
	}{
		{"4.2/a_failure_that_began_before", fetch{5, 5, "200 rules"}, fetch{4, 9, "timeout"}, "rules 2.2.2"},
		{"4.2/a_failure_that_began_after", fetch{5, 5, "404"}, fetch{6, 9, "timeout"}, "defer 2.3.1.4"},
		{"4.2/a_failure_at_the_same_moment", fetch{5, 5, "404"}, fetch{5, 5, "timeout"}, "defer 2.3.1.4"},
		{"4.2/an_answer_by_a_clock_that_is_behind", fetch{5, 9, "200 rules"}, fetch{6, 7, "404"}, "allow 2.3.1.3"},
		{"4.2/a_file_by_a_clock_that_is_50_seconds_behind", fetch{6, 6, "404"}, fetch{1, 1, "200 rules"}, "rules 2.2.2"},
		{"4.2/a_failure_by_a_clock_that_is_behind", fetch{5, 5, "404"}, fetch{4, 4, "503"}, "allow 2.3.1.3"},
		{"4.2/an_answer_received_after", fetch{5, 9, "200 rules"}, fetch{6, 10, "404"}, "allow 2.3.1.3"},
		{"4.2/an_answer_at_the_same_moment", fetch{5, 9, "200 rules"}, fetch{9, 9, "404"}, "allow 2.3.1.3"},
		{"4.2/an_answer_while_a_fetch_failed", fetch{1, 9, "timeout"}, fetch{2, 8, "404"}, "allow 2.3.1.3"},
		{"4.2/the_old_is_from_the_future", fetch{59, 59, "200 rules"}, fetch{1, 1, "404"}, "allow 2.3.1.3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.RFC9309()
			old := learn(t, p, nil, during(t, tt.old, 10*time.Second))
			rec := learn(t, p, old, during(t, tt.then, 10*time.Second))
			if got := outcome(t, rec, start.Add(100*time.Second)); got != tt.want {
				t.Errorf("%v, then %v:\ngot  %s\nwant %s", tt.old, tt.then, got, tt.want)
			}
		})
	}
}

// TestFetchesOfOneMoment checks that a coarse clock does not change the order of
// fetches.
func TestFetchesOfOneMoment(t *testing.T) {
	p := policy.RFC9309()
	var rec *policy.Record
	for i, answer := range []string{"200 rules", "503", "404", "dns", "429", "200 others", "404", "200 rules"} {
		next := p.Learn(rec, attempt(t, answer, start))
		if merged := rec.Merge(next, start); merged != next {
			t.Errorf("step %d, %s: the record before it is used", i, answer)
		}
		rec = next
	}
	if got := outcome(t, rec, start); got != "rules 2.2.2" {
		t.Errorf("got %s; want rules 2.2.2", got)
	}
	for apart, want := range map[time.Duration]string{999: "defer 2.3.1.4", time.Microsecond: "allow 2.3.1.3"} {
		older := p.Learn(nil, attempt(t, "404", start.Add(apart)))
		if got := outcome(t, p.Learn(older, attempt(t, "503", start)), start); got != want {
			t.Errorf("a 404, then a failed fetch %v before:\ngot  %s\nwant %s", apart, got, want)
		}
	}
}

// TestNoStore checks Record.NoStore after each event of a copy.
func TestNoStore(t *testing.T) {
	const secret = ` + Cache-Control: max-age=60, no-store`
	for _, tt := range []struct {
		name   string
		events []string // one an hour
		want   bool
	}{
		{"4.2/nothing", nil, false},
		{"4.2/a_file", []string{"200 rules"}, false},
		{"4.2/no_store", []string{"200 rules" + secret}, true},
		{"4.2/no_cache_may_be_stored", []string{"200 rules + Cache-Control: no-cache"}, false},
		{"4.2/an_empty_file", []string{"204" + secret}, true},
		{"4.2/a_failure_carries_the_copy", []string{"200 rules" + secret, "503"}, true},
		{"4.2/a_304_carries_the_copy", []string{"200 rules + ETag: \"a\"" + secret, "304"}, true},
		{"4.2/a_304_with_no_store", []string{"200 rules + ETag: \"a\"", "304" + secret}, true},
		{"4.2/a_304_of_another_entity", []string{"200 rules + ETag: \"a\"" + secret, "304 + ETag: \"b\""}, true},
		{"4.2/a_4xx_leaves_the_copy", []string{"200 rules + Cache-Control: no-store, max-age=86400", "403"}, false},
		{"4.2/a_404_drops_the_copy", []string{"200 rules" + secret, "404"}, false},
		{"4.2/a_404", []string{"404" + secret}, true},
		{"4.2/a_failed_fetch_stores_nothing_of_the_answer", []string{"503" + secret}, false},
		{"4.2/a_new_file", []string{"200 rules" + secret, "200 others"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.RFC9309()
			var rec *policy.Record
			for i, e := range tt.events {
				rec = learn(t, p, rec, attempt(t, e, start.Add(time.Duration(i)*time.Hour)))
			}
			if got := rec.NoStore(); got != tt.want {
				t.Errorf("%q:\ngot  %v\nwant %v", tt.events, got, tt.want)
			}
			if rec != nil && reload(t, p, rec).NoStore() != tt.want {
				t.Errorf("%q, stored and loaded: want %v", tt.events, tt.want)
			}
		})
	}
}
