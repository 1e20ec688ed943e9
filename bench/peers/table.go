package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A suite is the tests of one project.
type suite struct {
	name    string
	about   string // what is asked of Polite
	cases   []*result
	reasons []reason // why cases differ; each must be the reason of a case
	found   map[string][]string
}

// A result is the outcome of one case.
type result struct {
	id      string
	differs []string // what Polite does, and what the case expects; empty if they agree
}

// A reason says why cases differ.
type reason struct {
	clause string
	why    string
	cases  string // patterns of path.Match for the ids, separated by spaces
}

// check compares what Polite does with what the case expects.
func (r *result) check(what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		r.differs = append(r.differs, fmt.Sprintf("%s: got %s, want %s", what, g, w))
	}
}

// clause is the form of a reason's clause.
var clause = regexp.MustCompile(`^(RFC (9309|9111), section [1-9][0-9.]*|deviation [1-9][0-9]*)$`)

// explain finds the reason for each difference. It returns the differences that have
// none, and the reasons that are wrong.
func (s *suite) explain() (problems []string) {
	s.found = map[string][]string{}
	for _, c := range s.cases {
		if len(c.differs) == 0 {
			continue
		}
		i := slices.IndexFunc(s.reasons, func(r reason) bool { return r.covers(c.id) })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("%s differs without a reason: %s", c.id, strings.Join(c.differs, "; ")))
			continue
		}
		s.found[s.reasons[i].why] = append(s.found[s.reasons[i].why], c.id)
	}
	for _, r := range s.reasons {
		if !clause.MatchString(r.clause) {
			problems = append(problems, fmt.Sprintf("the reason %q names no clause", r.why))
		}
		if len(s.found[r.why]) == 0 {
			problems = append(problems, fmt.Sprintf("no case differs for the reason %q", r.why))
		}
	}
	return problems
}

func (r reason) covers(id string) bool {
	return slices.ContainsFunc(strings.Fields(r.cases), func(pattern string) bool {
		ok, err := path.Match(pattern, id)
		return ok && err == nil
	})
}

const intro = `# The tests of other projects

Other projects test what Polite does, too. This page lists how many of their cases agree with Polite, and the reason for
each difference: what a clause asks, or one of the [deviations](deviations.md). It is the output of ` + "`go run ./peers`" + ` in the module
bench, whose package peers has the reasons. The [last section](#not-in-the-table) names the suites that are not in the table.

| suite | cases | same | differ | by clause |
|---|---|---|---|---|
`

const rest = `
## Not in the table

- The tests of net/http for its client run over a Transport that lets every request through (` + "`TestNetHTTP`" + `). They come from the
  sources of the Go version in use. Of Go 1.26, 189 tests can be built outside of net/http, and 186 of them pass. The others
  want a request without a User-Agent (RFC 9309, section 2.2.1), a CONNECT, and net/http's own error for a URL without a
  robots.txt (section 2.3).
- http-cache-tests 0.4.5, as installed by npm, runs through a reverse proxy over Polite (` + "`TestCacheTestsSuite`" + `, which needs node).
  Polite does not cache pages, so the same 114 of 350 tests pass as without it.
- The vectors of Web Bot Auth for Ed25519, and that of RFC 9421, run in the tests of examples/webbotauth, which signs.
`

// page returns the table and the differences in Markdown.
func page(suites []suite) string {
	var b strings.Builder
	b.WriteString(intro)
	for _, s := range suites {
		counts := map[string]int{}
		differ := 0
		for _, r := range s.reasons {
			counts[r.clause] += len(s.found[r.why])
			differ += len(s.found[r.why])
		}
		var clauses []string
		for _, c := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) }) {
			clauses = append(clauses, fmt.Sprintf("%s: %d", c, counts[c]))
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s |\n", s.name, len(s.cases), len(s.cases)-differ, differ, strings.Join(clauses, "; "))
	}
	for _, s := range suites {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.name, s.about)
		if len(s.reasons) > 0 {
			b.WriteString("\n| clause | reason | cases |\n|---|---|---|\n")
		}
		for _, r := range s.reasons {
			fmt.Fprintf(&b, "| %s | %s | `%s` |\n", r.clause, r.why, strings.Join(s.found[r.why], "`, `"))
		}
	}
	return b.String() + rest
}

// eachLine decodes every line of a file of JSON values.
func eachLine[T any](t testing.TB, file string, do func(T)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines io.Reader = bytes.NewReader(text)
	if filepath.Ext(file) == ".gz" {
		if lines, err = gzip.NewReader(lines); err != nil {
			t.Fatal(err)
		}
	}
	for values := json.NewDecoder(lines); values.More(); {
		var line T
		if err := values.Decode(&line); err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		do(line)
	}
}
