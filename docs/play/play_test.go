package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/browsertest"
)

// openPlay builds the page and opens it from a plain file server.
func openPlay(t *testing.T) (*browsertest.Browser, string) {
	t.Helper()
	b := browsertest.New(t)
	dir := t.TempDir()
	if err := build(dir); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler(dir))
	t.Cleanup(server.Close)
	b.SetWindow(1280, 900, "light")
	b.Visit(server.URL + "/")
	b.Wait(`document.getElementById("rows").children.length > 0`)
	return b, server.URL
}

// write replaces the text of a field by typing.
func write(b *browsertest.Browser, field, text string) {
	b.Eval(fmt.Sprintf("document.getElementById(%q).focus(); document.getElementById(%q).select()", field, field), nil)
	b.Type(text)
}

const (
	table = `[...document.querySelectorAll("#rows tr")].map(r => [...r.cells].slice(0, 4).map(c => c.innerText).join(" | ")).join("\n")`
	shown = `document.getElementById("explained").innerText`
)

// TestBrowserPlay types a robots.txt, URLs and tokens and reads the decisions, and pastes
// decisions and reads their section. It is one test, because to build the page takes long.
func TestBrowserPlay(t *testing.T) {
	b, at := openPlay(t)
	if got, want := b.Text(table), "https://example.com/private/diary | ExampleBot | disallow | line 2 Disallow: /private"; !strings.Contains(got, want) {
		t.Errorf("at the start: got\n%s\nwant the row %s", got, want)
	}
	write(b, "robots", "User-agent: *\nDisallow: /*.pdf$\nDissalow: /a\nHost: x\n")
	write(b, "tokens", "MyBot")
	write(b, "urls", "https://example.org/a.pdf\n/b\ngopher://x/")
	const typed = "https://example.org/a.pdf | MyBot | disallow | line 2 Disallow: /*.pdf$\nhttps://example.com/b | MyBot | allow | \ngopher://x/ |  |  | "
	if got := b.Text(table); got != typed {
		t.Errorf("after typing: got\n%s\nwant\n%s", got, typed)
	}
	if got, want := b.Text(`document.getElementById("state").innerText`), "1 allowed, 1 disallowed, 0 deferred"; got != want {
		t.Errorf("summary: got %q, want %q", got, want)
	}
	b.Wait(`document.getElementById("remarks").innerText.includes("line 3")`)
	if got, want := b.Text(`document.getElementById("remarks").innerText`), "line 3 warning: misspelled: some crawlers ignore it; did you mean Disallow?"; !strings.Contains(got, want) {
		t.Errorf("remarks: got %q, want %q in it", got, want)
	}
	fragment := b.Text(`location.hash`)
	b.Eval(`document.querySelector("#rows button").click()`, nil)
	if got := b.Text(`(e => e.value.slice(e.selectionStart, e.selectionEnd))(document.activeElement)`); got != "Disallow: /*.pdf$" {
		t.Errorf("line button: got the selection %q", got)
	}
	b.Eval(`document.getElementById("answer").value = "503"; document.getElementById("answer").dispatchEvent(new Event("input"))`, nil)
	if got := b.Text(table); !strings.Contains(got, "MyBot | defer") || strings.Contains(got, "allow") {
		t.Errorf("503: got\n%s\nwant defer for all", got)
	}
	look(t, b, "try")

	b.Visit(at + "/?linked" + fragment)
	b.Wait(`document.getElementById("rows").children.length > 0`)
	if got := b.Text(table); got != typed {
		t.Errorf("the link %s: got\n%s\nwant\n%s", fragment, got, typed)
	}

	b.Eval(`location.hash = "#why"`, nil)
	b.Wait(`document.querySelector("nav a[aria-current]")?.hash === "#why"`)
	line := `DEFER https://example.com/: https://example.com/robots.txt is unreachable (status 429 Too Many Requests) [house rule; profile rfc9309]; unreachable since 2026-05-01T00:00:00Z; not before 2026-05-01T00:01:00Z`
	asJSON, _ := json.Marshal(map[string]any{"verdict": "disallow", "url": "https://example.com/x", "clause": "2.2.2", "access": "successful", "profile": "rfc9309",
		"robots": "https://example.com/robots.txt", "match": map[string]any{"agent": "*", "rule": map[string]any{"line": 3, "pattern": "/x"}}})
	for _, paste := range []struct{ text, title, anchor, also string }{
		{line, "The server says that you are too fast", "the-server-says-that-you-are-too-fast", "Not before"},
		{"DEFER     https://example.com/  robots.txt is unreachable: connect: dial tcp 203.0.113.7:443: connect: connection refused; next fetch in 1 min", "Nobody listens", "nobody-listens", "nothing listens at this port"},
		{string(asJSON), "A rule for all crawlers", "a-rule-for-all-crawlers", `line 3 "Disallow: /x" in group "*"`},
		{strings.Replace(line, "https://example.com/robots.txt is unreachable (status 429 Too Many Requests)", "no turn within MaxWait: the next one is in 1m0s, because of the gap between requests", 1), "It is not your turn", "it-is-not-your-turn", "your own Limits.Gap"},
	} {
		write(b, "decision", paste.text)
		got := b.Text(shown)
		if !strings.Contains(got, paste.title) || !strings.Contains(got, paste.also) || b.Text(`document.getElementById("anchor").hash`) != "#"+paste.anchor {
			t.Errorf("%s\ngot  %s\nwant the section %q and %q", paste.text, got, paste.title, paste.also)
		}
		look(t, b, paste.anchor)
	}
	write(b, "decision", "hello")
	if got := b.Text(`document.getElementById("state").innerText`); !strings.HasPrefix(got, "this is no decision") || b.Text(`String(document.getElementById("explained").hidden)`) != "true" {
		t.Errorf("hello: got %q, want no decision", got)
	}
	walkPlay(t, b, at)
	b.CheckLog()
	for _, scheme := range []string{"light", "dark"} {
		for _, page := range []string{"try", "why"} {
			b.SetWindow(1280, 900, scheme)
			b.Visit(at + "/?" + scheme + page + "#" + page)
			b.Wait(`document.querySelector("nav a[aria-current]") !== null`)
			if page == "why" {
				write(b, "decision", line)
			}
			if got := b.Axe(); got != "" {
				t.Errorf("%s, %s: got violations, want none:\n%s", page, scheme, got)
			}
		}
	}
}

