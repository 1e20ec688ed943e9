package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

const siteOne = "https://site-0001.example.com"

// actionTests are forms and their effect.
var actionTests = []struct {
	name     string
	disabled bool
	form     string
	header   string // "name: value"
	status   int
	want     string // text in the Location or on the page
	requests int64  // number of requests for robots.txt after the first one
	held     int    // number of authorities in memory afterwards
}{
	{"refresh", false, "act=refresh&url=" + siteOne + "/", "Sec-Fetch-Site: same-origin", 303, "?authority=https%3A%2F%2Fsite-0001.example.com&did=refreshed", 1, 1},
	{"refresh_by_hand_typed_address", false, "act=refresh&url=" + siteOne, "Sec-Fetch-Site: none", 303, "did=refreshed", 1, 1},
	{"refresh_of_an_old_browser", false, "act=refresh&url=" + siteOne, "Origin: http://example.com", 303, "did=refreshed", 1, 1},
	{"refresh_of_no_browser", false, "act=refresh&url=" + siteOne, "Accept: application/json", 303, "&format=json", 1, 1},
	{"refresh_from_another_site", false, "act=refresh&url=" + siteOne, "Sec-Fetch-Site: cross-site", 403, "this request comes from another site", 0, 1},
	{"refresh_from_a_sibling", false, "act=refresh&url=" + siteOne, "Sec-Fetch-Site: same-site", 403, "another site", 0, 1},
	{"refresh_from_another_origin", false, "act=refresh&url=" + siteOne, "Origin: http://evil.example", 403, "another site", 0, 1},
	{"refresh_from_another_port", false, "act=refresh&url=" + siteOne, "Origin: http://example.com:8080", 403, "another site", 0, 1},
	{"refresh_from_a_sandbox", false, "act=refresh&url=" + siteOne, "Origin: null", 403, "another site", 0, 1},
	{"refresh_not_enabled", true, "act=refresh&url=" + siteOne, "Sec-Fetch-Site: same-origin", 405, "actions are not enabled", 0, 1},
	{"refresh_of_a_site_down", false, "act=refresh&url=https://site-0031.example.com", "Sec-Fetch-Site: same-origin", 303, "did=refreshed", 1, 2},
	{"forget", false, "act=forget&url=" + siteOne, "Sec-Fetch-Site: same-origin", 303, "?did=forgotten&view=authorities", 0, 0},
	{"forget_from_another_site", false, "act=forget&url=" + siteOne, "Sec-Fetch-Site: cross-site", 403, "another site", 0, 1},
	{"forget_not_enabled", true, "act=forget&url=" + siteOne, "Sec-Fetch-Site: same-origin", 405, "actions are not enabled", 0, 1},
	{"ask_the_site", false, "act=ask&url=site-0002.example.com/private/x", "Sec-Fetch-Site: same-origin", 200, "disallow https://site-0002.example.com/private/x Disallow: /private/ line 2", 1, 2},
	{"ask_the_site_as_another", false, "act=ask&as=OtherBot&url=site-0002.example.com/", "Sec-Fetch-Site: same-origin", 200, "no rule of group * matches", 1, 2},
	{"ask_not_enabled", true, "act=ask&url=site-0002.example.com", "Sec-Fetch-Site: same-origin", 405, "actions are not enabled", 0, 1},
	{"ask_from_another_site", false, "act=ask&url=site-0002.example.com", "Sec-Fetch-Site: cross-site", 403, "another site", 0, 1},
	{"no_such_action", false, "act=reboot&url=" + siteOne, "Sec-Fetch-Site: same-origin", 400, "no such action", 0, 1},
	{"no_url", false, "act=refresh&url=mailto:x", "Sec-Fetch-Site: same-origin", 400, "No robots.txt applies to this URL", 0, 1},
	{"no_host", false, "act=refresh&url=https://a..b/", "Sec-Fetch-Site: same-origin", 400, "the host is not a domain name", 0, 1},
	{"no_crawler", false, "act=ask&as=%21&url=" + siteOne, "Sec-Fetch-Site: same-origin", 400, "is no product token", 0, 1},
	{"url_in_the_query", false, "act=refresh", "Sec-Fetch-Site: same-origin", 400, "This is not a URL", 0, 1},
	{"too_long", false, "act=refresh&url=" + siteOne + "&x=" + strings.Repeat("x", maxForm), "Sec-Fetch-Site: same-origin", 400, "The form cannot be read.", 0, 1},
	{"broken", false, "act=%zz", "Sec-Fetch-Site: same-origin", 400, "The form cannot be read.", 0, 1},
}

