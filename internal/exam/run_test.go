package exam

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain runs as a crawler if a test has started this binary for that. The crawler reads
// its start pages as its first argument says.
func TestMain(m *testing.M) {
	how, crawls := os.LookupEnv("EXAM_CRAWLER")
	if !crawls {
		os.Exit(m.Run())
	}
	args := os.Args[1:]
	switch how {
	case "file":
		text, err := os.ReadFile(args[0])
		if err != nil {
			panic(err)
		}
		args = strings.Fields(string(text))
	case "idle":
		fmt.Println("nothing\x1b[31m to do")
		return
	case "endless": // with a child that would outlive it
		child := exec.Command(os.Args[0], args...)
		child.Env = append(os.Environ(), "EXAM_CRAWLER=listening")
		child.Stderr = os.Stderr
		child.Start()
		faults{}.crawl(args)
		select {}
	case "listening":
		l, _ := net.Listen("tcp", os.Getenv("EXAM_CHILD"))
		defer l.Close()
		select {}
	}
	faults{}.crawl(args)
}

// TestRun runs crawlers as processes.
func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, how string
		command   []string
		ended     string // how the report says that the run ended
		err       string // beginning of the error
	}{
		{"urls", "", []string{self, "{urls}"}, "ended by itself", ""},
		{"file", "file", []string{self, "{file}"}, "ended by itself", ""},
		{"seed", "", []string{self, "{seed}"}, "ended by itself", ""},
		{"no_start", "", []string{self, "urls"}, "", "the command does not say where the crawler starts"},
		{"no_program", "", []string{self + "-nope", "{urls}"}, "", "the crawler could not be started"},
		{"no_request", "idle", []string{self, "{urls}"}, "", `the crawler requested nothing, and ended by itself; it printed "nothing?[31m to do"`},
		{"quiet", "endless", []string{self, "{urls}"}, "was ended after 2s without a request", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Setenv("EXAM_CHILD", free.Addr().String())
			free.Close()
			t.Setenv("EXAM_CRAWLER", tt.how)
			e, err := Open(Options{Only: []string{"2.2.1/star"}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			r, err := e.Run(t.Context(), Run{Command: tt.command, Limit: time.Minute, Quiet: 2 * time.Second})
			switch {
			case err != nil || tt.err != "":
				if err == nil || tt.err == "" || !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("got  error %v\nwant %q", err, tt.err)
				}
			case r.Ended != tt.ended || r.Failed() || len(r.named(NotExercised)) > 0:
				t.Errorf("got  %q and %s\nwant %q and everything passed", r.Ended, r.Summary(), tt.ended)
			}
			if c, err := net.Dial("tcp", os.Getenv("EXAM_CHILD")); err == nil {
				c.Close()
				t.Error("a child of the crawler is left")
			}
		})
	}
}

// TestLimit checks that a crawler is ended at the limit, that a page which it has not
// requested by then is no failure, and that an interrupted exam ends it, too.
func TestLimit(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("EXAM_CRAWLER", "endless")
	e, err := Open(Options{Only: []string{"2.2.1/star"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r, err := e.Run(t.Context(), Run{Command: []string{self, "{urls}"}, Limit: 2 * time.Second, Quiet: time.Minute})
	if err != nil || r.Ended != "was ended after 2s" {
		t.Errorf("got %v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := e.Run(ctx, Run{Command: []string{self, "{urls}"}, Limit: time.Minute, Quiet: time.Minute}); err != context.DeadlineExceeded {
		t.Errorf("got %v, want the error of the context", err)
	}
}
