package matcher

import (
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/reference"
)

// A testDialect is a dialect with its name in package reference.
type testDialect struct {
	name    string
	dialect Dialect
}

var dialects = []testDialect{
	{"RFC9309", Dialect{}}, {"Google", Google()}, {"Draft2019", Draft2019()}, {"Koster1996", Koster1996()},
}

// TestReference compares with the reference on random files and targets, with
// and without an index.
func TestReference(t *testing.T) {
	for _, d := range dialects {
		t.Run("2.2.2/"+d.name, func(t *testing.T) {
			r := reference.NewRandom(1)
			hits := 0
			for range 20000 {
				robots := r.File()
				var targets []string
				for range 4 {
					targets = append(targets, r.Target())
				}
				hits += compare(t, d, robots, r.Token(), targets...)
			}
			if t.Logf("%d of 80000 targets met a rule", hits); hits < 4000 {
				t.Error("too few to mean anything")
			}
		})
	}
}

// TestReferenceAlike is TestReference on patterns and targets of two letters, or of delimiters and
// their triplets, where pieces occur in each other and all over the target.
func TestReferenceAlike(t *testing.T) {
	files := 1000
	if testing.Short() {
		files = 300
	}
	r := reference.NewRandom(3)
	text := func(n int, of ...string) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteString(r.Pick(of...))
		}
		return b.String()
	}
	letters := []string{"a", "a", "a", "b", "b", "*", "?", "*", "*"}
	delimiters := []string{"a", "/", "%2F", "%3f", "?", "*", "*"}
	for range files {
		robots := "user-agent: bot\n"
		for range 1 + r.IntN(60) {
			of := letters[:5+r.IntN(5)]
			if r.IntN(2) == 0 {
				of = delimiters
			}
			robots += r.Pick("allow: /", "disallow: /") + text(12, of...) + r.Pick("", "", "$") + "\n"
		}
		var targets []string
		for range 3 {
			targets = append(targets, "/"+text(40, "a", "b")+r.Pick("", "?%2F"+text(20, "a", "b")), "/"+text(12, delimiters[:5]...))
		}
		for _, d := range dialects[:2] {
			compare(t, d, robots, "bot", targets...)
		}
	}
}

// compare tries a file on targets in every way there is.
func compare(t *testing.T, d testDialect, robots, token string, targets ...string) (hits int) {
	t.Helper()
	f, plain := Parse([]byte(robots), d.dialect), reference.Parse(reference.Dialect(d.name), robots).Group(token)
	groups := []*Group{indexedGroup(f, token), f.Group(token)}
	for _, target := range targets {
		want := plain.Match(target)
		if want.Line > 0 {
			hits++
		}
		for i, g := range groups {
			if m := g.Match(target); m.Allowed != want.Allow || m.Rule.Line != want.Line || m.Rule.Pattern != want.Pattern {
				t.Fatalf("%s: file %q token %q target %q\ngot %+v from group %d\nwant %+v", d.name, robots, token, target, m, i, want)
			}
		}
	}
	if delay, ok := f.CrawlDelay(token); ok != (plain.Delay >= 0) || ok && delay != plain.Delay {
		t.Fatalf("%s: file %q token %q\ngot  Crawl-delay %v, %v\nwant %v", d.name, robots, token, delay, ok, plain.Delay)
	}
	return hits
}

// indexedGroup returns the group of a token with an index, however few rules it has.
func indexedGroup(f *File, token string) *Group {
	g := f.choose(token)
	g.index.Store(newIndex(&g.rules))
	return g
}
