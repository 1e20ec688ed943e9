package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/bench/internal/vectors"
)

// This file measures drivers.

const (
	questions = 200 // of one measurement of a match
	driven    = 3   // samples of a time
)

// A score is what a driver did. Times are by job, and -1 for a job that it failed or
// answered differently from this project.
type score struct {
	process
	whole   []time.Duration // of a file and one question
	match   []time.Duration // of one of many questions
	rights  int             // vectors that it answered as they say
	vectors int
	trouble string // the first failure
}

// drive prints the results of all drivers. This project, its Go peers and the echo are
// among them, each in a process of its own.
func (b *bench) drive(programs drivers, jobs []job) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	list, note, err := readVectors()
	if err != nil {
		return err
	}
	all := drivers{{"echo", []string{self, "-answer", "echo"}}}
	for _, l := range b.libraries {
		all = append(all, driver{l.name, []string{self, "-answer", l.name}})
	}
	var scores []*score
	for _, d := range append(all, programs...) {
		s := &score{process: process{driver: d, patience: patience}}
		s.run(jobs, list, b.libraries[0], d.name == "echo")
		scores = append(scores, s)
	}
	fmt.Fprintf(b.out, "drivers: %d files, times without the time of the pipe, which the echo has; %s\n", len(jobs), note)
	fmt.Fprintf(b.out, "    %-16s %14s %8s %14s %8s %10s %16s\n", "", "file, 1 match", "ratio", "match", "ratio", "left out", "vectors")
	for _, s := range scores {
		s.print(b, scores[0], scores[1])
	}
	return nil
}

// run measures a driver. The echo's answers are not compared.
func (s *score) run(jobs []job, list []vectors.Vector, own library, echo bool) {
	defer func() { s.stop(false) }()
	for _, j := range jobs {
		whole, match, err := s.measure(j, own, echo)
		if err != nil {
			s.trouble, whole, match = cmp.Or(s.trouble, err.Error()), -1, -1
		}
		s.whole, s.match = append(s.whole, whole), append(s.match, match)
	}
	for _, v := range list {
		if v.Class != "rfc" {
			continue
		}
		s.vectors++
		answer, err := s.do(1, fileRequest(v.File()), askRequest(v.Agent, []string{v.URL}))
		if err != nil {
			s.trouble = cmp.Or(s.trouble, err.Error())
		} else if (answer == "1") == v.Allowed {
			s.rights++
		}
	}
}

// errDiffers is the error of a driver that answers differently from this project.
var errDiffers = errors.New("answered differently")

// measure returns the times of a driver for a file.
func (s *score) measure(j job, own library, echo bool) (whole, match time.Duration, err error) {
	var urls, many []string
	for _, t := range j.targets {
		urls = append(urls, "https://example.com"+t)
	}
	for len(many) < questions {
		many = append(many, urls...)
	}
	file := fileRequest(j.body)
	answer, err := s.do(len(urls), file, askRequest(token, urls))
	if err != nil {
		return 0, 0, err
	}
	allowed := own.parse(j.body, token)
	for i, t := range j.targets {
		if !echo && allowed(t) != (answer[i] == '1') {
			return 0, 0, errDiffers
		}
	}
	if whole, err = s.fastest(1, file, askRequest(token, urls[:1])); err != nil {
		return 0, 0, err
	}
	if match, err = s.fastest(len(many), askRequest(token, many)); err != nil {
		return 0, 0, err
	}
	return whole, match / time.Duration(len(many)), nil
}

// fastest returns the shortest time of requests with n answers.
func (s *score) fastest(n int, requests ...string) (time.Duration, error) {
	best := time.Duration(math.MaxInt64)
	for range driven {
		start := time.Now()
		if _, err := s.do(n, requests...); err != nil {
			return 0, err
		}
		best = min(best, time.Since(start))
	}
	return best, nil
}

// print prints the row of a driver. Own is this project.
func (s *score) print(b *bench, echo, own *score) {
	whole, wholeRatio, n := compare(s.whole, echo.whole, own.whole)
	match, matchRatio, _ := compare(s.match, echo.match, own.match)
	vectors := fmt.Sprintf("%d of %d", s.rights, s.vectors)
	if s == echo {
		whole, match, vectors = mean(s.whole), mean(s.match), ""
	}
	fmt.Fprintf(b.out, "    %-16s %14v %8s %14v %8s %10d %16s", s.name, whole.Round(10*time.Nanosecond), wholeRatio, match, matchRatio, len(s.whole)-n, vectors)
	if s.trouble != "" {
		fmt.Fprintf(b.out, "   %s", s.trouble)
		if s.failures > 0 {
			fmt.Fprintf(b.out, " (%d failures)", s.failures)
		}
	}
	fmt.Fprintln(b.out)
}

// mean returns the mean time.
func mean(times []time.Duration) (sum time.Duration) {
	for _, t := range times {
		sum += t
	}
	return sum / time.Duration(max(len(times), 1))
}

// compare returns the mean time of a driver, and how many times longer it is than ours,
// both without the time of the pipe and for the n jobs that all of them did.
func compare(times, pipe, ours []time.Duration) (each time.Duration, ratio string, n int) {
	var sum, own time.Duration
	for i, t := range times {
		if t >= 0 && pipe[i] >= 0 && ours[i] >= 0 {
			n++
			sum += t - pipe[i]
			own += ours[i] - pipe[i]
		}
	}
	if n == 0 || own <= 0 || sum <= 0 {
		return sum / time.Duration(max(n, 1)), "-", n
	}
	return sum / time.Duration(n), fmt.Sprintf("%.1fx", float64(sum)/float64(own)), n
}

// readVectors reads the project's own vectors, and the vectors of other implementations if
// POLITE_CONFORMANCE names their folder.
func readVectors() (list []vectors.Vector, note string, err error) {
	list, err = vectorsOf(filepath.Join("..", "vectors", "ours.jsonl"))
	folder := os.Getenv("POLITE_CONFORMANCE")
	if folder == "" || err != nil {
		return list, "vectors of this project alone, since POLITE_CONFORMANCE names no folder with others", err
	}
	more, err := vectorsOf(filepath.Join(folder, "peers.jsonl"))
	return append(list, more...), "vectors of this project and of POLITE_CONFORMANCE", err
}

// vectorsOf reads a file of vectors. It leaves out those that the lines of a driver cannot
// carry.
func vectorsOf(name string) ([]vectors.Vector, error) {
	list, err := vectors.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("run this command in the folder bench: %w", err)
	}
	return slices.DeleteFunc(list, func(v vectors.Vector) bool { return v.URL == "" || strings.ContainsAny(v.URL, "\r\n") }), err
}
