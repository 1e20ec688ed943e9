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
//	2  bad usage, or some URL got no ruling: it is none, or Ctrl-C came first
//
// What most needs attention wins: 2 before 1 before 3.
//
// # Output
//
// Results go to standard output in the order of the URLs, one line each when
// it is not a terminal; all else goes to standard error. With --json each line
// is an object: for check and match a policy.Decision, its fields in snake_case.
// Colours are for terminals, unless NO_COLOR is set. Text of a server never reaches
// the terminal as it stands: control characters are replaced, and everything is cut
// to a bound.
//
// # Lists
//
// polite check --from reads a list of any length in bounded memory. Sites are asked
// in parallel, but each by one worker, so that a slow one stops no other. With
// --store the copies outlive the run, in a file or on a Redis server that a fleet
// shares; what is fresh there is not asked for again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/internal/clean"
)

// version is what --version prints and the default agent carries.
const version = "0.1"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program by itself
	c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, patience: demoPatience}
	os.Exit(c.run(ctx, os.Args[1:]))
}

// cli is what the commands of one invocation share.
type cli struct {
	in       io.Reader
	out, err io.Writer
	now      func() time.Time
	base     http.RoundTripper // nil: the fetcher's default
	patience time.Duration     // of the demo
	begun    bool              // a command runs: errors are no longer those of the command line
	code     int
}

// exitCodes is part of the help of all that rule on URLs.
const exitCodes = `Exit codes: 0 all allowed, 1 some disallowed, 3 some deferred (come back later),
2 bad usage or no ruling. Where several apply: 2 before 1 before 3.`

// longText bounds a text of a stranger in a message, in octets.
const longText = 600

// run is the program: it returns its exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	cmd, err := root.ExecuteContextC(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return c.code
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		c.warn("interrupted")
	default:
		c.warn("%v", err)
	}
	if !c.begun || errors.As(err, &usage) {
		fmt.Fprintf(c.err, "\n%s", cmd.UsageString())
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

` + exitCodes,
		Example: `  polite demo
  polite check https://example.com/private
  polite check --from urls.txt --json > rulings.jsonl
  polite match --token ExampleBot robots.txt /private /public`,
		Version:          version,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { c.begun = true },
		RunE:             func(*cobra.Command, []string) error { return misused("want a command") },
		Args:             cobra.NoArgs,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	// Flags keep to the width that the texts have.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	root.AddCommand(c.checkCommand(), c.matchCommand(), c.getCommand(), c.lintCommand(), c.sitemapsCommand(), c.demoCommand())
	return root
}

// warn tells of something that is no result.
func (c *cli) warn(format string, args ...any) {
	paper.Say(c.err, "polite: "+clean.Text(fmt.Sprintf(format, args...), longText))
}
