package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rfc9309/polite/internal/httptest"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts plays testdata/*.txt. A line that begins with "$ " is a command.
// The lines after it are the expected output. Lines of standard error begin with
// "! ", and the exit code follows at the end unless it is 0. The standard input of
// polite may come from a file in testdata: "< urls.txt". The other commands are
//
//	$ wait 3m       let time pass
//	$ requests      print the requests since the last "$ requests"
//	$ terminal 80   make both outputs a terminal of 80 columns from here on
//	$ env TERM=dumb set an environment variable
//
// newWeb makes a new web for each transcript.
func TestTranscripts(t *testing.T) { playAll(t, "testdata/*.txt", nil) }

// playAll plays the transcripts that match a pattern. terminals opens a terminal,
// and is nil if the transcripts use none.
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
				p := &player{t: t, web: newWeb(t), folder: folder, terminals: terminals}
				got := p.play(string(text))
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

// difference describes the first line that differs.
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

// player plays one transcript.
type player struct {
	t        *testing.T
	web      *httptest.Web
	folder   string // the value of $TMP
	requests int    // number of requests that were printed already

	terminals func(t *testing.T, columns int) *terminal
	columns   int // width of the terminal, 0 for none
}

// terminal is a pseudo terminal whose output a test reads.
type terminal struct {
	*os.File               // the program writes to this end
	text     func() string // closes the terminal and returns the output
}

// play runs the commands of a transcript and returns the transcript with the actual
// output.
func (p *player) play(script string) string {
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
			out.WriteString(p.run(command))
		}
	}
	return out.String()
}

func (p *player) run(command string) string {
	words := splitCommand(command)
	switch words[0] {
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			p.t.Fatal(err)
		}
		time.Sleep(d)
		return ""
	case "env":
		name, value, _ := strings.Cut(words[1], "=")
		p.t.Setenv(name, value)
		return ""
	case "terminal":
		columns, err := strconv.Atoi(words[1])
		if err != nil || p.terminals == nil {
			p.t.Fatalf("%s: %v", command, err)
		}
		p.columns = columns
		return ""
	case "requests":
		return p.newRequests()
	case "polite":
		return p.polite(words[1:])
	}
	p.t.Fatalf("no such command: %s", command)
	return ""
}

// newRequests lists the requests that have not been listed yet, sorted.
func (p *player) newRequests() string {
	var lines []string
	all := p.web.Requests()
	for _, r := range all[p.requests:] {
		lines = append(lines, r.String()+"\n")
	}
	p.requests = len(all)
	slices.Sort(lines) // their order varies, because sites are checked in parallel
	return strings.Join(lines, "")
}

// polite runs the program with the test's web.
func (p *player) polite(args []string) string {
	var stdin io.Reader = strings.NewReader("")
	if n := len(args); n > 1 && args[n-2] == "<" {
		text, err := os.ReadFile(filepath.Join("testdata", args[n-1]))
		if err != nil {
			p.t.Fatal(err)
		}
		stdin, args = bytes.NewReader(text), args[:n-2]
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "$TMP", p.folder)
	}
	c := &cli{in: stdin, now: time.Now, base: p.web.Transport()}
	var output string
	var code int
	if p.columns > 0 {
		on := p.terminals(p.t, p.columns)
		c.out, c.err = on.File, on.File
		code = c.run(p.t.Context(), args)
		output = on.text()
	} else {
		var out, errs bytes.Buffer
		c.out, c.err = &out, &errs
		code = c.run(p.t.Context(), args)
		output = out.String()
		for line := range strings.Lines(errs.String()) {
			output += strings.TrimRight("! "+line, " \n") + "\n"
		}
	}
	p.checkPrintable(output)
	if code != 0 {
		output += fmt.Sprintf("(exit %d)\n", code)
	}
	output = strings.ReplaceAll(output, strings.ReplaceAll(p.folder, `\`, `\\`), "$TMP") // in JSON
	return missingFile.Replace(strings.ReplaceAll(output, p.folder, "$TMP"))
}

// missingFile replaces the words of this system for a file and for a folder that do not
// exist by the words of Unix, which the transcripts have.
var missingFile = strings.NewReplacer(
	missing("none"), syscall.ENOENT.Error(),
	missing(filepath.Join("none", "none")), syscall.ENOENT.Error(),
)

func missing(path string) string {
	_, err := os.Stat(path)
	return errors.Unwrap(err).Error()
}

// checkPrintable checks that the output has only printable characters and line ends.
func (p *player) checkPrintable(text string) {
	for i, r := range text {
		if r != '\n' && (!unicode.IsPrint(r) || r == utf8.RuneError) {
			p.t.Errorf("byte %d is %q, in %q", i, r, text[max(i-40, 0):min(i+40, len(text))])
			return
		}
	}
}

// splitCommand splits a command at spaces outside single quotes.
func splitCommand(command string) []string {
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
