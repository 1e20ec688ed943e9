package matcher_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
)

// TestLines checks the numbers and the texts of lines, for line ends of every kind and
// for first bytes that the dialects read differently.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name    string
		dialect matcher.Dialect
		text    string
		want    string // number and line, each with a bar behind it
	}{
		{"2.2/ends", matcher.Dialect{}, "a\rb\nc\r\nd\n\re", "1 a|2 b|3 c|4 d|5 |6 e|"},
		{"2.2/no_last_end", matcher.Dialect{}, "a\n", "1 a|"},
		{"2.2/nothing", matcher.Dialect{}, "", ""},
		{"2.2/byte_order_mark", matcher.Dialect{}, "\xEF\xBB\xBFa\nb", "1 a|2 b|"},
		{"house/utf16", matcher.Dialect{}, "\xFF\xFEa\x00\n\x00b\x00", "1 a|2 b|"},
		{"house/utf16_high_byte_first", matcher.Dialect{}, "\xFE\xFF\x00a\x00\n\x20\xAC", "1 a|2 €|"},
		{"google/utf16", matcher.Google(), "\xFF\xFEa\x00\n\x00b", "1 \xFF\xFEa\x00|2 \x00b|"},
		{"google/half_a_mark", matcher.Google(), "\xEF\xBBa", "1 a|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := []byte(tt.text)
			var got strings.Builder
			f := matcher.Parse(text, tt.dialect)
			clear(text) // the file is not the caller's memory
			for n, line := range f.Lines() {
				fmt.Fprintf(&got, "%d %s|", n, line)
			}
			if got.String() != tt.want {
				t.Errorf("%q\ngot  %q\nwant %q", tt.text, got.String(), tt.want)
			}
		})
	}
}
