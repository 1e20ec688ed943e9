package exam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
)

// A Run is how the crawler is run.
type Run struct {
	Command []string      // program and arguments, with the words of Words
	Limit   time.Duration // after which the crawler is ended
	Quiet   time.Duration // without a request after which the crawler is taken for done
	Verbose bool          // the output of the crawler goes to standard error
}

// Words are what the command may contain, and what is put in their place.
const Words = "{urls} (the start pages, one argument each), {file} (a file of them, one a line), {seed} (a page that links to them) or {pages} (these and all pages that they link to)"

// maxRequests ends a crawler that requests without an end.
const maxRequests = 50_000

// Run runs the crawler until it ends, and returns the report. It returns an error if
// the crawler could not be run or requested nothing, or if ctx ends.
func (e *Exam) Run(ctx context.Context, r Run) (*Report, error) {
	dir, err := os.MkdirTemp("", "exam")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args, err := e.arguments(r.Command, dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(args[0], args[1:]...)
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	if r.Verbose {
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	}
	cmd.WaitDelay = time.Second // a child that left the group may hold the output
	cmd.Env = os.Environ()
	pem := filepath.Join(dir, authorityFile)
	if err := os.WriteFile(pem, e.Authority(), 0o600); err != nil {
		return nil, err
	}
	for _, name := range []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"} {
		cmd.Env = append(cmd.Env, name+"="+pem)
	}
	if e.proxy != nil {
		for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"} {
			cmd.Env = append(cmd.Env, name+"="+e.Proxy())
		}
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the crawler could not be started: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the crawler, which await ends at the latest
	ended, cut, err := e.await(ctx, r, cmd, done)
	if err != nil {
		return nil, err
	}
	report := e.Report(ended, cut)
	if report.Requests == 0 {
		return nil, fmt.Errorf("the crawler requested nothing, and %s%s", ended, output.last())
	}
	return report, nil
}

// await waits for the end of the crawler, and ends its whole group.
func (e *Exam) await(ctx context.Context, r Run, cmd *exec.Cmd, done <-chan error) (ended string, cut bool, err error) {
	defer killGroup(cmd)
	stop := func() {
		killGroup(cmd)
		<-done
	}
	limit := time.NewTimer(r.Limit)
	defer limit.Stop()
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return "ended with " + exit.Error(), false, nil
			}
			return "ended by itself", false, nil
		case <-ctx.Done():
			stop()
			return "", false, context.Cause(ctx)
		case <-limit.C:
			stop()
			return fmt.Sprintf("was ended after %v", r.Limit), true, nil
		case <-look.C:
			all, since := e.web.Requests(), e.Start
			if len(all) > 0 {
				since = all[len(all)-1].Time
			}
			if len(all) > maxRequests {
				stop()
				return fmt.Sprintf("was ended after %d requests", len(all)), true, nil
			}
			if time.Since(since) > r.Quiet {
				stop()
				return fmt.Sprintf("was ended after %v without a request", r.Quiet), false, nil
			}
		}
	}
}

// authorityFile is the certificate that signs the certificates of https sites.
const authorityFile = "ca.pem"

// arguments returns the command with its words replaced.
func (e *Exam) arguments(command []string, dir string) ([]string, error) {
	list := filepath.Join(dir, "urls.txt")
	if err := os.WriteFile(list, []byte(strings.Join(e.URLs(), "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	words := strings.NewReplacer("{file}", list, "{seed}", e.Seed(), "{ca}", filepath.Join(dir, authorityFile), "{proxy}", e.Proxy())
	var args []string
	starts := false
	for _, arg := range command {
		starts = starts || arg == "{urls}" || arg == "{pages}" || strings.Contains(arg, "{file}") || strings.Contains(arg, "{seed}")
		switch arg {
		case "{urls}":
			args = append(args, e.URLs()...)
		case "{pages}":
			args = append(args, e.Pages()...)
		default:
			args = append(args, words.Replace(arg))
		}
	}
	if !starts {
		return nil, errors.New("the command does not say where the crawler starts; want one of " + Words)
	}
	return args, nil
}

// A tail keeps the end of what a crawler prints.
type tail struct{ b []byte }

const longTail = 400

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 2*longTail {
		t.b = slices.Clone(t.b[len(t.b)-longTail:])
	}
	return len(p), nil
}

// last returns the end of the output as part of a sentence.
func (t *tail) last() string {
	text := strings.Join(strings.Fields(string(t.b)), " ")
	if text == "" {
		return "; it printed nothing"
	}
	return "; it printed " + clean.Quote(text[max(0, len(text)-longTail):], longTail)
}
