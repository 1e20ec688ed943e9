package display

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rfc9309/polite/internal/clean"
)

// TestFold checks that lines keep to the width and break between clauses first.
func TestFold(t *testing.T) {
	for _, tt := range []struct {
		in    string
		width int
		want  []string
	}{
		{"short", 20, []string{"short"}},
		{"one clause; and another", 40, []string{"one clause; and another"}},
		{"one clause; and another", 20, []string{"one clause;", "and another"}},
		{"a clause of many words; b", 12, []string{"a clause of", "many words;", "b"}},
		{"http://example.com/a/long/word then", 10, []string{"http://example.com/a/long/word", "then"}},
		{"東京東京 東京", 10, []string{"東京東京", "東京"}},
	} {
		if got := Fold(tt.in, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("Fold(%q, %d)\ngot  %q\nwant %q", tt.in, tt.width, got, tt.want)
		}
	}
}

// TestAmounts checks how durations and numbers are written.
func TestAmounts(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct{ got, want string }{
		{Span(0), "0 s"}, {Span(59 * time.Second), "59 s"}, {Span(59*time.Second + 700*time.Millisecond), "1 min"},
		{Span(90 * time.Second), "1 min 30 s"}, {Span(3 * time.Minute), "3 min"}, {Span(42*time.Minute + 10*time.Second), "42 min"},
		{Span(24*time.Hour - 3*time.Minute), "23 h 57 min"}, {Span(day), "24 h"}, {Span(30 * day), "30 d"}, {Span(2*day + 90*time.Minute), "2 d 2 h"},
		{Count(1, "URL", "URLs"), "1 URL"}, {Count(0, "URL", "URLs"), "0 URLs"}, {Count(1234567, "URL", "URLs"), "1,234,567 URLs"},
		{Thousands(999), "999"}, {Thousands(1000), "1,000"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// FuzzPageWriter writes a page in one part and in two. The output must be the same
// and have no control characters but line ends and tabs.
func FuzzPageWriter(f *testing.F) {
	f.Add([]byte("page\n\x1b[2J\u009b1m\x9b\u202eé\ttab\r\n"), 7)
	f.Add([]byte("\xe6\x9d\xb1\xe4\xba"), 1)
	f.Fuzz(func(t *testing.T, page []byte, at int) {
		at = max(min(at, len(page)), 0)
		var whole, parts bytes.Buffer
		NewPageWriter(&whole).Write(page)
		s := NewPageWriter(&parts)
		for _, part := range [][]byte{page[:at], page[at:]} {
			if n, err := s.Write(part); n != len(part) || err != nil {
				t.Fatalf("Write(%q): got %d, %v", part, n, err)
			}
		}
		if whole.String() != parts.String() {
			t.Errorf("page %q, cut at %d\ngot  %q\nwant %q", page, at, parts.String(), whole.String())
		}
		line := strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(whole.String())
		if got := clean.Text(line, len(line)); got != line || !utf8.ValidString(line) {
			t.Errorf("page %q\ngot  %q\nwhich is not clean", page, line)
		}
	})
}
