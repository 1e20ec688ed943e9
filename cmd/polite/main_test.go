package main

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain runs the program if a test has started this binary for that.
func TestMain(m *testing.M) {
	if os.Getenv("POLITE_TEST_MAIN") == "1" {
		main()
		return
	}
	time.Local = time.UTC // so that transcripts are the same everywhere
	os.Exit(m.Run())
}

// polite runs the program in this process.
func polite(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(stdin), out: &out, err: &errs, now: time.Now, demoTimeout: demoTimeout}
	code = c.run(t.Context(), args)
	return code, out.String(), errs.String()
}

// TestUsage checks that a bad command line prints one line on standard error, which
// names the help to read, and exits with 2.
func TestUsage(t *testing.T) {
	for _, args := range []string{
		"", "nonsense", "check", "check --nonsense http://127.0.0.1/", "check --profile nonsense http://127.0.0.1/",
		"check --timeout 0s http://127.0.0.1/", "check --parallel 0 http://127.0.0.1/", "check --token 9.9 http://127.0.0.1/",
		"get --token OtherBot http://127.0.0.1/", "check --store ftp://127.0.0.1/ http://127.0.0.1/",
		"match", "match file", "match --profile x file /", "match --jsonl file", "match --token 9.9 file /", "match --token a, file /", "get", "get --gap -1s http://127.0.0.1/",
		"lint", "lint a b", "lint --profile x -", "sitemaps", "robots", "demo now",
		"match --cases file", "match --from - -", "completion", "completion nope", "exam", "exam --format x --list", "exam --limit 0s --list", "exam --only nope --list",
	} {
		t.Run(args, func(t *testing.T) {
			code, out, errs := polite(t, "", strings.Fields(args)...)
			command := ""
			if words := strings.Fields(args); len(words) > 0 && words[0] != "nonsense" {
				command = " " + words[0]
			}
			help := "(see 'polite" + command + " --help')\n"
			if code != 2 || out != "" || !strings.HasPrefix(errs, "polite: ") || !strings.HasSuffix(errs, help) || strings.Count(errs, "\n") != 1 {
				t.Errorf("polite %s\ngot  exit %d, stdout %q, stderr %q\nwant exit 2 and one line on stderr that ends with %q", args, code, out, errs, help)
			}
		})
	}
}

// TestHelpWidth checks that the help of every command fits 80 columns.
func TestHelpWidth(t *testing.T) {
	for _, command := range []string{"", "check", "match", "get", "lint", "sitemaps", "test", "diff", "replay", "robots", "exam", "demo", "completion", "help"} {
		_, out, _ := polite(t, "", append(strings.Fields(command), "--help")...)
		for line := range strings.Lines(out) {
			if len(line) > 81 {
				t.Errorf("polite %s --help has a line of %d columns; want 80 at most\n%s", command, len(line)-1, line)
			}
		}
	}
}

// TestPlainError checks that the error of a request does not repeat its URL.
func TestPlainError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&url.Error{Op: "Get", URL: "http://example.com/", Err: io.EOF}, "the server closed the connection without an answer"},
		{&url.Error{Op: "Get", URL: "http://example.com/", Err: errors.New("refused")}, "refused"},
		{errors.New("refused"), "refused"},
	} {
		if got := plainError(tt.err).Error(); got != tt.want {
			t.Errorf("%v\ngot  %s\nwant %s", tt.err, got, tt.want)
		}
	}
}
