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

// killKeys is the number of keys that the child puts in turn.
const killKeys = 200

func killKey(n int) string { return fmt.Sprintf("https://host%d.example", n%killKeys) }

// killValue returns the value of the nth Put. Some values are small, others have many pages.
func killValue(n int) string {
	return strconv.Itoa(n) + strings.Repeat("\nDisallow: /"+killKey(n), 1+n%11*(n%97))
}

// writeUntilKilled puts values without end. It prints the number of each value after its Put.
func writeUntilKilled(path string) {
	s, err := Open(path, &Options{Wait: 10 * time.Second})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	first, _ := strconv.Atoi(os.Getenv(childFile + "_FROM"))
	for n := first; ; n++ {
		if err := s.Put(context.Background(), killKey(n), []byte(killValue(n)), time.Hour); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(n)
		<-time.After(200 * time.Microsecond)
	}
}

// TestKill kills processes that write to a store. Each may lose only the writes of its last second, and must leave a
// valid file.
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
		killed := said[len(said)-1].at
		for _, put := range said {
			if killed.Sub(put.at) > time.Second {
				safe[put.n%killKeys] = put.n
			}
			next = put.n + 1
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
	n  int
	at time.Time
}

// killAfter runs a child for a time and kills it. It returns the numbers that the child printed, with the times.
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
	defer time.AfterFunc(life, func() { child.Process.Kill() }).Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if n, err := strconv.Atoi(lines.Text()); err == nil {
			all = append(all, said{n, time.Now()})
		}
	}
	child.Wait()
	return all
}
