package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// This file prints the results.

// add adds the counts of a day to the sums of the days before.
func (t *counts) add(d counts) {
	for _, sum := range []struct {
		to   *int
		more int
	}{
		{&t.visits, d.visits}, {&t.pages, d.pages}, {&t.disallowed, d.disallowed}, {&t.deferred, d.deferred}, {&t.late, d.late},
		{&t.hits, d.hits}, {&t.fetches, d.fetches}, {&t.requests, d.requests}, {&t.hostDays, d.hostDays},
		{&t.steadyFetches, d.steadyFetches}, {&t.steadyDays, d.steadyDays}, {&t.downFetches, d.downFetches}, {&t.downDays, d.downDays},
		{&t.gaps, d.gaps}, {&t.wrong, d.wrong},
	} {
		*sum.to += sum.more
	}
	for i, n := range d.causes {
		t.causes[i] += n
	}
	t.bytes = max(t.bytes, d.bytes)
}

// ratio is a divided by b.
func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

// total returns the counts of all days.
func (c *crawl) total() (all counts) {
	for _, d := range c.days {
		all.add(d)
	}
	return all
}

const heading = `                                                                    fetches for a host and day      from    too
  day  decisions      pages disallowed  deferred   no turn    fetches     all  steady shorter trouble   memory  early  wrong     MiB
`

// table returns the results. The seed decides all of them but the memory in use.
func (c *crawl) table() string {
	var b strings.Builder
	b.WriteString(heading)
	for i, d := range c.days {
		d.print(&b, fmt.Sprint(i+1))
	}
	all := c.total()
	all.print(&b, "all")
	fmt.Fprintf(&b, `
robots.txt, for each host and each day on which it is visited: %.3f fetches (goal 1.05), %.3f requests with redirects and second tries
    where nothing expires within a day: %.3f fetches (goal 1.00)
    over all hosts and all days: %.3f fetches
%sdecisions that the oracle does not make: %d of %d (goal 0)
requests before their turn: %d of %d (goal 0)
decisions without a fetch: %.1f %%
memory: %d of at most %d MiB, %.1f KiB a host; %s
package pace: at most %d authorities at one time, %d forgotten early
`, ratio(all.fetches, all.hostDays), ratio(all.requests, all.hostDays), ratio(all.steadyFetches, all.steadyDays), ratio(all.fetches, c.settings.hosts*c.settings.days), all.reasons(),
		all.wrong, all.visits, all.gaps, all.pages+all.requests, 100*ratio(all.hits, all.visits),
		all.bytes>>20, c.bytes>>20, float64(all.bytes)/1024/float64(c.settings.hosts), map[bool]string{true: "copies were dropped early", false: "nothing was dropped early"}[c.evicts],
		c.paced, c.forgotten)
	for _, w := range c.wrongs {
		fmt.Fprintf(&b, "WRONG: %.1000s\n", w)
	}
	return b.String()
}

// reasons describes the causes of the fetches.
func (t counts) reasons() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the %.3f fetches by their causes:\n", ratio(t.fetches, t.hostDays))
	for i, text := range [causes]string{
		"    %.3f the first fetch on a day\n",
		"    %.3f the memory had dropped a record that was current\n",
		"    %.3f once more on a day: the fetch before had failed\n",
		"    %.3f once more on a day: the answer had declared less than a day\n",
		"    %.3f once more on a day: an HTML page, used for an hour\n",
		"    %.3f once more on a day: a refusal or a circle of redirects, used for an hour\n",
	} {
		fmt.Fprintf(&b, text, ratio(t.causes[i], t.hostDays))
	}
	return b.String()
}

// print prints a row.
func (t counts) print(b io.Writer, name string) {
	other, otherDays := t.fetches-t.steadyFetches-t.downFetches, t.hostDays-t.steadyDays-t.downDays
	fmt.Fprintf(b, "%5s %10d %10d %10d %9d %9d %10d %7.3f %7.3f %7.3f %7.3f %6.1f %% %6d %6d %7d\n", name, t.visits, t.pages, t.disallowed, t.deferred, t.late,
		t.fetches, ratio(t.fetches, t.hostDays), ratio(t.steadyFetches, t.steadyDays), ratio(other, otherDays), ratio(t.downFetches, t.downDays),
		100*ratio(t.hits, t.visits), t.gaps, t.wrong, t.bytes>>20)
}

// String returns the shares, the largest first.
func (u usage) String() string {
	sum := 0.0
	for _, v := range u {
		sum += v
	}
	names := slices.SortedFunc(maps.Keys(u), func(a, b string) int { return int(u[b] - u[a]) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %.0f %%", n, 100*u[n]/sum)
	}
	return strings.Join(names, ", ")
}

// cost describes the processor time of a replay, and the memory of the process.
func (c *crawl) cost(took time.Duration, spent *profile.Profile) string {
	all := c.total()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf(`processor time: %v, %v a decision; %v
    in Admit alone, for a decision without a fetch: %s
the process: at most %d MiB from the operating system
`, took.Round(time.Second/10), each(took, all.visits), usageOf(spent), perSecond(timeIn(spent, ".(*crawl).admitKnown"), all.hits), m.Sys>>20)
}

// each returns the time of one of n.
func each(took time.Duration, n int) time.Duration {
	return (took / time.Duration(max(n, 1))).Round(10 * time.Nanosecond)
}

// perSecond describes the time of one of n, and how many a second and core have.
func perSecond(took time.Duration, n int) string {
	if took == 0 {
		return "too little to measure"
	}
	return fmt.Sprintf("%v, %.2f million a second and core (goal 1)", each(took, n), 1e3*float64(n)/float64(took))
}
