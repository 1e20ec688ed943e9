package matcher

import (
	"fmt"
	"testing"
)

// TestChoice checks which group a crawler obeys, and which lines of the file are its rules.
func TestChoice(t *testing.T) {
	for _, c := range []struct {
		name    string
		dialect Dialect
		file    string
		token   string
		want    string // user-agent value of the group, and the line of each rule
	}{
		{"2.2.1/first_value_of_two", Dialect{}, "user-agent: Bot/1\nuser-agent: bot/2\ndisallow: /a", "bot", "Bot/1 3"},
		{"2.2.1/first_group_of_two", Dialect{}, "user-agent: Bot/1\ndisallow: /a\nuser-agent: bot/2\ndisallow: /b", "bot", "Bot/1 2 4"},
		{"2.2.1/default_group_before", Dialect{}, "user-agent: *\ndisallow: /a\nuser-agent: bot\ndisallow: /b", "bot", "bot 4"},
		{"2.2.1/default_group_after", Dialect{}, "user-agent: bot\ndisallow: /a\nuser-agent: *\ndisallow: /b", "bot", "bot 2"},
		{"2.2.1/default_groups_combined", Dialect{}, "user-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b", "bot", "* 2 4"},
		{"2.2.1/default_and_white_space", Dialect{}, "user-agent: * x\ndisallow: /a", "bot", "* 2"},
		{"2.2.1/stars_around_a_name", Dialect{}, "user-agent: *bot*\ndisallow: /a", "bot", ""},
		{"2.2.1/name_and_default_in_one_group", Dialect{}, "user-agent: *\nuser-agent: bot\ndisallow: /a\nuser-agent: *\ndisallow: /b", "bot", "bot 3"},
		{"2.2.1/second_token_first_in_the_file", Dialect{}, "user-agent: b\ndisallow: /b\nuser-agent: a\ndisallow: /a", "a,b", "a 4"},
		{"2.2.1/empty_token_in_a_list", Dialect{}, "user-agent: /1\ndisallow: /a", "bot,,", ""},
		{"2.2.1/group_without_rules", Dialect{}, "user-agent: *\ndisallow: /a\nuser-agent: bot", "bot", "bot"},
		{"2.2.1/no_group", Dialect{}, "user-agent: a\ndisallow: /a", "bot", ""},
		{"2.2.1/beginning_of_a_name", Dialect{}, "user-agent: bots\ndisallow: /a", "bot", ""},
		{"2.2.1/value_shorter_than_the_token", Dialect{}, "user-agent: bo\ndisallow: /a", "bot", ""},
		{"2.2/blank_line_in_a_group", Dialect{}, "user-agent: bot\n\ndisallow: /a\n\ndisallow: /b", "bot", "bot 3 5"},
		{"2.2.4/record_between_names", Dialect{}, "user-agent: bot\nx: y\nuser-agent: a\ndisallow: /a", "bot", "bot 4"},
		{"2.2.2/patterns_that_can_never_match", Dialect{}, "user-agent: bot\ndisallow: a\ndisallow:\ndisallow: $\ndisallow: /\x01\ndisallow: /b\nallow: *", "bot", "bot 6 7"},
		{"2019/first_default_group", Draft2019(), "user-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b", "bot", "* 2"},
		{"2019/all_groups_of_a_name", Draft2019(), "user-agent: bot\ndisallow: /a\nuser-agent: bot\ndisallow: /b", "bot", "bot 2 4"},
		{"1996/first_group_of_a_name", Koster1996(), "user-agent: bot\ndisallow: /a\n\nuser-agent: bot\ndisallow: /b", "bot", "bot 2"},
		{"1996/first_default_group", Koster1996(), "user-agent: *\ndisallow: /a\n\nuser-agent: *\ndisallow: /b", "bot", "* 2"},
		{"1996/whole_name", Koster1996(), "user-agent: bot/1\ndisallow: /a\n\nuser-agent: *\ndisallow: /b", "bot", "* 5"},
		{"1996/name_of_two_words", Koster1996(), "user-agent: My Bot\ndisallow: /a", "my bot", "My Bot 2"},
		{"1996/group_without_rules", Koster1996(), "user-agent: bot\n\nuser-agent: *\ndisallow: /b", "bot", "* 4"},
		{"1996/rule_after_a_blank_line", Koster1996(), "user-agent: bot\ndisallow: /a\n \ndisallow: /b", "bot", "bot 2"},
		{"1996/comment_in_a_group", Koster1996(), "user-agent: bot\n# comment\ndisallow: /a", "bot", "bot 3"},
		{"1996/misspelled", Koster1996(), "user-agent: bot\ndisalow: /a\ndisallow: /b", "bot", "bot 3"},
		{"google/empty_token", Google(), "user-agent: 1\ndisallow: /a", "", "1 2"},
		{"google/misspelled_at_the_beginning", Google(), "user-agentx: bot\ndisallowed: /a", "bot", "bot 2"},
		{"google/vertical_tab", Google(), "user-agent:\vbot\f\ndisallow: /a", "bot", "bot 2"},
		{"google/nul_ends_a_line", Google(), "user-agent: bot\x00x\ndisallow: /a", "bot", "bot 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := Parse([]byte(c.file), c.dialect).Group(c.token)
			got := g.Agent()
			for r := range g.Rules() {
				got += fmt.Sprint(" ", r.Line)
			}
			if got != c.want {
				t.Errorf("file %q token %q\ngot  %q\nwant %q", c.file, c.token, got, c.want)
			}
		})
	}
}

// TestEqualFold checks RFC 9309, section 2.2.1, for all pairs of bytes: only letters of
// ASCII are compared without case.
func TestEqualFold(t *testing.T) {
	for i := range 1 << 16 {
		a, b := string([]byte{byte(i >> 8)}), string([]byte{byte(i)})
		if got, want := equalFold("bot"+a, "bot"+b), a == b || otherCase(a) == b; got != want {
			t.Errorf("2.2.1/%q_%q\ngot  %v\nwant %v", a, b, got, want)
		}
	}
}
