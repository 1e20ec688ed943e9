package main

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/jimsmart/grobotstxt"

	"github.com/rfc9309/polite/internal/reference"
	"github.com/rfc9309/polite/matcher"
)

// usual replaces what grobotstxt reads in another way than Google's parser, in which a digit ends a token, and a
// triplet keeps its digits when another byte of the pattern is changed.
var usual = strings.NewReplacer("bot2", "bots", "%2f", "%2F", "%2b", "%2B", "%3a", "%3A", "%5b", "%5B", "é", "e")

// TestGoogle compares the Google dialect with grobotstxt, a translation of Google's own parser, on random
// files. It leaves out URLs that package net/url writes in another way, because grobotstxt asks about what
// it writes. POLITE_QUESTIONS is the number of questions, if it is set.
func TestGoogle(t *testing.T) {
	questions := 20_000
	if n, err := strconv.Atoi(os.Getenv("POLITE_QUESTIONS")); err == nil {
		questions = n
	}
	r := reference.NewRandom(2)
	differ, disallowed, leftOut := 0, 0, 0
	for i := 0; i < questions && differ < 20; i++ {
		file, target := usual.Replace(r.File()), "/"+r.Path()
		if u, err := url.Parse("https://example.com" + target); err != nil || u.RequestURI() != target || strings.ContainsFunc(file, foreign) {
			leftOut++
			continue
		}
		want := grobotstxt.AgentAllowed(file, "bot", "https://example.com"+target)
		if !want {
			disallowed++
		}
		m := matcher.Parse([]byte(file), matcher.Google()).Match("bot", target)
		if m.Allowed != want {
			differ++
			t.Errorf("file %q target %q\ngot  %+v\nwant allowed %t", file, target, m, want)
		}
	}
	t.Logf("%d questions: %d left out, %d disallowed, %d differ", questions, leftOut, disallowed, differ)
}

// foreign reports whether grobotstxt reads a character in another way than Google's parser: at the ends of a
// value it keeps control characters, and removes white space outside of ASCII.
func foreign(c rune) bool {
	return c < ' ' && !strings.ContainsRune("\t\r\n", c) || c > unicode.MaxASCII && unicode.IsSpace(c)
}
