// Command polite asks, from a terminal or a script, what a crawler may fetch.
//
//	polite demo                          a small web on loopback that misbehaves, and the ruling for each site
//	polite check https://example.com/a   may this URL be fetched now, and why
//	polite match robots.txt /a           the same for a file at hand, without any network
//	polite get https://example.com/a     fetch a page if robots.txt allows it
//	polite lint https://example.com      every line of a robots.txt without effect, and why
//	polite sitemaps https://example.com  what the file says of sitemaps
//
// # Exit codes
//
//	0  all URLs are allowed
//	1  some are disallowed
//	3  none is disallowed, some are deferred: robots.txt could not be had, come back later
//	2  bad usage, or some URL got no ruling at all
//
// The highest need for attention wins: 2 before 1 before 3.
//
// # Output
//
// Results go to standard output in the order of the URLs, one line each when
// it is not a terminal; all else goes to standard error. With --json each line
// is an object. Text of a server never reaches the terminal as it stands: control
// characters are replaced, and everything is cut to a bound.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// version is what --version prints and the default agent carries.
const version = "0.1"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program by itself
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitAllowed    = 0
	exitDisallowed = 1
	exitFailed     = 2
	exitDeferred   = 3
)

// cli is what the commands of one invocation share.
type cli struct {
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	begun    bool // a command runs: errors are no longer those of the command line
	code     int
}

// run is the program: it returns its exit code and touches nothing but its
// arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &cli{in: stdin, out: stdout, err: stderr, now: time.Now}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return c.code
	}
	fmt.Fprintf(stderr, "polite: %s\n", shown(err.Error(), 600))
	var usage *usageError
	if !c.begun || errors.As(err, &usage) {
		fmt.Fprintf(stderr, "\n%s", cmd.UsageString())
	}
	return exitFailed
}

// usageError is an error of the one who typed the command, found only once it
// ran; the usage is shown with it.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func misused(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "polite",
		Short: "Ask what a crawler may fetch, as RFC 9309 says",
		Long: `Polite asks what a crawler may fetch, as RFC 9309 says: it retrieves robots.txt,
follows its redirects, keeps it for as long as it may be kept, and says for each
URL allow, disallow or defer, and why.

Exit codes: 0 all allowed, 1 some disallowed, 3 some deferred (come back later),
2 bad usage or no ruling. Where several apply: 2 before 1 before 3.`,
		Example: `  polite demo
  polite check https://example.com/private
  polite check --from urls.txt --json > rulings.jsonl
  polite match --token ExampleBot robots.txt /private /public`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRun:  func(*cobra.Command, []string) { c.begun = true },
		RunE:              func(*cobra.Command, []string) error { return misused("want a command") },
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.AddCommand(c.checkCommand(), c.matchCommand(), c.getCommand(), c.lintCommand(), c.sitemapsCommand(), c.demoCommand())
	return root
}

// warn tells of something that changes no result.
func (c *cli) warn(format string, args ...any) {
	fmt.Fprintf(c.err, "polite: %s\n", shown(fmt.Sprintf(format, args...), 600))
}
