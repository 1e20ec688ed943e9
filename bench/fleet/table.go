package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/rfc9309/polite/pace"
)

// This file prints the results.

const heading = `                            straight      calls of Redis    processor time of a page, in µs       more for   cores busy with
store        proc.  pages/s     line   scripts  commands    Redis process     web     all  each process   fleet   others   alone
`

// begin prints the settings and the heading of the table.
func begin(w io.Writer, s settings) {
	fmt.Fprintf(w, "%d hosts, %v, %d requests at once, %d cores", s.hosts, s.time, s.callers, runtime.NumCPU())
	if s.rate > 0 {
		fmt.Fprintf(w, ", at most %v pages a second of each process", s.rate)
	}
	fmt.Fprint(w, "\n\n", heading)
}

// end prints what is below the table.
func end(w io.Writer, s settings, rows []row) {
	fmt.Fprintln(w)
	for i, r := range rows {
		if i+1 == len(rows) || rows[i+1].store != r.store {
			r.explain(w, first(rows, r.store), s)
		}
	}
}

// first returns the first row of a store.
func first(rows []row, store string) row {
	return rows[slices.IndexFunc(rows, func(r row) bool { return r.store == store })]
}

// print prints a row. base is the first row of the same store.
func (r row) print(w io.Writer, base row) {
	scripts := r.calls["evalsha"] + r.calls["eval"]
	commands := -scripts
	for _, n := range r.calls {
		commands += n
	}
	more := "-"
	if n := r.processes - base.processes; n > 0 {
		more = fmt.Sprintf("%+.1f", (r.each(r.all())-base.each(base.all()))/float64(n))
	}
	others := "-"
	if r.machine > 0 {
		others = fmt.Sprintf("%.2f", r.cores(max(r.machine-r.all(), 0)))
	}
	fmt.Fprintf(w, "%-12s %5d %8.0f %6.0f %% %9.2f %9.2f %8.0f %7.0f %7.0f %7.0f %13s %7.2f %8s %7d\n", r.store, r.processes, r.rate, 100*r.straight(base),
		float64(scripts)/float64(max(r.pages, 1)), float64(commands)/float64(max(r.pages, 1)),
		r.each(r.redis), r.each(r.workers), r.each(r.web), r.each(r.all()), more, r.cores(r.all()), others, r.unpaced)
}

// all is the processor time of the whole fleet, of Redis and of the web.
func (r row) all() time.Duration { return r.redis + r.workers + r.web }

// each returns the part of a processor time that is for one page, in microseconds.
func (r row) each(cpu time.Duration) float64 {
	return float64(cpu) / float64(time.Microsecond) / float64(max(r.pages, 1))
}

// cores returns how many cores a processor time kept busy.
func (r row) cores(cpu time.Duration) float64 { return float64(cpu) / float64(r.took) }

// straight returns the pages as a part of those that as many processes would fetch if each
// fetched as many as in base.
func (r row) straight(base row) float64 {
	return r.rate / base.rate * float64(base.processes) / float64(r.processes)
}

// explain says in words why the largest fleet of a store is as fast as it is.
func (r row) explain(w io.Writer, base row, s settings) {
	cores := float64(runtime.NumCPU())
	idle := cores - r.cores(max(r.machine, r.all()))
	fmt.Fprintf(w, "%s, %d: ", r.store, r.processes)
	wanted := s.rate * float64(r.processes)
	switch permitted := float64(s.hosts) / pace.Default().Gap.Seconds(); {
	case wanted > 0 && r.rate > 0.95*wanted:
		fmt.Fprintf(w, "a straight line, by -rate: %.0f of %.0f pages a second", r.rate, wanted)
	case r.processes > base.processes && r.straight(base) >= 0.9:
		fmt.Fprint(w, "a straight line")
	case r.rate > 0.9*permitted:
		fmt.Fprintf(w, "the gap at each host is the bound: it permits %.0f pages a second", permitted)
	case idle < 0.1*cores:
		fmt.Fprintf(w, "the processor is the bound: no core was idle, and the fleet had %.2f of %.0f. With %.0f µs for a page, all cores permit %.0f pages a second",
			r.cores(r.all()), cores, r.each(r.all()), 1e6*cores/r.each(r.all()))
	default:
		fmt.Fprintf(w, "the processor is not the bound: %.2f cores were idle", idle)
	}
	fmt.Fprintf(w, ".\n  %.2f fetches of robots.txt for each host.", float64(r.fetches)/float64(s.hosts))
	if r.redis > 0 {
		fmt.Fprintf(w, " One core of Redis carries %.0f pages a second.\n  Commands for a page:", 1e6/r.each(r.redis))
		for _, name := range slices.SortedFunc(maps.Keys(r.calls), func(a, b string) int { return r.calls[b] - r.calls[a] }) {
			if n := float64(r.calls[name]) / float64(max(r.pages, 1)); n >= 0.005 {
				fmt.Fprintf(w, " %s %.2f", name, n)
			}
		}
	}
	fmt.Fprint(w, "\n")
	if r.failed > 0 {
		fmt.Fprintf(w, "  %d pages failed: %.200s\n", r.failed, r.failure)
	}
}
