// Package table has the decision table as data. The tests of package policy run its
// rows, and docs/conformance.md cites them as policy/NAME.
package table

import (
	_ "embed"
	"strings"
)

//go:embed table.txt
var text string

// Row is a row of the decision table.
type Row struct {
	Profile string // name of the profile
	Name    string // the clause and a description, such as "2.3.1.3/404_allows"
	Steps   string // one step per line
}

// Rows returns the rows of the table in order.
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
