package matcher

import (
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/reference"
)

// TestIndex compares rules that are sorted, most of them with many stars, with the
// same rules tried one after another.
func TestIndex(t *testing.T) {
	r := reference.NewRandom(7)
	hits := 0
	for range 200 {
		of, long := r.Pick("a", "ab", "abcd?/", "abcdefgh%/"), 8
		if of == "a" {
			long = 100 // longer than the steps in which literals are compared
		}
		robots := "user-agent: bot\n"
		for range 1 + r.IntN(300) {
			robots += r.Pick("allow: ", "disallow: ") + r.Pick("/", "/", "/"+r.Text(r.IntN(long), of), "*")
			for range max(0, r.IntN(8)-1) {
				robots += "*" + r.Text(1+r.IntN(long), of) + r.Pick("", "", "b")
			}
			robots += r.Pick("", "", "b", "$", "*", "*$") + "\n"
		}
		f := Parse([]byte(robots), Dialect{})
		unsorted, sorted := f.choose("bot"), indexedGroup(f, "bot")
		for range 40 {
			target := "/" + r.Text(r.IntN(200), of) + r.Pick("", "b"+r.Text(r.IntN(200), of)) + r.Pick("", "", "?%2F"+r.Text(r.IntN(80), of))
			unsorted.asked.Store(false) // the rules are not sorted for the first question
			want := unsorted.Match(target)
			if len(want.Rule.Pattern) > 4 {
				hits++
			}
			if got := sorted.Match(target); got != want {
				t.Fatalf("file %q target %q\nsorted   %+v\nunsorted %+v", robots, target, got, want)
			}
		}
	}
	if t.Logf("%d of 8000 targets matched a rule of more than 4 bytes", hits); hits < 1000 || hits > 7900 {
		t.Error("too few or too many to test anything")
	}
}

// TestIndexIsMade checks for which match a group gets an index. Without one, many matches in
// a group of many rules take too long.
func TestIndexIsMade(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules int
		size  int // bytes of the target
		match int // 0 if there is never an index
	}{
		{"house/few_rules", fewRules, 2, 0},
		{"house/few_rules_and_a_long_target", fewRules, manySteps, 0},
		{"house/many_rules", fewRules + 1, 2, 2},
		{"house/most_steps_for_the_second_match", 1 << 10, manySteps >> 10, 2},
		{"house/more_steps", 1 << 10, manySteps>>10 + 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := Parse([]byte("user-agent: *\n"+lines(c.rules, "disallow: /%d")), Dialect{}).Group("ExampleBot")
			var made *index
			for match := 1; match <= 4; match++ {
				g.Match("/" + strings.Repeat("a", c.size-1))
				x := g.index.Load()
				if want := c.match > 0 && match >= c.match; (x != nil) != want || made != nil && x != made {
					t.Errorf("%d rules, match %d\ngot index %v, new %v\nwant %v, made once", c.rules, match, x != nil, x != made, want)
				}
				made = x
			}
		})
	}
}
