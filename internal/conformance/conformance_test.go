package conformance

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rfc9309/polite/internal/golden"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md")

const root = "../.."

// TestPage compares docs/conformance.md with what the profiles do.
func TestPage(t *testing.T) {
	page := filepath.Join(root, "docs", "conformance.md")
	diff, err := golden.Diff(page, writePage(anchors(t)), *update)
	if err != nil {
		t.Fatal(err)
	}
	if diff != "" {
		t.Errorf("%s is stale:\n%sIf the new text is intended, run\n\tgo test ./internal/conformance -update", page, diff)
	}
}

// readPage returns a page of docs.
func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cited finds the quotations of docs/best-practices.md, and citedProof the tests that it names.
var (
	cited      = regexp.MustCompile("“([^”]+)”")
	citedProof = regexp.MustCompile("\\(([a-z/]+) `([^`]+)`\\)")
)

// TestPractices checks that docs/best-practices.md quotes each sentence of the draft
// with a key word, in its own words.
func TestPractices(t *testing.T) {
	const source = "crawler-best-practices.md"
	text := strings.NewReplacer("{{", "", "}}", "").Replace(spec(t, source))
	var quoted []span
	for _, m := range cited.FindAllStringSubmatch(readPage(t, "best-practices.md"), -1) {
		spans := locate(text, strings.ReplaceAll(m[1], `\`, ""))
		if spans == nil {
			t.Errorf("docs/best-practices.md\ngot  %q\nwant words of %s", m[1], source)
		}
		quoted = append(quoted, spans...)
	}
	begin := strings.Index(text, "1. Crawlers MUST support")
	for _, at := range keyWord.FindAllStringIndex(text[begin:], -1) {
		around := text[begin+at[0]-40 : begin+at[1]+40]
		if !covers(quoted, begin+at[0]) && !strings.Contains(around, "## Crawlers MUST") {
			t.Errorf("no line of docs/best-practices.md quotes\n%q", around)
		}
	}
}

// A promise is a row of docs/proof.md: a claim about Polite, the tests that prove it, and its last figure.
type promise struct{ says, tests, figure string }

// promises returns the rows of docs/proof.md.
func promises(t *testing.T) (all []promise) {
	for line := range strings.Lines(readPage(t, "proof.md")) {
		if cells := strings.Split(line, " | "); len(cells) == 3 && strings.Contains(cells[1], "`") {
			all = append(all, promise{strings.TrimPrefix(cells[0], "| "), cells[1], strings.Trim(cells[2], " |\n")})
		}
	}
	return all
}

var (
	// amount finds the words by which a promise states an amount.
	amount = regexp.MustCompile(`(?i)\b(once|nothing|at most|bound|beyond|within|linear|second|days|gigabyte|exactly|overflow|three|left alone|hour|any of|no input)\b`)
	// measured matches a figure: a text with a number, the command and the date.
	measured = regexp.MustCompile("^[^`]*[0-9][^`]*: `([^`]+)`, 20[0-9]{2}-[0-9]{2}-[0-9]{2}$")
	// testCommand matches a command that runs one test. Its folder may be given by cd, by the package or by both.
	testCommand = regexp.MustCompile(`^(?:cd (\S+) && )?(?:[A-Z_]+=\S+ )*go test (?:-\S+ )*(?:\./)?(\S+) .*?-run '?(\w+)`)
)

// TestFigures checks that each promise that states an amount has a figure: a link, or a number
// with a date and a command whose test exists.
func TestFigures(t *testing.T) {
	all, err := Find(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range promises(t) {
		m := measured.FindStringSubmatch(p.figure)
		switch word := amount.FindString(p.says); {
		case p.figure == "" && word != "":
			t.Errorf("%s\ngot  no figure\nwant one, because the promise says %q", p.says, word)
		case p.figure == "" || strings.HasPrefix(p.figure, "["): // TestLinks of docs follows the link
		case m == nil:
			t.Errorf("%s\ngot  the figure %q\nwant a number, a command and a date, or a link", p.says, p.figure)
		default:
			if c := testCommand.FindStringSubmatch(m[1]); c != nil && !all[path.Join(c[1], c[2], c[3])] {
				t.Errorf("%s\ngot  the command %q\nwant one whose test exists", p.says, m[1])
			}
		}
	}
}

var numbered = regexp.MustCompile(`(?m)^## (\d+)\. (.*)$`)

// anchors returns the anchors of the headings in docs/deviations.md, by number.
func anchors(t *testing.T) map[int]string {
	found := map[int]string{}
	for _, m := range numbered.FindAllStringSubmatch(readPage(t, "deviations.md"), -1) {
		n, _ := strconv.Atoi(m[1])
		title := strings.ToLower(m[1] + "-" + m[2])
		title = regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(title, "")
		found[n] = strings.ReplaceAll(title, " ", "-")
	}
	return found
}

// each calls f for every requirement.
func each(f func(t text, s section, r requirement)) {
	for _, t := range texts() {
		for _, s := range t.sections {
			for _, r := range s.requirements {
				f(t, s, r)
			}
		}
	}
}

// TestProofs checks that each requirement and each promise names its proofs, and that all that are named exist.
func TestProofs(t *testing.T) {
	all, err := Find(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	each(func(x text, s section, r requirement) {
		if len(r.proofs) == 0 && r.probe != nil {
			t.Errorf("%s, section %s, %q: no proof is named", x.title, s.number, r.asks)
		}
	})
	for name, page := range namedProofs(t) {
		if !all[name] {
			t.Errorf("docs/%s names %s, which is neither a test nor a topic of the vectors", page, name)
		}
	}
}

// namedInPage finds the tests that a page names, each as FOLDER `NAME`.
var namedInPage = regexp.MustCompile("([a-z/]+)\\s+`([^`]+)`")

// TestProofsRan checks that each test that a page of docs names as a proof has run and passed, by
// the output of "go test -v ./..." in the file POLITE_RAN. What was skipped, for want of a server
// for example, is listed.
func TestProofsRan(t *testing.T) {
	file := os.Getenv("POLITE_RAN")
	if file == "" {
		t.Skip("POLITE_RAN is not set: it names a file with the output of go test -v ./...")
	}
	output, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	results, err := readRan(output, "github.com/rfc9309/polite")
	if err != nil {
		t.Fatal(err)
	}
	for name, pages := range namedProofs(t) {
		switch got := results.result(name); {
		case strings.HasPrefix(name, "bench/"): // another module
		case got == "SKIP":
			t.Logf("%s was skipped: %s rests on it", name, pages)
		case got != "PASS":
			t.Errorf("%s, named by %s\ngot  %q\nwant PASS", name, pages, got)
		}
	}
}

// namedProofs returns the proofs that the pages name, each with its page.
func namedProofs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	each(func(_ text, _ section, r requirement) {
		for _, name := range r.proofs {
			all[name] = "conformance.md"
		}
	})
	for _, m := range citedProof.FindAllStringSubmatch(readPage(t, "best-practices.md"), -1) {
		all[m[1]+"/"+m[2]] = "best-practices.md"
	}
	for _, p := range promises(t) {
		for _, name := range strings.FieldsFunc(p.tests, func(c rune) bool { return strings.ContainsRune("`, ", c) }) {
			all[name] = "proof.md"
		}
	}
	for part := range strings.SplitSeq(readPage(t, "deviations.md"), "\n## ") {
		_, tests, _ := strings.Cut(part, "\nTests: ")
		for _, m := range namedInPage.FindAllStringSubmatch(tests, -1) {
			all[m[1]+"/"+m[2]] = "deviations.md"
		}
	}
	return all
}

// TestReadRan reads the output of tests that passed, failed, were skipped and did not run. A
// second run may have what the first one skipped.
func TestReadRan(t *testing.T) {
	const output = `=== RUN   TestTable
--- PASS: TestTable (0.00s)
    --- PASS: TestTable/2.4/one (0.00s)
    --- PASS: TestTable/2.4/two#01 (0.00s)
    --- FAIL: TestTable/2.4/two (0.00s)
    --- SKIP: TestTable/2.4/three (0.00s)
ok  	example.com/m/policy	1.2s
--- PASS: TestVectors (0.00s)
    --- PASS: TestVectors/2.2/eol/001/Google (0.00s)
ok  	example.com/m/matcher	(cached)
--- PASS: TestSoak (0.00s)
FAIL	example.com/m	1.2s
--- PASS: TestTable/2.4/three (0.00s)
--- SKIP: TestTable/2.4/one (0.00s)
ok  	example.com/m/policy	1.2s
`
	results, err := readRan(strings.NewReader(output), "example.com/m")
	if err != nil {
		t.Fatal(err)
	}
	for proof, want := range map[string]string{
		"policy/TestTable": "FAIL", "policy/2.4/one": "PASS", "policy/2.4/two": "FAIL", "policy/2.4/three": "PASS",
		"policy/2.4/on": "", "policy/2.4/four": "", "matcher/2.4/one": "", "vectors/2.2/eol": "PASS", "TestSoak": "PASS", "TestTable": "",
	} {
		if got := results.result(proof); got != want {
			t.Errorf("%s: got %q, want %q", proof, got, want)
		}
	}
}

// TestDeviations checks that each profile does what its text says, or that
// docs/deviations.md has the reason.
func TestDeviations(t *testing.T) {
	reasons := anchors(t)
	used := map[int]bool{}
	each(func(x text, s section, r requirement) {
		for _, n := range r.deviations {
			used[n] = true
			if reasons[n] == "" {
				t.Errorf("%s, section %s, %q: docs/deviations.md has no number %d", x.title, s.number, r.asks, n)
			}
		}
		departs := false
		for _, p := range x.follow {
			departs = departs || r.departs(p)
		}
		if departs && len(r.deviations) == 0 {
			t.Errorf("%s, section %s, %q\ngot  a departure without a reason\nwant a number in docs/deviations.md", x.title, s.number, r.asks)
		}
	})
	for n := range reasons {
		if !used[n] {
			t.Errorf("docs/deviations.md has number %d, which no line of docs/conformance.md needs", n)
		}
	}
}

// spec returns a text of the folder POLITE_SPEC as one line. If POLITE_SPEC is not
// set, the test is skipped.
func spec(t *testing.T, name string) string {
	folder := os.Getenv("POLITE_SPEC")
	if folder == "" {
		t.Skip("POLITE_SPEC is not set: it names the folder with the texts that the quotations come from")
	}
	text, err := os.ReadFile(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("POLITE_SPEC has no " + name + ": docs/data.md says where it comes from")
	}
	if err != nil {
		t.Fatal(err)
	}
	return oneLine(string(text))
}

// TestQuotations compares each quotation with its text, word for word.
func TestQuotations(t *testing.T) {
	for _, x := range texts() {
		if x.source == "" {
			continue
		}
		t.Run(x.source, func(t *testing.T) {
			text := spec(t, x.source)
			for _, s := range x.sections {
				for _, r := range s.requirements {
					if r.quote == "" || locate(text, oneLine(r.quote)) == nil {
						t.Errorf("%s, section %s\ngot  %q\nwant words of %s", x.title, s.number, r.quote, x.source)
					}
				}
			}
		})
	}
}

var phrase = regexp.MustCompile(`"([^"\s]+(?:\s+[^"\s]+){2,})"`)

// TestPhrases checks that each quotation of three or more words in
// docs/deviations.md is in a text.
func TestPhrases(t *testing.T) {
	found := phrase.FindAllStringSubmatch(readPage(t, "deviations.md"), -1)
	for _, m := range found {
		known := false
		for _, x := range texts() {
			known = known || x.source != "" && locate(spec(t, x.source), oneLine(m[1])) != nil
		}
		if !known {
			t.Errorf("docs/deviations.md\ngot  %q\nwant words of a text", m[1])
		}
	}
	if len(found) == 0 {
		t.Error("docs/deviations.md quotes nothing")
	}
}

var keyWord = regexp.MustCompile(`\b(MUST|SHOULD|MAY)\b`)

// TestKeyWords checks that every MUST, SHOULD and MAY of RFC 9309, from section 2
// on, is quoted.
func TestKeyWords(t *testing.T) {
	text := spec(t, "rfc9309.txt")
	begin := strings.LastIndex(text, "2. Specification 2.1. Protocol Definition The protocol")
	var quoted []span
	for _, s := range rfc9309() {
		for _, r := range s.requirements {
			quoted = append(quoted, locate(text, oneLine(r.quote))...)
		}
	}
	n := 0
	for _, at := range keyWord.FindAllStringIndex(text[begin:], -1) {
		n++
		if !covers(quoted, begin+at[0]) {
			t.Errorf("no line of docs/conformance.md quotes\n%q", text[begin+at[0]-80:begin+at[1]+80])
		}
	}
	if n < 30 {
		t.Errorf("got  %d key words\nwant at least 30", n)
	}
}

func covers(spans []span, pos int) bool {
	for _, s := range spans {
		if s.from <= pos && pos < s.to {
			return true
		}
	}
	return false
}

// TestLocate checks what counts as a quotation.
func TestLocate(t *testing.T) {
	text := oneLine(">> One or\n>> more lines.\n\n>> Two lines.\n")
	for _, tt := range []struct {
		quote string
		found bool
	}{
		{"One or more lines.", true},
		{"One … lines. Two", true},
		{"One or two lines.", false},
		{"Two … One", false},
	} {
		if got := locate(text, tt.quote) != nil; got != tt.found {
			t.Errorf("%q in %q\ngot  %v\nwant %v", tt.quote, text, got, tt.found)
		}
	}
}

// TestFind checks what counts as a proof.
func TestFind(t *testing.T) {
	all, err := Find(fstest.MapFS{
		"policy/a_test.go":   {Data: []byte("package p\nvar _ = []string{\"2.4/one\", `house/three`}\n")},
		"policy/a.go":        {Data: []byte("package p\nvar _ = \"2.4/two\"\n")},
		"vectors/ours.jsonl": {Data: []byte(`{"id": "rfc/2.2/eol/001"}` + "\n" + `{"id": "google/2.2/typo/001"}` + "\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(all.Lacks([]string{
		"policy/2.4/one", "policy/2.4/two", "policy/house/three", "pace/house/three", "vectors/2.2/eol", "vectors/2.2/typo",
	}), " ")
	if want := "policy/2.4/two pace/house/three vectors/2.2/typo"; got != want {
		t.Errorf("missing proofs:\ngot  %s\nwant %s", got, want)
	}
}
