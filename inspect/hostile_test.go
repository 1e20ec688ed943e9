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
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// markup is hostile text: it tries to close attributes, elements and comments, to run
// scripts, to load files and to change the direction of the line.
const markup = "\"'`><script>window.hit=1</script><img src=x onerror=window.hit=2><style>*{display:none}</style>-->{{.Body}}\u202e\x00\x1b[31m\xff"

const hostileSite = "https://evil.example.com"

// hostileRobots is a robots.txt with markup in every part.
var hostileRobots = strings.NewReplacer("MARKUP", strings.NewReplacer("#", "", "\r", "").Replace(markup)).Replace(
	"User-agent: ExampleBot MARKUP\nDisallow: /MARKUP\nAllow: MARKUP\nDisallow: /x\nMARKUP: MARKUP\nMARKUP\n" +
		"Content-Usage: / MARKUP\nLicense: MARKUP\nContent-Signal: " + strings.Repeat("a", 300) + "\nCrawl-delay: MARKUP\nSitemap: javascript:window.hit=3\nSitemap: MARKUP\nUser-agent: MARKUP\nDisallow: /\n")

// hostilePage returns a crawler that has visited only hostile sites, and its page.
func hostilePage(t *testing.T) (*Page, *fetcher.Transport) {
	t.Helper()
	now, p, store := time.Now(), policy.RFC9309(), cache.NewMemory(1<<26)
	page := New(&Options{Actions: true})
	ft, err := fetcher.New(agent, &fetcher.Options{Base: cannedBase{}, Store: store, Trace: page.Trace(nil),
		Override: func(u *url.URL) (policy.Verdict, string, bool) { return 0, markup, u.Host == "override.example.com" }})
	if err != nil {
		t.Fatal(err)
	}
	learn := func(site string, a policy.Attempt) {
		a.Robots, a.Sent, a.Received = site+"/robots.txt", now, now
		a.Header = http.Header{"Etag": {`"` + markup + `"`}, "Last-Modified": {markup}}
		a.Served = site + "/" + markup
		a.Hops = []policy.Hop{{From: a.Robots, To: a.Served, Status: 301}}
		rec := p.Learn(nil, a)
		raw, err := rec.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		store.Put(context.Background(), site+" rfc9309", raw, time.Hour)
		a.Body = nil
		page.history.fetched(a, rec)
	}
	learn(hostileSite, policy.Attempt{Status: 200, Body: []byte(hostileRobots)})
	learn("https://down.example.com", policy.Attempt{Err: &policy.Failure{Class: policy.Connect, Err: errors.New(markup)}})
	learn("https://long.example.com", policy.Attempt{Status: 200, Body: []byte("User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat(`"`, 1100)+"\n", 400))})
	learn("https://labels.example.com", policy.Attempt{Status: 200, Body: []byte("User-agent: *\n" + strings.Repeat("Content-Signal: a=n,b=y,c=\"<b>'&\"\n", 9000))})
	learn("https://many.example.com", policy.Attempt{Status: 200, Body: []byte("User-agent: *\n" + strings.Repeat("Sitemap: x\nDisallow: /y\n", 20000))})
	for _, u := range []string{hostileSite, "https://down.example.com", "https://long.example.com", "https://labels.example.com", "https://many.example.com", "https://override.example.com"} {
		for _, path := range []string{"/", "/x", "/" + markup, "/" + strings.Repeat("x", 9000)} {
			target, err := url.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			target.Path = path
			if _, err := ft.Check(context.Background(), target); err != nil {
				t.Fatal(err)
			}
		}
	}
	return page, ft
}

// hostilePages returns queries that are hostile or whose pages show hostile text.
func hostilePages() []string {
	m := url.QueryEscape(markup)
	return []string{
		"", "?view=recent", "?view=recent&verdict=" + m, "?view=" + m, "?span=" + m, "?did=" + m, "?live=" + m, "?format=" + m,
		"?view=pacing", "?view=pacing&reason=" + m, "?view=authorities", "?view=authorities&q=" + m, "?view=authorities&state=" + m, "?view=authorities&sort=" + m, "?view=authorities&after=" + m,
		"?view=authorities&rows=1&after=0," + m, "?view=authorities&rows=1&before=zzz," + m,
		"?authority=" + hostileSite, "?authority=" + m, "?as=OtherBot&authority=" + hostileSite, "?as=" + m + "&authority=" + hostileSite, "?line=" + m + "&authority=" + hostileSite,
		"?authority=https://down.example.com", "?authority=https://long.example.com", "?authority=https://many.example.com", "?line=20000&authority=https://many.example.com",
		"?url=" + m, "?url=" + hostileSite + "/" + url.QueryEscape(markup[:strings.Index(markup, "\u202e")]), "?url=" + hostileSite + "/x", "?as=" + m + "&url=" + hostileSite,
		"?url=https://down.example.com/", "?url=https://labels.example.com/", "?url=https://override.example.com/", "?url=javascript:window.hit=4", "?url=https://x/" + strings.Repeat("%22", 9000),
	}
}

// knownMarkup are the elements and attributes that the page uses. None of them runs a
// script, loads a file or links to another site.
var knownMarkup = func() map[string]bool {
	m := make(map[string]bool)
	for _, name := range strings.Fields(`html head meta title style body a svg path header nav span time main p h1 h2 small form label div input button section
		figure figcaption ul ol li i b g rect table caption thead tbody tr th td code dl dt dd
		@lang @charset @name @content @http-equiv @class @href @viewbox @viewBox @width @height @aria-hidden @aria-label @aria-labelledby @aria-current @aria-sort @d @datetime @title @id @role
		@preserveAspectRatio @x @y @for @type @value @placeholder @autocomplete @autocapitalize @spellcheck @maxlength @inputmode @method @action @colspan @scope @rel @data-name`) {
		m[name] = true
	}
	return m
}()

func TestHostile(t *testing.T) {
	const most = 3 << 20 // size of a page in bytes: 500 lines of 1 KiB with each byte escaped
	synctest.Test(t, func(t *testing.T) {
		page, ft := hostilePage(t)
		for _, at := range hostilePages() {
			res := sendRequest(page.Handler(ft), "GET", "/debug/polite"+at, "")
			got := readBody(t, res)
			if res.StatusCode >= 500 {
				t.Errorf("%s: got status %d", at, res.StatusCode)
			}
			if len(got) > most {
				t.Errorf("%s: got a page of %d bytes, want at most %d", at, len(got), most)
			}
			if bad := strings.IndexFunc(got, func(c rune) bool { return c < ' ' && c != '\n' || c == '\u202e' }); bad >= 0 || !utf8.ValidString(got) {
				t.Errorf("%s: got a control character at byte %d, or broken UTF-8; want neither", at, bad)
			}
			root, err := html.Parse(strings.NewReader(got))
			if err != nil {
				t.Fatal(err)
			}
			for n := range root.Descendants() {
				for _, fault := range unknownMarkup(n) {
					t.Errorf("%s: got %s, want only known elements and attributes", at, fault)
				}
			}
		}
	})
}

// unknownMarkup returns the elements and attributes of a node that the page does not use.
func unknownMarkup(n *html.Node) []string {
	if n.Type == html.CommentNode {
		return []string{"a comment " + n.Data}
	}
	if n.Type != html.ElementNode {
		return nil
	}
	var out []string
	if !knownMarkup[n.Data] || n.Data == "style" && n.FirstChild.Data != styleSheet {
		out = append(out, "<"+n.Data+">")
	}
	for _, a := range n.Attr {
		leads := a.Key == "href" || a.Key == "action"
		if !knownMarkup["@"+a.Key] || leads && !strings.HasPrefix(a.Val, "?") && !strings.HasPrefix(a.Val, "#") {
			out = append(out, fmt.Sprintf("<%s %s=%q>", n.Data, a.Key, a.Val))
		}
	}
	return out
}

// TestHostileIsShown checks that hostile text is shown escaped and not left out.
func TestHostileIsShown(t *testing.T) {
	const harmless = `><script>window.hit=1</script>`
	synctest.Test(t, func(t *testing.T) {
		page, ft := hostilePage(t)
		for _, at := range []string{"?authority=" + hostileSite, "?view=recent", "?url=https://override.example.com/", "?authority=https://down.example.com"} {
			got := visibleWords(t, readBody(t, sendRequest(page.Handler(ft), "GET", "/"+at, "")))
			for _, want := range []string{harmless, `\u202e\x00\x1b[31m`} {
				if !strings.Contains(got, want) {
					t.Errorf("%s: got %q, want %q in it", at, got, want)
				}
			}
		}
	})
}

// TestHistoryIsBounded checks that the history stays within its documented size,
// however long the texts are.
func TestHistoryIsBounded(t *testing.T) {
	long := strings.Repeat(markup, 10000)
	rec := policy.RFC9309().Learn(nil, policy.Attempt{Robots: "https://x.example/robots.txt", Err: errors.New(long)})
	h := newHistory(7)
	d := policy.Decision{URL: long, Robots: long, Served: long, Cause: long, Override: long}
	d.Match.Agent, d.Match.Rule.Pattern = long, long
	a := policy.Attempt{Robots: long, Hops: make([]policy.Hop, 100)}
	for i := range a.Hops {
		a.Hops[i] = policy.Hop{From: long, To: long}
	}
	for range 100 {
		h.decided(d, time.Now())
		h.fetched(a, rec)
	}
	decisions, retrievals, _ := h.recent(1000)
	if len(decisions) != 7 || len(retrievals) != 7 {
		t.Errorf("got %d decisions and %d retrievals, want 7 of each", len(decisions), len(retrievals))
	}
	size := func(texts ...string) (n int) {
		for _, s := range texts {
			n += len(s)
		}
		return n
	}
	k := decisions[0].Decision
	if got := size(k.URL, k.Robots, k.Served, k.Cause, k.Override, k.Match.Agent, k.Match.Rule.Pattern); got > 3*keptURL+4*keptText+7*len("…") {
		t.Errorf("decision: got %d bytes of text", got)
	}
	r := retrievals[0]
	got := size(r.Robots, r.Served, r.Cause)
	for _, x := range r.Hops {
		got += size(x.From, x.To)
	}
	if most := (2+2*keptHops)*(keptURL+len("…")) + keptText + len("…"); got > most {
		t.Errorf("retrieval: got %d bytes of text, want at most %d", got, most)
	}
}
