package main

import (
	"context"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/policy"
)

func (c *cli) robotsCommand() *cobra.Command {
	o := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "robots [flags] URL",
		Short: "Print a site's robots.txt, and say which part of it is obeyed",
		Long: `Robots prints the robots.txt of the URL's site as it was fetched, up to the
limit of the profile. Standard error gets where it came from and which group the
crawler obeys. A terminal shows ? for control characters.

The exit code is 0 if robots.txt was fetched or does not exist, and 3 if it
could not be fetched.`,
		Example: `  polite robots https://example.com
  polite robots --token ExampleBot https://example.com > robots.txt`,
		Args:              between(1, 1, "one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.robots(cmd.Context(), o, args[0]) },
	}
	o.flags(cmd, "say which group the crawler with this product `token` obeys (default: first word of the agent)")
	cmd.Flags().Lookup("json").Hidden = true // polite check --json has the decision
	o.storeFlag(cmd)
	return cmd
}

func (c *cli) robots(ctx context.Context, o *siteFlags, what string) error {
	rec, d, err := c.fetchRecord(ctx, o, what)
	if err != nil || rec.File() == nil {
		return err
	}
	f, token := rec.File(), d.token
	group, rules := f.Group(token), 0
	for range group.Rules() {
		rules++
	}
	p := c.output()
	if p.Width > 0 {
		io.WriteString(display.NewPageWriter(p), f.Text())
	} else {
		p.WriteString(f.Text())
	}
	if err := p.Flush(); err != nil {
		return err
	}
	if d.Served != d.Robots {
		c.warn("%s was served by %s", d.Robots, d.Served)
	}
	c.warn("%s: status %d, %s, SHA-256 %s; %s", d.Robots, d.Status, display.Count(len(f.Text()), "byte", "bytes"), d.Digest, display.Lifetime(d.Decision, c.now()))
	obeyed := "no group, and may fetch everything"
	if group.Agent() != "" {
		obeyed = fmt.Sprintf("group %s, which has %s", display.Group(group.Agent()), display.Count(rules, "rule", "rules"))
	}
	c.warn("%s obeys %s", token, obeyed)
	return nil
}

// fetchRecord fetches the robots.txt of a site, and decides on the site's first page. If there
// is no file, it says why and sets the exit code.
func (c *cli) fetchRecord(ctx context.Context, o *siteFlags, what string) (rec *policy.Record, d checkResult, err error) {
	target, err := parseURL(c.assume(what))
	if err != nil {
		return nil, d, fmt.Errorf("%s: %w", what, err)
	}
	crawler, stop, err := o.transport(c, nil, nil)
	if err != nil {
		return nil, d, err
	}
	defer stop()
	if rec, err = crawler.Record(ctx, target); err != nil {
		return nil, d, err
	}
	d.token = o.decidesFor(crawler)
	d.Decision = rec.Decide(d.token, &url.URL{Scheme: target.Scheme, Host: target.Host, Path: "/"}, c.now())
	if rec.File() == nil {
		c.warn("%s: %s", d.Robots, display.Reason(d.Decision, c.now()))
		var t tally
		t.add(d.Verdict, nil)
		c.code = t.code()
	}
	return rec, d, nil
}
