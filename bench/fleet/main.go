//go:build unix

// Command fleet measures what it costs that processes share hosts by Redis:
//
//	go run ./fleet
//
// It starts everything itself: a web server for all hosts, a redis-server, and the processes,
// which are this program again. The page docs/bench.md has a table of results.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/rfc9309/polite/internal/fleettest"
)

func main() {
	fleettest.RunWorker()
	span := flag.Duration("time", 20*time.Second, "how long each figure is measured")
	only := flag.String("only", "", "`name` of the only figures to measure: share, alone, first, warm, hand or cold")
	flag.Parse()
	if err := run(os.Stdout, *span, *only); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(2)
	}
}

// A figure is a row of the table.
type figure struct {
	name, value, want string
}

// measurements measure some figures each.
var measurements = []struct {
	name    string
	measure func(b *bench) []figure
}{
	{"share", (*bench).shares},
	{"alone", (*bench).alone},
	{"first", (*bench).firstTurn},
	{"warm", (*bench).warmPage},
	{"hand", (*bench).handOver},
	{"cold", (*bench).coldPage},
}

// run measures all figures and prints each when it has it.
func run(w io.Writer, span time.Duration, only string) error {
	fmt.Fprintf(w, "%d cores, %v for each figure\n\n", runtime.NumCPU(), span)
	for _, m := range measurements {
		if only != "" && only != m.name {
			continue
		}
		figures, err := measure(m.measure, span)
		if err != nil {
			return err
		}
		for _, f := range figures {
			fmt.Fprintf(w, "%-84s %-28s want %s\n", f.name, f.value, f.want)
		}
	}
	return nil
}

// A bench is what one measurement needs. It is the test for packages fleettest and redistest.
type bench struct {
	span    time.Duration
	cleanup []func()
}

// failure is the panic by which Fatalf ends a measurement.
type failure struct{ error }

// measure makes a measurement and then ends its processes and servers.
func measure(f func(*bench) []figure, span time.Duration) (figures []figure, err error) {
	b := &bench{span: span}
	defer func() {
		for _, f := range slices.Backward(b.cleanup) {
			f()
		}
		switch x := recover().(type) {
		case nil:
		case failure:
			err = x.error
		default:
			panic(x)
		}
	}()
	return f(b), nil
}

func (b *bench) Helper()                           {}
func (b *bench) Cleanup(f func())                  { b.cleanup = append(b.cleanup, f) }
func (b *bench) Skip(args ...any)                  { b.Fatalf("%s", fmt.Sprint(args...)) }
func (b *bench) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (b *bench) TempDir() string {
	dir, err := os.MkdirTemp("", "polite-fleet")
	if err != nil {
		b.Fatalf("%v", err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
