package conformance

import (
	"fmt"
	"strings"

	"github.com/rfc9309/polite/policy"
)

// profiles returns the columns of every table.
func profiles() []*policy.Profile {
	return []*policy.Profile{
		policy.RFC9309(), policy.Strict(), policy.Google(), policy.Google2019(), policy.Draft2019(), policy.Koster1996(),
	}
}

const head = `# Conformance to RFC 9309

Written by ` + "`go test ./internal/conformance -update`" + `: do not edit.

Each table gives the requirements of one section in a few words, and what each profile answers when it is put to the case.
"yes" means that it does what the sentence says, "**no**" that it does not. "defer" is complete disallow that ends when the
file can be had, "disallow" is final. A profile that departs from the RFC does so because the text it follows does; package
` + "`policy`" + ` says which that is.

Under each table stand the tests that prove its lines, as folder and subtest; ` + "`vectors`" + ` are topics of
[vectors/ours.jsonl](../vectors/ours.jsonl), which the tests of ` + "`matcher`" + ` go through.
`

// write makes the page.
func write() string {
	var b strings.Builder
	b.WriteString(head)
	for _, c := range clauses() {
		fmt.Fprintf(&b, "\n## %s %s\n\n", c.number, c.title)
		c.table(&b)
		b.WriteString("\nProved by\n\n")
		for i, r := range c.requirements {
			fmt.Fprintf(&b, "%d. %s\n", i+1, cite(r.proofs))
		}
	}
	return b.String()
}

// table writes a line for each requirement, a column for each profile.
func (c clause) table(b *strings.Builder) {
	cells := []string{"", "level", "requirement"}
	for _, p := range profiles() {
		cells = append(cells, p.Name)
	}
	line(b, cells)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
	for i, r := range c.requirements {
		cells = []string{fmt.Sprint(i + 1), r.level, r.text}
		for _, p := range profiles() {
			cells = append(cells, stress(r.probe(p)))
		}
		line(b, cells)
	}
}

func line(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

// cite lists proofs, each behind its folder.
func cite(proofs []string) string {
	var list []string
	for _, p := range proofs {
		folder, name, _ := strings.Cut(p, "/")
		list = append(list, fmt.Sprintf("%s `%s`", folder, name))
	}
	return strings.Join(list, ", ")
}

// stress makes a no stand out: that is where a profile departs from the RFC.
func stress(answer string) string {
	if answer == "no" {
		return "**no**"
	}
	return answer
}
