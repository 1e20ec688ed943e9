// Command polite tells a terminal or a script what a crawler may fetch.
//
//	polite demo                           start some faulty sites on loopback and show the decision for each
//	polite check https://example.com/a    say whether a URL may be fetched now, and why
//	polite match robots.txt /a            match URLs with a local robots.txt, without any network
//	polite get https://example.com/a      fetch a page if robots.txt allows it
//	polite lint https://example.com       list every line of a robots.txt that has no effect, and why
//	polite test robots.txt expected       check that a robots.txt does what its owner expects
//	polite diff old.txt new.txt           show which rules and decisions differ between two files
//	polite robots https://example.com     print a robots.txt, and say which group is obeyed
//	polite sitemaps https://example.com   list the sitemaps that robots.txt names
//	polite replay log.jsonl               derive logged decisions again, without any network
//	polite exam -- ./crawler {urls}       test whether a crawler obeys RFC 9309
//
//	polite completion bash                print the completion script of a shell
//
// A URL begins with http://, https:// or ftp://. Without a scheme https is assumed, or
// http for a host of this machine. POLITE_AGENT is the default of --agent.
//
// # Exit codes
//
//	0  all URLs are allowed
//	1  some URLs are disallowed
//	3  no URL is disallowed, some are deferred: robots.txt could not be fetched, try later
//	2  bad usage, a page that could not be fetched, or ERROR, a URL without a
//	   decision: it is not a valid URL, or Ctrl-C was pressed
//
// If several codes apply, 2 wins over 1, and 1 over 3.
//
// # Output
//
// Results go to standard output in the order of the URLs. If standard output is
// not a terminal, each result is one line. Everything else goes to standard error.
// With --json each line is an object: for check and match a policy.Decision, its
// fields in snake_case. Check adds the token that it decided for, and the agent of its
// requests. Terminals get colours, unless NO_COLOR is set; --color overrides both. Control
// characters in a server's text are replaced, and the text is cut to a bound.
//
// # Lists
//
// polite check --from reads a list of any length in bounded memory. Different sites
// are checked in parallel. One worker at a time checks the URLs of one site, so a
// slow site does not delay the others. With --store the cached copies outlive the
// run, in a file or on a Redis server that a fleet shares. A stored copy is used
// until it expires.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher/ftp"
)

// version is the line of releases. It is part of the default agent.
const version = "0.1"

// build returns what --version prints: version, and the tag or commit that the go
// command recorded in the binary, if any.
func build() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") {
		return version + " (" + info.Main.Version + ")"
	}
	return version
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	http.DefaultTransport.(*http.Transport).RegisterProtocol("ftp", &ftp.Transport{})
	c := &cli{in: os.Stdin, out: os.Stdout, err: os.Stderr, now: time.Now, demoTimeout: demoTimeout}
	os.Exit(c.run(ctx, os.Args[1:]))
}

// cli is the state that the commands of one run share.
type cli struct {
	in          io.Reader
	out, err    io.Writer
	now         func() time.Time
	base        http.RoundTripper // nil means the fetcher's default
	demoTimeout time.Duration     // longest retrieval of robots.txt in the demo
	started     bool              // the command line was parsed and a command runs
	assumed     bool              // a URL without a scheme was reported
	colour      string            // --color
	code        int               // exit code
}

// exitCodes ends the help of each command that makes decisions.
const exitCodes = `Exit codes: 0 all allowed, 1 some disallowed, 3 some deferred (try later),
2 bad usage or ERROR. If several apply, 2 wins over 1, and 1 over 3.`

// longText is the longest text from a server in a message, in bytes.
const longText = 600

// run runs the program and returns the exit code.
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
	case !c.started || errors.As(err, &usage):
		if cmd.Name() == "help" {
			cmd = root
		}
		c.warn("%v (see '%s --help')", err, cmd.CommandPath())
	default:
		c.warn("%v", err)
	}
	return exitFailed
}

// usageError is a mistake in the command line that is found after the flags were
// parsed.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "polite",
		Short: "Say what a crawler may fetch according to RFC 9309",
		Long: `Polite says what a crawler may fetch according to RFC 9309. It fetches
robots.txt, follows redirects and keeps a copy until it expires. For each URL it
prints ALLOW, DISALLOW or DEFER, and the reason. DEFER means that robots.txt
could not be fetched: keep the URL and try again later. ERROR means that there
is no decision, for instance because what was typed is no URL.

` + exitCodes,
		Example: `  polite demo
  polite check https://example.com/private
  polite check --from urls.txt --json > decisions.jsonl
  polite match --token ExampleBot robots.txt /private /public`,
		Version:           build(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: c.start,
		RunE:              func(*cobra.Command, []string) error { return usageErrorf("want a command, such as polite demo") },
		Args:              unknownCommand,

		SuggestionsMinimumDistance: 2,
	}
	root.PersistentFlags().StringVar(&c.colour, "color", string(display.Auto), "`when` to use colours: auto, always or never")
	root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	root.SetFlagErrorFunc(wantValue)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(c.helpCommand())
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	// The help texts and the lists of flags are 80 columns wide.
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	addGroup(root, "For crawlers:", c.checkCommand(), c.getCommand(), c.matchCommand(), c.robotsCommand(), c.sitemapsCommand(), c.replayCommand(), c.examCommand())
	addGroup(root, "For owners of sites:", c.lintCommand(), c.testCommand(), c.diffCommand())
	root.AddCommand(c.demoCommand(), c.completionCommand())
	return root
}

// start runs before each command.
func (c *cli) start(*cobra.Command, []string) error {
	switch display.When(c.colour) {
	case display.Auto, display.Always, display.Never:
		c.started = true
		return nil
	}
	return usageErrorf("--color is %q; want auto, always or never", c.colour)
}

// output returns a writer to standard output.
func (c *cli) output() *display.Writer { return display.New(c.out, display.When(c.colour)) }

// addGroup adds commands under a title of their own.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
		root.AddCommand(cmd)
	}
}

// wantValue says what a flag wants whose value cannot be read.
func wantValue(_ *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	wanted := map[string]string{"bool": "true or false", "int": "a whole number", "duration": "a number and a unit, such as 30s"}
	return fmt.Errorf("--%s is %q; want %s", bad.GetFlag().Name, bad.GetValue(), wanted[bad.GetFlag().Value.Type()])
}

// unknownCommand refuses arguments that are no command, and names the nearest one.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if args[0] == "version" {
		near = "; did you mean --version?"
	} else if names := root.SuggestionsFor(args[0]); len(names) > 0 {
		near = "; did you mean " + names[0] + "?"
	}
	return fmt.Errorf("no command %q%s", args[0], near)
}

// between returns a check that a command has at least min and at most max arguments.
// Its error says what the command wants.
func between(min, max int, wanted string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < min || len(args) > max {
			return errors.New("want " + wanted)
		}
		return nil
	}
}

// warn writes a message to standard error.
func (c *cli) warn(format string, args ...any) {
	display.Message(c.err, "polite: "+display.URL(fmt.Sprintf(format, args...), longText))
}
