package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/html"

	"github.com/rfc9309/polite/fetcher"
)

// sendRequest sends one request to a handler, with a form unless form is "".
func sendRequest(h http.Handler, method, target, form string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(form))
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// readBody reads the body of a response.
func readBody(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// visibleWords returns the visible words of a page, separated by single spaces.
func visibleWords(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "style" {
			seen = append(seen, strings.Fields(n.Data)...)
		}
	}
	return strings.Join(seen, " ")
}

const shop = "https://shop.example.com"

// pageTests are requests for pages and the words that the pages must have, in order.
var pageTests = []struct {
	name, method, target string
	status               int
	want                 []string // words in this order
}{
	{"overview", "GET", "/debug/polite", 200, []string{"May I fetch this URL?", "Sites", "22", "Decisions since start 93", "13 % disallowed", "Fetches since start", "unreachable", "Over the last hour", "allowed 7 8", "/w/ line 3 2.2.2", "Recent fetches", "dns: no such host", "301 to https://www.shop.example.com/robots.txt", "after 1 d"}},
	{"overview_by_the_week", "GET", "/?span=week", 200, []string{"Over the last week", "Sat 25 Dec 02:00 UTC: 14", "Sat 25 Dec Sun 26 Dec", "now"}},
	{"overview_of_an_unknown_span", "GET", "/?span=aeon", 200, []string{"Over the last hour"}},
	{"overview_reloaded", "GET", "/?live=1", 200, []string{"Stop reloading"}},
	{"authorities", "GET", "/debug/polite/?view=authorities", 200, []string{"all 22", "successful 15", "unavailable 3", "unreachable 4", "stale 1", "http://old.example.edu unreachable stale copy 7 d 1 h ago in", "6 d 5 h ago", "https://api.example.com:8443 unavailable –", "site-0009", "1–22 of 22"}},
	{"authorities_found_by_part_of_the_name", "GET", "/?view=authorities&q=EXAMPLE.NET", 200, []string{"all 2", "https://blog.example.net", "https://maps.example.net", "1–2 of 2"}},
	{"authorities_not_found", "GET", "/?view=authorities&q=zzz", 200, []string{"No site that matches in memory."}},
	{"authorities_of_no_such_order", "GET", "/?view=authorities&sort=luck", 400, []string{"There is no such list."}},
	{"authorities_in_no_such_state", "GET", "/?view=authorities&state=bliss", 400, []string{"There is no such list."}},
	{"authorities_after_no_such_place", "GET", "/?view=authorities&after=!", 400, []string{"There is no such place in the list."}},
	{"authorities_searched_at_length", "GET", "/?view=authorities&q=" + strings.Repeat("x", 301), 400, []string{"There is no such list."}},
	{"authority", "GET", "/?authority=" + shop, 200, []string{"Site " + shop, "successful", "Copy served by https://www.shop.example.com/robots.txt", "Last answer 200", "Copy fetched 3 h ago", "Next fetch in 20 h 59 min", "Group obeyed ExampleBot", "Crawl-delay 5 s", "Profile rfc9309", `If-None-Match "5f3c-61a"`, "Last fetches", "Rules 11", "The rules that this crawler obeys are marked.", "3 Disallow: /cart", "9 Dissalow: /internal/ misspelling accepted", "10 Noindex: /search unknown record", "17 Disallow: admin/ rule that can never match", "27 this line is no record not a record", "Sitemaps https://shop.example.com/sitemap.xml"}},
	{"authority_as_another_crawler", "GET", "/?as=greedybot&authority=" + shop, 200, []string{"Group obeyed GreedyBot", "The rules that greedybot obeys are marked."}},
	{"authority_as_a_crawler_of_the_default_group", "GET", "/?as=nobody&authority=" + shop, 200, []string{"Group obeyed *", "Crawl-delay 2 s"}},
	{"authority_as_no_crawler", "GET", "/?as=a+b&authority=" + shop, 400, []string{`"a b" is no product token`}},
	{"authority_down", "GET", "/?authority=http://old.example.edu", 200, []string{"unreachable stale copy", "Last answer none connect: connection refused", "Copy fetched 7 d 1 h ago", "Down since 6 d 5 h ago", "2 Disallow: /cgi-bin/"}},
	{"authority_without_a_copy", "GET", "/?authority=https://blog.example.net", 200, []string{"unavailable", "Last answer 404 Not Found", "In memory"}},
	{"authority_not_in_memory", "GET", "/?authority=https://nobody.example", 404, []string{"https://nobody.example is not in memory."}},
	{"recent", "GET", "/?view=recent", 200, []string{"Decisions", "https://wiki.example.org/w/index.php?title=Robots", "https://museum.example.org/", "Fetches", "https://maps.example.net"}},
	{"recent_of_one_verdict", "GET", "/?view=recent&verdict=defer", 200, []string{"https://forum.example.com/t/1234 status 503", "Fetches"}},
	{"recent_of_no_such_verdict", "GET", "/?view=recent&verdict=maybe", 400, []string{"There is no such verdict."}},
	{"no_such_view", "GET", "/?view=secrets", 404, []string{"There is no such page."}},
	{"ask_nothing", "GET", "/?url=", 200, []string{"May I fetch this URL?"}},
	{"ask_allowed", "GET", "/?url=" + shop + "/private/press/kit.pdf", 200, []string{"allow", shop + "/private/press/kit.pdf", "Allow: /private/press/ line 19", "16 Disallow: /private/", "19 Allow: /private/press/", "22 User-agent: GreedyBot", "Clause RFC 9309, section 2.2.2", "Group ExampleBot", "Served by https://www.shop.example.com/robots.txt", "In one line ALLOW https://shop.example.com/private/press/kit.pdf: line 19"}},
	{"ask_disallowed_as_another", "GET", "/?as=GreedyBot&url=" + shop + "/", 200, []string{"disallow", "Disallow: / line 23", "22 User-agent: GreedyBot", "Group GreedyBot"}},
	{"ask_about_use", "GET", "/?url=https://museum.example.org/maps/1", 200, []string{"allow", "What robots.txt says about use", "Experimental. It is reported, never enforced.", `"train-ai": allowed, line 4 "Content-Usage: /maps/ train-ai=y"`, `"train-ai": denied, line 5`, `"search": allowed, line 3 "Content-Signal: search=yes, ai-train=no"`, `"ai-train": denied, line 3`, `"train-ai": contradiction, denied counts`, `line 6 "Content-Usage: Search=y": skipped, not a dictionary`}},
	{"ask_deferred", "GET", "/?url=https://forum.example.com/t/1", 200, []string{"defer", "status 503", "RFC 9309, section 2.3.1.4", "Down since 4 h 12 min ago", "Retry after"}},
	{"ask_without_a_scheme", "GET", "/?url=shop.example.com/cart", 200, []string{"allow", "https://shop.example.com/cart", "no rule of group ExampleBot matches"}},
	{"ask_stale", "GET", "/?url=http://old.example.edu/cgi-bin/x", 200, []string{"disallow", "Disallow: /cgi-bin/ line 2 stale copy"}},
	{"ask_unknown", "GET", "/?url=https://nobody.example/x", 200, []string{"unknown", "https://nobody.example/x", "Nothing in memory decides about this URL"}},
	{"ask_no_url", "GET", "/?url=gopher://x/", 400, []string{"No robots.txt applies to this URL"}},
	{"ask_a_word", "GET", "/?url=foo", 400, []string{"This is not a URL. Write it in full, such as https://example.com/page."}},
	{"ask_a_path", "GET", "/?url=/private/x.html", 400, []string{"This is not a URL."}},
	{"ask_a_host_and_a_port", "GET", "/?url=localhost:8080/x", 200, []string{"https://localhost:8080/x"}},
	{"ask_a_broken_url", "GET", "/?url=https://%5B::1", 400, []string{"No robots.txt applies to this URL"}},
	{"ask_a_long_url", "GET", "/?url=https://x.example/" + strings.Repeat("x", 8192), 400, []string{"The URL is longer than 8 KiB."}},
	{"ask_what_does_not_print", "GET", "/?url=https://x.example/%E2%80%AE", 400, []string{"characters that do not print"}},
	{"ask_as_no_crawler", "GET", "/?as=%00&url=" + shop, 400, []string{"is no product token"}},
	{"head", "HEAD", "/?view=recent", 200, nil},
	{"put", "PUT", "/", 405, []string{"Only GET: actions are not enabled."}},
	{"post_not_enabled", "POST", "/", 405, []string{"Only GET: actions are not enabled."}},
}

