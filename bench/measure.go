package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/matcher"
)

// bench measures libraries against each other.
type bench struct {
	out       io.Writer
	libraries []library // this project first
	samples   int       // samples of each time; 0: manySamples
	only      string    // only rows whose title contains it are printed
}

// A task prepares a measurement of a library with a file. do makes n calls.
type task func(l library, j job) (do func(), n int)

// matching returns the task to match all targets with a parsed file.
func matching(l library, j job) (func(), int) {
	allowed := l.parse(j.body, token)
	return func() {
		for _, t := range j.targets {
			allowed(t)
		}
	}, len(j.targets)
}

// parsingAndMatching returns the task to parse a file and match n targets.
func parsingAndMatching(n int) task {
	return func(l library, j job) (func(), int) {
		return func() {
			allowed := l.parse(j.body, token)
			for i := range n {
				allowed(j.targets[i%len(j.targets)])
			}
		}, 1
	}
}

// row prints the time of a task in this project, and the ratio of each peer's time.
func (b *bench) row(title, goal string, jobs []job, t task) {
	if !strings.Contains(title, b.only) {
		return
	}
	fmt.Fprintf(b.out, "%s\n", title)
	if goal != "" {
		fmt.Fprintf(b.out, "    goal: %s\n", goal)
	}
	times := make([][]time.Duration, len(b.libraries)) // by library and job; 0: left out
	for i := range times {
		times[i] = make([]time.Duration, len(jobs))
	}
	for i, j := range jobs {
		ours := answers(b.libraries[0], j)
		for k, l := range b.libraries { // one after another, so that a busy machine slows all of them
			if slices.Equal(answers(l, j), ours) {
				times[k][i] = b.fastest(t(l, j))
			}
		}
	}
	b.printOurs(jobs, t, times[0])
	for k, l := range b.libraries[1:] {
		b.printPeer(l.name, times[k+1], times[0])
	}
	fmt.Fprintln(b.out)
}

// printOurs prints the time and the allocations of a task in this project.
func (b *bench) printOurs(jobs []job, t task, times []time.Duration) {
	var sum time.Duration
	for _, d := range times {
		sum += d
	}
	fmt.Fprintf(b.out, "    %-14s %10v a call, %.1f allocations\n", "polite", sum/time.Duration(len(jobs)), allocations(b.libraries[0], jobs, t))
}

// printPeer prints how many times longer a peer takes, for the jobs where its
// answers are the same as ours.
func (b *bench) printPeer(name string, times, ours []time.Duration) {
	var mine, theirs time.Duration
	compared := 0
	for i, d := range times {
		if d > 0 {
			compared++
			mine += ours[i]
			theirs += d
		}
	}
	if compared == 0 {
		fmt.Fprintf(b.out, "    %-14s left out: it fails or answers differently\n", name)
		return
	}
	fmt.Fprintf(b.out, "    %-14s %10.1fx", name, float64(theirs)/float64(mine))
	if compared < len(times) {
		fmt.Fprintf(b.out, "   left out because it fails or answers differently: %d of %d files", len(times)-compared, len(times))
	}
	fmt.Fprintln(b.out)
}

// answers returns a library's answers for all targets, each twice. It returns nil if
// the library fails.
func answers(l library, j job) (list []bool) {
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	allowed := l.parse(j.body, token)
	if allowed == nil {
		return nil
	}
	for range 2 {
		for _, t := range j.targets {
			list = append(list, allowed(t))
		}
	}
	return list
}

// A time is the shortest of several samples. A sample is long enough for the clock
// and usually too short to be interrupted. Of more than manyFiles files, no single one
// weighs much, so that fewer samples will do.
const (
	manySamples = 7
	fewSamples  = 4
	manyFiles   = 1000
	sample      = 200 * time.Microsecond
)

// fastest returns the shortest time of one call. do makes n calls.
func (b *bench) fastest(do func(), n int) time.Duration {
	do()
	best := time.Duration(math.MaxInt64)
	for range cmp.Or(b.samples, manySamples) {
		start, rounds := time.Now(), 0
		var took time.Duration
		for took < sample {
			do()
			rounds++
			took = time.Since(start)
		}
		best = min(best, took/time.Duration(rounds*n))
	}
	return best
}

// allocations returns the average number of allocations per call, over all jobs.
func allocations(l library, jobs []job, t task) float64 {
	calls, n := 0, uint64(0)
	var before, after runtime.MemStats
	for _, j := range jobs {
		do, of := t(l, j)
		do()
		do()
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		calls += of
		n += after.Mallocs - before.Mallocs
	}
	return float64(n) / float64(calls)
}

// worst prints the times for hostile files, and the longest of them.
func (b *bench) worst(jobs []job) {
	const title = "hostile files of up to 500 KiB, targets of 2 KiB"
	if !strings.Contains(title, b.only) {
		return
	}
	fmt.Fprintf(b.out, title+"\n    goal: match at most 3 ms; first match and index at most 15 ms\n")
	fmt.Fprintf(b.out, "    %-28s %12s %12s %12s\n", "", "first", "second", "match")
	var slowest, match time.Duration
	for _, j := range jobs {
		for _, t := range j.targets {
			var ask func()
			first, second := time.Hour, time.Hour
			for range manySamples {
				f := matcher.Parse(j.body, matcher.Dialect{})
				ask = func() { f.Match(token, t) }
				first, second = min(first, timeOf(ask)), min(second, timeOf(ask))
			}
			m := b.fastest(ask, 1)
			fmt.Fprintf(b.out, "    %-28s %12v %12v %12v\n", j.name, first, second, m)
			slowest, match = max(slowest, first, second), max(match, m)
		}
	}
	fmt.Fprintf(b.out, "    %-28s %12v %12s %12v\n", "the longest", slowest, "", match)
}

// timeOf returns the time of one call.
func timeOf(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// retained prints the memory of files after one match, and the memory of their groups
// alone, both divided by the number of bytes read.
func (b *bench) retained(jobs []job) {
	const title = "memory retained after one match, divided by the bytes read"
	if !strings.Contains(title, b.only) {
		return
	}
	fmt.Fprintln(b.out, title)
	raw := 0
	for _, j := range jobs {
		raw += len(j.body)
	}
	files, groups := make([]*matcher.File, len(jobs)), make([]*matcher.Group, len(jobs))
	start := heap()
	for i, j := range jobs {
		files[i] = matcher.Parse(j.body, matcher.Dialect{})
		groups[i] = files[i].Group(token)
		groups[i].Match("/")
	}
	both := heap() - start
	clear(files)
	fmt.Fprintf(b.out, "    files %.2f, groups alone %.2f\n", float64(both)/float64(raw), float64(heap()-start)/float64(raw))
	runtime.KeepAlive(groups)
	runtime.KeepAlive(files)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
