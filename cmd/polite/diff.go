package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/compare"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/matcher"
)

// comparing is one run of polite diff.
type comparing struct {
	reading
	urls string // --urls
}

func (c *cli) diffCommand() *cobra.Command {
	d := &comparing{reading: reading{cli: c}}
	cmd := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Show which rules and which decisions differ between two robots.txt",
		Long: `Diff compares two robots.txt. Each is a local file, - for standard input, or a
URL, whose site's robots.txt is fetched. For each crawler that one of them
names, and for all others (*), it lists the rules that are only in the old file
(-) or only in the new one (+), and paths whose verdict differs (>). The order
of the rules, and how crawlers share groups, make no difference. A site without
a robots.txt (status 404 or 410) has an empty one.

It tries paths that it makes from the rules, and shows five of them; --json has
more. Of the paths and URLs of --urls it shows all.

The exit code is 0 if no rule and no verdict differs, 1 if one does, and 2 if a
file cannot be read.`,
		Example: `  polite diff https://example.com robots.txt
  polite diff --urls important.txt old.txt new.txt`,
		Args: between(2, 2, "an old and a new robots.txt, each a file or a URL"),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0], args[1]) },
	}
	d.flags(cmd, "compare only for the crawler with this product `token`")
	cmd.Flags().StringVar(&d.urls, "urls", "", "try the paths and URLs of this `file`")
	return cmd
}

func (d *comparing) run(ctx context.Context, from, to string) error {
	if from == "-" && to == "-" || d.urls == "-" && (from == "-" || to == "-") {
		return usageErrorf("want one file on standard input, not two")
	}
	profile, err := profileByName(d.profile)
	if err != nil {
		return err
	}
	targets, err := d.targets()
	if err != nil {
		return err
	}
	var files []*matcher.File
	for _, what := range []string{from, to} {
		text, err := d.text(ctx, what, profile)
		if err != nil || text == nil {
			return err
		}
		files = append(files, matcher.Parse(text, profile.Dialect))
	}
	changes, skipped := compare.Files(files[0], files[1], d.token, targets)
	p := d.output()
	paths := shownPaths
	if d.urls != "" {
		paths = len(targets)
	}
	for _, c := range changes {
		d.code = exitDisallowed
		if d.json {
			p.JSON(c)
		} else {
			writeChange(p, c, paths)
		}
	}
	if err := p.Flush(); err != nil {
		return err
	}
	if skipped > 0 {
		d.code = exitFailed
		d.warn("the files name too many crawlers: %s not compared", display.Count(skipped, "crawler is", "crawlers are"))
	}
	if len(changes) == 0 {
		display.Message(d.err, "no difference; profile "+profile.Name)
		return nil
	}
	display.Message(d.err, fmt.Sprintf("the files differ for %s; profile %s", display.Count(len(changes), "crawler", "crawlers"), profile.Name))
	return nil
}

// shownPaths is how many paths and, for a new group, rules are shown for one crawler.
const shownPaths = 5

// headline says what differs for one crawler on the whole.
func headline(c compare.Change) string {
	var parts []string
	switch c.Own {
	case compare.OwnNew:
		parts = append(parts, "has a group of its own now")
	case compare.OwnGone:
		parts = append(parts, "has no group of its own any more")
	}
	if c.Site != "" {
		parts = append(parts, "/ is "+c.Site+" now")
	}
	return strings.Join(parts, "; ")
}

// writeChange writes what differs for one crawler. If its own group is new or gone, it
// now obeys another group, and the rules are not listed. paths is the number of paths shown.
func writeChange(p *display.Writer, c compare.Change, paths int) {
	title := p.Paint(display.Bold, c.Token)
	if h := headline(c); h != "" {
		title += ": " + h
	}
	p.Line("%s", title)
	if c.Own != compare.OwnNew {
		writeRules(p, display.Red, "- ", c.Removed, c.Own)
	}
	if c.Own != compare.OwnGone {
		writeRules(p, display.Green, "+ ", c.Added, c.Own)
	}
	paths = min(paths, len(c.Turned))
	for _, t := range c.Turned[:paths] {
		why := "no rule matches"
		if t.Rule != nil {
			why = fmt.Sprintf("line %d %q", t.Rule.Line, t.Rule.Rule)
		}
		verdict := "was allow, is now disallow"
		if t.Allowed {
			verdict = "was disallow, is now allow"
		}
		p.Line("  > %s: %s (%s)", t.Target, verdict, why)
	}
	if more := len(c.Turned) - paths + c.More; more > 0 {
		p.Line("  > and %d more", more)
	}
}

// writeRules writes the rules that one of the files has alone.
func writeRules(p *display.Writer, colour display.Colour, sign string, rules []compare.Rule, own compare.Own) {
	shown := len(rules)
	if own != "" {
		shown = min(shown, shownPaths)
	}
	for _, r := range rules[:shown] {
		p.Line("  %s  (line %d)", p.Paint(colour, sign+r.Rule), r.Line)
	}
	if more := len(rules) - shown; more > 0 {
		p.Line("  %s", p.Paint(colour, sign+"and "+display.Count(more, "more rule", "more rules")))
	}
}

// targets reads the file of --urls.
func (d *comparing) targets() ([]string, error) {
	if d.urls == "" {
		return nil, nil
	}
	l, closeList, err := openList(nil, d.urls, d.in)
	if err != nil {
		return nil, err
	}
	defer closeList()
	var all []string
	var bad error
	err = l.entries(func(e entry) bool {
		if e.err == nil {
			e.err = checkTarget(e.text)
		}
		if e.err != nil {
			bad = fmt.Errorf("%s, line %d: %w", d.urls, e.line, e.err)
		}
		all = append(all, e.text)
		return bad == nil
	})
	if bad != nil {
		return nil, bad
	}
	return all, err
}
