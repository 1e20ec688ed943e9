package main

import (
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

// row prints the time of a task in this project, and how many times longer each peer takes for the
// jobs in which it answers as this project does. A sample goes round the jobs in their order, since
// a processor learns the branches of a file that it sees again and again.
func (b *bench) row(title, goal string, jobs []job, t task) {
	if !strings.Contains(title, b.only) {
		return
	}
	fmt.Fprintf(b.out, "%s\n", title)
	if goal != "" {
		fmt.Fprintf(b.out, "    goal: %s\n", goal)
	}
	own := b.libraries[0]
	ours := newRound(own, jobs, t)
	b.sample(ours)
	fmt.Fprintf(b.out, "    %-14s %10v a call, %.1f allocations\n", own.name, ours.fastest, allocations(own, jobs, t))
	for _, l := range b.libraries[1:] {
		b.printPeer(l, jobs, t)
	}
	fmt.Fprintln(b.out)
}

// printPeer prints how many times longer a peer takes for the jobs where its answers are the same as
// ours.
func (b *bench) printPeer(l library, jobs []job, t task) {
	var same []job
	for _, j := range jobs {
		if slices.Equal(answers(l, j), answers(b.libraries[0], j)) {
			same = append(same, j)
		}
	}
	if len(same) == 0 {
		fmt.Fprintf(b.out, "    %-14s left out: it fails or answers differently\n", l.name)
		return
	}
	ours, theirs := newRound(b.libraries[0], same, t), newRound(l, same, t)
	b.sample(ours, theirs)
	fmt.Fprintf(b.out, "    %-14s %10.1fx", l.name, float64(theirs.fastest)/float64(ours.fastest))
	if n := len(jobs) - len(same); n > 0 {
		fmt.Fprintf(b.out, "   left out because it fails or answers differently: %d of %d files", n, len(jobs))
	}
	fmt.Fprintln(b.out)
}

// A round is a task of a library with several jobs, one after another.
type round struct {
	tasks   []func()
	calls   int           // in one round
	fastest time.Duration // shortest time of a call, the mean of a sample
}

// newRound prepares a round.
func newRound(l library, jobs []job, t task) *round {
	r := &round{fastest: math.MaxInt64}
	for _, j := range jobs {
		do, n := t(l, j)
		r.tasks, r.calls = append(r.tasks, do), r.calls+n
	}
	return r
}

// do makes all calls of the round.
func (r *round) do() {
	for _, do := range r.tasks {
		do()
	}
}

// A time is the shortest of several samples. A sample is long enough for the clock and, unless
// there are many files, too short to be interrupted. Rows that take long have fewer samples.
const (
	samples   = 9
	minSample = 200 * time.Microsecond
	maxRow    = 8 * time.Second // no sample begins after it
)

// sample measures rounds side by side, so that a busy machine slows all of them.
func (b *bench) sample(rounds ...*round) {
	for _, r := range rounds {
		r.do()
	}
	begin := time.Now()
	for n := 0; n < samples && (n == 0 || time.Since(begin) < maxRow); n++ {
		for _, r := range rounds {
			r.fastest = min(r.fastest, timeOfCalls(r.do, r.calls))
		}
	}
}

// timeOfCalls returns the mean time of a call in one sample. do makes n calls.
func timeOfCalls(do func(), n int) time.Duration {
	start, calls := time.Now(), 0
	for took := time.Duration(0); ; took = time.Since(start) {
		if took >= minSample {
			return took / time.Duration(calls)
		}
		do()
		calls += n
	}
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
	fmt.Fprintf(b.out, title+"\n    goal: match at most 5 ms; first match and index at most 60 ms\n")
	fmt.Fprintf(b.out, "    %-28s %12s %12s %12s\n", "", "first", "second", "match")
	var slowest, match time.Duration
	for _, j := range jobs {
		for _, t := range j.targets {
			var ask func()
			first, second := time.Hour, time.Hour
			for range samples {
				f := matcher.Parse(j.body, matcher.Dialect{})
				ask = func() { f.Match(token, t) }
				first, second = min(first, timeOf(ask)), min(second, timeOf(ask))
			}
			m := time.Hour
			for range samples {
				m = min(m, timeOfCalls(ask, 1))
			}
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
