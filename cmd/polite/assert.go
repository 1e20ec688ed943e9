package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/assertions"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/matcher"
)

// asserting is one run of polite test.
type asserting struct {
	reading
	format string // --format
}

// formats are the names that --format accepts.
var formats = []string{"text", "tap", "junit"}

func (c *cli) testCommand() *cobra.Command {
	a := &asserting{reading: reading{cli: c}}
	cmd := &cobra.Command{
		Use:   "test [flags] ROBOTS_FILE|URL ASSERTIONS_FILE",
		Short: "Check that a robots.txt does what the owner of its site expects",
		Long: `Test checks that a robots.txt allows and disallows what its owner expects. It
reads a local file, or fetches the robots.txt of a URL's site. Each line of the
other file has a product token, allow or disallow, and a path or URL:

  # what the release must not break
  ExampleBot  allow     /public
  *           disallow  /admin

A * stands for the crawlers that the robots.txt does not name. A file - is
standard input. The exit code is 0 if all lines are as expected, 1 if one is
not, and 2 if a line or the robots.txt cannot be read. A site without a
robots.txt (status 404 or 410) has an empty one.`,
		Example: `  polite test robots.txt robots.assert
  polite test --format junit https://example.com robots.assert > report.xml`,
		Args: between(2, 2, "a robots.txt file or URL, and a file of assertions"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd.Context(), args[0], args[1]) },
	}
	a.flags(cmd, "check only the lines for this product `token`")
	cmd.Flags().Lookup("json").Hidden = true // --format says how results are written
	cmd.Flags().StringVar(&a.format, "format", formats[0], "write results in this `format`: text, tap (version 14) or junit (XML)")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *asserting) run(ctx context.Context, robots, file string) error {
	profile, err := profileByName(a.profile)
	if err != nil {
		return err
	}
	if robots == "-" && file == "-" {
		return usageErrorf("want one file on standard input, not both")
	}
	if !slices.Contains(formats, a.format) {
		return usageErrorf("no format %q; want text, tap or junit", a.format)
	}
	all, err := a.readAssertions(file)
	if err != nil {
		return err
	}
	text, err := a.text(ctx, robots, profile)
	if err != nil || text == nil {
		return err
	}
	f := matcher.Parse(text, profile.Dialect)
	if a.token != "" {
		all = slices.DeleteFunc(all, func(one assertions.Assertion) bool { return !strings.EqualFold(one.Token, a.token) })
		if len(all) == 0 {
			return usageErrorf("%s has no line for --token %q", file, a.token)
		}
	}
	results, failed := make([]assertions.Result, len(all)), 0
	for i, one := range all {
		if results[i] = one.Check(f); !results[i].OK() {
			failed++
			a.code = exitDisallowed
		}
	}
	p := a.output()
	switch a.format {
	case "tap":
		err = assertions.WriteTAP(p, results)
	case "junit":
		err = assertions.WriteJUnit(p, robots, results)
	default:
		err = assertions.WriteText(p, results)
	}
	if err != nil {
		return err
	}
	if err := p.Flush(); err != nil {
		return err
	}
	display.Message(a.err, fmt.Sprintf("%s, %d failed; profile %s", display.Count(len(all), "assertion", "assertions"), failed, profile.Name))
	return nil
}

// readAssertions reads the assertions and reports each line that cannot be read.
func (a *asserting) readAssertions(name string) ([]assertions.Assertion, error) {
	var in io.Reader = a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	all, errs := assertions.Read(in, checkToken, checkTarget)
	for _, err := range errs {
		a.warn("%s: %v", name, err)
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s in %s cannot be read; nothing was checked", display.Count(len(errs), "line", "lines"), name)
	}
	return all, nil
}