// TestAskDue checks that a URL whose robots.txt is due leads to its last answer and its site.
func TestAskDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, nil, 10)
		time.Sleep(25 * time.Hour)
		body := readBody(t, sendRequest(page.Handler(ft), "GET", "/?url=https://forum.example.com/t/1", ""))
		got, link := visibleWords(t, body), `href="?authority=https%3a%2f%2fforum.example.com"`
		want := "due https://forum.example.com/t/1 The robots.txt of https://forum.example.com must be fetched again first. Its last answer: 503 Service Unavailable , down since 1 d 5 h ago ."
		if !strings.Contains(got, want) || !strings.Contains(body, link) {
			t.Errorf("got  %s\nwant %s, and the link %s", got, want, link)
		}
	})
}

func TestPages(t *testing.T) {
	for _, row := range pageTests {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				page, ft := demoPage(t, nil, 10)
				h := page.Handler(ft)
				before := ft.Stats().Requests
				res := sendRequest(h, row.method, row.target, "")
				if res.StatusCode != row.status {
					t.Errorf("%s %s: got status %d, want %d", row.method, row.target, res.StatusCode, row.status)
				}
				got := visibleWords(t, readBody(t, res))
				rest := got
				for _, want := range row.want {
					_, after, ok := strings.Cut(rest, want)
					if !ok {
						t.Fatalf("%s %s: got %q, want %q in %q", row.method, row.target, got, want, rest)
					}
					rest = after
				}
				for name, want := range map[string]string{
					"Content-Security-Policy": page.csp, "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				} {
					if got := res.Header.Get(name); got != want {
						t.Errorf("%s %s: %s: got %q, want %q", row.method, row.target, name, got, want)
					}
				}
				if after := ft.Stats().Requests; after != before {
					t.Errorf("%s %s: got %d requests for robots.txt, want none", row.method, row.target, after-before)
				}
			})
		})
	}
}

