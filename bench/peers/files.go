package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/usage"
)

// realFiles is the file with Protego's files, each of which is a realFile.
const realFiles = "protego/robots-test-data.jsonl.gz"

type realFile struct {
	Name string
	B64  []byte
}

// filesSuite reads Protego's files.
func filesSuite(t *testing.T, folder string) suite {
	s := suite{name: "protego", about: aboutFiles}
	eachLine(t, filepath.Join(folder, realFiles), func(f realFile) {
		out := &result{id: f.Name}
		s.cases = append(s.cases, out)
		out.check("panic", readFile(f.B64, "ExampleBot", "/page?a=b"), nil)
	})
	return s
}

// readFile asks a file everything there is to ask, and returns what panicked.
func readFile(text []byte, token, target string) (panicked any) {
	defer func() { panicked = recover() }()
	for _, d := range []matcher.Dialect{{}, matcher.Google(), matcher.Draft2019(), matcher.Koster1996()} {
		f := matcher.Parse(text, d)
		f.Match(token, target)
		f.CrawlDelay(token)
		f.Sitemaps()
		for range f.Skipped() {
		}
		for r := range f.Group(token).Rules() {
			f.Match(token, r.Pattern)
		}
		usage.OfFile(f, token, target)
	}
	return nil
}

// fieldSuite reads the dictionaries of the tests of structured fields as Content-Usage.
func fieldSuite(t *testing.T, folder string) suite {
	s := suite{name: "structured-field-tests"}
	names, err := filepath.Glob(filepath.Join(folder, "structured-field-tests", "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no tests of structured fields: %v", err)
	}
	counts := map[string]int{}
	for _, name := range names {
		eachLine(t, name, func(tests []fieldTest) {
			for _, c := range tests {
				if counts[c.Type]++; c.Type == "dictionary" {
					s.cases = append(s.cases, c.run(filepath.Base(name)))
				}
			}
		})
	}
	s.about = fmt.Sprintf(aboutFields, counts["item"], counts["list"])
	return s
}

// A fieldTest is a test of httpwg/structured-field-tests.
type fieldTest struct {
	Name     string
	Raw      []string
	Type     string `json:"header_type"`
	Expected any
	MustFail bool `json:"must_fail"`
	CanFail  bool `json:"can_fail"`
}

// run reads the field as Content-Usage: each member is a preference, and a field that
// must fail is skipped.
func (c fieldTest) run(file string) *result {
	out := &result{id: file + "/" + c.Name}
	said := usage.OfHeader(http.Header{"Content-Usage": c.Raw}, "")
	failed := len(said.Skipped()) > 0
	if c.CanFail && failed {
		return out
	}
	var got, want []string
	for p := range said.All() {
		got = append(got, p.Label)
	}
	members, _ := c.Expected.([]any)
	for _, m := range members {
		want = append(want, m.([]any)[0].(string))
	}
	out.check("failed", failed, c.MustFail)
	out.check("same labels", slices.Equal(got, want), true)
	return out
}
