//go:build !wasm

package disk

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childFile is the environment variable that names the file for a child process of TestKill.
const childFile = "POLITE_DISK_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		writeUntilKilled(path)
	}
	os.Exit(m.Run())
}

// The child prints one of these before the number of a value.
const (
	afterPut = "put"
	inFile   = "written"
)

// killKeys is the number of keys that the child puts in turn.
const killKeys = 200

func killKey(n int) string { return fmt.Sprintf("https://host%d.example", n%killKeys) }

// killValue returns the value of the nth Put. Some values are small, others have many pages.
func killValue(n int) string {
	return strconv.Itoa(n) + strings.Repeat("\nDisallow: /"+killKey(n), 1+n%11*(n%97))
}

// writeUntilKilled puts values without end. It prints the number of each value after its Put, and again when it is in
// the file.
func writeUntilKilled(path string) {
	s, err := Open(path, &Options{Wait: 10 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s.commit = func(entries map[string][]byte) error {
		err := s.writeAll(entries)
		for _, e := range entries {
			if number, _, _ := strings.Cut(string(e[8:]), "\n"); err == nil { // behind the time of expiry
				fmt.Println(inFile, number)
			}
		}
		return err
	}
	first, _ := strconv.Atoi(os.Getenv(childFile + "_FROM"))
	for n := first; ; n++ {
		if err := s.Put(context.Background(), killKey(n), []byte(killValue(n)), time.Hour); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(afterPut, n)
		<-time.After(200 * time.Microsecond)
	}
}

// TestKill kills processes that write to a store. Each may lose only what it had not yet written to the file, and must
// leave a valid file. (That a value is in the file within a second is checked in virtual time.)
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robots.db")
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	safe := make([]int, killKeys) // for each key, the last value that must be in the file
	next := 1
	for round := range rounds {
		said := killAfter(t, path, next, time.Duration(300+rand.IntN(1500))*time.Millisecond)
		if len(said) == 0 {
			t.Fatalf("round %d: the child put nothing", round)
		}
		for _, line := range said {
			if line.word == inFile {
				safe[line.n%killKeys] = max(safe[line.n%killKeys], line.n)
			}
			next = max(next, line.n+1)
		}
		checkAfterKill(t, path, safe, next)
	}
}

// checkAfterKill checks the value of each key. It must be one that was put, and not older than the safe one.
func checkAfterKill(t *testing.T, path string, safe []int, next int) {
	t.Helper()
	s := opened(t, path)
	defer s.Close()
	kept := 0
	for k, least := range safe {
		got, err := s.Get(t.Context(), killKey(k))
		if err != nil {
			if least != 0 {
				t.Errorf("%s: %v, want value %d or later", killKey(k), err, least)
			}
			continue
		}
		kept++
		number, _, _ := strings.Cut(string(got), "\n")
		// The child may have been killed before it printed the number of its last Put.
		if n, _ := strconv.Atoi(number); n < least || n > next || n%killKeys != k || string(got) != killValue(n) {
			t.Errorf("%s: value %.40q, want one of %d to %d", killKey(k), got, least, next)
		}
	}
	t.Logf("%d of %d keys have a value, next is %d", kept, len(safe), next)
}

type said struct {
	word string
	n    int
}

// killAfter runs a child, and kills it some time after it began to print. It returns what the child printed.
func killAfter(t *testing.T, path string, from int, life time.Duration) (all []said) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childFile+"="+path, fmt.Sprintf("%s_FROM=%d", childFile, from))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, number, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.Atoi(number); err == nil {
			if all = append(all, said{word, n}); len(all) == 1 {
				time.AfterFunc(life, func() { child.Process.Kill() })
			}
		}
	}
	child.Wait()
	return all
}
