package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/matcher"
)

// TestMain lets the test binary be a driver, as the command is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-answer" {
		switch os.Args[2] {
		case "nobody":
			os.Exit(1)
		case "slow":
			time.Sleep(time.Hour)
		case "babble":
			os.Stdout.WriteString("yes\n")
			io.Copy(io.Discard, os.Stdin)
		default:
			if err := answerFor(os.Args[2], os.Stdin, os.Stdout); err != nil {
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// answering returns the driver that the test binary is.
func answering(t *testing.T, name string) driver {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return driver{name, []string{self, "-answer", name}}
}

// TestDriverFlag reads the flag -driver.
func TestDriverFlag(t *testing.T) {
	var d drivers
	if err := d.Set("name=program -a b"); err != nil || len(d) != 1 || d[0].name != "name" || strings.Join(d[0].args, "|") != "program|-a|b" {
		t.Errorf("got %+v, %v", d, err)
	}
	for _, bad := range []string{"", "name", "=program", "name= "} {
		if err := d.Set(bad); err == nil {
			t.Errorf("%q is a driver, want an error", bad)
		}
	}
}

// TestDriverAnswers compares the answers over the pipe with the matcher's.
func TestDriverAnswers(t *testing.T) {
	p := process{driver: answering(t, "polite"), patience: patience}
	defer p.stop(false)
	for _, robots := range []string{"User-agent: *\nDisallow: /a\n", "", "User-agent: Other Bot\nDisallow: /\n"} {
		for _, agent := range []string{"ExampleBot", "Other"} {
			urls := []string{"https://example.com/a/b", "http://example.com", "https://example.com?a", "/a"}
			got, err := p.do(len(urls), fileRequest([]byte(robots)), askRequest(agent, urls))
			want := ""
			for _, u := range urls {
				want += map[bool]string{true: "1", false: "0"}[matcher.Parse([]byte(robots), matcher.Dialect{}).Match(agent, u).Allowed]
			}
			if got != want || err != nil {
				t.Errorf("robots %q, agent %q: got %q, %v, want %q", robots, agent, got, err, want)
			}
		}
	}
}

// TestDriverFails runs drivers that do not answer. Each is started again until it has
// failed too often.
func TestDriverFails(t *testing.T) {
	for _, tt := range []struct {
		name     string
		patience time.Duration
		want     string
	}{
		{"nobody", patience, "died"},
		{"slow", 100 * time.Millisecond, "no answer for 100ms"},
		{"babble", patience, `answered "yes" to 1 questions, which is no answer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := process{driver: answering(t, tt.name), patience: tt.patience, failures: failuresMost - 2}
			for _, want := range []string{tt.want, tt.want, "failed too often"} {
				// The file is longer than a pipe, so that a driver that does not read is seen, too.
				_, err := p.do(1, fileRequest(make([]byte, 1<<20)), askRequest(token, []string{"/"}))
				if err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
			}
		})
	}
}

// TestDrive prints the table for good drivers and bad ones.
func TestDrive(t *testing.T) {
	var out strings.Builder
	b := bench{out: &out, libraries: libraries()[:2]}
	bad := driver{"missing", []string{"/nowhere/program"}}
	if err := b.drive(drivers{answering(t, "nobody"), bad}, ruleFiles(10)[:1]); err != nil {
		t.Fatal(err)
	}
	list, _, err := readVectors()
	if err != nil {
		t.Fatal(err)
	}
	rfc := 0
	for _, v := range list {
		if v.Class == "rfc" {
			rfc++
		}
	}
	rows := map[string]string{}
	for _, line := range strings.Split(out.String(), "\n") {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			rows[name] = strings.Join(strings.Fields(line), " ")
		}
	}
	for name, want := range map[string]string{
		"polite":  strings.Join([]string{"0", strconv.Itoa(rfc), "of", strconv.Itoa(rfc)}, " "),
		"nobody":  "1 0 of " + strconv.Itoa(rfc) + " died (20 failures)",
		"missing": "1 0 of " + strconv.Itoa(rfc) + " fork/exec /nowhere/program: no such file or directory",
	} {
		if !strings.Contains(rows[name], want) {
			t.Errorf("row %q, want %q in it", rows[name], want)
		}
	}
}

// TestDriverPython runs the driver of Python's parser.
func TestDriverPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	list, _, err := readVectors()
	if err != nil {
		t.Fatal(err)
	}
	s := &score{process: process{driver: driver{"robotparser", []string{python, "drivers/robotparser.py"}}, patience: patience}}
	s.run(nil, list, libraries()[0], false)
	if s.trouble != "" || s.rights < s.vectors/2 {
		t.Errorf("%d of %d vectors, trouble %q", s.rights, s.vectors, s.trouble)
	}
}
