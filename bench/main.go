// Command bench compares the matcher with other Go libraries on the same
// octets in one run, after it has compared their answers.
//
//	go run . [-real FOLDER [-files N]]
//
// FOLDER holds real robots.txt files, one a file. Without it, generated files
// and hostile ones are tried. Each time is the least of several short ones, so
// that a busy machine does little harm; the ratios say more than the times. A
// file on which a peer answers otherwise, or fails, is left out of its ratio,
// and the row says how many were left.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	dir := flag.String("real", "", "folder of real robots.txt files")
	files := flag.Int("files", 1000, "how many of them are tried at most, evenly drawn")
	flag.Parse()
	b := bench{out: os.Stdout, libraries: libraries()}
	silence()
	if *dir == "" {
		b.generated()
		return
	}
	jobs, err := real(*dir, *files)
	if err != nil {
		fmt.Fprintln(b.out, err)
		os.Exit(2)
	}
	b.real(jobs)
}

// silence drops what the peers print.
func silence() {
	log.SetOutput(io.Discard)
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout, os.Stderr = null, null
	}
}

// real prints the rows for real files.
func (b *bench) real(jobs []job) {
	b.row("match, real files, hit and miss", "must 8x the faster Go peer, 0 allocations; aim 15x, 150 ns", jobs, matching)
	b.row("parse and 1 match, real files", "must 4x grobotstxt, 15x temoto, 5 µs for a file of 1.8 KB", jobs, both(1))
	b.row("parse and 1,000 matches, real files", "must 8x temoto; aim 14x", every(jobs, 5), both(1000))
	b.retained(jobs)
}

// generated prints the rows for generated files.
func (b *bench) generated() {
	const flat = "must 6x the time at 10 rules at most; aim 3x"
	goals := map[string]string{
		"1000 rules, hit":              "must 20x temoto",
		"1000 rules, miss":             "must 20x temoto",
		"1000 rules, hit, wildcards":   "must 60x the faster Go peer",
		"1000 rules, miss, wildcards":  "must 150x the faster Go peer",
		"10000 rules, hit":             flat,
		"10000 rules, hit, wildcards":  flat,
		"10000 rules, miss":            flat,
		"10000 rules, miss, wildcards": flat,
	}
	for _, n := range []int{10, 100, 1000, 10000, 100000} {
		for _, j := range ruleFiles(n) {
			b.row("match, "+j.name, goals[j.name], []job{j}, matching)
		}
	}
	b.row("match, 5,000 agents", "", []job{agents()}, matching)
	b.worst(hostile())
}
