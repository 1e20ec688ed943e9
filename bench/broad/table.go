package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// This file prints the results.

const heading = "                          processor         allo-  connec-   hand-  look-     re-           gorou-  memory    kept   first\n" +
	"                           time, µs  ratio cations   tions  shakes    ups  quests    bytes   tines      MB   bytes page, ms\n"

// print prints a scenario. Goroutines and memory are of the whole process, the other figures
// of one host.
func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "%s: %d hosts, %d at once, best of %d rounds, %d cores\n%s", r.Scenario, r.Hosts, r.Workers, r.Rounds, runtime.NumCPU(), heading)
	base := r.Rows[r.beside].Report
	for _, row := range r.Rows {
		if row.Skipped != "" {
			fmt.Fprintf(w, "  %-22s skipped: %s\n", row.Client, row.Skipped)
			continue
		}
		p := row.Report
		each := func(n int64) float64 { return float64(n) / float64(r.Hosts) }
		fmt.Fprintf(w, "  %-22s %10.1f %5.2fx %7.0f %7.2f %7.2f %6.2f %7.2f %8.0f %7d %7.0f %7.0f %8.1f\n", row.Client,
			r.cpu(p), float64(p.CPU)/float64(base.CPU), each(int64(p.Allocs)), each(p.Connections), each(p.Handshakes), each(p.Lookups+p.Dials),
			each(p.Requests), each(p.Bytes), p.Goroutines, float64(p.Memory)/(1<<20), each(int64(p.Kept)), milliseconds(p.First))
		if p.Failed > 0 {
			fmt.Fprintf(w, "  %-22s %d pages failed: %.200s\n", "", p.Failed, p.Failure)
		}
	}
	fmt.Fprintln(w)
}

// cpu returns the processor time of a host in microseconds.
func (r result) cpu(p report) float64 {
	return float64(p.CPU) / float64(time.Microsecond) / float64(r.Hosts)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// summarize prints the scenarios of the usual clients again, a figure of each client in a
// line, and last the ratio of Polite to the wrapper.
func summarize(w io.Writer, results []result) {
	results = slices.DeleteFunc(slices.Clone(results), func(r result) bool { return len(r.Rows) != len(usual) })
	if len(results) == 0 {
		return
	}
	fmt.Fprintf(w, "%-32s", "a host")
	for _, name := range usual {
		fmt.Fprintf(w, " %18s", name)
	}
	fmt.Fprintf(w, " %8s\n", "ratio")
	line := func(r result, what string, figure func(report) float64) {
		fmt.Fprintf(w, "%-32s", r.Scenario+what)
		for _, row := range r.Rows {
			fmt.Fprintf(w, " %18.4g", figure(row.Report))
		}
		at := func(client string) float64 { return figure(r.Rows[slices.Index(usual, client)].Report) }
		fmt.Fprintf(w, " %7.2fx\n", at(polite)/at(temoto))
	}
	for _, r := range results {
		if r.rtt > 0 {
			line(r, ", first page, ms", func(p report) float64 { return milliseconds(p.First) })
			continue
		}
		line(r, ", µs", r.cpu)
		line(r, ", connections", func(p report) float64 { return float64(p.Connections) / float64(r.Hosts) })
	}
}
