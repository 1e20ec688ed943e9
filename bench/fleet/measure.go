package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/bench/internal/child"
	"github.com/rfc9309/polite/bench/internal/cputime"
	"github.com/rfc9309/polite/bench/internal/redisd"
)

// This file runs a fleet and measures it.

// row is what was measured of one fleet while it fetched pages.
type row struct {
	store     string         // name of the store
	processes int            // of the fleet
	pages     int            // fetched
	failed    int            // pages that were not fetched
	failure   string         // why one of them was not
	rate      float64        // pages a second
	took      time.Duration  // the longest of any process
	calls     map[string]int // of Redis commands
	redis     time.Duration  // processor time of the Redis servers
	workers   time.Duration  // processor time of the processes
	web       time.Duration  // processor time of the web server
	machine   time.Duration  // processor time of all programs on the machine; 0: not known
	fetches   int            // of robots.txt, from the start of the processes on
	unpaced   int            // turns that Redis did not decide about, from then on, too
}

// usage is what has been used so far.
type usage struct {
	calls               map[string]int
	redis, web, machine time.Duration
}

// longest bounds how long a fleet may take beyond the time that is measured.
const longest = 5 * time.Minute

// measure runs a fleet of n processes.
func measure(s settings, st store, n int) (row, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.time+longest)
	defer cancel()
	redis, err := redisd.Start(s.program, st.servers)
	if err != nil {
		return row{}, err
	}
	defer redis.Stop()
	web := startWeb()
	defer web.Close()
	j := job{
		Store: redis.URL(), Web: web.Listener.Addr().String(),
		Hosts: s.hosts, Time: s.time, Rate: s.rate, Callers: max(s.callers/n, 1),
	}
	var workers []*child.Process
	for range n {
		w, err := child.Start(ctx, j)
		if err != nil {
			return row{}, err
		}
		defer w.Stop()
		workers = append(workers, w)
	}
	for _, w := range workers {
		if err := w.Receive(new(ready)); err != nil {
			return row{}, err
		}
	}
	before, err := used(redis)
	if err != nil {
		return row{}, err
	}
	for _, w := range workers {
		if err := w.Continue(); err != nil {
			return row{}, err
		}
	}
	r := row{store: st.name, processes: n}
	for _, w := range workers {
		if err := r.add(w); err != nil {
			return row{}, err
		}
	}
	after, err := used(redis)
	r.spend(before, after)
	return r, err
}

// add adds the report of a process.
func (r *row) add(w *child.Process) error {
	var from report
	if err := w.Receive(&from); err != nil {
		return err
	}
	r.pages += from.Pages
	r.failed += from.Failed
	if from.Failure != "" {
		r.failure = from.Failure
	}
	r.rate += float64(from.Pages) / from.Took.Seconds()
	r.took = max(r.took, from.Took)
	r.workers += from.CPU
	r.fetches += int(from.Fetches)
	r.unpaced += int(from.Unpaced)
	return nil
}

// used returns what has been used so far.
func used(redis redisd.Servers) (u usage, err error) {
	u.web, u.machine = cputime.Used(), machineTime()
	u.calls, u.redis, err = redis.Load()
	return u, err
}

// spend enters what was used between two moments.
func (r *row) spend(before, after usage) {
	r.calls = after.calls
	for name, n := range before.calls {
		r.calls[name] -= n
	}
	r.redis, r.web, r.machine = after.redis-before.redis, after.web-before.web, after.machine-before.machine
}

// machineTime returns the processor time of all programs, as Linux counts it; 0 on other
// systems.
func machineTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int
	for i, word := range strings.Fields(line) {
		// Fields 4 and 5 are idle time, and 9 and 10 are part of 1 and 2.
		if n, err := strconv.Atoi(word); err == nil && i != 4 && i != 5 && i < 9 {
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
