package lint

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// useless are the checks that claim that a line makes no difference.
var useless = []string{"never-matches", "never-decides", "duplicate", "redundant", "empty-rule", "no-group", "unknown-record", "no-record"}

// TestUseless takes each line away that makes no difference, in the files of the table and in
// files of random rules, and tries short targets: no verdict may change.
func TestUseless(t *testing.T) {
	var texts []string
	for _, test := range tests {
		texts = append(texts, test.text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		texts = append(texts, randomRules(r))
	}
	for _, text := range texts {
		for _, p := range []*policy.Profile{policy.RFC9309(), policy.Google(), policy.Koster1996()} {
			checkUseless(t, text, p)
		}
	}
}

// randomRules returns a file with some rules of a few bytes.
func randomRules(r *rand.Rand) string {
	pieces := []string{"a", "b", "a", "/", "*", "*", "$", "?", "%61", "%2f", "ä", "."}
	text := "User-agent: A\nUser-agent: *\n"
	for i := range 2 + r.IntN(6) {
		if text += []string{"Allow: ", "Disallow: "}[r.IntN(2)]; r.IntN(8) > 0 {
			text += "/"
		}
		for range r.IntN(4) {
			text += pieces[r.IntN(len(pieces))]
		}
		if text += "\n"; i == 3 && r.IntN(2) == 0 {
			text += "User-agent: B\n"
		}
	}
	return text
}

func checkUseless(t *testing.T, text string, p *policy.Profile) {
	lines := strings.Split(text, "\n")
	for _, r := range Run([]byte(text), &Options{Profiles: []*policy.Profile{p}}) {
		if r.Line > len(lines) || !slices.Contains(useless, r.Check) {
			continue
		}
		// A record of the same kind stays, because a rule ends the list of names of its group.
		without := slices.Clone(lines)
		without[r.Line-1] = "Disallow:"
		if r.Check == "unknown-record" || r.Check == "no-record" {
			without[r.Line-1] = "#"
		}
		was, is := matcher.Parse([]byte(text), p.Dialect), matcher.Parse([]byte(strings.Join(without, "\n")), p.Dialect)
		for _, target := range targets(text) {
			for _, token := range []string{"*", "A", "B"} {
				if was.Match(token, target).Allowed != is.Match(token, target).Allowed {
					t.Fatalf("%s: %q\nline %d: %s\nbut without it the verdict on %q for %s is %v", p.Name, text, r.Line, r, target, token, is.Match(token, target))
				}
			}
		}
	}
}

// targets returns short targets of the bytes in a text.
func targets(text string) []string {
	all := []string{"/", "/robots.txt", "/robots.txta", "/robots.txt?"}
	for part := range strings.FieldsSeq(text) {
		all = append(all, "/"+strings.TrimPrefix(part, "/"), "/"+part+"b", "/"+strings.NewReplacer("*", "", "$", "").Replace(part)+"x", strings.ReplaceAll(part, "*", "ab"))
	}
	for _, a := range "ab/?.$%~" {
		for _, b := range "ab/?.$%~" {
			for _, c := range "abxc" {
				all = append(all, "/"+string(a)+string(b)+string(c), "/"+string(a)+string(c), "/a"+string(b)+string(a)+string(c))
			}
		}
	}
	return all
}
