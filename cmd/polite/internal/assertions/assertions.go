// Package assertions reads what the owner of a site expects of its robots.txt, and reports
// which expectations hold. Each line is one assertion, and # begins a comment:
//
//	ExampleBot  allow     /public
//	*           disallow  https://example.com/admin?all=1
package assertions

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/junit"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

// An Assertion says whether a crawler may fetch a target.
type Assertion struct {
	Line   int    // in the file of assertions
	Token  string // a product token, or * for crawlers that the robots.txt does not name
	Allow  bool
	Target string // a path, or a URL of the site
}

// String returns the assertion as it is written, with single spaces.
func (a Assertion) String() string {
	return a.Token + " " + word(a.Allow) + " " + display.Mask(a.Target)
}

func word(allow bool) string {
	if allow {
		return "allow"
	}
	return "disallow"
}

// longLine is the longest line of assertions, in bytes.
const longLine = 64 << 10

// Read reads assertions. checkToken and checkTarget return what is wanted instead. There
// is an error for each line that cannot be read.
func Read(r io.Reader, checkToken, checkTarget func(string) error) (all []Assertion, errs []error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longLine)
	n := 0
	for lines.Scan() {
		n++
		text, _, _ := strings.Cut(" "+lines.Text(), " #")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		a, err := parse(words, checkToken, checkTarget)
		if a.Line = n; err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		all = append(all, a)
	}
	if lines.Err() != nil {
		errs = append(errs, fmt.Errorf("line %d: %w", n+1, lines.Err()))
	}
	if len(all) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("there is no assertion"))
	}
	return all, errs
}

func parse(words []string, checkToken, checkTarget func(string) error) (Assertion, error) {
	if len(words) != 3 || words[1] != "allow" && words[1] != "disallow" {
		return Assertion{}, fmt.Errorf("%s: want a product token or *, then allow or disallow, then a path or URL",
			clean.Quote(display.Mask(strings.Join(words, " ")), 200))
	}
	a := Assertion{Token: words[0], Allow: words[1] == "allow", Target: words[2]}
	if a.Token != "*" {
		if err := checkToken(a.Token); err != nil {
			return a, err
		}
	}
	return a, checkTarget(a.Target)
}

// A Result is an assertion and what the robots.txt says.
type Result struct {
	Assertion
	Match matcher.Match
}

// OK reports whether the assertion holds.
func (r Result) OK() bool { return r.Match.Allowed == r.Allow }

// Check checks an assertion.
func (a Assertion) Check(f *matcher.File) Result { return Result{a, f.Match(a.Token, a.Target)} }

// Why returns what decides, in words.
func (r Result) Why() string {
	m := r.Match
	switch {
	case m.Rule.Line > 0 && m.Rule.Allow:
		return fmt.Sprintf("line %d %s in group %s", m.Rule.Line, clean.Quote("Allow: "+m.Rule.Pattern, 200), clean.Text(m.Agent, 200))
	case m.Rule.Line > 0:
		return fmt.Sprintf("line %d %s in group %s", m.Rule.Line, clean.Quote("Disallow: "+m.Rule.Pattern, 200), clean.Text(m.Agent, 200))
	case m.Agent != "":
		return "no rule of group " + clean.Text(m.Agent, 200) + " matches"
	}
	return "no group applies"
}

// WriteText writes a line for each assertion that does not hold.
func WriteText(w io.Writer, results []Result) error {
	for _, r := range results {
		if !r.OK() {
			if _, err := fmt.Fprintf(w, "line %d: %s: got %s: %s\n", r.Line, clean.Text(r.String(), 600), word(r.Match.Allowed), r.Why()); err != nil {
				return err
			}
		}
	}
	return nil
}

// WriteTAP writes the Test Anything Protocol, version 14.
func WriteTAP(w io.Writer, results []Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "TAP version 14\n1..%d\n", len(results))
	for i, r := range results {
		// A # would begin a directive.
		name := strings.ReplaceAll(clean.Text(r.String(), 600), "#", `\#`)
		if r.OK() {
			fmt.Fprintf(b, "ok %d - %s\n", i+1, name)
			continue
		}
		fmt.Fprintf(b, "not ok %d - %s\n  ---\n  line: %d\n  got: %s\n  message: %q\n  ...\n", i+1, name, r.Line, word(r.Match.Allowed), r.Why())
	}
	return b.Flush()
}

// WriteJUnit writes JUnit's XML. name names the robots.txt.
func WriteJUnit(w io.Writer, name string, results []Result) error {
	s := junit.Suite{Name: clean.Text(name, 600)}
	for _, r := range results {
		why := ""
		if !r.OK() {
			why = fmt.Sprintf("got %s: %s (line %d of the assertions)", word(r.Match.Allowed), r.Why(), r.Line)
		}
		s.Add(s.Name, clean.Text(r.String(), 600), why)
	}
	return s.Write(w)
}
