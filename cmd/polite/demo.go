package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// demoAgent is who the demo pretends to be.
const demoAgent = "ExampleBot/0.1 (+https://example.com/bot)"

// demoPatience bounds a retrieval in the demo: it is how long the slow site is
// waited for.
const demoPatience = 1500 * time.Millisecond

func (c *cli) demoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the rulings for a small web on loopback that misbehaves",
		Long: `Demo starts some web sites on this machine: one in order, one that redirects, one
without robots.txt, and others that fail in the ways sites do. It asks for some
URLs of each, shows the rulings, and fetches a page that is allowed and one that
is not. It needs no network and ends by itself.`,
		Example: "  polite demo\n  polite demo --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

func (c *cli) demo(ctx context.Context, asJSON bool) error {
	web, err := startWeb()
	if err != nil {
		return err
	}
	defer web.stop()
	crawler, err := fetcher.New(demoAgent, &fetcher.Options{Timeout: c.patience, Base: &http.Transport{}})
	if err != nil {
		return err
	}
	defer crawler.CloseIdleConnections()
	p := paper.New(c.out)
	if !asJSON {
		p.WriteString("Each site below runs on this machine. Asking them for robots.txt ...\n\n")
		p.Flush()
	}
	// All at once, so that the slow ones are waited for together.
	if err := crawler.Prefetch(ctx, web.targets()); err != nil {
		return err
	}
	if asJSON {
		return c.demoJSON(ctx, p, crawler, web)
	}
	if err := c.demoTable(ctx, p, crawler, web); err != nil {
		return err
	}
	c.demoPages(ctx, p, crawler, web)
	return p.Flush()
}

func (c *cli) demoJSON(ctx context.Context, p *paper.Paper, crawler *fetcher.Transport, web *demoWeb) error {
	for target := range web.targets() {
		d, err := crawler.Check(ctx, target)
		if err != nil {
			return err
		}
		p.JSON(d)
	}
	return p.Flush()
}

// demoWidth is the width of the table where the terminal has no other.
const demoWidth = 80

// demoTable asks for the URLs of every site and writes the rulings as a table.
func (c *cli) demoTable(ctx context.Context, p *paper.Paper, crawler *fetcher.Transport, web *demoWeb) error {
	t := paper.Table{Width: demoWidth}
	t.Row("URL", "VERDICT", "WHY", "AGAIN IN")
	for _, s := range web.sites {
		t.Heading(s.what)
		for _, u := range s.urls() {
			d, err := crawler.Check(ctx, u)
			if err != nil {
				return err
			}
			t.Row(d.URL, paper.Word(d.Verdict), demoWhy(d), roughly(d, c.now()))
		}
	}
	t.Write(p)
	return p.Flush()
}

// demoWhy is the reason as short as the table wants it: the heading above names
// the site, and there is one group.
func demoWhy(d policy.Decision) string {
	switch {
	case d.Match.Rule.Line != 0:
		return strings.TrimSuffix(paper.Rule(d), " in group "+paper.Group(d.Match.Agent))
	case d.Cause != "":
		return clean.Text(d.Cause, 200)
	}
	return paper.Cause(d)
}

// roughly is the time until the file is asked for again, in one unit.
func roughly(d policy.Decision, now time.Time) string {
	wait, _ := paper.Wait(d, now)
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}} {
		if up := wait.Round(u.unit); up >= u.unit {
			return fmt.Sprintf("%d %s", up/u.unit, u.name)
		}
	}
	return paper.Span(wait)
}

// demoPages fetches an allowed page and a disallowed one through the
// RoundTripper.
func (c *cli) demoPages(ctx context.Context, p *paper.Paper, crawler *fetcher.Transport, web *demoWeb) {
	fmt.Fprintf(p, "\nNow through http.Client{Transport: crawler}:\n\n")
	client := &http.Client{Transport: crawler, Timeout: c.patience}
	for _, u := range web.sites[0].urls()[:2] {
		fmt.Fprintf(p, "GET %s\n", u)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			continue
		}
		resp, err := client.Do(req)
		var denied *fetcher.DeniedError
		switch {
		case errors.As(err, &denied):
			fmt.Fprintf(p, "    %s\n    errors.Is(err, fetcher.ErrDisallowed) = %v; no request was made\n",
				p.Paint(paper.Red, "refused: "+paper.Rule(denied.Decision)), errors.Is(err, fetcher.ErrDisallowed))
		case err != nil:
			fmt.Fprintf(p, "    failed: %s\n", clean.Text(err.Error(), 300))
		default:
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
			resp.Body.Close()
			fmt.Fprintf(p, "    %s\n", p.Paint(paper.Green, fmt.Sprintf("%s: %q", resp.Status, clean.Text(string(body), 60))))
		}
	}
	s := crawler.Stats()
	fmt.Fprintf(p, "\n%s took %s for robots.txt.\n",
		paper.Count(s.Allowed+s.Disallowed+s.Deferred, "ruling", "rulings"), paper.Count(s.Requests, "request", "requests"))
}

// targets yields the URLs of all sites.
func (w *demoWeb) targets() iter.Seq[*url.URL] {
	return func(yield func(*url.URL) bool) {
		for _, s := range w.sites {
			for _, u := range s.urls() {
				if !yield(u) {
					return
				}
			}
		}
	}
}
