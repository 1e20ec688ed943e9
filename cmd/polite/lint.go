package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/lint"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// linting is one run of polite lint.
type linting struct {
	reading
	remarksOnly bool   // --remarks
	exitCode    string // --exit-code
	site        string // --site
	format      string // --format
}

// allProfiles is the value of --profile that stands for all.
const allProfiles = "all"

// lintFormats are the names that --format accepts.
var lintFormats = []string{"text", "json", "sarif"}

// exitCodeFor are the values that --exit-code accepts.
var exitCodeFor = []string{"errors", "warnings", "never"}

func (c *cli) lintCommand() *cobra.Command {
	l := &linting{reading: reading{cli: c}}
	cmd := &cobra.Command{
		Use:   "lint [flags] ROBOTS_FILE|URL",
		Short: "Find the mistakes in a robots.txt",
		Long: `Lint shows a robots.txt with a remark under each line that does not do what it
seems to do. The argument is a local file, - for standard input, or a URL, whose
site's robots.txt is fetched. There are three kinds of remarks:

  error    the line is lost, or means something else than it seems to mean
  warning  the line does nothing, or not the same for all crawlers
  note     the line may be meant

With --profile all the file is read as each profile reads it. A remark that
concerns only some profiles names them, and a line that the profiles decide
about differently gets a remark.

To find sitemaps of other sites, lint must know the site: give its URL, or name
the site of a local file with --site.

The exit code is 1 if there is an error, and 2 if no file was read. With
--exit-code=warnings warnings count, too. With --exit-code=never no remark does.`,
		Example: `  polite lint robots.txt
  polite lint --remarks --profile all https://example.com
  polite lint --exit-code=warnings --site https://example.com robots.txt
  polite lint --format sarif robots.txt > robots.sarif`,
		Args: between(1, 1, "one robots.txt file or URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args[0]) },
	}
	l.flags(cmd, "show only remarks on the groups that the crawler with this product `token` obeys")
	f := cmd.Flags()
	f.Lookup("profile").Usage += ", or all"
	f.BoolVar(&l.remarksOnly, "remarks", false, "show only the lines with a remark")
	f.StringVar(&l.exitCode, "exit-code", exitCodeFor[0], "exit 1 if a remark has this `level`: errors, warnings (or errors), or never")
	cmd.RegisterFlagCompletionFunc("exit-code", cobra.FixedCompletions(exitCodeFor, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&l.site, "site", "", "the `URL` of the site that the file is for")
	f.StringVar(&l.format, "format", lintFormats[0], "write remarks in this `format`: text, json or sarif (version 2.1.0)")
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(lintFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// options returns what the flags say about the check of one file.
func (l *linting) options(what string) (*lint.Options, error) {
	o := &lint.Options{Token: l.token}
	if err := checkTokens(l.token); err != nil {
		return nil, err
	}
	if !slices.Contains(lintFormats, l.format) {
		return nil, usageErrorf("no format %q; want text, json or sarif", l.format)
	}
	if !slices.Contains(exitCodeFor, l.exitCode) {
		return nil, usageErrorf("no --exit-code %q; want errors, warnings or never", l.exitCode)
	}
	if l.json && l.format == "sarif" {
		return nil, usageErrorf("--json and --format sarif ask for two formats; want one of them")
	}
	names := []string{l.profile}
	if l.profile == allProfiles {
		names = profiles[:]
		l.profile = profiles[0] // fetches the file
	}
	for _, name := range names {
		p, err := profileByName(name)
		if err != nil {
			return nil, err
		}
		o.Profiles = append(o.Profiles, p)
	}
	site, name := l.site, "--site"
	if site == "" && strings.Contains(what, "://") {
		site, name = what, "the site"
	}
	if site != "" {
		full, _ := completeURL(site)
		u, err := parseURL(full)
		if err != nil {
			return nil, usageErrorf("%s is %q; %w", name, site, err)
		}
		o.Site = u.Hostname()
	}
	return o, nil
}

func (l *linting) run(ctx context.Context, what string) error {
	o, err := l.options(what)
	if err != nil {
		return err
	}
	text, err := l.text(ctx, what, o.Profiles[0])
	if err != nil || text == nil {
		return err
	}
	o.Cut = l.cut
	remarks := lint.Run(text, o)
	if slices.ContainsFunc(remarks, func(r lint.Remark) bool {
		return r.Level == lint.Error && l.exitCode != "never" || r.Level == lint.Warning && l.exitCode == "warnings"
	}) {
		l.code = exitDisallowed
	}
	p := l.output()
	switch {
	case l.format == "sarif":
		if u, err := url.Parse(what); err == nil && strings.Contains(what, "://") {
			what = u.Scheme + "://" + u.Host + "/robots.txt"
		}
		if err := lint.WriteSARIF(p, version, what, remarks); err != nil {
			return err
		}
	case l.json || l.format == "json":
		for _, r := range remarks {
			p.JSON(r)
		}
	default:
		l.write(p, text, o.Profiles, remarks)
	}
	return p.Flush()
}

// longShown is how much of a long line is shown, in bytes.
const longShown = 240

// write writes the text with its remarks.
func (l *linting) write(p *display.Writer, text []byte, profiles []*policy.Profile, remarks []lint.Remark) {
	f := matcher.Parse(text, profiles[0].Dialect)
	counts := map[lint.Level]int{}
	last, rest := 0, remarks
	remarksOnly := l.remarksOnly || lint.NotText(string(text)) != "" // a page or an image helps nobody
	for n, line := range f.Lines() {
		last = n
		i := 0
		for i < len(rest) && rest[i].Line <= n {
			counts[rest[i].Level]++
			i++
		}
		if i > 0 || !remarksOnly {
			showLine(p, n, line, rest[:i])
		}
		rest = rest[i:]
	}
	for i, r := range rest { // lines that other profiles see, in a file that is no UTF-8
		showLine(p, r.Line, r.Text, rest[i:i+1])
		counts[r.Level]++
	}
	p.Flush()
	profile := "profile " + profiles[0].Name
	if len(profiles) > 1 {
		profile = "all profiles"
	}
	display.Message(l.err, fmt.Sprintf("%s, %s, %s, %s, %s; %s", display.Count(last, "line", "lines"), display.Count(f.CountRules(), "rule", "rules"),
		display.Count(counts[lint.Error], "error", "errors"), display.Count(counts[lint.Warning], "warning", "warnings"),
		display.Count(counts[lint.Note], "note", "notes"), profile))
}

// levelColours are the colours of the remarks.
var levelColours = map[lint.Level]display.Colour{lint.Error: display.Red, lint.Warning: display.Yellow, lint.Note: display.Magenta}

// showLine writes a line and its remarks.
func showLine(p *display.Writer, n int, line string, remarks []lint.Remark) {
	shown := clean.Text(strings.ReplaceAll(line, "\t", "    "), longShown)
	if len(line) > longShown {
		shown += fmt.Sprintf(" (%s)", display.Count(len(line), "byte", "bytes"))
	}
	p.Line("%6d  %s", n, shown)
	for _, r := range remarks {
		text, indent := fmt.Sprintf("^ %s: %s", r.Level, r), "        "
		lines := []string{text}
		if p.Width > 0 {
			lines = display.Fold(text, p.Width-len(indent)-2)
		}
		for _, part := range lines {
			p.WriteString(indent + p.Paint(levelColours[r.Level], part) + "\n")
			indent = "          "
		}
	}
}
