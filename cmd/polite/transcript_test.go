package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rfc9309/polite/internal/httptest"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// TestTranscripts plays testdata/*.txt: a line that begins with "$ " is a
// command, and what follows is what it must say, with "! " before lines of
// standard error and the exit code at the end unless it is 0. Besides polite,
// whose input may come from a file of testdata as in "< urls.txt", there are
//
//	$ wait 3m       the time passes
//	$ requests      what has reached the web since the last time
//	$ terminal 80   from here on both outputs are a terminal of 80 columns
//	$ env TERM=dumb the environment
//
// The web is that of newWeb, and each transcript has one of its own.
func TestTranscripts(t *testing.T) { playAll(t, "testdata/*.txt", nil) }

// playAll plays the transcripts of a pattern, on terminals if there are some.
func playAll(t *testing.T, pattern string, terminals func(t *testing.T, columns int) *terminal) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s := &stage{t: t, web: newWeb(t), folder: folder, terminals: terminals}
				got := s.play(string(text))
				if *update {
					if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if got != string(text) {
					t.Errorf("%s: %s", name, difference(got, string(text)))
				}
			})
		})
	}
}

// difference tells of the first line that is not as it should be.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	command := ""
	for i := range min(len(g), len(w)) {
		if strings.HasPrefix(w[i], "$ ") {
			command = w[i]
		}
		if g[i] != w[i] {
			return fmt.Sprintf("line %d, %s\ngot  %s\nwant %s", i+1, command, g[i], w[i])
		}
	}
	return fmt.Sprintf("the first %d lines are the same\ngot  %d lines\nwant %d lines", min(len(g), len(w)), len(g), len(w))
}

// stage is where a transcript plays.
type stage struct {
	t        *testing.T
	web      *httptest.Web
	folder   string // stands for $TMP
	requests int    // told already

	terminals func(t *testing.T, columns int) *terminal
	columns   int // of the terminal; 0 for none
}

// terminal is one that a test reads.
type terminal struct {
	*os.File               // what the program writes to
	text     func() string // ends it, and returns what was written
}

// play runs the commands of a transcript and returns it with what they say.
func (s *stage) play(script string) string {
	var out strings.Builder
	remarked := true
	for line := range strings.Lines(script) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		remark := strings.HasPrefix(line, "# ")
		if !ok && !remark {
			continue
		}
		if !remarked {
			out.WriteByte('\n')
		}
		out.WriteString(line)
		if remarked = remark; ok {
			out.WriteString(s.run(command))
		}
	}
	return out.String()
}

func (s *stage) run(command string) string {
	words := split(command)
	switch words[0] {
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d)
		return ""
	case "env":
		name, value, _ := strings.Cut(words[1], "=")
		s.t.Setenv(name, value)
		return ""
	case "terminal":
		columns, err := strconv.Atoi(words[1])
		if err != nil || s.terminals == nil {
			s.t.Fatalf("%s: %v", command, err)
		}
		s.columns = columns
		return ""
	case "requests":
		return s.arrived()
	case "polite":
		return s.polite(words[1:])
	}
	s.t.Fatalf("no such command: %s", command)
	return ""
}

// arrived lists the requests that have not been listed yet, sorted.
func (s *stage) arrived() string {
	var lines []string
	all := s.web.Requests()
	for _, r := range all[s.requests:] {
		lines = append(lines, r.String()+"\n")
	}
	s.requests = len(all)
	slices.Sort(lines) // sites are asked in parallel
	return strings.Join(lines, "")
}

// polite runs the program with the test's web in place of the world's.
func (s *stage) polite(args []string) string {
	var stdin io.Reader = strings.NewReader("")
	if n := len(args); n > 1 && args[n-2] == "<" {
		text, err := os.ReadFile(filepath.Join("testdata", args[n-1]))
		if err != nil {
			s.t.Fatal(err)
		}
		stdin, args = bytes.NewReader(text), args[:n-2]
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$TMP", s.folder)
	}
	c := &cli{in: stdin, now: time.Now, base: s.web.Transport()}
	var said string
	var code int
	if s.columns > 0 {
		on := s.terminals(s.t, s.columns)
		c.out, c.err = on.File, on.File
		code = c.run(s.t.Context(), args)
		said = on.text()
	} else {
		var out, errs bytes.Buffer
		c.out, c.err = &out, &errs
		code = c.run(s.t.Context(), args)
		said = out.String()
		for line := range strings.Lines(errs.String()) {
			said += strings.TrimRight("! "+line, " \n") + "\n"
		}
	}
	s.tame(said)
	if code != 0 {
		said += fmt.Sprintf("(exit %d)\n", code)
	}
	return strings.ReplaceAll(said, s.folder, "$TMP")
}

// tame holds all that is written to what may reach a terminal.
func (s *stage) tame(text string) {
	for i, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || r == utf8.RuneError) {
			s.t.Errorf("octet %d is %q, in %q", i, r, text[max(i-40, 0):min(i+40, len(text))])
			return
		}
	}
}

// split parts a command at spaces outside single quotes.
func split(command string) []string {
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
