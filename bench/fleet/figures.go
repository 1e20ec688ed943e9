//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/rfc9309/polite/internal/fleettest"
	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
)

const (
	processes = 8
	warmUp    = 5 * time.Second
	// farAway is the time of a byte to a store that is 20 ms away, on each way.
	farAway = 10 * time.Millisecond
)

// hosts are the pages of n hosts.
func hosts(n int) (pages []string) {
	for i := range n {
		pages = append(pages, fmt.Sprintf("http://host%d.test/page", i))
	}
	return pages
}

// shares measures how much of what the limits permit eight processes fetch from three hosts.
func (b *bench) shares() (figures []figure) {
	for _, delay := range []time.Duration{0, farAway} {
		for _, row := range []struct {
			limits    pace.Limits
			takes     time.Duration
			permitted float64 // pages of a host in a second
			want      string
		}{
			{pace.Limits{Gap: 50 * time.Millisecond, Parallel: 1}, 5 * time.Millisecond, 20, "95 %"},
			{pace.Limits{Parallel: 2}, 300 * time.Millisecond, 2 / 0.3, "90 %"},
		} {
			const n = 3
			w := fleettest.StartWeb(b)
			w.Takes = row.takes
			store := fleettest.StartProxy(b, redistest.Start(b), delay, 0)
			fleet := w.Start(fleettest.Job{Store: store.URL(), Limits: row.limits}, processes)
			fleettest.Begin(fleet, fleettest.Task{Pages: hosts(n), Callers: 4 * n, Apart: true, For: warmUp + b.span})
			began := time.Now().Add(warmUp)
			<-time.After(time.Until(began.Add(b.span)))
			count, from := 0, map[string]bool{}
			for _, v := range w.Visits() {
				if v.Arrived.After(began) && v.Arrived.Before(began.Add(b.span)) {
					count++
					from[v.Process] = true
				}
			}
			figures = append(figures, figure{
				fmt.Sprintf("share of the limits, 8 processes, 3 hosts, gap %v, pages of %v, store %v away", row.limits.Gap, row.takes, 2*delay),
				fmt.Sprintf("%.1f %%, %d processes", 100*float64(count)/(n*row.permitted*b.span.Seconds()), len(from)), row.want,
			})
			fleettest.End(fleet)
		}
	}
	return figures
}

// alone measures one process that has all pages of a host, while others are idle. Timers fire late,
// and no later gap is shorter for that. So a loop that only sleeps for the gap runs beside.
func (b *bench) alone() []figure {
	const gap = 50 * time.Millisecond
	w := fleettest.StartWeb(b)
	w.Takes = 5 * time.Millisecond
	job := fleettest.Job{Limits: pace.Limits{Gap: gap, Parallel: 1}}
	unshared := w.Start(job, 1)[0]
	job.Store = redistest.Start(b).URL()
	fleet := w.Start(job, processes)
	fleettest.Begin(fleet[1:], fleettest.Task{Pages: []string{"http://other.test/page"}, Count: 1})
	fleettest.End(fleet[1:])
	of := func(n int, span time.Duration) float64 { return 100 * float64(n) * gap.Seconds() / span.Seconds() }
	share := func(p *fleettest.Process, page string) (pages, sleeps float64) {
		p.Begin(fleettest.Task{Pages: []string{page}, Count: 1})
		p.End()
		before := len(w.Visits())
		p.Begin(fleettest.Task{Pages: []string{page}, Callers: 4, For: b.span})
		n, began := 0, time.Now()
		for ; time.Since(began) < b.span; n++ {
			<-time.After(gap)
		}
		sleeps = of(n, time.Since(began))
		p.End()
		visits := w.Visits()[before:]
		return of(len(visits)-1, visits[len(visits)-1].Sent.Sub(visits[0].Sent)), sleeps
	}
	shared, sleeps := share(fleet[0], "http://a.test/page")
	single, others := share(unshared, "http://b.test/page")
	return []figure{{
		"share of the limits, one process of 8 has all pages of a host; without Redis",
		fmt.Sprintf("%.1f %%, %.1f %%", shared, single), fmt.Sprintf("99 %% of a loop that sleeps: %.1f %%, %.1f %%", sleeps, others),
	}}
}

// firstTurn measures how long the last of eight processes waits at a host that the others use.
func (b *bench) firstTurn() []figure {
	w := fleettest.StartWeb(b)
	w.Takes = 5 * time.Millisecond
	fleet := w.Start(fleettest.Job{Store: redistest.Start(b).URL(), Limits: pace.Limits{Gap: 50 * time.Millisecond, Parallel: 1}}, processes)
	fleettest.Begin(fleet[1:], fleettest.Task{Pages: hosts(1), Callers: 4, For: 2*warmUp + b.span})
	<-time.After(2 * warmUp)
	fleet[0].Begin(fleettest.Task{Pages: hosts(1), Count: 1})
	first := fleet[0].End().First
	return []figure{{"longest wait for the first turn at a busy host, 8 processes", first.Round(10 * time.Millisecond).String(), "8 quanta, 8s"}}
}

