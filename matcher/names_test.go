package matcher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSkipped checks what Skipped yields for the last line of a file; want is "" for a
// line that has an effect.
func TestSkipped(t *testing.T) {
	const group = "user-agent: *\n"
	long := strings.Repeat("y", 17000)
	for _, c := range []struct {
		name    string
		dialect Dialect
		file    string
		want    string
	}{
		{"2.2/a_rule", Dialect{}, group + "disallow: /a", ""},
		{"2.2/a_comment", Dialect{}, group + "# disallow /a", ""},
		{"2.2/an_agent", Dialect{}, "user-agent: bot/1 x", ""},
		{"2.2.1/agent_without_token", Dialect{}, "user-agent: /1", "user-agent line that names no crawler"},
		{"2.2.1/agent_with_stars", Dialect{}, "user-agent: *bot*", "user-agent line that names no crawler"},
		{"2.2.1/rule_before_groups", Dialect{}, "disallow: /a", "rule outside any group"},
		{"2.2.2/no_slash", Dialect{}, group + "disallow: a", "rule that can never match: its pattern begins with neither / nor *"},
		{"2.2.2/dollar_alone", Dialect{}, group + "disallow: $", "rule that can never match: its pattern begins with neither / nor *"},
		{"2.2/empty_pattern", Dialect{}, group + "disallow: # none", "empty pattern"},
		{"2.2/control_bytes", Dialect{}, group + "disallow: /a\x01b", "control bytes in the pattern"},
		{"2.2/tab_in_pattern", Dialect{}, group + "disallow: /a\tb", ""},
		{"2.2.4/misspelled_rule", Dialect{}, group + "disalow: /a", "misspelling accepted"},
		{"2.2.4/misspelled_agent", Dialect{}, "useragent: bot", "misspelling accepted"},
		{"2.2.4/misspelled_sitemap", Dialect{}, "site-map: x", "misspelling accepted"},
		{"2.2.4/misspelled_and_outside", Dialect{}, "disalow: /a", "rule outside any group"},
		{"2.2.4/unknown", Dialect{}, "Clean-param: a /b", "unknown record"},
		{"2.2/no_colon", Dialect{}, group + "disallow /a", "not a record: no name before a colon"},
		{"google/no_name", Google(), group + ": /a", "not a record: no name before a colon"},
		{"2.2/no_name", Dialect{}, group + ": /a", "not a record: no name before a colon"},
		{"google/no_colon", Google(), group + "disallow /a", "misspelling accepted"},
		{"google/three_words", Google(), group + "disallow /a b", "not a record: no name before a colon"},
		{"google/long_line", Google(), group + "disallow: /" + long, "past the limit: what follows here is not read"},
		{"google/line_of_the_limit", Google(), group + "disallow: /" + long[:8*2083-1-len("disallow: /")], ""},
		{"google/long_line_that_begins_blank", Google(), group + strings.Repeat(" ", 17000) + "x", "past the limit: what follows here is not read"},
		{"google/line_of_one_byte_more", Google(), group + "disallow: /" + long[:8*2083-len("disallow: /")], "past the limit: what follows here is not read"},
		{"2.5/long_line", Dialect{}, group + "disallow: /" + long, ""},
		{"1996/agent_and_blank_line", Koster1996(), "user-agent: *\ndisallow: /a\n\ndisallow: /b", "rule outside any group"},
		{"1996/star_first", Koster1996(), group + "disallow: *a", "rule that can never match: its pattern begins with neither / nor *"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, last := "", 1+strings.Count(c.file, "\n")
			for line, why := range Parse([]byte(c.file), c.dialect).Skipped() {
				if line == last {
					got += why
				}
			}
			if got != c.want {
				t.Errorf("file %.80q\ngot  %q\nwant %q", c.file, got, c.want)
			}
		})
	}
}

// TestEveryMisspelling checks that each listed misspelling is accepted, in any case.
func TestEveryMisspelling(t *testing.T) {
	for name, want := range misspellings {
		if want == agent && contains("ad", name[0]) {
			t.Errorf("2.2.1/%q: next would skip it in a group that is not obeyed", name)
		}
		for _, name := range []string{name, strings.ToUpper(name)} {
			d := Dialect{}
			if got, odd := d.kindOf(name); got != want || !odd {
				t.Errorf("2.2.4/%q\ngot  %v, odd %v\nwant %v, odd", name, got, odd, want)
			}
		}
	}
	for _, want := range googleNames {
		for _, name := range []string{want.begin, strings.ToUpper(want.begin), want.begin + "x"} {
			d := Google()
			if got, odd := d.kindOf(name); got != want.kind || odd != !strings.EqualFold(name, names[got]) {
				t.Errorf("google/%q\ngot  %v, odd %v\nwant %v", name, got, odd, want.kind)
			}
		}
	}
}

// TestEveryName checks that white space before the colon changes nothing (RFC 9309, section
// 2.2), for each name and for each name with one other byte or without its end.
func TestEveryName(t *testing.T) {
	for _, name := range names[agent:] {
		for at := range len(name) {
			checkColon(t, name[:at])
			for c := range 256 {
				if c != '\n' && c != '\r' && c != '#' && c != ':' {
					checkColon(t, name[:at]+string([]byte{byte(c)})+name[at+1:])
				}
			}
		}
	}
}

