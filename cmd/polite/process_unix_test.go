//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rfc9309/polite/internal/redistest"
)

// countingSite starts a site on loopback that counts its requests. With robots "" it
// never answers.
func countingSite(t *testing.T, robots string) (origin string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/robots.txt" && robots != "" {
			io.WriteString(w, robots)
			return
		}
		<-r.Context().Done() // a site that never answers
	}))
	t.Cleanup(site.Close)
	return site.URL, requests
}

// process is the program running as a child process.
type process struct {
	*exec.Cmd
	out   io.ReadCloser // standard output
	lines *bufio.Reader // reads out
	errs  bytes.Buffer  // standard error
}

func startProcess(t *testing.T, stdin string, args ...string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(program, args...)}
	p.Env = append(os.Environ(), "POLITE_TEST_MAIN=1")
	p.Stdin, p.Stderr = strings.NewReader(stdin), &p.errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out, p.lines = out, bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		out.Close()
		p.Process.Kill()
	})
	return p
}

// line returns the next line of standard output.
func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("reading standard output: %v\nstderr %s", err, &p.errs)
	}
	return line
}

// TestInterrupt interrupts a run in which one site has answered and one never will.
// The first result is printed before, and the program exits with 2 at once.
func TestInterrupt(t *testing.T) {
	for _, with := range []string{"--from", "arguments"} {
		t.Run(with, func(t *testing.T) {
			site, _ := countingSite(t, simpleRobots)
			mute, _ := countingSite(t, "")
			urls := []string{site + "/private", mute + "/a"}
			args, stdin := append([]string{"check", "--timeout", "1h"}, urls...), ""
			if with == "--from" {
				args, stdin = []string{"check", "--timeout", "1h", "--from", "-"}, strings.Join(urls, "\n")
			}
			p := startProcess(t, stdin, args...)
			if got, want := p.line(t), "DISALLOW  "+urls[0]; !strings.HasPrefix(got, want) {
				t.Errorf("first line\ngot  %q\nwant %q ...", got, want)
			}
			p.Process.Signal(os.Interrupt)
			p.Wait()
			if code := p.ProcessState.ExitCode(); code != 2 || !strings.HasPrefix(p.errs.String(), "polite: interrupted;") {
				t.Errorf("got exit %d, stderr %q; want 2 and a line that says interrupted", code, &p.errs)
			}
			summary := strings.Contains(p.errs.String(), "\n1 URL in ")
			if want := with == "--from"; summary != want {
				t.Errorf("summary: got %v, want %v, in %q", summary, want, &p.errs)
			}
		})
	}
}

// TestBrokenPipe closes the reader of the results, as "| head -1" does. The program
// must end without a message.
func TestBrokenPipe(t *testing.T) {
	site, _ := countingSite(t, simpleRobots)
	p := startProcess(t, strings.Repeat(site+"/private\n", 100_000), "check", "--from", "-")
	p.line(t)
	p.out.Close()
	err := p.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE || p.errs.Len() > 0 {
		t.Errorf("got %v, stderr %q; want an end by SIGPIPE and nothing", err, &p.errs)
	}
}

// TestStore runs a check twice with each kind of store. The second run must make no
// request and print the same.
func TestStore(t *testing.T) {
	for _, tt := range []struct {
		kind  string
		where func(t *testing.T) string
	}{
		{"file", func(t *testing.T) string { return filepath.Join(t.TempDir(), "robots.db") }},
		{"redis", func(t *testing.T) string {
			return redistest.Start(t).URL() + "/0"
		}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			where := tt.where(t)
			site, requests := countingSite(t, simpleRobots)
			for run := range 2 {
				code, out, errs := polite(t, "", "check", "--json", "--store", where, site+"/private")
				if code != 1 || !strings.Contains(out, `"line":4`) || errs != "" {
					t.Errorf("run %d: got exit %d, stdout %q, stderr %q; want 1, line 4 and nothing", run, code, out, errs)
				}
				if got := requests.Load(); got != 1 {
					t.Errorf("run %d: got %d requests in all, want 1", run, got)
				}
			}
		})
	}
}

// TestStoreDown names a server in --store that is down. There must be one warning
// and the usual decisions.
func TestStoreDown(t *testing.T) {
	site, requests := countingSite(t, simpleRobots)
	socket := filepath.Join(t.TempDir(), "none.sock")
	code, out, errs := polite(t, "", "check", "--store", "unix://"+socket, site+"/private", site+"/public")
	if code != 1 || strings.Count(out, "\n") != 2 || strings.Count(errs, "polite: the store failed ") != 1 {
		t.Errorf("got exit %d, stdout %q, stderr %q; want 1, two decisions and one warning", code, out, errs)
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("got %d requests, want 1", got)
	}
}
