package display

import "testing"

func TestMask(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"password", "https://user:secret@example.com/a", "https://user:xxxxx@example.com/a"},
		{"no_password", "https://user@example.com/a:b@c", "https://user@example.com/a:b@c"},
		{"no_user", "https://:secret@example.com", "https://:xxxxx@example.com"},
		{"no_scheme", "user:secret@example.com", "user:xxxxx@example.com"},
		{"at_in_the_password", "https://user:se@cret@example.com", "https://user:xxxxx@example.com"},
		{"slash_in_the_password", "https://user:sec/ret@example.com", "https://user:xxxxx@example.com"},
		{"port", "https://example.com:443/@a", "https://example.com:443/@a"},
		{"address", "https://[::1]/@a", "https://[::1]/@a"},
		{"path", "/a:b@c", "/a:b@c"},
		{"mail", "Bot/1.0 (+mailto:bot@example.com)", "Bot/1.0 (+mailto:bot@example.com)"},
		{"in_a_sentence", `no "ftp://u:secret@h" (from https://u:secret@h/a): timeout`, `no "ftp://u:xxxxx@h" (from https://u:xxxxx@h/a): timeout`},
	} {
		if got := Mask(test.in); got != test.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", test.name, test.in, got, test.want)
		}
	}
}
