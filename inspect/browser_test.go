package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/browsertest"
)

// This file tests the pages in a real browser.

var schemes = []string{"light", "dark"}

// servePage serves a page on a loopback port below /debug.
func servePage(t *testing.T, page *Page, ft *fetcher.Transport) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/polite/", page.Handler(ft))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL + "/debug/polite/"
}

// browserPages are the pages that are opened in the browser.
var browserPages = []struct{ name, query string }{
	{"overview", ""},
	{"week", "?span=week"},
	{"authorities", "?view=authorities&rows=12"},
	{"outages", "?view=authorities&state=unreachable&sort=down"},
	{"authority", "?authority=" + shop},
	{"down", "?authority=http://old.example.edu"},
	{"pacing", "?view=pacing"},
	{"crowded", "?authority=https://site-0003.example.com"},
	{"recent", "?view=recent"},
	{"line", "?authority=" + shop + "#L16"},
	{"forget", "?authority=" + shop + "&confirm=forget"},
	{"ask", "?url=" + shop + "/private/press/kit.pdf"},
	{"deferred", "?url=https://forum.example.com/t/1"},
	{"unknown", "?url=https://unknown.example.com/"},
	{"problem", "?url=gopher://x"},
	{"use", "?url=https://museum.example.org/maps/1"},
}

// faint is a script that lists the texts whose contrast is below 4.5 to 1, the
// minimum for level AA of WCAG 2.2 (success criterion 1.4.3).
const faint = `(() => {
	const parse = c => c.match(/[\d.]+/g).map(Number);
	const lum = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126*r + .7152*g + .0722*b; };
	const over = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length == 3) return c; } return [255, 255, 255]; };
	const out = [];
	for (const e of document.querySelectorAll("body *")) {
		if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
		const a = lum(parse(getComputedStyle(e).color).slice(0, 3)), b = lum(over(e));
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (contrast < 4.5) out.push(contrast.toFixed(2) + " " + e.tagName + "." + e.className + " " + e.textContent.trim().slice(0, 40));
	}
	return out.join("\n");
})()`

// wide is a script that names the elements that are wider than the window.
const wide = `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > screen.width + 1 && !e.closest(".scroll")).map(e => e.tagName + "." + e.className).join(" ") +
	(document.documentElement.scrollWidth > screen.width ? " the page scrolls sideways" : "")`

// TestBrowserLooks checks that every page is readable and fits the window, in both
// colour schemes and on a narrow screen. It takes pictures if POLITE_SCREENSHOTS
// names a folder for them.
func TestBrowserLooks(t *testing.T) {
	b := browsertest.New(t)
	page, ft := demoPage(t, &Options{Actions: true}, 150)
	crowd(t, ft)
	at := servePage(t, page, ft)
	dir := os.Getenv("POLITE_SCREENSHOTS")
	grounds := map[string]bool{}
	for _, scheme := range schemes {
		for _, width := range []int{1280, 390} {
			b.SetWindow(width, 900, scheme)
			for _, look := range browserPages {
				b.Visit(at + look.query)
				name := fmt.Sprintf("%s-%s-%d", look.name, scheme, width)
				if got := b.Text(faint); got != "" {
					t.Errorf("%s: got texts with too little contrast, want none:\n%s", name, got)
				}
				if got := strings.TrimSpace(b.Text(wide)); got != "" {
					t.Errorf("%s: got %s out of the window, want nothing", name, got)
				}
				if dir != "" {
					b.Screenshot(filepath.Join(dir, name+".png"), true)
				}
			}
			grounds[b.Text("getComputedStyle(document.body).backgroundColor")] = true
		}
	}
	if len(grounds) != len(schemes) {
		t.Errorf("grounds: got %v, want one for each of %v", grounds, schemes)
	}
	b.CheckLog()
}

