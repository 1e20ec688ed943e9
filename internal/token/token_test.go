package token

import "testing"

// TestPrefix reads tokens of every kind of byte, and what is none.
func TestPrefix(t *testing.T) {
	for _, tt := range []struct{ name, s, want string }{
		{"2.2.1/letters", "ExampleBot", "ExampleBot"},
		{"2.2.1/hyphen_and_underscore", "example-bot_news/1.0", "example-bot_news"},
		{"house/digits", "MJ12bot (x)", "MJ12bot"},
		{"2.2.1/none", "*", ""},
		{"2.2.1/empty", "", ""},
		{"2.2.1/bytes_beside_letters", "a@", "a"},
		{"2.2.1/bytes_behind_letters", "z{", "z"},
		{"2.2.1/not_ascii", "botä", "bot"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Prefix(tt.s); got != tt.want {
				t.Errorf("%q\ngot  %q\nwant %q", tt.s, got, tt.want)
			}
		})
	}
}
