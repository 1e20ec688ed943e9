package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// siteURL returns a page of a demo site.
func siteURL(site int) *url.URL {
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("site-%04d.example.com", site), Path: "/page"}
}

// crowd makes a crawler's requests wait for some of the demo sites until the test ends.
func crowd(t *testing.T, ft *fetcher.Transport) {
	t.Helper()
	admit := func(site int) *fetcher.Admission {
		t.Helper()
		target := siteURL(site)
		a, d, err := ft.Admit(t.Context(), target)
		if err != nil || !d.Allowed() {
			t.Fatalf("%s: got %v, %v; want an admission", target, d, err)
		}
		return a
	}
	wait := func(site, callers int) {
		target := siteURL(site)
		before := ft.Stats().Pace.Waiting
		for range callers {
			go ft.Admit(t.Context(), target) // ends with the test
		}
		for ft.Stats().Pace.Waiting < before+callers {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
	}
	admit(1)
	admit(1)
	a := admit(2)
	a.Answer(429, http.Header{"Retry-After": {"300"}})
	a.Done()
	for range 3 {
		admit(3).Fail(&policy.Failure{Class: policy.Timeout, Err: context.DeadlineExceeded})
	}
	a = admit(6)
	a.Answer(200, http.Header{"Ratelimit": {`"day";r=0;t=120`}})
	a.Done()
	admit(7)
	late, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	target, _ := url.Parse("https://site-0002.example.com/late")
	if _, d, err := ft.Admit(late, target); err != nil || d.Allowed() {
		t.Fatalf("got %v, %v; want a decision to defer", d, err)
	}
	wait(3, 2)
	wait(1, 3)
	wait(2, 1)
}

// pacingTests are requests and the words that their pages must have, in order, or, if
// the words begin with a brace, the members that the JSON must have.
var pacingTests = []struct {
	name, target string
	status       int
	want         []string
}{
	{"6/who_waits_longest_is_first", "/?view=pacing", 200, []string{
		"6 requests wait for a turn at 3 hosts. The longest wait is first.", "all 5", "breaker 1", "pause 1", "quota 1", "parallel 1", "free 1",
		"https://site-0003.example.com breaker 3 failed requests in a row, the last with no complete answer (timeout); one request tries again at 00:00:12Z 2 3 s ago in 6 s 0",
		"https://site-0001.example.com parallel the requests in flight must end first 3 2 s ago – 2",
		"https://site-0002.example.com pause it asked for fewer requests 1 1 s ago in 4 min 0",
		"https://site-0007.example.com free the next request may start now 0 – now 1",
		"https://site-0006.example.com quota it said that no request is left 0 – in 1 min 0",
	}},
	{"6/one_reason", "/?view=pacing&reason=pause", 200, []string{"all 5", "pause 1", "https://site-0002.example.com"}},
	{"6/a_reason_without_hosts", "/?view=pacing&reason=gap", 200, []string{"gap 0", "No host."}},
	{"6/no_such_reason", "/?view=pacing&reason=luck", 400, []string{"There is no such reason."}},
	{"6/overview", "/", 200, []string{"Waiting for a turn now 6 3 requests in flight"}},
	{"6/one_host", "/?authority=https://site-0003.example.com", 200, []string{
		"Next turn in 6 s breaker 3 failed requests in a row", "Requests in line 2, the first came 3 s ago", "Requests in flight 0"}},
	{"6/one_url", "/?url=https://site-0002.example.com/a", 200, []string{"allow", "Next turn in 4 min waits for the pause that an answer asked for"}},
	{"6/no_turn_in_time", "/?view=recent&verdict=defer", 200, []string{"https://site-0002.example.com/late no turn before your deadline (in 1s): the next one is in 4m59s, because of the pause that an answer asked for house"}},
	{"6/json", "/?view=pacing&format=json", 200, []string{`{"off":false,"reason":"all","waiting":6,"waited_for":3,"hosts":{"all":5,"breaker":1,"free":1,"parallel":1,"pause":1,"quota":1},"matched":5,"rows":[{"authority":"https://site-0003.example.com","waiting":2,"in_flight":0,"reason":"breaker"}]}`}},
	{"6/json_of_one_host", "/?authority=https://site-0001.example.com&format=json", 200, []string{`{"pacing":{"waiting":3,"in_flight":2,"reason":"parallel"}}`}},
}

// TestPacing checks the page of the hosts that requests wait for.
func TestPacing(t *testing.T) {
	for _, row := range pacingTests {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				page, ft := demoPage(t, nil, 10)
				crowd(t, ft)
				res := sendRequest(page.Handler(ft), "GET", row.target, "")
				body := readBody(t, res)
				if res.StatusCode != row.status {
					t.Errorf("%s: got status %d, want %d", row.target, res.StatusCode, row.status)
				}
				if strings.HasPrefix(row.want[0], "{") {
					checkJSON(t, body, row.want[0])
					return
				}
				words := visibleWords(t, body)
				rest := words
				for _, want := range row.want {
					_, after, ok := strings.Cut(rest, want)
					if !ok {
						t.Fatalf("%s: got %q, want %q in %q", row.target, words, want, rest)
					}
					rest = after
				}
			})
		})
	}
}

// TestPacingOfScopes checks that a request that waits for a scope is counted once, and
// that the Key of a scope is shown quoted and without a link.
func TestPacingOfScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := "crawl " + markup
		ft, err := fetcher.New(agent, &fetcher.Options{Base: cannedBase{}, Scopes: func(*url.URL) []pace.Scope {
			return []pace.Scope{{Key: key, Limits: pace.Limits{Parallel: 1}}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		targets := []*url.URL{siteURL(1), siteURL(2)}
		for _, target := range targets {
			if _, err := ft.Record(t.Context(), target); err != nil {
				t.Fatal(err)
			}
		}
		for _, target := range targets {
			go ft.Admit(t.Context(), target) // the second waits until the test ends
			time.Sleep(time.Second)
		}
		body := readBody(t, sendRequest(New(nil).Handler(ft), "GET", "/?view=pacing", ""))
		words := visibleWords(t, body)
		shown := strings.Join(strings.Fields(text(key)), " ")
		for _, want := range []string{
			"1 request waits for a turn at 1 host.",
			"https://site-0002.example.com scope the scope " + shown + " 1 1 s ago now 0",
			"scope " + shown + " parallel the requests in flight must end first 1 1 s ago – 1",
		} {
			if !strings.Contains(words, want) {
				t.Errorf("got  %q\nwant %q in it", words, want)
			}
		}
		for _, at := range pageLinks(t, body) {
			if strings.Contains(at, "crawl") {
				t.Errorf("got a link to %q, want none to a scope", at)
			}
		}
	})
}

func checkJSON(t *testing.T, body, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(body), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatal(err)
	}
	if !containsAll(g, w) {
		t.Errorf("got %s, want at least %s", body, want)
	}
}
