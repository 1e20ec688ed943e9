package cases

import "testing"

// TestCut checks that a line counts if it ends within the limit or right at it.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
		want  string
	}{
		{"2.5/no_line_end", 1, "a"},
		{"2.5/a_line_ends_at_the_limit", 2, "ab"},
		{"2.5/half_a_line", 4, "ab\n"},
		{"2.5/a_line_ends_at_a_return", 5, "ab\ncd"},
		{"2.5/a_return_within_the_limit", 6, "ab\ncd\r"},
		{"2.5/a_shorter_file", 9, "ab\ncd\r\nef"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(Cut([]byte("ab\ncd\r\nef"), tt.limit)); got != tt.want {
				t.Errorf("%d bytes\ngot  %q\nwant %q", tt.limit, got, tt.want)
			}
		})
	}
}
