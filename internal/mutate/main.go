// Command mutate measures what the tests of a package notice. It changes one token of the package at a time, an
// operator, a constant or a condition, and runs the package's short tests on the changed package:
//
//	go run ./internal/mutate [-n 200] [-seed 1] [-timeout 1m] [-skip TESTS] PACKAGE...
//	go run ./internal/mutate -at 'policy/fresh.go:57:' ./policy
//
// A change is noticed if a test fails, or if the tests do not end in time. A change that does not compile is not counted.
// The command prints each change that no test notices, with its position and the changed line. Such a change is a gap of the
// tests, or it changes no result: for example < and <= where both sides are never equal, or the size of a buffer. The file
// equivalent.txt lists changes of the second kind, each with the reason. If no test notices one of them, it is counted apart.
// With -n the command makes a random choice of changes, by -seed. After Ctrl-C it prints the counts so far.
// The sources are not changed. On Unix a test may use 4 GiB of address space, because some changes use up the memory.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	n := flag.Int("n", 0, "number of changes in each package, chosen at random; 0 for all")
	seed := flag.Uint64("seed", 1, "what the random choice depends on")
	timeout := flag.Duration("timeout", time.Minute, "longest run of the tests")
	skip := flag.String("skip", "^$", "tests that are skipped, as in go test -skip, because they are slow")
	at := flag.String("at", "", "only the changes whose position matches this regular expression")
	flag.Parse()
	log.SetFlags(0)
	where, err := regexp.Compile(*at)
	if err != nil {
		log.Fatal(err)
	}
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, pkg := range flag.Args() {
		r := runner{pkg: pkg, temp: temp, timeout: *timeout, skip: *skip}
		if err := r.run(ctx, *n, *seed, where); err != nil {
			log.Print(err)
		}
	}
}

// An outcome is what the tests say about a change.
type outcome string

const (
	invalid  outcome = "does not compile"
	noticed  outcome = "noticed"
	endless  outcome = "noticed by the timeout"
	survived outcome = "survived"
	listed   outcome = "survived and is listed in equivalent.txt"
)

// A runner tests the changes of one package.
type runner struct {
	pkg     string        // as the go command names it
	dir     string        // folder of the package
	temp    string        // folder for the changed files and the test binaries
	timeout time.Duration // longest run of the tests
	skip    string        // tests that are skipped
}

// run tests n random changes, or all if n is 0, until ctx ends. It prints the survivors and the counts.
func (r *runner) run(ctx context.Context, n int, seed uint64, at *regexp.Regexp) error {
	files, err := r.list()
	if err != nil {
		return err
	}
	var all []change
	for _, f := range files {
		found, err := changes(filepath.Join(r.dir, f))
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	possible, equivalents := len(all), readEquivalents(equivalentText)
	for _, key := range outdated(equivalents, all, filepath.Base(r.dir)) {
		fmt.Printf("equivalent.txt has a line that names no change: %s\n", key)
	}
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = slices.DeleteFunc(all, func(c change) bool { return !at.MatchString(c.position()) })
	if n == 0 {
		n = len(all)
	}
	counts := map[outcome]int{} // a change that does not compile makes room for another
	for tested := 0; tested < n+counts[invalid] && tested < len(all) && ctx.Err() == nil; {
		batch := all[tested:min(n+counts[invalid], len(all))]
		tested += len(batch)
		if err := r.testAll(ctx, batch, equivalents, counts); err != nil {
			return err
		}
	}
	seen, total := counts[noticed]+counts[endless], counts[noticed]+counts[endless]+counts[survived]
	fmt.Printf("%s: %d of %d changes noticed (%.1f %%), %d of them by the timeout; %d more change no result; %d did not compile; %d are possible\n",
		r.pkg, seen, total, 100*float64(seen)/float64(max(total, 1)), counts[endless], counts[listed], counts[invalid], possible)
	return nil
}

// testAll tests changes, two at the same time, and counts the outcomes. It prints the survivors that are not listed.
func (r *runner) testAll(ctx context.Context, batch []change, equivalents map[string]string, counts map[outcome]int) error {
	var mu sync.Mutex // guards counts
	var g errgroup.Group
	g.SetLimit(2)
	for _, c := range batch {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			o, err := r.test(ctx, c)
			if err != nil || ctx.Err() != nil {
				return err
			}
			if o == survived && equivalents[c.key()] != "" {
				o = listed
			}
			mu.Lock()
			defer mu.Unlock()
			if counts[o]++; o == survived {
				fmt.Printf("%s: %s\n", c, c.line())
			}
			return nil
		})
	}
	return g.Wait()
}

// list finds the folder and the Go files of the package.
func (r *runner) list() ([]string, error) {
	out, err := exec.Command("go", "list", "-json=Dir,GoFiles", r.pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", r.pkg, err)
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	err = json.Unmarshal(out, &p)
	r.dir = p.Dir
	return p.GoFiles, err
}

// test builds the tests with the change and runs them.
func (r *runner) test(ctx context.Context, c change) (outcome, error) {
	temp, err := os.MkdirTemp(r.temp, "")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	changed, overlay, binary := filepath.Join(temp, "changed.go"), filepath.Join(temp, "overlay.json"), filepath.Join(temp, "test.exe")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {c.file: changed}})
	if err := errors.Join(err, os.WriteFile(changed, c.apply(), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	if exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, r.pkg).Run() != nil {
		return invalid, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	arguments := []string{binary, "-test.short", "-test.failfast", "-test.skip", r.skip}
	if runtime.GOOS != "windows" {
		arguments = append([]string{"sh", "-c", `ulimit -v 4194304; exec "$0" "$@"`}, arguments...)
	}
	tests := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	tests.Dir = r.dir
	switch err := tests.Run(); {
	case err == nil:
		return survived, nil
	case ctx.Err() != nil:
		return endless, nil
	}
	return noticed, nil
}
