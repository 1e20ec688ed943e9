// Package table states the decision table as data. The tests of package policy
// play its rows, and docs/conformance.md cites them as policy/NAME.
package table

import (
	_ "embed"
	"strings"
)

//go:embed table.txt
var text string

// Row is a sentence of the decision table.
type Row struct {
	Profile string // the name of the profile that reads the answers
	Name    string // the clause, and what the row is about
	Steps   string // one step a line
}

// Rows returns the table in its order.
func Rows() []Row {
	var rows []Row
	for line := range strings.Lines(text) {
		switch profile, name, _ := strings.Cut(strings.TrimSpace(line), " "); {
		case profile == "" || line[0] == '#':
		case line[0] == '\t':
			rows[len(rows)-1].Steps += line
		default:
			rows = append(rows, Row{Profile: profile, Name: name})
		}
	}
	return rows
}
