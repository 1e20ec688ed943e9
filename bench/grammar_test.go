package main

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/jimsmart/grobotstxt"

	"github.com/rfc9309/polite/internal/grammar"
	"github.com/rfc9309/polite/matcher"
)

// TestGrammar compares the Google dialect with grobotstxt, a translation of Google's own
// parser, on random files of the grammar of RFC 9309. POLITE_QUESTIONS is the number of
// questions, if it is set.
func TestGrammar(t *testing.T) {
	questions := 20_000
	if n, err := strconv.Atoi(os.Getenv("POLITE_QUESTIONS")); err == nil {
		questions = n
	}
	g := grammar.Files()
	r := rand.New(rand.NewPCG(9309, 2))
	differ, disallowed, leftOut := 0, 0, 0
	for i := 0; i < questions && differ < 20; {
		for _, q := range g.Ask(r, 10) {
			i++
			if strings.ContainsFunc(q.File, foreignSpace) {
				leftOut++
				continue
			}
			want := grobotstxt.AgentAllowed(q.File, q.Token, "https://example.com"+q.Target)
			if !want {
				disallowed++
			}
			m := matcher.Parse([]byte(q.File), matcher.Google()).Match(q.Token, q.Target)
			if m.Allowed != want {
				differ++
				t.Errorf("file %q token %q target %q\ngot  %+v\nwant allowed %t", q.File, q.Token, q.Target, m, want)
			}
		}
	}
	t.Logf("%d questions: %d left out, %d disallowed, %d differ", questions, leftOut, disallowed, differ)
}

// foreignSpace reports whether a character is white space outside of ASCII. grobotstxt
// removes it from the ends of a value, and Google's parser does not.
func foreignSpace(c rune) bool { return c > unicode.MaxASCII && unicode.IsSpace(c) }
