package main

import (
	"context"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/internal/clean"
)

func (c *cli) sitemapsCommand() *cobra.Command {
	o := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "sitemaps [flags] URL",
		Short: "List the sitemaps that a site's robots.txt names",
		Long: `Sitemaps lists the sitemaps that the robots.txt of the URL's site names, one per
line, in the order of the file (RFC 9309, section 2.2.4). It does not fetch
them. Characters that may not appear in a URL are percent-encoded. A relative
URL, which crawlers may ignore, is completed and reported on standard error.
With --json the field relative has the URL as the file has it.

The exit code is 0 if robots.txt was fetched or does not exist, and 3 if it
could not be fetched.`,
		Example: `  polite sitemaps https://example.com
  polite sitemaps --json https://example.com | jq -r .sitemap`,
		Args:              between(1, 1, "one URL"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.sitemaps(cmd.Context(), o, args[0]) },
	}
	o.flags(cmd, "the product `token` of the crawler; sitemaps are the same for all")
	o.storeFlag(cmd)
	return cmd
}

// sitemap is the --json output for one sitemap.
type sitemap struct {
	Sitemap  string `json:"sitemap"`
	Relative string `json:"relative,omitempty"` // as written, if it is no full URL
	Robots   string `json:"robots"`
}

// newSitemap completes a sitemap that is relative to the robots.txt that names it.
func newSitemap(written, robots string) sitemap {
	s := sitemap{Sitemap: clean.Link(written, clean.Unbounded), Robots: robots}
	if _, err := parseURL(s.Sitemap); err == nil {
		return s
	}
	s.Relative = clean.Text(written, longText)
	if base, err := url.Parse(robots); err == nil {
		if full, err := base.Parse(written); err == nil {
			s.Sitemap = clean.Link(full.String(), clean.Unbounded)
		}
	}
	return s
}

func (c *cli) sitemaps(ctx context.Context, o *siteFlags, what string) error {
	rec, _, err := c.fetchRecord(ctx, o, what)
	if err != nil || rec.File() == nil {
		return err
	}
	f := rec.File()
	p := c.output()
	for _, written := range f.Sitemaps() {
		if written == "" {
			continue
		}
		s := newSitemap(written, rec.Robots())
		if o.json {
			p.JSON(s)
			continue
		}
		p.WriteString(s.Sitemap + "\n")
		if s.Relative != "" {
			p.Flush()
			c.warn("%s is written as %q; want a full URL, because crawlers may ignore others", s.Sitemap, s.Relative)
		}
	}
	if len(f.Sitemaps()) == 0 {
		c.warn("%s names no sitemaps", rec.Robots())
	}
	return p.Flush()
}
