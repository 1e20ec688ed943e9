package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/agentpage"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// longPage is how much of a page is read, in bytes.
const longPage = 1 << 20

// An introduction is one run of polite agent.
type introduction struct {
	siteFlags
	*cli
	ownAgent bool // --agent was given
	client   *http.Client
}

func (c *cli) agentCommand() *cobra.Command {
	o := &introduction{cli: c}
	cmd := &cobra.Command{
		Use:   "agent [flags] URL",
		Short: "Check the page on which a crawler presents itself",
		Long: `Agent fetches the page that a crawler's User-Agent links to, and checks it for
what the draft "Crawler best practices" asks for: the product token, an example
robots.txt that blocks the crawler, a contact address, and a link to the list of
addresses that the crawler comes from. With --agent it takes the product token
from this User-Agent, and checks that the User-Agent has the URL of the page.

Redirects and links to private addresses are not followed, unless the page
itself is at a private address.

Whether the page explains the use of the data is for a person to judge.

With --json each line is an object. The exit code is 0 if nothing is missing,
1 if something is, and 2 if the page could not be fetched.`,
		Example: `  polite agent https://example.com/bot.html
  polite agent --agent "ExampleBot/1.0 (+https://example.com/bot.html)" \
      https://example.com/bot.html`,
		Args:              between(1, 1, "the URL of the crawler's page"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ownAgent = cmd.Flags().Changed("agent") || os.Getenv("POLITE_AGENT") != ""
			return o.run(cmd.Context(), args[0])
		},
	}
	o.flags(cmd, "the product `token` that the page must name (default: the one in its example)")
	return cmd
}

func (o *introduction) run(ctx context.Context, what string) error {
	target, err := parseURL(o.assume(what))
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	crawler, stop, err := o.crawler(ctx, target)
	if err != nil {
		return err
	}
	defer stop()
	o.client = &http.Client{Transport: crawler, Timeout: o.timeout}
	resp, body, err := o.fetch(ctx, target)
	if err != nil {
		return err
	}
	token := o.token // "" means the one that the page has an example for
	if o.ownAgent {
		token = o.decidesFor(crawler)
	}
	page := agentpage.Parse(resp.Request.URL, resp.Header, body)
	findings := page.Check(token)
	if o.ownAgent {
		findings = append(findings, agentpage.CheckAgent(o.agent, target))
	}
	return o.write(append(findings, o.checkRanges(ctx, page.Ranges)))
}

// crawler returns a Transport that is not led to a private address by a redirect or by the
// link to the crawler's addresses, unless the page itself is at one.
func (o *introduction) crawler(ctx context.Context, target *url.URL) (*fetcher.Transport, func() error, error) {
	o.public = true
	t, stop, err := o.transport(o.cli, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	d, err := t.Check(limited, target) // without a decision the request for the page says why
	if err != nil || d.Verdict != policy.Disallow || d.Clause != "house" {
		return t, stop, nil
	}
	stop()
	o.public = false
	return o.transport(o.cli, nil, nil)
}

// fetch fetches a page whose status is a success.
func (o *introduction) fetch(ctx context.Context, target *url.URL) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	resp, err := o.client.Do(req)
	var denied *fetcher.DeniedError
	if errors.As(err, &denied) {
		d := denied.Decision
		return nil, nil, fmt.Errorf("%s %s: %s", display.Word(d.Verdict), d.URL, display.Reason(d, o.now()))
	}
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, nil, fmt.Errorf("%s: status %d, want 200", resp.Request.URL.Redacted(), resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, longPage))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", resp.Request.URL.Redacted(), err)
	}
	return resp, body, nil
}

// checkRanges checks the list of the crawler's addresses.
func (o *introduction) checkRanges(ctx context.Context, at *url.URL) agentpage.Finding {
	f := agentpage.Finding{Level: "MUST", Asked: "a link to the crawler's addresses"}
	if at == nil {
		f.Detail = `add <link rel="client-ranges" href="..."> or the same as a Link header`
		return f
	}
	_, body, err := o.fetch(ctx, at)
	switch {
	case err != nil:
	case len(body) == longPage:
		err = errors.New("longer than 1 MiB")
	case !json.Valid(body):
		err = errors.New("not JSON")
	}
	f.OK, f.Detail = err == nil, at.Redacted()
	if err != nil && !strings.Contains(err.Error(), f.Detail) {
		f.Detail += ": " + err.Error()
	} else if err != nil {
		f.Detail = err.Error()
	}
	return f
}

// write writes the findings.
func (o *introduction) write(all []agentpage.Finding) error {
	p := display.New(o.out)
	for _, f := range all {
		if !f.OK {
			o.code = exitDisallowed
		}
		f.Detail = clean.Text(f.Detail, longText)
		switch {
		case o.json:
			p.JSON(f)
		case f.OK:
			p.Line("%s  %s: %s", p.Paint(display.Green, "ok     "), f.Asked, f.Detail)
		default:
			p.Line("%s  %s (%s): %s", p.Paint(display.Red, "missing"), f.Asked, f.Level, f.Detail)
		}
	}
	return p.Flush()
}
