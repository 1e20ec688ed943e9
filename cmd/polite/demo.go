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
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// demoAgent is the agent of the demo's requests.
const demoAgent = "ExampleBot/0.1 (+https://example.com/bot)"

// demoTimeout bounds a retrieval in the demo, so it is how long the demo waits for
// the slow site.
const demoTimeout = 1500 * time.Millisecond

func (c *cli) demoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start some faulty sites on loopback and show the decisions",
		Long: `Demo starts some web sites on this machine: one that works, one that redirects,
one without robots.txt, and others that fail in common ways. It checks some URLs
of each and shows the decisions. Then it tries to fetch a page that is allowed
and one that is not. It needs no network and ends by itself.`,
		Example: "  polite demo\n  polite demo --json",
		Args:    between(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

func (c *cli) demo(ctx context.Context, asJSON bool) error {
	web, err := startDemoWeb()
	if err != nil {
		return err
	}
	defer web.stop()
	crawler, err := fetcher.New(demoAgent, &fetcher.Options{Timeout: c.demoTimeout, Base: &http.Transport{}})
	if err != nil {
		return err
	}
	defer crawler.CloseIdleConnections()
	p := c.output()
	if !asJSON {
		p.WriteString("Each site below runs on this machine. Fetching their robots.txt ...\n\n")
		p.Flush()
	}
	// Fetch all of them at the same time, so that slow sites do not add up.
	var all sync.WaitGroup
	for target := range web.targets() {
		all.Go(func() { crawler.Record(ctx, target) }) // ends with the fetch, or with ctx; a failure is in the record
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
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

func (c *cli) demoJSON(ctx context.Context, p *display.Writer, crawler *fetcher.Transport, web *demoWeb) error {
	for target := range web.targets() {
		d, err := crawler.Check(ctx, target)
		if err != nil {
			return err
		}
		p.JSON(d)
	}
	return p.Flush()
}

// demoWidth is the width of the table in columns.
const demoWidth = 80

// demoTable checks the URLs of every site and writes the decisions as a table.
func (c *cli) demoTable(ctx context.Context, p *display.Writer, crawler *fetcher.Transport, web *demoWeb) error {
	t := display.Table{Width: demoWidth}
	t.Row("URL", "VERDICT", "WHY", "FETCH IN")
	for _, s := range web.sites {
		t.Heading(s.what)
		for _, u := range s.urls() {
			d, err := crawler.Check(ctx, u)
			if err != nil {
				return err
			}
			t.Row(d.URL, display.Word(d.Verdict), demoReason(d), roundedWait(d, c.now()))
		}
	}
	t.Write(p)
	return p.Flush()
}

// demoReason returns a short reason. It leaves out the site, which the heading
// names, and the group, because each file has only one that applies.
func demoReason(d policy.Decision) string {
	switch {
	case d.Match.Rule.Line != 0:
		return strings.TrimSuffix(display.Rule(d), " in group "+display.Group(d.Match.Agent))
	case d.Cause != "":
		return clean.Text(d.Cause, 200)
	}
	return display.Cause(d)
}

// roundedWait returns the time until the next fetch of robots.txt, in one unit.
func roundedWait(d policy.Decision, now time.Time) string {
	wait, _ := display.Wait(d, now)
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}} {
		if up := wait.Round(u.unit); up >= u.unit {
			return fmt.Sprintf("%d %s", up/u.unit, u.name)
		}
	}
	return display.Span(wait)
}

// demoPages fetches an allowed page and a disallowed one through the
// RoundTripper.
func (c *cli) demoPages(ctx context.Context, p *display.Writer, crawler *fetcher.Transport, web *demoWeb) {
	fmt.Fprintf(p, "\nNow through http.Client{Transport: crawler}:\n\n")
	client := &http.Client{Transport: crawler, Timeout: c.demoTimeout}
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
				p.Paint(display.Red, "refused: "+display.Rule(denied.Decision)), errors.Is(err, fetcher.ErrDisallowed))
		case err != nil:
			fmt.Fprintf(p, "    failed: %s\n", clean.Text(err.Error(), 300))
		default:
			body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
			resp.Body.Close()
			fmt.Fprintf(p, "    %s\n", p.Paint(display.Green, fmt.Sprintf("%s: %q", resp.Status, clean.Text(string(body), 60))))
		}
	}
	s := crawler.Stats()
	fmt.Fprintf(p, "\n%s took %s for robots.txt.\n",
		display.Count(s.Allowed+s.Disallowed+s.Deferred, "decision", "decisions"), display.Count(s.Requests, "request", "requests"))
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
