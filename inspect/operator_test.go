package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
)

// This file tests what an operator looks for: the same number everywhere, the next fetch,
// the deciding line, and the question before an authority is forgotten.

// statusBase answers robots.txt of "status-N.example.com" with status N.
type statusBase struct{}

func (statusBase) RoundTrip(r *http.Request) (*http.Response, error) {
	var status int
	fmt.Sscanf(r.URL.Host, "status-%d.", &status)
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	return w.Result(), nil
}

// TestUnreachableIsOneNumber checks that the totals and the chart agree on which fetches
// left robots.txt unreachable, whatever the status was, and that the first page shows the
// number once.
func TestUnreachableIsOneNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := New(nil)
		ft, err := fetcher.New(agent, &fetcher.Options{Base: statusBase{}, Trace: page.Trace(nil), Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range []int{200, 202, 206, 302, 304, 404, 403, 408, 429, 500, 503, 999} {
			checkURL(t, ft, fmt.Sprintf("https://status-%d.example.com/", status))
		}
		var v struct {
			Stats  struct{ Retrievals, Unreachable int64 }
			Series []struct{ Unreachable int64 }
		}
		decode(t, sendRequest(page.Handler(ft), "GET", "/?format=json", ""), &v)
		var sum int64
		for _, b := range v.Series {
			sum += b.Unreachable
		}
		if v.Stats.Unreachable != sum || sum != 9 {
			t.Errorf("got %d since start and %d in the chart, want 9 and 9", v.Stats.Unreachable, sum)
		}
		words := visibleWords(t, readBody(t, sendRequest(page.Handler(ft), "GET", "/", "")))
		if n := strings.Count(words, "unreachable 9"); n != 1 {
			t.Errorf("got the number %d times in %q, want once", n, words)
		}
	})
}

// TestOverdue checks how a next fetch is shown whose time has passed.
func TestOverdue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, nil, 0)
		time.Sleep(time.Hour + 5*time.Second)
		for _, at := range []string{"/?view=authorities&q=wiki", "/?authority=https://wiki.example.org"} {
			words := visibleWords(t, readBody(t, sendRequest(page.Handler(ft), "GET", at, "")))
			if !strings.Contains(words, "overdue 5 s") {
				t.Errorf("%s: got %q, want %q in it", at, words, "overdue 5 s")
			}
		}
	})
}

// TestDecidingLine follows the link from a decision to the line that decided, in a short
// file and in a file that is shown in parts.
func TestDecidingLine(t *testing.T) {
	long := "User-agent: *\n" + strings.Repeat("Disallow: /x\n", 1000) + "Disallow: /deep\n"
	for _, row := range []struct{ name, from, want string }{
		{"from_the_answer", "/?url=" + shop + "/private/x", "?authority=https%3A%2F%2Fshop.example.com#L16"},
		{"as_another_crawler", "/?as=GreedyBot&url=" + shop + "/", "?as=GreedyBot&authority=https%3A%2F%2Fshop.example.com#L23"},
		{"from_recent_decisions", "/?view=recent", "?authority=https%3A%2F%2Fshop.example.com#L14"},
		{"in_a_long_file", "/?url=https://long.example.com/deep", "?authority=https%3A%2F%2Flong.example.com&line=992#L1002"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				demoSites := &demoSites
				was := *demoSites
				*demoSites = append(slices.Clip(was), demoSite{origin: "https://long.example.com", age: time.Hour, status: 200, body: long})
				defer func() { *demoSites = was }()
				page, ft := demoPage(t, nil, 0)
				checkURL(t, ft, "https://long.example.com/deep")
				links := pageLinks(t, readBody(t, sendRequest(page.Handler(ft), "GET", row.from, "")))
				if !slices.Contains(links, row.want) {
					t.Fatalf("%s: got links %q, want %q", row.from, links, row.want)
				}
				at, line, _ := strings.Cut(row.want, "#")
				got := readBody(t, sendRequest(page.Handler(ft), "GET", "/"+at, ""))
				if !strings.Contains(got, `id="`+line+`"`) {
					t.Errorf("%s: got no line %s on the page", row.want, line)
				}
				if shownFrom := strings.Contains(got, "First lines"); shownFrom != strings.Contains(at, "line=") {
					t.Errorf("%s: got %v for a link to the first lines", row.want, shownFrom)
				}
			})
		})
	}
}

// TestForgetAsks checks that the page of an authority forgets only on a second page.
func TestForgetAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const button = `value="forget"`
		page, ft := demoPage(t, &Options{Actions: true}, 2)
		at := "/?authority=" + url.QueryEscape(siteOne)
		first := readBody(t, sendRequest(page.Handler(ft), "GET", at, ""))
		if strings.Contains(first, button) || !strings.Contains(first, "confirm=forget") {
			t.Errorf("%s: want a link to a question and no button", at)
		}
		second := readBody(t, sendRequest(page.Handler(ft), "GET", at+"&confirm=forget", ""))
		if !strings.Contains(second, button) || !strings.Contains(visibleWords(t, second), "Forget this site?") {
			t.Errorf("%s: want a question and a button", at+"&confirm=forget")
		}
		quiet, ft := demoPage(t, nil, 2)
		if got := readBody(t, sendRequest(quiet.Handler(ft), "GET", at+"&confirm=forget", "")); strings.Contains(got, "Forget") {
			t.Error("without Actions: got a question, want none")
		}
	})
}