// TestLoopback checks which addresses the page may be served at.
func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"localhost:8080": true, "127.0.0.1:0": true, "[::1]:80": true, "0.0.0.0:8080": false, ":8080": false, "example.com:80": false, "8080": false,
	} {
		if got := loopback(address); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
}

// walkPlay uses both pages with the keyboard alone.
func walkPlay(t *testing.T, b *browsertest.Browser, at string) {
	for _, page := range []string{"try", "why"} {
		b.Visit(at + "/?keys" + page + "#" + page)
		b.Wait(`document.querySelector("nav a[aria-current]") !== null`)
		if page == "why" {
			b.Eval(`document.getElementById("decision").value = "DISALLOW https://example.com/x: line 3 \"Disallow: /x\" in group \"*\" of https://example.com/robots.txt [RFC 9309, 2.2.2; profile rfc9309]"`, nil)
			b.Eval(`document.getElementById("decision").dispatchEvent(new Event("input"))`, nil)
		}
		if got := b.WalkByTab(); got != "" {
			t.Errorf("%s: %s", page, got)
		}
	}
	b.Visit(at + "/?keys")
	b.Wait(`document.getElementById("rows").children.length > 0`)
	b.Press("Tab")
	b.Press("Enter")
	if got := b.Text("location.hash"); got != "#main" {
		t.Errorf("skip link: got %q, want #main", got)
	}
	for b.Text("document.activeElement.textContent") != "line 2" { // the first line button
		b.Press("Tab")
	}
	b.Press("Enter")
	if got := b.Text(`(e => e.value.slice(e.selectionStart, e.selectionEnd))(document.activeElement)`); got != "Disallow: /private" {
		t.Errorf("line button: got the selection %q", got)
	}
}

// look takes a picture if POLITE_SCREENSHOTS names a folder for it.
func look(t *testing.T, b *browsertest.Browser, name string) {
	t.Helper()
	dir := os.Getenv("POLITE_SCREENSHOTS")
	if dir == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{1280, 390} {
			b.SetWindow(width, 900, scheme)
			b.Screenshot(filepath.Join(dir, fmt.Sprintf("play-%s-%s-%d.png", name, scheme, width)), true)
		}
	}
	b.SetWindow(1280, 900, "light")
}