func TestActions(t *testing.T) {
	for _, row := range actionTests {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &countingBase{}
				page := New(&Options{Actions: !row.disabled})
				ft, err := fetcher.New(agent, &fetcher.Options{Base: base, Attempts: 1})
				if err != nil {
					t.Fatal(err)
				}
				checkURL(t, ft, siteOne+"/")
				base.n.Store(0)
				name, value, _ := strings.Cut(row.header, ": ")
				res := sendRequest(page.Handler(ft), "POST", "http://example.com/debug/polite?url="+siteOne, row.form, name, value)
				got := res.Header.Get("Location")
				if got == "" {
					got = readBody(t, res)
					if value != "application/json" {
						got = visibleWords(t, got)
					}
				}
				if res.StatusCode != row.status || !strings.Contains(got, row.want) {
					t.Errorf("%s: got %d %q, want %d %q", row.form, res.StatusCode, got, row.status, row.want)
				}
				if got := base.n.Load(); got != row.requests {
					t.Errorf("%s: got %d requests for robots.txt, want %d", row.form, got, row.requests)
				}
				if got := ft.Stats().Authorities; got != row.held {
					t.Errorf("%s: got %d authorities in memory, want %d", row.form, got, row.held)
				}
			})
		})
	}
}

func checkURL(t *testing.T, ft *fetcher.Transport, u string) policy.Decision {
	t.Helper()
	target, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	d, err := ft.Check(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// brokenStore is a store whose Delete fails.
type brokenStore struct{ *cache.Memory }

func (brokenStore) Delete(context.Context, string) error {
	return errors.New("the disk is <b>gone</b>")
}

// hangingBase is a base that never answers.
type hangingBase struct{}

func (hangingBase) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestActionsThatFail tests actions that fail.
func TestActionsThatFail(t *testing.T) {
	order := func(*url.URL) (policy.Verdict, string, bool) {
		return policy.Disallow, "we are <i>not</i> welcome", true
	}
	rows := []struct {
		name, act string
		o         fetcher.Options
		status    int
		want      string
	}{
		{"store_fails", "forget", fetcher.Options{Base: cannedBase{}, Store: brokenStore{cache.NewMemory(1 << 20)}}, 502, "the disk is <b>gone</b>"},
		{"no_answer_in_time", "ask", fetcher.Options{Base: hangingBase{}, Timeout: time.Hour}, 504, "There was no answer in time."},
		{"operator_rules_when_refreshed", "refresh", fetcher.Options{Base: cannedBase{}, Override: order}, 200, "by order of the operator: we are <i>not</i> welcome"},
		{"turn_too_late", "refresh", fetcher.Options{Base: cannedBase{}, Pace: &pace.Limits{Gap: time.Hour, MaxWait: time.Minute}}, 200, "no turn before your deadline"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ft, err := fetcher.New(agent, &row.o)
				if err != nil {
					t.Fatal(err)
				}
				if row.o.Pace != nil {
					checkURL(t, ft, siteOne+"/")
				}
				res := sendRequest(New(&Options{Actions: true}).Handler(ft), "POST", "/", fmt.Sprintf("act=%s&url=%s", row.act, siteOne))
				if got := visibleWords(t, readBody(t, res)); res.StatusCode != row.status || !strings.Contains(got, row.want) {
					t.Errorf("%s: got %d %q, want %d %q", row.act, res.StatusCode, got, row.status, row.want)
				}
				time.Sleep(2 * time.Hour) // let the flight end that no caller waits for
			})
		})
	}
}
