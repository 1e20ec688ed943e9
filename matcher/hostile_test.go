package matcher

import (
	"fmt"
	"strings"
	"testing"
)

// hostile are files, and targets, that were made to be slow. A matcher that
// tries something twice for each star, rule or byte takes years for some.
func hostile() map[string][2]string {
	repeat := strings.Repeat
	lines := func(line func(i int) string) string {
		var b strings.Builder
		b.WriteString("user-agent: *\n")
		for i := 0; b.Len() < 500<<10; i++ {
			b.WriteString(line(i) + "\n")
		}
		return b.String()
	}
	long := "/" + repeat("a", 64<<10)
	return map[string][2]string{
		"500_stars":        {"user-agent: *\ndisallow: /" + repeat("*a", 500) + "b\n", long},
		"500_stars_hit":    {"user-agent: *\ndisallow: /" + repeat("*a", 500) + "\n", long},
		"500_stars_to_end": {"user-agent: *\ndisallow: /" + repeat("*a", 500) + "$\n", long},
		"stars_alone":      {"user-agent: *\ndisallow: " + repeat("*", 500<<10) + "x\n", long},
		"200,000_stars":    {"user-agent: *\ndisallow: /" + repeat("*a", 200000) + "\n", long},
		"many_stars":       {lines(func(i int) string { return fmt.Sprint("disallow: /", repeat("*a", 1000), i) }), long},
		"equal_rules":      {lines(func(int) string { return "disallow: /*xyz" }), "/" + repeat("xy", 32<<10)},
		"shared_prefixes":  {lines(func(i int) string { return fmt.Sprint("disallow: /", repeat("a", i%1000), i) }), long},
		"nested_pieces":    {lines(func(i int) string { return fmt.Sprint("disallow: /*", repeat("a", i%1000), "b") }), long},
		"nested_states":    {lines(func(i int) string { return fmt.Sprint("disallow: /*", repeat("a", i%1000), "*c") }), long},
		"after_nested": {lines(func(i int) string {
			return fmt.Sprint("disallow: /*", repeat("a", i%680), "*", repeat("a", i%680), "*b")
		}), long},
		"nearly_nested": {lines(func(i int) string { return fmt.Sprint("disallow: /*", repeat("a", i%980), "*b") }), "/" + repeat("aab", 20<<10)},
		"a_state_each": {lines(func(i int) string {
			if i == 0 {
				return "disallow: /" + repeat("*a", 20<<10) + "*b"
			}
			return fmt.Sprint("disallow: /*x*", repeat("a", i%960), "*b")
		}), long},
		"one_line":          {"user-agent: *\ndisallow: /" + repeat("a", 500<<10) + "\n", long},
		"triplets":          {"user-agent: *\ndisallow: /" + repeat("%41", 170<<10) + "\n", "/" + repeat("%41", 20<<10)},
		"slashes_in_query":  {lines(func(i int) string { return fmt.Sprint("disallow: /*?*%2F", i) }), "/?" + repeat("%2F", 20<<10)},
		"agents":            {lines(func(i int) string { return fmt.Sprint("user-agent: a", i, "\ndisallow: /*", i) }), long},
		"agents_of_a_name":  {lines(func(i int) string { return fmt.Sprint("user-agent: *\ndisallow: /*", i) }), long},
		"agents_of_a_group": {lines(func(i int) string { return fmt.Sprint("user-agent: a", i) }), long},
		"equal_groups":      {lines(func(i int) string { return fmt.Sprint("user-agent: a", i, "\ndisallow: /same/pattern") }), long},
		"odd_agents":        {lines(func(int) string { return "useragent:*\ndisalow:/" }), long},
		"carriage_returns":  {repeat("\r", 500<<10), long},
		"colons":            {lines(func(int) string { return ":" }), long},
		"hashes":            {repeat("#\r", 250<<10), long},
		"words":             {lines(func(int) string { return "a b" }), long},
		"nul":               {repeat("\x00", 500<<10), long},
		"utf_16":            {"\xFF\xFE" + repeat("\n\x00", 250<<10), long},
		"crlf":              {repeat("\r\n", 250<<10), long},
		"comment_each":      {lines(func(int) string { return "x:y#z" }), long},
		"long_target":       {"user-agent: *\ndisallow: /x\n", "/" + repeat("%C3é", 16<<10)},
	}
}

// TestHostile reads and asks each file often enough that the test would not end
// if the time were not linear in the file and in the target.
func TestHostile(t *testing.T) {
	for name, h := range hostile() {
		for _, d := range dialects {
			t.Run(name+"/"+d.name, func(t *testing.T) {
				f := Parse([]byte(h[0]), d.dialect)
				first := f.Match("ExampleBot", h[1])
				for range 3 {
					if m := f.Match("ExampleBot", h[1]); m != first {
						t.Errorf("got %+v, later %+v", first, m)
					}
				}
				if got, most := f.Size(), 16*len(h[0])+4096; got > most {
					t.Errorf("file of %d bytes\ngot a size of %d bytes\nwant %d at most", len(h[0]), got, most)
				}
			})
		}
	}
}

// TestManyStars holds what 500 stars mean against a target of 64 KiB.
func TestManyStars(t *testing.T) {
	pattern, long := "/"+strings.Repeat("*a", 500), strings.Repeat("a", 64<<10)
	for _, c := range []struct {
		name, pattern, target string
		want                  bool
	}{
		{"2.2.3/enough", pattern, "/" + long, true},
		{"2.2.3/just_enough", pattern, "/" + long[:500], true},
		{"2.2.3/one_less", pattern, "/" + long[:499], false},
		{"2.2.3/spread", pattern, "/" + strings.Repeat(long[:131]+"b", 490), true},
		{"2.2.3/too_few", pattern, "/" + strings.Repeat("b", 64<<10) + long[:499], false},
		{"2.2.3/end_wanted", pattern + "b$", "/" + long, false},
		{"2.2.3/end_there", pattern + "b$", "/" + long + "b", true},
		{"2.2.3/end_not_last", pattern + "b$", "/" + long + "ba", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, rules := range []int{1, 100} { // without and with an index
				robots := "user-agent: *\n" + strings.Repeat("allow: /"+strings.Repeat("x", 2000)+"\n", rules-1) + "disallow: " + c.pattern + "\n"
				f := Parse([]byte(robots), Dialect{})
				for range 3 {
					if m := f.Match("ExampleBot", c.target); m.Allowed == c.want {
						t.Errorf("%d rules, 500 stars, target of %d bytes\ngot match %v\nwant %v", rules, len(c.target), !m.Allowed, c.want)
					}
				}
			}
		})
	}
}
