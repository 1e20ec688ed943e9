package conformance

import (
	"fmt"
	"strings"

	"github.com/rfc9309/polite/policy"
)

const pageHead = `# Conformance

This page is written by ` + "`go test ./internal/conformance -update`" + `. Do not edit it.

This page has a part for each text, and each part a table for each section. Each row quotes a sentence of the text,
names a case to which the sentence applies, and says what each profile does in this case. "yes" means that the profile does
what the sentence says, "**no**" that it does not. A number after "no" links to the reason in [deviations.md](deviations.md).
"defer" is complete disallow until the file can be fetched. "disallow" is what the site says.

Under each table are the tests that prove its rows, as folder and subtest. ` + "`vectors`" + ` are topics of
[vectors/ours.jsonl](../vectors/ours.jsonl), which the tests of ` + "`matcher`" + ` run.
`

// writePage returns the page. anchors has the anchors of the deviations by number.
func writePage(anchors map[int]string) string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, t := range texts() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.title, t.about)
		for _, s := range t.sections {
			if title := strings.TrimSpace(s.number + " " + s.title); title != "" {
				fmt.Fprintf(&b, "\n### %s\n", escape(title))
			}
			t.table(&b, s, anchors)
			writeProofs(&b, s)
		}
	}
	return b.String()
}

// table writes a line for each requirement and a column for each profile.
func (t text) table(b *strings.Builder, s section, anchors map[int]string) {
	cells := []string{"", "level", "the text", "the case"}
	for _, p := range t.columns {
		cells = append(cells, p.Name)
	}
	b.WriteString("\n")
	writeRow(b, cells)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
	for i, r := range s.requirements {
		cells = []string{fmt.Sprint(i + 1), r.level, quoted(r.quote), r.asks}
		for _, p := range t.columns {
			cells = append(cells, t.cell(r, p, anchors))
		}
		writeRow(b, cells)
	}
}

// cell returns what a profile does. If the profile follows the text but does not do
// what it says, the cell links to the reason.
func (t text) cell(r requirement, p *policy.Profile, anchors map[int]string) string {
	answer := r.answer(p)
	if answer == "no" {
		answer = "**no**"
	}
	if !r.departs(p) || !t.follows(p.Name) {
		return answer
	}
	for _, n := range r.deviations {
		answer += fmt.Sprintf(" [%d](deviations.md#%s)", n, anchors[n])
	}
	return answer
}

// follows reports whether a profile follows the text.
func (t text) follows(profile string) bool {
	for _, p := range t.follow {
		if p.Name == profile {
			return true
		}
	}
	return false
}

// writeProofs lists the proofs of a section's requirements.
func writeProofs(b *strings.Builder, s section) {
	b.WriteString("\nProved by\n\n")
	for i, r := range s.requirements {
		if r.probe != nil {
			fmt.Fprintf(b, "%d. %s\n", i+1, listProofs(r.proofs))
		}
	}
}

func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// quoted returns a quotation in quotation marks.
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "“" + escape(s) + "”"
}

// escape escapes the characters that have a meaning in Markdown.
var escape = strings.NewReplacer(`*`, `\*`, `_`, `\_`, `|`, `\|`, `<`, `\<`, `[`, `\[`, `]`, `\]`).Replace

// listProofs lists proofs, each after its folder.
func listProofs(proofs []string) string {
	var list []string
	for _, p := range proofs {
		folder, name, _ := strings.Cut(p, "/")
		if folder == "internal" { // each of its folders has a package
			inner, rest, _ := strings.Cut(name, "/")
			folder, name = folder+"/"+inner, rest
		}
		list = append(list, fmt.Sprintf("%s `%s`", folder, name))
	}
	return strings.Join(list, ", ")
}
