package matcher

import (
	"net/url"
	"strings"
	"testing"
)

// seeds are a few files that have something of everything.
var seeds = []string{
	"",
	"user-agent: *\ndisallow: /\nallow: /a*b$\n",
	"\uFEFFUser-agent: ExampleBot/1.0 # me\r\nUser-Agent: b\rDisallow: /a%2fb?c=%3A\n\nAllow: /index.html\nsitemap: http://example.com/s\n",
	"disallow: /\nuser-agent: a\ncrawl-delay: 1.5\nuser-agent: b\n\nuser agent: a\ndisalow: /é\nx: y\n:\nz\nDisallow: /$a\n",
	"user-agent * \ndisallow /x\nuser-agent: a\x00b\nallow: *\x01\n",
	"\xFF\xFEu\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00",
	"user-agent: bot\ndisallow: /same\nuser-agent: other\ndisallow: /same\n" + strings.Repeat("#", 300),
	"user-agent: bot\n" + strings.Repeat("disallow: /a*a*a*a*a*b\n", 40),
}

// wellMarked reports whether text can follow other bytes and mean the same: it does not
// begin with a byte that a byte order mark can begin with.
func wellMarked(text string) bool {
	return text == "" || text[0] != 0xEF && text[0] != 0xFE && text[0] != 0xFF
}

// oneLine returns s without line ends.
func oneLine(s string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(s) }

// FuzzParse checks that any bytes make a file, and that the memory of a file is
// bounded by its length.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "ExampleBot", "/a/b")
	}
	f.Fuzz(func(t *testing.T, text []byte, token, target string) {
		for _, d := range dialects {
			file := Parse(text, d.dialect)
			file.Match(token, target)
			if got, most := file.Size(), 40*len(text)+len(token)+4096; got > most {
				t.Errorf("%s: file %q\ngot a size of %d bytes\nwant %d at most", d.name, text, got, most)
			}
			last := 0
			for line := range file.Skipped() {
				if line < last {
					t.Errorf("%s: file %q\ngot line %d after line %d", d.name, text, line, last)
				}
				last = line
			}
			for line, value := range file.Agents() {
				if line < 1 {
					t.Errorf("%s: file %q: agent %q has line %d", d.name, text, value, line)
				}
			}
			file.Sitemaps()
			file.CrawlDelay(token)
			checkSpaces(t, file, text)
		}
	})
}

// checkSpaces checks that white space before a record changes nothing (RFC 9309,
// section 2.2).
func checkSpaces(t *testing.T, f *File, text []byte) {
	t.Helper()
	var b strings.Builder
	for _, line := range f.Lines() {
		if f.dialect.lineMax > 0 && len(line) >= int(f.dialect.lineMax) {
			return
		}
		if line != "" {
			b.WriteByte(' ')
		}
		b.WriteString(line + "\n")
	}
	got, want := f.scan(), Parse([]byte(b.String()), f.dialect).scan()
	for name, value, ok := want.next(); ok; name, value, ok = want.next() {
		if n, v, ok := got.next(); !ok || got.record != want.record || n != name || v != value {
			t.Errorf("file %q, with a space before each line\ngot  %+v, name %q, value %q\nwant %+v, name %q, value %q", text, got.record, n, v, want.record, name, value)
			return
		}
	}
	if _, _, ok := got.next(); ok {
		t.Errorf("file %q, with a space before each line: one more %+v", text, got.record)
	}
}

// FuzzOutside checks that a rule before any group changes no verdict: RFC 9309,
// section 2.2.1.
func FuzzOutside(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "/", "ExampleBot", "/a/b")
	}
	f.Fuzz(func(t *testing.T, text, rule, token, target string) {
		if !wellMarked(text) {
			return
		}
		for _, d := range dialects {
			want := Parse([]byte(text), d.dialect).Match(token, target)
			if want.Rule.Line > 0 {
				want.Rule.Line++
			}
			with := "disallow: " + oneLine(rule) + "\n" + text
			if got := Parse([]byte(with), d.dialect).Match(token, target); got != want {
				t.Errorf("%s: file %q token %q target %q\ngot %+v\nwant %+v", d.name, with, token, target, got, want)
			}
		}
	})
}

// FuzzUnknownRecord checks that an unknown record, wherever it stands, changes no
// verdict: RFC 9309, section 2.2.4.
func FuzzUnknownRecord(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, i, "Content-Signal: ai-train=no", "ExampleBot", "/a/b")
	}
	f.Fuzz(func(t *testing.T, text string, at int, record, token, target string) {
		lines := strings.SplitAfter(text, "\n")
		if at < 1 || at >= len(lines) || !wellMarked(text) {
			return
		}
		unknown := "x-" + oneLine(record) + "\n"
		with := strings.Join(lines[:at], "") + unknown + strings.Join(lines[at:], "")
		for _, d := range dialects {
			want := Parse([]byte(text), d.dialect).Match(token, target)
			got := Parse([]byte(with), d.dialect).Match(token, target)
			if got.Rule.Line, want.Rule.Line = 0, 0; got != want {
				t.Errorf("%s: file %q token %q target %q\ngot %+v\nwant %+v", d.name, with, token, target, got, want)
			}
		}
	})
}

// FuzzTokenCase checks that the case of a token changes nothing: RFC 9309, section
// 2.2.1.
func FuzzTokenCase(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "ExampleBot", "/a/b")
	}
	f.Fuzz(func(t *testing.T, text, token, target string) {
		other := otherCase(token)
		for _, d := range dialects {
			file := Parse([]byte(text), d.dialect)
			if got, want := file.Match(other, target), file.Match(token, target); got != want {
				t.Errorf("%s: file %q token %q target %q\ngot %+v\nwant %+v, as for %q", d.name, text, other, target, got, want, token)
			}
		}
	})
}

// otherCase returns s with each letter of ASCII in the other case.
func otherCase(s string) string {
	b := []byte(s)
	for i, c := range b {
		if l := c | 0x20; 'a' <= l && l <= 'z' {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}

// FuzzReference compares with the reference, with and without an index.
func FuzzReference(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "ExampleBot", "/a/b?c=:%2f")
	}
	f.Fuzz(func(t *testing.T, text, token, target string) {
		if len(text) > 4096 || len(target) > 512 {
			return
		}
		for _, d := range dialects {
			compare(t, d, text, token, target)
		}
	})
}

// FuzzMatchURL checks that a URL and the request target that net/http sends for it
// get the same Match.
func FuzzMatchURL(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, "/a(b)", "/a%28b)", "q=%3A", false)
		f.Add(s, "/a", "", "", true)
	}
	f.Fuzz(func(t *testing.T, text, path, rawPath, query string, force bool) {
		u := url.URL{Path: path, RawPath: rawPath, RawQuery: query, ForceQuery: force}
		for _, d := range dialects {
			g := Parse([]byte(text), d.dialect).Group("bot")
			checkURL(t, d.name+" "+text, g, &u)
		}
	})
}
