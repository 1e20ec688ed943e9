package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/internal/clean"
)

func (c *cli) sitemapsCommand() *cobra.Command {
	o := &online{}
	cmd := &cobra.Command{
		Use:   "sitemaps [flags] URL",
		Short: "List the sitemaps that a site's robots.txt names",
		Long: `Sitemaps lists the sitemap records of the robots.txt of the URL's site, one a
line, in the order of the file (RFC 9309, section 2.2.4). None is fetched. What
cannot stand in a URL is percent-encoded.

The exit code is 0 if the file was read or there is none, and 3 if it could not
be had.`,
		Example: `  polite sitemaps https://example.com
  polite sitemaps --json https://example.com | jq -r .sitemap`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.sitemaps(cmd.Context(), o, args[0]) },
	}
	o.flags(cmd)
	o.storeFlag(cmd)
	return cmd
}

// sitemap is what --json says of one.
type sitemap struct {
	Sitemap string `json:"sitemap"`
	Robots  string `json:"robots"`
}

func (c *cli) sitemaps(ctx context.Context, o *online, what string) error {
	target, err := parse(what)
	if err != nil {
		return err
	}
	crawler, stop, err := o.transport(c, nil, nil)
	if err != nil {
		return err
	}
	defer stop()
	rec, err := crawler.Record(ctx, target)
	if err != nil {
		return err
	}
	f := rec.File()
	if f == nil {
		top := *target
		top.Path, top.RawPath, top.RawQuery = "/", "", ""
		d := rec.Decide("", &top, c.now())
		c.warn("no sitemaps: %s", paper.Reason(d, c.now()))
		var t tally
		t.add(d.Verdict, nil)
		c.code = t.code()
		return nil
	}
	p := paper.New(c.out)
	for _, s := range f.Sitemaps() {
		if o.json {
			p.JSON(sitemap{clean.Link(s, clean.Unbounded), rec.Robots()})
		} else {
			p.WriteString(clean.Link(s, clean.Unbounded) + "\n")
		}
	}
	if len(f.Sitemaps()) == 0 {
		c.warn("%s names no sitemaps", rec.Robots())
	}
	return p.Flush()
}
