package main

import (
	"fmt"
	"strings"
)

// table is a table of four columns that keeps to a width: the third is folded.
type table struct {
	width int
	rows  []tableRow
}

// tableRow is a row, or a heading if it has no cells.
type tableRow struct {
	heading string
	cells   []string
}

func (t *table) head(cells ...string) { t.rows = append(t.rows, tableRow{cells: cells}) }
func (t *table) row(cells ...string)  { t.rows = append(t.rows, tableRow{cells: cells}) }
func (t *table) heading(s string)     { t.rows = append(t.rows, tableRow{heading: s}) }

// widths are those of the columns; the third gets what is left.
func (t *table) widths() []int {
	w := make([]int, 4)
	for _, r := range t.rows {
		for i, c := range r.cells {
			w[i] = max(w[i], columns(c))
		}
	}
	w[2] = max(min(w[2], t.width-w[0]-w[1]-w[3]-6), 20)
	return w
}

func (t *table) write(p *paper) {
	w := t.widths()
	for i, r := range t.rows {
		if r.cells == nil {
			fmt.Fprintf(p, "\n%s\n", p.paint(faint, "# "+r.heading))
			continue
		}
		for n, why := range fold(r.cells[2], w[2]) {
			url, word, when := r.cells[0], r.cells[1], r.cells[3]
			if n > 0 {
				url, word, when = "", "", ""
			}
			verdict := fmt.Sprintf("%-*s", w[1], word)
			if i > 0 && n == 0 {
				verdict = p.verdict(word)
			}
			line := fmt.Sprintf("%-*s  %s  %-*s  %s", w[0], url, verdict, w[2], why, when)
			p.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
}
