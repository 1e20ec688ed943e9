package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/junit"
	"github.com/rfc9309/polite/cmd/polite/internal/sarif"
	"github.com/rfc9309/polite/internal/exam"
)

// examining is one run of polite exam.
type examining struct {
	*cli
	exam.Options
	exam.Run
	list     bool   // --list
	format   string // --format
	json     bool   // --json
	markdown bool   // --markdown
}

// examFormats are the names that --format accepts.
var examFormats = []string{"text", "markdown", "json", "junit", "sarif"}

func (c *cli) examCommand() *cobra.Command {
	x := &examining{cli: c}
	cmd := &cobra.Command{
		Use:   "exam [flags] -- CRAWLER ARGUMENT...",
		Short: "Test whether a crawler obeys RFC 9309",
		Long: `Exam tests any crawler, in any language, from outside. It starts sites on this
machine, runs the crawler with their URLs, and judges by the requests that
arrive. The arguments of the crawler must say where it starts:

  {urls}   all start pages, each as an argument of its own
  {file}   the name of a file with all start pages, one a line
  {seed}   a page that links to all start pages
  {pages}  these and the pages that they link to, for a client that follows none

{ca} is the certificate for the one site that has https, and {proxy} the URL of
the proxy. With --listen the sites have one host and successive ports, for a
crawler that runs elsewhere. With --proxy they have names such as star.example,
and the crawler must use the proxy. Without CRAWLER they are served until you
press Ctrl-C.

A case passes, fails, or was not exercised: the crawler never came, or never
requested what would tell. Each failure has three lines that can be mailed to
the author of the crawler: the case, the sentence of the RFC, and the request
that shows the failure. House rules are manners that the RFC does not ask for.

The exit code is 0 if nothing failed, 1 if something did, and 2 if the exam
could not be held: the crawler did not start, or requested nothing.`,
		Example: `  polite exam -- wget --recursive --level 2 --span-hosts --quiet {urls}
  polite exam --token ExampleBot --only 2.2.1 -- ./crawler --seeds {file}
  polite exam --markdown --listen 192.0.2.1:8000 > report.md
  polite exam --list`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && x.Listen == "" && x.Proxy == "" && !x.list {
				return fmt.Errorf("want a crawler after --, or --listen, --proxy or --list")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			x.Command = args
			return x.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // the crawler has flags, too
	f.StringVar(&x.Token, "token", "", "the product `token` of the crawler (default: the one in its User-Agent)")
	f.StringSliceVar(&x.Only, "only", nil, "hold only these `cases`: names, clauses such as 2.2.1 or house, or patterns")
	f.BoolVar(&x.list, "list", false, "list the cases and hold no exam")
	f.StringVar(&x.Listen, "listen", "", "serve the sites at this `host:port` and the ports after it")
	f.StringVar(&x.Proxy, "proxy", "", "serve the sites by name behind an HTTP proxy at this `host:port`")
	f.DurationVar(&x.Limit, "limit", 10*time.Minute, "end the crawler after this `duration`")
	f.DurationVar(&x.Quiet, "quiet", 30*time.Second, "end the crawler after this `duration` without a request")
	f.BoolVar(&x.Verbose, "verbose", false, "show what the crawler prints, on standard error")
	f.StringVar(&x.format, "format", examFormats[0], "write the report in this `format`: "+strings.Join(examFormats, ", "))
	f.BoolVar(&x.json, "json", false, "like --format json")
	f.BoolVar(&x.markdown, "markdown", false, "like --format markdown")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(examFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check checks the flags.
func (x *examining) check() error {
	switch {
	case x.json:
		x.format = "json"
	case x.markdown:
		x.format = "markdown"
	}
	if !slices.Contains(examFormats, x.format) {
		return usageErrorf("no format %q; want one of %s", x.format, strings.Join(examFormats, ", "))
	}
	if x.Listen != "" && x.Proxy != "" {
		return usageErrorf("--listen and --proxy ask for two kinds of sites; want one of them")
	}
	if x.Limit <= 0 || x.Quiet <= 0 {
		return usageErrorf("--limit is %v and --quiet is %v; want more than zero", x.Limit, x.Quiet)
	}
	return checkTokens(x.Token)
}

func (x *examining) run(ctx context.Context) error {
	if err := x.check(); err != nil {
		return err
	}
	if x.list {
		return x.listCases()
	}
	e, err := exam.Open(x.Options)
	if err != nil {
		return err
	}
	defer e.Close()
	var report *exam.Report
	if len(x.Command) > 0 {
		report, err = e.Run(ctx, x.Run)
	} else {
		report, err = x.serve(ctx, e)
	}
	if err != nil {
		return err
	}
	if report.Failed() {
		x.code = exitDisallowed
	}
	return x.write(report)
}

// serve serves the sites until ctx ends.
func (x *examining) serve(ctx context.Context, e *exam.Exam) (*exam.Report, error) {
	by := ""
	if e.Proxy() != "" {
		by = ", through the proxy " + e.Proxy()
	}
	x.warn("%d start pages; %s links to all of them%s. Press Ctrl-C for the report.", len(e.URLs()), e.Seed(), by)
	<-ctx.Done()
	report := e.Report("was no longer served", false)
	if report.Requests == 0 {
		return nil, fmt.Errorf("no crawler came")
	}
	return report, nil
}

func (x *examining) listCases() error {
	cases, err := exam.Select(exam.Cases(), x.Only)
	if err != nil {
		return usageErrorf("%w", err)
	}
	p := x.output()
	for _, c := range cases {
		if x.format == "json" {
			p.JSON(c)
		} else {
			p.Line("%-42s %-6s %s", c.Name, c.Level, c.Site)
		}
	}
	return p.Flush()
}

// verdictColours are the colours of the words and numbers.
var verdictColours = map[exam.Verdict]display.Colour{exam.Passed: display.Green, exam.Failed: display.Red, exam.NotExercised: display.Yellow}

func (x *examining) write(r *exam.Report) error {
	p := x.output()
	switch x.format {
	case "json":
		p.JSON(r)
	case "markdown":
		r.WriteMarkdown(p)
	case "junit":
		if err := writeExamJUnit(p, r); err != nil {
			return err
		}
	case "sarif":
		if err := writeExamSARIF(p, r); err != nil {
			return err
		}
	default:
		r.WriteText(p, func(v exam.Verdict, s string) string { return p.Paint(verdictColours[v], s) })
	}
	return p.Flush()
}

func writeExamJUnit(w io.Writer, r *exam.Report) error {
	s := junit.Suite{Name: "polite exam"}
	for _, res := range r.Results {
		switch lines := r.Mail(res); res.Verdict {
		case exam.Passed:
			s.Add(res.Clause(), res.Name, "")
		case exam.Failed:
			s.Add(res.Clause(), res.Name, strings.Join(lines[:], " "))
		default:
			s.Skip(res.Clause(), res.Name, res.Seen)
		}
	}
	return s.Write(w)
}

func writeExamSARIF(w io.Writer, r *exam.Report) error {
	var rules []sarif.Rule
	var results []sarif.Result
	for _, res := range r.Results {
		level := "error"
		if res.Clause() == exam.House {
			level = "warning"
		}
		rules = append(rules, sarif.Rule{ID: res.Name, About: res.Text, Level: level})
		if res.Verdict == exam.Failed {
			lines := r.Mail(res)
			results = append(results, sarif.Result{Rule: res.Name, Level: level, Message: strings.Join(lines[:], "\n"), URI: res.Request.URL})
		}
	}
	return sarif.Write(w, version, rules, results)
}