// TestBrowserActs presses the buttons in a browser.
func TestBrowserActs(t *testing.T) {
	b := browsertest.New(t)
	base := &countingBase{}
	page := New(&Options{Actions: true})
	ft, err := fetcher.New(agent, &fetcher.Options{Base: base, Trace: page.Trace(nil)})
	if err != nil {
		t.Fatal(err)
	}
	at := servePage(t, page, ft)
	press := func(button string) string {
		b.Load(func() { b.Eval(fmt.Sprintf("document.querySelector(%q).click()", button), nil) })
		return b.Text("document.querySelector('main').innerText")
	}
	steps := []struct {
		name, query, button string
		want                string
		requests            int64
	}{
		{"ask_box", "", ".ask button", "Nothing in memory decides about this URL", 0},
		{"ask_the_site", "?url=" + siteOne + "/private/x", "button[value=ask]", "Disallow: /private/", 1},
		{"ask_again", "?authority=" + siteOne, "button[value=refresh]", "robots.txt was fetched again just now.", 2},
		{"look_as_another", "?authority=" + siteOne, ".inline button", "Group obeyed\n*", 2},
		{"search", "?view=authorities", ".search button", siteOne, 2},
		{"forget", "?authority=" + siteOne, "a.danger", "Forget this site?", 2},
		{"cancel", "?authority=" + siteOne + "&confirm=forget", ".confirm a", "Group obeyed\n*", 2},
		{"forget_indeed", "?authority=" + siteOne + "&confirm=forget", ".confirm button", "The site was forgotten.", 2},
		{"forgotten", "?url=" + siteOne, ".ask button", "Nothing in memory decides about this URL", 2},
	}
	for _, step := range steps {
		b.Visit(at + step.query)
		if step.query == "" {
			b.Eval(fmt.Sprintf("document.querySelector('#url').value = %q", siteOne), nil)
		}
		if got := press(step.button); !strings.Contains(got, step.want) {
			t.Errorf("%s: got %q, want %q in it", step.name, got, step.want)
		}
		if got := base.n.Load(); got != step.requests {
			t.Errorf("%s: got %d requests for robots.txt so far, want %d", step.name, got, step.requests)
		}
	}
	b.CheckLog()

	t.Run("from_another_site", func(t *testing.T) {
		form := fmt.Sprintf(`<form method="post" action=%q><input name="act" value="refresh"><input name="url" value=%q><button>x</button></form>`, at, siteOne)
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, form)
		}))
		defer other.Close()
		b.Visit(strings.Replace(other.URL, "127.0.0.1", "localhost", 1))
		if got, want := press("button"), "this request comes from another site"; !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
		if got := base.n.Load(); got != 2 {
			t.Errorf("got %d requests for robots.txt, want 2 as before", got)
		}
	})
}

// TestBrowserHostile opens pages that show hostile text.
func TestBrowserHostile(t *testing.T) {
	b := browsertest.New(t)
	page, ft := hostilePage(t)
	at := servePage(t, page, ft)
	b.SetWindow(390, 900, "light")
	for _, query := range hostilePages() {
		b.Visit(at + query)
		if got := b.Text(`String(window.hit) + " " + document.scripts.length + " " + document.images.length`); got != "undefined 0 0" {
			t.Errorf("%s: got %q for what ran, scripts and images, want none", query, got)
		}
		if got := strings.TrimSpace(b.Text(wide)); got != "" {
			t.Errorf("%s: got %s out of a narrow window, want nothing", query, got)
		}
	}
	b.CheckLog()
}

// TestBrowserAxe runs the rules of axe-core on every page, in both colour schemes.
func TestBrowserAxe(t *testing.T) {
	b := browsertest.New(t)
	page, ft := demoPage(t, &Options{Actions: true, Recent: 20}, 20)
	crowd(t, ft)
	at := servePage(t, page, ft)
	for _, window := range []struct {
		width  int
		scheme string
	}{{1280, "light"}, {1280, "dark"}, {390, "light"}} {
		b.SetWindow(window.width, 900, window.scheme)
		for _, look := range browserPages {
			b.Visit(at + look.query)
			if got := b.Axe(); got != "" {
				t.Errorf("%s, %v: got violations, want none:\n%s", look.name, window, got)
			}
		}
	}
}

// TestBrowserKeyboard presses Tab through every page, and follows links by keys alone.
func TestBrowserKeyboard(t *testing.T) {
	b := browsertest.New(t)
	page, ft := demoPage(t, &Options{Actions: true}, 8)
	crowd(t, ft)
	at := servePage(t, page, ft)
	b.SetWindow(1280, 900, "light")
	for _, look := range browserPages {
		if look.name == "line" { // a link to a line moves the place where Tab begins
			continue
		}
		b.Visit(at + look.query)
		if got := b.WalkByTab(); got != "" {
			t.Errorf("%s: %s", look.name, got)
		}
	}
	b.Visit(at)
	b.Press("Tab")
	b.Press("Enter")
	if got := b.Text("location.hash"); got != "#main" {
		t.Errorf("skip link: got %q, want #main", got)
	}
	b.Press("Tab")
	b.Type(shop + "/private/x")
	b.Load(func() { b.Press("Enter") })
	for b.Text("document.activeElement.textContent") != "line 16" { // the deciding line
		b.Press("Tab")
	}
	b.Load(func() { b.Press("Enter") })
	if got := b.Text(`document.querySelector(":target code").textContent`); got != "Disallow: /private/" {
		t.Errorf("the deciding line: got %q", got)
	}
	b.CheckLog()
}