// A cost is what pages cost.
type cost struct {
	pages, goroutines int
	client, server    time.Duration
	calls             int
	unshared          uint64
}

// page is the cost of one page.
func (c cost) page(d time.Duration) float64 {
	return float64(d) / float64(time.Microsecond) / float64(max(c.pages, 1))
}

// compare measures a task with and without Redis. Both take turns, and the cheapest of three counts.
func (b *bench) compare(n int, before, task fleettest.Task) (shared, unshared cost) {
	task.For /= 3
	for range 3 {
		shared, unshared = shared.cheaper(b.costOf(true, n, before, task)), unshared.cheaper(b.costOf(false, n, before, task))
	}
	return shared, unshared
}

// cheaper returns the one of c and d whose pages cost the client less.
func (c cost) cheaper(d cost) cost {
	if c.pages > 0 && c.page(c.client) < d.page(d.client) {
		return c
	}
	return d
}

// costOf lets a number of processes do a task after another one, and measures it.
func (b *bench) costOf(shared bool, n int, before, task fleettest.Task) (c cost) {
	w := fleettest.StartWeb(b)
	j := fleettest.Job{}
	var srv *redistest.Server
	if shared {
		srv = redistest.Start(b)
		j.Store = srv.URL()
	}
	fleet := w.Start(j, n)
	if len(before.Pages) > 0 {
		fleettest.Begin(fleet, before)
		fleettest.End(fleet)
	}
	var calls int
	var cpu time.Duration
	if shared {
		calls, cpu = load(srv)
	}
	fleettest.Begin(fleet, task)
	for _, r := range fleettest.End(fleet) {
		if r.Failed > 0 {
			b.Fatalf("%d pages failed: %s", r.Failed, r.Failure)
		}
		c.pages += r.Pages
		c.client += r.CPU
		c.goroutines += r.Goroutines
		c.unshared += r.Stats.Pace.Unshared
	}
	if shared {
		c.calls, c.server = load(srv)
		c.calls, c.server = c.calls-calls, c.server-cpu
	}
	return c
}

var (
	scriptsOf = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`)
	secondsOf = regexp.MustCompile(`used_cpu_(?:sys|user):([\d.]+)`)
)

// load is the number of scripts that a server has run, and the processor time that it has used.
func load(s *redistest.Server) (calls int, cpu time.Duration) {
	info := s.Do("INFO", "everything")
	for _, m := range scriptsOf.FindAllStringSubmatch(info, -1) {
		n, _ := strconv.Atoi(m[1])
		calls += n
	}
	for _, m := range secondsOf.FindAllStringSubmatch(info, -1) {
		seconds, _ := strconv.ParseFloat(m[1], 64)
		cpu += time.Duration(seconds * float64(time.Second))
	}
	return calls, cpu
}

// more is how much more a page of c costs than one of base.
func (c cost) more(base cost) string {
	return fmt.Sprintf("%+.1f us, %.1f us (of %.0f)", c.page(c.client)-base.page(base.client), c.page(c.server), base.page(base.client))
}

// warmPage measures the pages of hosts that one process has leased.
func (b *bench) warmPage() []figure {
	const n = 100
	before, task := fleettest.Task{Pages: hosts(n), Callers: 8, Count: n}, fleettest.Task{Pages: hosts(n), Callers: 8, For: b.span}
	c, base := b.compare(1, before, task)
	return []figure{
		{fmt.Sprintf("calls of the store in %v, %d pages of %d leased hosts", (b.span / 3).Round(time.Millisecond), c.pages, n), fmt.Sprintf("%.4f a page", float64(c.calls)/float64(max(c.pages, 1))), "0 a page, 0.6 a second and host"},
		{"page beyond the unshared one: client, redis-server", c.more(base), "5 us, 5 us"},
	}
}

// handOver measures pages that each come from another process than the one before.
func (b *bench) handOver() []figure {
	const n = 400
	before, task := fleettest.Task{Pages: hosts(n), Callers: 8, Count: n}, fleettest.Task{Pages: hosts(n), Callers: 32, For: b.span}
	c, base := b.compare(4, before, task)
	return []figure{
		{fmt.Sprintf("the same, %d pages of %d hosts, %.2f calls a page, %d pages unshared", c.pages, n, float64(c.calls)/float64(max(c.pages, 1)), c.unshared), c.more(base), "100 us, 80 us"},
	}
}

// coldPage measures the first page of a host.
func (b *bench) coldPage() []figure {
	const n = 500
	warm, task := fleettest.Task{Pages: []string{"http://warm.test/page"}, Count: 1}, fleettest.Task{Pages: hosts(n), Count: n}
	base, c := b.costOf(false, 1, warm, task), b.costOf(true, 1, warm, task)
	each := func(c cost) float64 { return float64(c.goroutines) / float64(max(c.pages, 1)) }
	return []figure{{"goroutines started for a cold page, shared and unshared", fmt.Sprintf("%.1f, %.1f", each(c), each(base)), "12"}}
}
