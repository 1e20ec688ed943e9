package usage

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rfc9309/polite/matcher"
)

// FuzzFile checks that any robots.txt gives a Set within its bounds, whose preferences
// stand where they say, and that a restriction that is added never allows a use.
func FuzzFile(f *testing.F) {
	f.Add(shop, "ExampleBot", "/blog/rss.xml", "train-ai=n")
	f.Add(attachExample, "a,b", "/ai-ok/", "search=n, a=y;b=\"c\"")
	f.Add("\xFF\xFEu\x00", "*", "https://a/%zz?*$#", "/x a=n")
	f.Add("User-agent: *\nContent-Usage: /*a*b$ x\nContent-Usage: /a%61*b x=n", "", "/aab", "")
	f.Fuzz(func(t *testing.T, text, token, target, more string) {
		file := matcher.Parse([]byte(text), matcher.Dialect{})
		s := OfFile(file, token, target)
		checkSet(t, s)
		lines := map[int]string{}
		for number, line := range file.Lines() {
			lines[number] = line
		}
		for p := range s.All() {
			if !strings.Contains(lines[p.Source.Line], strings.TrimSuffix(p.Source.Text, "…")) {
				t.Errorf("file %q: %s\ngot  line %q", text, p, lines[p.Source.Line])
			}
		}
		both := Combine(s, OfHeader(http.Header{"Content-Usage": {more}}, token))
		for p := range s.All() {
			before, _ := s.Get(p.Label)
			if after, _ := both.Get(p.Label); after < before {
				t.Errorf("file %q, header %q, label %q\ngot %v after %v", text, more, p.Label, after, before)
			}
		}
	})
}

// FuzzHeader checks that any header gives a Set within its bounds, that another crawler's
// rules change nothing, and that bad lines do not either.
func FuzzHeader(f *testing.F) {
	for _, c := range headerTests {
		h := parseHeader(c.header)
		f.Add(h.Get("Content-Usage"), h.Get("X-Robots-Tag"), h.Get("Robots-Tag"), h.Get("Link"), "ExampleBot")
	}
	f.Fuzz(func(t *testing.T, usage, xRobots, robots, link, token string) {
		h := http.Header{"Content-Usage": {usage}, "X-Robots-Tag": {xRobots}, "Robots-Tag": {robots}, "Link": {link}, "Tdm-Reservation": {usage}, "License": {link}}
		s := OfHeader(h, token)
		checkSet(t, s)
		if again := OfHeader(h, token); !reflect.DeepEqual(s, again) {
			t.Errorf("header %q\ngot  %v\nthen %v", h, s, again)
		}
		if strings.Contains(strings.ToLower(token), "otherbot") {
			return
		}
		h["X-Robots-Tag"] = append(h["X-Robots-Tag"], "otherbot: noindex, none", "otherbot: x")
		if more := OfHeader(h, token); !reflect.DeepEqual(s, more) {
			t.Errorf("header %q, token %q, with rules for another crawler\ngot  %v\nwant %v", h, token, more, s)
		}
	})
}

// checkSet checks the bounds of a Set and that it can be shown.
func checkSet(t *testing.T, s Set) {
	t.Helper()
	count := map[Kind]int{}
	for p := range s.All() {
		count[p.Source.Kind]++
		if len(p.Label) > labelMost || len(p.Source.Text) > textMost || p.Label == "" {
			t.Errorf("got a label of %d bytes and a text of %d", len(p.Label), len(p.Source.Text))
		}
	}
	for kind, n := range count {
		if n > 2*valuesMost {
			t.Errorf("got %d preferences of %s", n, kind)
		}
	}
	if n := len(s.Skipped()); n > 2*skippedMost {
		t.Errorf("got %d skipped values", n)
	}
	for _, label := range s.Contradictions() {
		if v, why := s.Get(label); v != Denied || !slices.ContainsFunc(why, func(p Preference) bool { return p.Value == Allowed }) {
			t.Errorf("contradiction %q: got %v by %v", label, v, why)
		}
	}
	shown := s.String()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.ReplaceAll(shown, "\n", ""), string(data)} {
		if bad := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }); bad >= 0 || !utf8.ValidString(text) {
			t.Errorf("got a character that does not print at byte %d of %q", bad, text)
		}
	}
}
