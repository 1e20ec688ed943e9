package display

import "fmt"

// Table is a table of a fixed width with four columns: URL, verdict, reason and
// time. The reason is folded.
type Table struct {
	Width int
	rows  []row
}

// row is one row of the table. A row without cells is a heading.
type row struct {
	heading string
	cells   []string
}

// Row adds a row. The first row names the columns.
func (t *Table) Row(url, verdict, why, when string) {
	t.rows = append(t.rows, row{cells: []string{url, verdict, why, when}})
}

// Heading adds a line above the rows that follow.
func (t *Table) Heading(s string) { t.rows = append(t.rows, row{heading: s}) }

// widths returns the widths of the columns. The third column gets the rest of the
// table's width.
func (t *Table) widths() []int {
	w := make([]int, 4)
	for _, r := range t.rows {
		for i, c := range r.cells {
			w[i] = max(w[i], Columns(c))
		}
	}
	w[2] = max(min(w[2], t.Width-w[0]-w[1]-w[3]-6), 20)
	return w
}

// Write writes the table.
func (t *Table) Write(p *Writer) {
	w := t.widths()
	for i, r := range t.rows {
		if r.cells == nil {
			fmt.Fprintf(p, "\n%s\n", p.Paint(Faint, "# "+r.heading))
			continue
		}
		url, verdict, when := r.cells[0], Pad(r.cells[1], w[1]), r.cells[3]
		if i > 0 {
			verdict = p.Verdict(r.cells[1])
		}
		for _, why := range Fold(r.cells[2], w[2]) {
			p.Line("%s  %s  %s  %s", Pad(url, w[0]), verdict, Pad(why, w[2]), when)
			url, verdict, when = "", Pad("", w[1]), ""
		}
	}
}
