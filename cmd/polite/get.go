package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// getting is one run of polite get.
type getting struct {
	online
	*cli
	file  string
	gap   time.Duration
	page  io.Writer    // where pages go
	paper *paper.Paper // where --json goes
	tally tally
}

func (c *cli) getCommand() *cobra.Command {
	g := &getting{cli: c}
	cmd := &cobra.Command{
		Use:   "get [flags] URL...",
		Short: "Fetch pages, if robots.txt allows it",
		Long: `Get fetches pages one after another and writes them to standard output or a file.
Each redirect is judged by the robots.txt of the site it leads to. Requests to
one site are spaced by --gap, or by its Crawl-delay up to a minute; after 429 or
503 it is left alone for as long as it asks.

A refused page is explained on standard error. With --json, standard output has
one object for each URL, and pages go to the file of -o or nowhere.

` + exitCodes,
		Example: `  polite get https://example.com/
  polite get --agent "ExampleBot/1.0 (+https://example.com/bot)" -o page.html https://example.com/
  polite get --json -o pages.html https://example.com/1 https://example.com/2`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return g.run(cmd.Context(), args) },
	}
	g.flags(cmd)
	g.tokenFlag(cmd)
	g.storeFlag(cmd)
	f := cmd.Flags()
	f.StringVarP(&g.file, "output", "o", "", "write the pages to this `file`")
	f.DurationVar(&g.gap, "gap", time.Second, "shortest `duration` between two requests to a site")
	return cmd
}

func (g *getting) run(ctx context.Context, args []string) (err error) {
	if g.gap < 0 {
		return misused("--gap is %v; want no less than nothing", g.gap)
	}
	crawler, stop, err := g.transport(g.cli, nil, &pace.Limits{Gap: g.gap, Parallel: 1})
	if err != nil {
		return err
	}
	g.paper = paper.New(g.out)
	g.page = g.paper
	if g.json {
		g.page = io.Discard
	}
	output := &lateFile{name: g.file}
	if g.file != "" {
		g.page = output
	}
	defer func() { err = errors.Join(err, g.paper.Flush(), output.Close(), stop()) }()
	client := &http.Client{Transport: crawler}
	for _, a := range args {
		if g.one(ctx, client, a); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	g.code = g.tally.code()
	return nil
}

// got is what --json says of one page.
type got struct {
	URL      string           `json:"url"`
	Final    string           `json:"final,omitempty"`    // where the page came from, after redirects
	Status   int              `json:"status,omitempty"`   // of the page
	Type     string           `json:"type,omitempty"`     // Content-Type
	Octets   int64            `json:"octets"`             // of the page's body
	Decision *policy.Decision `json:"decision,omitempty"` // of a refusal
	Error    string           `json:"error,omitempty"`
}

// one fetches one page and tells what came of it.
func (g *getting) one(ctx context.Context, client *http.Client, target string) {
	r, err := g.fetch(ctx, client, target)
	var denied *fetcher.DeniedError
	switch {
	case errors.As(err, &denied):
		g.tally.add(denied.Decision.Verdict, nil)
		r.Decision = &denied.Decision
	case err != nil:
		g.tally.none++
		r.Error = clean.Text(err.Error(), longText)
	default:
		g.tally.allowed++
	}
	switch {
	case g.json:
		g.paper.JSON(r)
	case r.Decision != nil:
		d := *r.Decision
		g.warn("%s %s%s: %s", paper.Word(d.Verdict), d.URL, from(target, d.URL), paper.Reason(d, g.now()))
	case err != nil:
		g.warn("%s: %v", target, err)
	case g.file != "" || r.Status >= 300:
		g.warn("%s: status %d, %s", r.Final, r.Status, paper.Count(r.Octets, "octet", "octets"))
	}
}

// from names the URL asked for where a redirect led elsewhere.
func from(asked, refused string) string {
	if asked == refused {
		return ""
	}
	return " (from " + asked + ")"
}

// fetch copies one page to where pages go.
func (g *getting) fetch(ctx context.Context, client *http.Client, target string) (got, error) {
	r := got{URL: clean.Text(target, longText)}
	if _, err := parse(target); err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return r, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	r.Final, r.Status, r.Type = resp.Request.URL.Redacted(), resp.StatusCode, clean.Text(resp.Header.Get("Content-Type"), 200)
	page := g.page
	if page == g.paper && g.paper.Width > 0 {
		page = paper.NewScreen(g.paper)
	}
	// The bare Writer, for a bufio.Writer keeps the error of a reader as its own.
	r.Octets, err = io.Copy(struct{ io.Writer }{page}, &body{r: resp.Body})
	return r, err
}

// body is a page that says so when it breaks off.
type body struct {
	r io.Reader
	n int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("the page broke off after %s: %w", paper.Count(b.n, "octet", "octets"), err)
	}
	return n, err
}

// lateFile is a file that is made when the first octet is written: a page that
// is refused does not empty what an earlier run has left.
type lateFile struct {
	name string
	f    *os.File
}

func (l *lateFile) Write(b []byte) (int, error) {
	if l.f == nil {
		f, err := os.Create(l.name)
		if err != nil {
			return 0, err
		}
		l.f = f
	}
	return l.f.Write(b)
}

func (l *lateFile) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
