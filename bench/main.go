// Command bench compares the matcher with other Go libraries on the same
// octets in one run, after it has compared their answers.
//
//	go run . -real FOLDER
//
// FOLDER holds real robots.txt files, one a file; without it generated files are
// tried. Trust the ratios, not the times.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/rfc9309/polite/matcher"
)

func main() {
	dir := flag.String("real", "", "folder of real robots.txt files")
	span := flag.Duration("t", 200*time.Millisecond, "time for one figure")
	flag.Parse()
	b := bench{span: *span, libraries: libraries()}
	hits, misses := generated()
	if *dir != "" {
		jobs, err := real(*dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		b.real(jobs)
		return
	}
	b.matches("match, generated", append(hits, misses...))
	b.matches("match, 5,000 agents", []job{agents()})
	b.parses("parse, 1,000 rules", []job{hits[len(hits)/2]})
	b.worst(hostile())
}

func matcherGroup(body []byte) *matcher.Group {
	return matcher.Parse(body, matcher.Dialect{}).Group(token)
}

// bench measures libraries against each other.
type bench struct {
	span      time.Duration
	libraries []library
}

// cost is what one call takes.
type cost struct {
	time   time.Duration
	allocs float64
}

// measure calls do, which makes n calls, until the time is up, thrice, and
// returns the cost of one call in the best of them.
func (b *bench) measure(n int, do func()) cost {
	best := cost{time: time.Hour}
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start, rounds := time.Now(), 0
		for ; rounds == 0 || time.Since(start) < b.span/3; rounds++ {
			do()
		}
		took := time.Since(start) / time.Duration(rounds*n)
		runtime.ReadMemStats(&after)
		best = min2(best, cost{took, float64(after.Mallocs-before.Mallocs) / float64(rounds*n)})
	}
	return best
}

func min2(a, b cost) cost {
	if b.time < a.time {
		return b
	}
	return a
}

// matches compares questions to parsed files. A peer that answers otherwise
// than this project is not timed for that file.
func (b *bench) matches(title string, jobs []job) {
	fmt.Printf("\n%s\n", title)
	for _, j := range jobs {
		fmt.Printf("  %-28s", j.name)
		var ours cost
		var want []bool
		for _, l := range b.libraries {
			if l.name == "grobotstxt" && len(j.body) > 100<<10 {
				continue
			}
			_, allowed := l.parse(j.body)
			if allowed == nil {
				fmt.Printf("  %s: no answer", l.name)
				continue
			}
			var got []bool
			for _, t := range j.targets {
				allowed(t)
				got = append(got, allowed(t))
			}
			if want == nil {
				want = got
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				fmt.Printf("  %s: differs", l.name)
				continue
			}
			c := b.measure(len(j.targets)*100, func() {
				for range 100 {
					for _, t := range j.targets {
						allowed(t)
					}
				}
			})
			ours = b.print(l, c, ours)
		}
		fmt.Println()
	}
}

// print prints the cost of a library, and how many times ours it is.
func (b *bench) print(l library, c, ours cost) cost {
	if l.name == "polite" {
		fmt.Printf("  %v %.1f allocs", c.time, c.allocs)
		return c
	}
	fmt.Printf("  %s %.1fx", l.name, float64(c.time)/float64(ours.time))
	return ours
}

// parses compares reading files.
func (b *bench) parses(title string, jobs []job) {
	fmt.Printf("\n%s\n  ", title)
	octets := 0
	for _, j := range jobs {
		octets += len(j.body)
	}
	var ours cost
	for _, l := range b.libraries[:3] {
		c := b.measure(len(jobs), func() {
			for _, j := range jobs {
				l.parse(j.body)
			}
		})
		if l.name == "polite" {
			fmt.Printf("%.0f MB/s", float64(octets)/float64(len(jobs))/c.time.Seconds()/1e6)
		}
		ours = b.print(l, c, ours)
	}
	fmt.Println()
}

// worst prints the times of hostile files, ours alone.
func (b *bench) worst(jobs []job) {
	fmt.Printf("\nhostile files\n  %-30s %12s %12s %12s\n", "", "parse", "first match", "match")
	for _, j := range jobs {
		for _, t := range j.targets {
			parse := b.measure(1, func() { matcher.Parse(j.body, matcher.Dialect{}) })
			f := matcher.Parse(j.body, matcher.Dialect{})
			start := time.Now()
			f.Match(token, t)
			f.Match(token, t)
			first := time.Since(start) / 2
			match := b.measure(1, func() { f.Match(token, t) })
			fmt.Printf("  %-30s %12v %12v %12v\n", j.name, parse.time, first, match.time)
		}
	}
}
