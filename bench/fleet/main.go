// Command fleet crawls hosts on this machine with several processes that share a Redis
// server or a Redis Cluster, and prints what a page costs:
//
//	go run ./fleet -cluster
//
// It starts everything itself: one web server for all hosts, a redis-server or three of
// them as a cluster, and the processes, which are this program again. First each process
// reads the robots.txt of all hosts. Then all of them fetch pages for a while, and only
// that is measured. The page docs/bench.md has a table of results.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/bench/internal/child"
)

// settings are the flags.
type settings struct {
	processes []int         // sizes of the fleets
	hosts     int           // number of hosts
	time      time.Duration // how long each fleet fetches pages
	rate      float64       // most pages a second of each process; 0: as many as it can
	callers   int           // requests that a whole fleet makes at once
	cluster   bool          // measure a cluster, too
	program   string        // the Redis server
}

func main() {
	if isChild() {
		return
	}
	s := settings{processes: []int{1, 2, 4, 8}}
	flag.Func("processes", "sizes of the fleets, a `list` with commas (default 1,2,4,8)", s.setProcesses)
	flag.IntVar(&s.hosts, "hosts", 10_000, "number of `hosts`")
	flag.DurationVar(&s.time, "time", 10*time.Second, "how long each fleet fetches pages")
	flag.Float64Var(&s.rate, "rate", 0, "most `pages` a second of each process; 0: as many as it can")
	flag.IntVar(&s.callers, "callers", 256, "`requests` that a whole fleet makes at once")
	flag.BoolVar(&s.cluster, "cluster", false, "measure a cluster of three servers, too")
	flag.StringVar(&s.program, "redis-server", cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"), "`program` of the server")
	flag.Parse()
	exitOn(run(os.Stdout, s), 2)
}

// isChild reports whether this is a process of a fleet. It has then done its job.
func isChild() bool {
	var j job
	is, err := child.Job(&j)
	exitOn(err, 1)
	if is {
		exitOn(j.work(), 1)
	}
	return is
}

// exitOn ends the program if there is an error.
func exitOn(err error, status int) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(status)
	}
}

// setProcesses reads the flag -processes.
func (s *settings) setProcesses(list string) error {
	s.processes = nil
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of processes", text)
		}
		s.processes = append(s.processes, n)
	}
	return nil
}

// check refuses settings that have no meaning.
func (s settings) check() error {
	if s.hosts < 1 || s.time <= 0 || s.rate < 0 || s.callers < 1 {
		return errors.New("-hosts, -time and -callers must be positive, and -rate must not be negative")
	}
	if _, err := exec.LookPath(s.program); err != nil {
		return fmt.Errorf("there is no Redis server on this machine: %w; -redis-server names one", err)
	}
	return nil
}

// run measures all fleets and prints the results.
func run(w io.Writer, s settings) error {
	if err := s.check(); err != nil {
		return err
	}
	_, err := measureAll(w, s)
	return err
}

// store is where the processes of a fleet keep what they share.
type store struct {
	name    string
	servers int // 0: nothing is shared; more than 1: a cluster
}

// measureAll measures a process without Redis, and then each fleet. It prints each row
// when it has it, and the reasons last.
func measureAll(w io.Writer, s settings) (rows []row, err error) {
	stores := []store{{"one server", 1}}
	if s.cluster {
		stores = append(stores, store{"cluster", 3})
	}
	begin(w, s)
	if rows, err = measureStore(w, s, store{"no Redis", 0}, []int{1}); err != nil {
		return nil, err
	}
	for _, st := range stores {
		more, err := measureStore(w, s, st, s.processes)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	end(w, s, rows)
	return rows, nil
}

// measureStore measures the fleets of one store.
func measureStore(w io.Writer, s settings, st store, sizes []int) (rows []row, err error) {
	for _, n := range sizes {
		r, err := measure(s, st, n)
		if err != nil {
			return nil, fmt.Errorf("%s, %d: %w", st.name, n, err)
		}
		rows = append(rows, r)
		r.print(w, rows[0])
	}
	return rows, nil
}
