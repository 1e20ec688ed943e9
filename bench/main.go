// Command bench compares the matcher with other Go libraries on the same files. It
// first compares their answers, and then their times in the same run.
//
//	go run . [-real FOLDER [-files N]] [-only WORDS] [-driver 'NAME=command args']... | -search TIME
//
// FOLDER has real robots.txt files. Without it the files are generated, and some of
// them are hostile. Each time is the shortest of several short samples, so that a
// busy machine changes it little. The ratios are more reliable than the times. A sample
// goes round all files of a row in a random order: a processor learns the branches of a
// file that is matched again and again, and takes three quarters of the time. If a
// peer fails on a file or answers differently, the file is left out of the peer's
// ratio, and the row says how many files were left out.
//
// With -search, bench tries random hostile files and changes the worst of them, for a while. It
// prints the longest times that it has found, and how the files were made.
//
// A driver is another program, which answers for a library in any language. The type
// driver describes the protocol. If there are drivers, only drivers are measured: this
// project and the Go libraries answer over a pipe, too. The time of the pipe alone is
// measured with a driver that reads nothing, the echo, and is taken off. Beside the times
// are the vectors of class rfc that a driver answers as they say.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
)

func main() {
	dir := flag.String("real", "", "folder of real robots.txt files")
	files := flag.Int("files", 1000, "how many of them are used at most, drawn at random")
	only := flag.String("only", "", "print only the rows whose title contains these `words`")
	search := flag.Duration("search", 0, "search so long for the file and the target that take the matcher longest")
	var programs drivers
	flag.Var(&programs, "driver", "`NAME=command args` of a program that answers for a library; may be repeated")
	name := flag.String("answer", "", "be the driver of the Go `library`: polite, temoto, benjaminestes, grobotstxt or echo")
	flag.Parse()
	if *name != "" {
		if err := answerFor(*name, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	b := bench{out: os.Stdout, libraries: libraries(), only: *only}
	silence()
	if *search > 0 {
		b.search(*search)
		return
	}
	if err := b.run(*dir, *files, programs); err != nil {
		fmt.Fprintln(b.out, err)
		os.Exit(2)
	}
}

// run prints the rows for real files or for generated ones, or the rows of drivers.
func (b *bench) run(dir string, files int, programs drivers) (err error) {
	var jobs []job
	if dir != "" {
		if jobs, err = realFiles(dir, files); err != nil {
			return err
		}
	}
	switch {
	case len(programs) > 0 && dir == "":
		return b.drive(programs, slices.Concat(ruleFiles(10), ruleFiles(100), ruleFiles(1000)))
	case len(programs) > 0:
		return b.drive(programs, jobs)
	case dir == "":
		b.generated()
	default:
		b.real(jobs)
	}
	return nil
}

// silence discards the output of the peers.
func silence() {
	log.SetOutput(io.Discard)
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout, os.Stderr = null, null
	}
}

// real prints the rows for real files.
func (b *bench) real(jobs []job) {
	b.row("match, real files, hit and miss", "at least 6x the faster Go peer, 0 allocations", jobs, matching)
	b.row("parse and 1 match, real files", "at least 4x grobotstxt and 10x temoto", jobs, parsingAndMatching(1))
	b.row("parse and 1,000 matches, real files", "at least 8x temoto; better 14x", everyNth(jobs, max(5, len(jobs)/200)), parsingAndMatching(1000))
	b.retained(jobs)
}

// generated prints the rows for generated files.
func (b *bench) generated() {
	const flat = "at most 6x the time at 10 rules; better 3x"
	goals := map[string]string{
		"1000 rules, hit":              "at least 20x temoto",
		"1000 rules, miss":             "at least 20x temoto",
		"1000 rules, hit, wildcards":   "at least 60x the faster Go peer",
		"1000 rules, miss, wildcards":  "at least 150x the faster Go peer",
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
