package clean

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// hostile is what a server may send to a terminal: an escape sequence, a line
// end, direction marks, invisible characters and broken UTF-8.
const hostile = "a\x1b[31m\r\n\u202eb\u200b\xff\xe2\x82"

var tests = []struct {
	name, in string
	most     int
	text     string
	escape   string
	link     string
}{
	{"empty", "", 9, "", "", ""},
	{"plain", "/a?b=c", 9, "/a?b=c", "/a?b=c", "/a?b=c"},
	{"letters", "/Straße/東京", 20, "/Straße/東京", "/Straße/東京", "/Straße/東京"},
	{"spaces and quotes", `a "b"`, 20, `a "b"`, `a "b"`, "a%20%22b%22"},
	{"hostile", hostile, 99, "a?[31m???b????", `a\x1b[31m\r\n\u202eb\u200b\xff\xe2\x82`, "a%1B[31m%0D%0A%E2%80%AEb%E2%80%8B%FF%E2%82"},
	{"replacement character", "a\uFFFDb", 9, "a\uFFFDb", "a\uFFFDb", "a\uFFFDb"},
	{"at the bound", "abcdef", 6, "abcdef", "abcdef", "abcdef"},
	{"over the bound", "abcdefg", 6, "abc…", "abc…", "abc…"},
	{"between two characters", "äääää", 8, "ää…", "ää…", "ää…"},
	{"no half escape", "ab\x00cdefgh", 6, "ab?…", "ab…", "ab…"},
	{"no room for the mark", "abcdef", 2, "…", "…", "…"},
}

func TestForms(t *testing.T) {
	for _, tt := range tests {
		for form, c := range map[string]struct{ got, want string }{
			"Text": {Text(tt.in, tt.most), tt.text}, "Escape": {Escape(tt.in, tt.most), tt.escape}, "Link": {Link(tt.in, tt.most), tt.link},
		} {
			if c.got != c.want {
				t.Errorf("7/%s: %s(%q, %d)\ngot  %q\nwant %q", tt.name, form, tt.in, tt.most, c.got, c.want)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	if got, want := Quote("a\"\n"+strings.Repeat("b", 99), 8), `"a\"?bb…"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcdefg", 6, "abc…"}, {"aéééé", 7, "aé…"}, {"\x80\x80\x80\x80\x80", 4, "…"}, {"a\n\xff", 9, "a\n\xff"},
	} {
		if got := Cut(tt.in, tt.most); got != tt.want {
			t.Errorf("Cut(%q, %d)\ngot  %q\nwant %q", tt.in, tt.most, got, tt.want)
		}
	}
}

// FuzzForms looks for a result that is too long or has characters that control a
// terminal.
func FuzzForms(f *testing.F) {
	for _, tt := range tests {
		f.Add(tt.in, tt.most)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(most, len(mark))
		for _, got := range []string{Text(s, most), Escape(s, most), Link(s, most)} {
			if len(got) > most || !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x07\x1b\r\n\u202e\u2066\u200b\u009b") {
				t.Errorf("%q, %d: got %q", s, most, got)
			}
		}
		if got := Cut(s, most); len(got) > most {
			t.Errorf("Cut(%q, %d) = %q", s, most, got)
		}
	})
}