// TestUsage checks what the JSON says about the use of a page, and that the page does
// not mention use for a site that says nothing.
func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, nil, 0)
		h := page.Handler(ft)
		var v struct {
			Usage *struct {
				Preferences []struct {
					Label, Value string
					Source       struct{ Line int }
				}
				Contradictions []string
				Skipped        []struct{ Reason string }
			}
		}
		decode(t, sendRequest(h, "GET", "/?url=https://museum.example.org/maps/1&format=json", ""), &v)
		const want = `{"Preferences":[{"Label":"train-ai","Value":"allowed","Source":{"Line":4}},{"Label":"train-ai","Value":"denied","Source":{"Line":5}},` +
			`{"Label":"search","Value":"allowed","Source":{"Line":3}},{"Label":"ai-train","Value":"denied","Source":{"Line":3}}],` +
			`"Contradictions":["train-ai"],"Skipped":[{"Reason":"not a dictionary (RFC 9651): invalid key format: character 0"}]}`
		if got := mustJSON(v.Usage); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := readBody(t, sendRequest(h, "GET", "/?url="+shop+"/", "")); strings.Contains(got, "about use") {
			t.Error("the page of a site that says nothing about use mentions it")
		}
		hostile, ft := hostilePage(t)
		words := visibleWords(t, readBody(t, sendRequest(hostile.Handler(ft), "GET", "/?url=https://labels.example.com/", "")))
		// There are 1,024 preferences, and a line on that limit.
		if n := strings.Count(words, "Content-Signal: a=n"); n != shownUsage || !strings.Contains(words, "and 975 more") {
			t.Errorf("a file with many labels\ngot  %d lines in %s\nwant %d, and 975 more", n, words, shownUsage)
		}
	})
}