// checkColon compares the record with a name and its colon with the record that has white
// space between them.
func checkColon(t *testing.T, name string) {
	t.Helper()
	for _, d := range dialects {
		for _, value := range []string{"", "/x"} {
			file := "user-agent: *\n" + name + ":" + value
			got, want := Parse([]byte(file), d.dialect).scan(), Parse([]byte("user-agent: *\n"+name+" :"+value), d.dialect).scan()
			for range 2 {
				name, value, ok := got.next()
				wantName, wantValue, wantOK := want.next()
				if ok != wantOK || got.kind != want.kind || got.misspelled != want.misspelled || name != wantName || value != wantValue {
					t.Errorf("2.2/%s: file %q\ngot  %+v, name %q, value %q, %v\nwant %+v, name %q, value %q, %v",
						d.name, file, got.record, name, value, ok, want.record, wantName, wantValue, wantOK)
				}
			}
		}
	}
}

// records is a file with every kind of record that real files have, between the lines
// of one group.
const records = `User-agent: a
Content-Signal: search=yes,ai-train=no
User-agent: b
Sitemap: https://example.com/s.xml # one
Content-Usage: ai=n
Disallow: /x
Crawl-delay: 1.5
License: https://example.com/license.xml
Host: example.com
Clean-param: ref /articles/
Request-rate: 1/10s
Visit-time: 0400-0845
content-signal: search=no
Noindex: /y
Disallow: /z
`

// TestOtherRecords checks RFC 9309, section 2.2.4: other records are yielded as
// written, and none of them ends a group.
func TestOtherRecords(t *testing.T) {
	f := Parse([]byte(records), Dialect{})
	for _, c := range []struct{ field, want string }{
		{"content-signal", "2 search=yes,ai-train=no; 13 search=no; "},
		{"Content-Usage", "5 ai=n; "},
		{"LICENSE", "8 https://example.com/license.xml; "},
		{"host", "9 example.com; "},
		{"clean-param", "10 ref /articles/; "},
		{"request-rate", "11 1/10s; "},
		{"visit-time", "12 0400-0845; "},
		{"noindex", "14 /y; "},
		{"sitemap", "4 https://example.com/s.xml; "},
		{"crawl-delay", "7 1.5; "},
		{"disallow", ""},
		{"absent", ""},
	} {
		t.Run("2.2.4/"+c.field, func(t *testing.T) {
			got := ""
			for line, value := range f.Other(c.field) {
				got += fmt.Sprint(line, " ", value, "; ")
			}
			if got != c.want {
				t.Errorf("field %q\ngot  %q\nwant %q", c.field, got, c.want)
			}
		})
	}
	for _, token := range []string{"a", "b"} {
		for _, target := range []string{"/x", "/z"} {
			if m := f.Match(token, target); m.Allowed {
				t.Errorf("token %s target %s\ngot %+v\nwant disallowed", token, target, m)
			}
		}
		if d, ok := f.CrawlDelay(token); d != 1500*time.Millisecond || !ok {
			t.Errorf("token %s\ngot delay %v, %v\nwant 1.5s", token, d, ok)
		}
	}
	if got := f.Sitemaps(); !slices.Equal(got, []string{"https://example.com/s.xml"}) {
		t.Errorf("got sitemaps %q", got)
	}
}

// TestCrawlDelay checks which values are a number of seconds.
func TestCrawlDelay(t *testing.T) {
	const most = time.Duration(1<<63 - 1)
	for _, c := range []struct {
		name, lines string
		want        time.Duration
		ok          bool
	}{
		{"whole", "crawl-delay: 10", 10 * time.Second, true},
		{"fraction", "Crawl-Delay: .5", time.Second / 2, true},
		{"zero", "crawl-delay: 0", 0, true},
		{"first_that_is_one", "crawl-delay: soon\ncrawl-delay: 2\ncrawl-delay: 3", 2 * time.Second, true},
		{"misspelled", "crawl delay: 2", 2 * time.Second, true},
		{"comment", "crawl-delay: 2#3", 2 * time.Second, true},
		{"past_the_range", "crawl-delay: 1e300", most, true},
		{"just_past_the_range", "crawl-delay: 9223372036.854775808", most, true},
		{"past_all_floats", "crawl-delay: 1e999", most, true},
		{"negative", "crawl-delay: -1", 0, false},
		{"not_a_number", "crawl-delay: NaN", 0, false},
		{"infinite", "crawl-delay: inf", 0, false},
		{"hexadecimal", "crawl-delay: 0x10", 0, false},
		{"unit", "crawl-delay: 10s", 0, false},
		{"comma", "crawl-delay: 1,5", 0, false},
		{"empty", "crawl-delay:", 0, false},
		{"other_group", "disallow: /\nuser-agent: other\ncrawl-delay: 5", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Parse([]byte("user-agent: bot\n"+c.lines), Dialect{})
			if got, ok := f.CrawlDelay("Bot"); got != c.want || ok != c.ok {
				t.Errorf("lines %q\ngot  %v, %v\nwant %v, %v", c.lines, got, ok, c.want, c.ok)
			}
		})
	}
}
