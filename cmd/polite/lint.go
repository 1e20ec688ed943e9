package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// linting is one run of polite lint.
type linting struct {
	reading
	remarksOnly bool // --remarks
	exitCode    bool // --exit-code
}

func (c *cli) lintCommand() *cobra.Command {
	l := &linting{reading: reading{cli: c}}
	cmd := &cobra.Command{
		Use:   "lint [flags] ROBOTS_FILE|URL",
		Short: "Show a robots.txt with a remark under each line that has no effect",
		Long: `Lint shows a robots.txt with a remark under each line that has no effect, whose
spelling was corrected, or whose sitemap is not a full URL. The argument is a
local file, - for standard input, or a URL, whose site's robots.txt is fetched.

With --json each remark is an object. The exit code is 0, or 2 if no file was
read. With --exit-code it is 1 if there are remarks.`,
		Example: `  polite lint robots.txt
  polite lint --remarks https://example.com
  polite lint --exit-code robots.txt && cp robots.txt /var/www/`,
		Args: between(1, 1, "one robots.txt file or URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args[0]) },
	}
	l.flags(cmd, "show only remarks about the groups that the crawler with this product `token` obeys")
	f := cmd.Flags()
	f.BoolVar(&l.remarksOnly, "remarks", false, "show only the lines with a remark")
	f.BoolVar(&l.exitCode, "exit-code", false, "exit 1 if there are remarks")
	return cmd
}

func (l *linting) run(ctx context.Context, what string) error {
	profile, err := profileByName(l.profile)
	if err != nil {
		return err
	}
	text, err := l.text(ctx, what, profile)
	if err != nil || text == nil {
		return err
	}
	p := display.New(l.out)
	n := l.write(p, text, profile)
	if n > 0 && l.exitCode {
		l.code = exitDisallowed
	}
	return p.Flush()
}

// longShown is how much of a long line is shown, in bytes.
const longShown = 240

// write writes the text with its remarks and returns the number of remarks.
func (l *linting) write(p *display.Writer, text []byte, profile *policy.Profile) int {
	f := matcher.Parse(text, profile.Dialect)
	remarks := map[int][]string{}
	total := 0
	for line, why := range f.Skipped() {
		remarks[line] = append(remarks[line], why)
		total++
	}
	for line, sitemap := range f.Other("sitemap") {
		if _, err := parseURL(sitemap); err != nil && sitemap != "" {
			remarks[line] = append(remarks[line], "sitemap that is not a full URL")
			total++
		}
	}
	last := 0
	for n, line := range f.Lines() {
		last = n
		if l.json {
			for _, why := range remarks[n] {
				p.JSON(remark{n, clean.Text(line, 1<<10), why})
			}
		} else if len(remarks[n]) > 0 || !l.remarksOnly {
			showLine(p, n, line, remarks[n])
		}
	}
	if !l.json {
		p.Flush()
		display.Message(l.err, fmt.Sprintf("%s, %s, %s; profile %s", display.Count(last, "line", "lines"),
			display.Count(f.CountRules(), "rule", "rules"), display.Count(total, "remark", "remarks"), profile.Name))
	}
	return total
}

// showLine writes a line and its remarks.
func showLine(p *display.Writer, n int, line string, remarks []string) {
	shown := clean.Text(strings.ReplaceAll(line, "\t", "    "), longShown)
	if len(line) > longShown {
		shown += fmt.Sprintf(" (%s)", display.Count(len(line), "byte", "bytes"))
	}
	p.Line("%6d  %s", n, shown)
	for _, why := range remarks {
		fmt.Fprintf(p, "        %s\n", p.Paint(display.Magenta, "^ "+why))
	}
}

// remark is the --json output for one remark.
type remark struct {
	Line   int    `json:"line"`
	Text   string `json:"text"`
	Remark string `json:"remark"`
}