// TestRules checks which lines are marked. Marks are not visible words.
// TestPagesChangeNothing opens every page as many crawlers, more than a file keeps groups for. The
// memory keeps no group for them, neither in the files it has nor in those fetched later.
func TestPagesChangeNothing(t *testing.T) {
	const later = "https://site-0001.example.com"
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, nil, 0)
		_, other := demoPage(t, nil, 0)
		sizes := func(ft *fetcher.Transport) map[string]int {
			all := map[string]int{}
			for key, rec := range ft.Records() {
				all[key] = rec.File().Size()
			}
			return all
		}
		before := sizes(ft)
		for _, row := range pageTests {
			sendRequest(page.Handler(ft), row.method, row.target, "")
		}
		for i := range 20 {
			as := fmt.Sprintf("/?as=bot%c&", 'a'+i)
			for key := range before {
				sendRequest(page.Handler(ft), "GET", as+"authority="+key, "")
				sendRequest(page.Handler(ft), "GET", as+"url="+key+"/cart", "")
			}
		}
		if after := sizes(ft); !maps.Equal(after, before) {
			t.Errorf("bytes of the files in memory after all pages:\ngot  %v\nwant %v", after, before)
		}
		checkURL(t, ft, later+"/")
		checkURL(t, other, later+"/")
		if got, want := sizes(ft)[later], sizes(other)[later]; got != want {
			t.Errorf("a file fetched after all pages: got %d bytes, want %d", got, want)
		}
	})
}

func TestRules(t *testing.T) {
	rows := []struct {
		target  string
		obeyed  []int
		decides int
	}{
		{"?authority=" + shop, []int{12, 14, 15, 16, 19}, 0},
		{"?as=otherbot&authority=" + shop, []int{13, 14, 15, 16, 19}, 0},
		{"?as=GreedyBot&authority=" + shop, []int{22, 23}, 0},
		{"?as=x&authority=" + shop, []int{2, 3, 4, 5, 6, 7, 9}, 0},
		{"?authority=https://api.example.com:8443", nil, 0},
		{"?url=" + shop + "/private/x", []int{14, 15, 16, 19}, 16},
	}
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, nil, 0)
		for _, row := range rows {
			var v struct {
				Source struct{ Lines []line }
				Lines  []line
			}
			decode(t, sendRequest(page.Handler(ft), "GET", "/"+row.target+"&format=json", ""), &v)
			var obeyed []int
			decides := 0
			for _, l := range append(v.Source.Lines, v.Lines...) {
				if l.Obeyed {
					obeyed = append(obeyed, l.Number)
				}
				if l.Decides {
					decides = l.Number
				}
			}
			if got, want := mustJSON(obeyed), mustJSON(row.obeyed); got != want || decides != row.decides {
				t.Errorf("%s: got lines %s and %d deciding, want %s and %d", row.target, got, decides, want, row.decides)
			}
		}
	})
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func decode(t *testing.T, res *http.Response, v any) {
	t.Helper()
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Fatalf("Content-Type: got %q, want application/json", got)
	}
	if err := json.NewDecoder(res.Body).Decode(v); err != nil {
		t.Fatal(err)
	}
}

