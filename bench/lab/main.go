// Command lab replays a week of a crawl on one machine, in virtual time, through the
// real packages fetcher, policy, matcher and pace and the real memory of the fetcher:
//
//	POLITE_CORPUS=FOLDER go run ./lab -hosts 1000000
//
// FOLDER has real robots.txt files. Without it the web consists of the small files of
// the folder vectors. The page docs/lab.md describes the web and the table, and has the
// results of large runs.
//
// The time is the fake clock of testing/synctest, which exists only in a test. So the
// command runs its replay as one.
package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rfc9309/polite/bench/internal/cputime"
)

func main() {
	var s settings
	mib := int64(0)
	flag.IntVar(&s.hosts, "hosts", 100_000, "number of `hosts`, up to 100 million")
	flag.IntVar(&s.days, "days", 7, "`days` that are replayed, up to 8")
	flag.Float64Var(&s.pages, "pages", 2, "`pages` that are wanted of a host, on average")
	flag.Uint64Var(&s.seed, "seed", 1, "`number` that decides the web and the visits")
	flag.Int64Var(&mib, "memory", 0, "most `MiB` of the memory for robots.txt; 0: 3 KiB for each host, and 64 MiB at least")
	flag.DurationVar(&s.least, "least", time.Minute, "shortest `time` that a copy is used, Profile.Fresh.Min")
	flag.IntVar(&s.restart, "restart", 50_000, "number of `hosts` of the restart, which runs in real time")
	flag.Parse()
	s.bytes, s.progress = mib<<20, os.Stderr
	if err := s.check(); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(2)
	}
	everything := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "Lab", F: func(t *testing.T) { fmt.Print(run(t, s)) }}}, nil, nil)
}

// check refuses settings that have no meaning.
func (s settings) check() error {
	switch {
	case s.hosts < 1 || s.hosts > 100_000_000:
		return fmt.Errorf("-hosts is %d; want 1 to 100000000", s.hosts)
	case s.days < 1 || s.days > 8:
		return fmt.Errorf("-days is %d; want 1 to 8", s.days)
	case s.pages <= 0 || s.least <= 0 || s.bytes < 0 || s.restart < 0:
		return fmt.Errorf("-pages, -least, -memory and -restart must be positive")
	}
	return nil
}

// run replays a crawl and returns the results. A wrong decision or a violation fails
// the test.
func run(t *testing.T, s settings) string {
	files, note, err := readFiles()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{seed: s.seed, files: files, span: time.Duration(s.days) * day}
	var c *crawl
	start := cputime.Used()
	spent, err := profiled(func() { c = replay(t, w, s) })
	took := cputime.Used() - start
	if err != nil {
		t.Fatal(err)
	}
	if all := c.total(); all.wrong+all.gaps > 0 {
		t.Errorf("%d wrong decisions and %d requests before their turn, want 0", all.wrong, all.gaps)
	}
	text := fmt.Sprintf("%d hosts, %d days, %v pages of a host, seed %d, copies used for %v at least\n%s\n\n%s%s",
		s.hosts, s.days, s.pages, s.seed, s.least, note, c.table(), c.cost(took, spent))
	if s.restart == 0 {
		return text
	}
	r, err := restarts(w, min(s.restart, s.hosts))
	if err != nil {
		t.Fatal(err)
	}
	if r.requests > 0 {
		t.Errorf("%d requests for robots.txt after a restart, want 0", r.requests)
	}
	return text + r.String()
}
