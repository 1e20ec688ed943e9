package matcher

import (
	"math/rand/v2"
	"testing"
)

// TestIndex compares an index of many rules, most of many stars, with trying one
// rule after another.
func TestIndex(t *testing.T) {
	r := random{rand.New(rand.NewPCG(7, 8))}
	hits := 0
	for range 200 {
		of := r.pick("ab", "abcd?/", "abcdefgh%/")
		robots := "user-agent: bot\n"
		for range 1 + r.IntN(300) {
			robots += r.pick("allow: ", "disallow: ") + r.pick("/", "/", "/"+r.text(3, of), "*")
			for range r.IntN(7) {
				robots += "*" + r.text(5, of)
			}
			robots += r.pick("", "", "$", "*", "*$") + "\n"
		}
		f := Parse([]byte(robots), Dialect{})
		with, g := indexedGroup(f, "bot"), f.choose("bot")
		for range 40 {
			target := "/" + r.text(r.IntN(200), of) + r.pick("", "", "?%2F"+r.text(r.IntN(80), of))
			want := Match{Allowed: true, Agent: "bot"}
			normal, folds := rfcForm.appendNormal(nil, target, false)
			folded := string(normal)
			if folds {
				folded = string(fold(nil, folded))
			}
			for i := range g.rules {
				if see := map[bool]string{false: string(normal), true: folded}[g.rules[i].query]; g.rules[i].matches(see) {
					want.Rule = g.explain(&g.rules[i])
					want.Allowed = want.Rule.Allow
					hits++
					break
				}
			}
			if got := with.Match(target); got != want {
				t.Fatalf("file %q target %q\nwith index %+v\nwithout    %+v", robots, target, got, want)
			}
		}
	}
	if t.Logf("%d of 8000 targets met a rule", hits); hits < 1000 || hits > 7900 {
		t.Error("too few or too many to mean anything")
	}
}

// text returns n bytes of a set.
func (r random) text(n int, of string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = of[r.IntN(len(of))]
	}
	return string(b)
}