func TestJSON(t *testing.T) {
	rows := []struct{ name, target, accept, want string }{
		{"by_query", "/?format=json&url=" + shop + "/search", "", `{"decision":{"verdict":"disallow"},"known":true,"url":"https://shop.example.com/search"}`},
		{"by_accept", "/?url=" + shop + "/search", "application/json", `{"decision":{"verdict":"disallow"},"known":true,"url":"https://shop.example.com/search"}`},
		{"of_an_unknown_url", "/?url=https://nobody.example/", "application/json", `{"known":false,"url":"https://nobody.example/"}`},
		{"of_the_list", "/?format=json&view=authorities&q=museum", "", `{"census":{"all":1,"successful":1},"matched":1,"rows":[{"authority":"https://museum.example.org","state":"successful"}]}`},
		{"of_an_empty_list", "/?format=json&view=authorities&q=zzz", "", `{"matched":0,"rows":[]}`},
		{"of_an_authority", "/?format=json&authority=https://forum.example.com", "", `{"authority":"https://forum.example.com","cause":"status 503 Service Unavailable","state":"unreachable","status":503}`},
		{"of_the_overview", "/?format=json&span=day", "", `{"bucket_seconds":1200,"hooked":true,"span":"day","stats":{"disallowed":4,"retrievals":0,"store_hits":12}}`},
		{"of_what_was_recent", "/?format=json&view=recent&verdict=allow", "", `{"hooked":true,"decisions":[{"decision":{"url":"https://shop.example.com/private/press/kit.pdf"}}],"verdict":"allow"}`},
		{"of_a_mistake", "/?format=json&view=secrets", "", `{"error":"There is no such page."}`},
		{"of_a_bad_url", "/?format=json&url=gopher:x", "", `{"known":false}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				page, ft := demoPage(t, nil, 0)
				var got, want any
				decode(t, sendRequest(page.Handler(ft), "GET", row.target, "", "Accept", row.accept), &got)
				if err := json.Unmarshal([]byte(row.want), &want); err != nil {
					t.Fatal(err)
				}
				if !containsAll(got, want) {
					t.Errorf("%s: got %s, want at least %s", row.target, mustJSON(got), row.want)
				}
			})
		})
	}
	t.Run("html_for_a_browser", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			page, ft := demoPage(t, nil, 0)
			accept := "text/html,application/xhtml+xml,application/json;q=0.9"
			res := sendRequest(page.Handler(ft), "GET", "/", "", "Accept", accept)
			if got := res.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
				t.Errorf("Accept: %s: got %q, want HTML", accept, got)
			}
		})
	})
}

// containsAll reports whether got has all members of want. A list in want may be shorter
// than the list in got.
func containsAll(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for name, w := range want {
			ok = ok && containsAll(g[name], w)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) < len(want) || len(want) == 0 && len(g) > 0 {
			return false
		}
		for i, w := range want {
			if !containsAll(g[i], w) {
				return false
			}
		}
		return true
	}
	return got == want
}

// TestMounting checks that the page works at any path, with and without
// http.StripPrefix, because no link on it has a path.
func TestMounting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page, ft := demoPage(t, &Options{Actions: true}, 3)
		mux := http.NewServeMux()
		mux.Handle("/debug/polite", page.Handler(ft))
		mux.Handle("/a/b/", http.StripPrefix("/a/b", page.Handler(ft)))
		for _, prefix := range []string{"/debug/polite", "/a/b/", "/a/b/c"} {
			for _, query := range []string{"", "?view=authorities&rows=2", "?authority=" + shop, "?view=recent", "?url=https://nobody.example"} {
				res := sendRequest(mux, "GET", prefix+query, "")
				page := readBody(t, res)
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s%s: got status %d, want 200", prefix, query, res.StatusCode)
				}
				for _, at := range pageLinks(t, page) {
					if !strings.HasPrefix(at, "?") && !strings.HasPrefix(at, "#") {
						t.Errorf("%s%s: got a link to %q, want only queries", prefix, query, at)
					}
				}
			}
			res := sendRequest(mux, "POST", prefix, "act=forget&url="+siteOne, "Sec-Fetch-Site", "same-origin")
			if got, want := res.Header.Get("Location"), "?did=forgotten&view=authorities"; got != want {
				t.Errorf("POST %s: got Location %q, want %q", prefix, got, want)
			}
		}
	})
}

// pageLinks returns the targets of the links and forms of a page.
func pageLinks(t *testing.T, page string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "action" || a.Key == "src" {
				out = append(out, a.Val)
			}
		}
	}
	return out
}

func TestUnhooked(t *testing.T) {
	ft, err := fetcher.New(agent, &fetcher.Options{Base: cannedBase{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"/", "/?view=recent"} {
		got := visibleWords(t, readBody(t, sendRequest(New(nil).Handler(ft), "GET", at, "")))
		if want := "pass page.Trace(nil) as fetcher.Options.Trace to see them here."; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", at, got, want)
		}
	}
}

// countingBase is a base that counts the requests.
type countingBase struct {
	cannedBase
	n atomic.Int64
}

func (c *countingBase) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.cannedBase.RoundTrip(r)
}
