package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

// getting is one run of polite get.
type getting struct {
	siteFlags
	*cli
	from    string        // --from
	dir     string        // --dir
	file    string        // --output
	gap     time.Duration // --gap
	fail    bool          // --fail
	usage   bool          // --usage
	crawler *fetcher.Transport
	page    io.Writer       // gets the pages, without --dir
	results *display.Writer // gets the --json objects
	tally   tally
	size    int64       // bytes of the list, 0 if unknown
	limit   *time.Timer // ends the current request for a page
}

func (c *cli) getCommand() *cobra.Command {
	g := &getting{cli: c}
	cmd := &cobra.Command{
		Use:   "get [flags] URL...",
		Short: "Fetch pages, if robots.txt allows it",
		Long: `Get fetches pages one after another and writes them to standard output, to the
file of -o, or each to a file of its own in the folder of --dir. The name of
such a file is the URL. With --from it reads URLs from a file, one per line.

Get follows a redirect only if the robots.txt of the new site allows it. Between
two requests to one site it waits --gap, or the site's Crawl-delay up to a
minute. After a 429 or 503 it waits as long as Retry-After says, up to 15
minutes.

The reason for a refused page is printed on standard error. With --json,
standard output gets one object for each URL, and pages are written only with -o
or --dir. A request for a page may take --timeout, without the wait for its
turn.

A page with an error status, such as 404 or 429, is written like any other page.
Its status is printed on standard error, and the exit code stays 0. With --fail
such a page is not written, and the exit code is 2.

With --usage, standard error gets what the site says about the use of each page,
such as the training of a model, in robots.txt and in the header of the page.
This is experimental, and nothing is enforced. With --json the objects have it
without --usage, too.

` + exitCodes,
		Example: `  polite get https://example.com/
  polite get --fail -o page.html https://example.com/
  polite get --agent "ExampleBot/1.0 (+https://example.com/bot)" \
      https://example.com/
  polite get --json --dir pages --from urls.txt > pages.jsonl
  polite get --usage -o page.html https://example.com/`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return g.run(cmd.Context(), args) },
	}
	g.flags(cmd, "the product `token` of the crawler, a part of the agent (default: first word of the agent)")
	g.storeFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&g.from, "from", "", "read URLs from this `file`; - is standard input")
	f.StringVar(&g.dir, "dir", "", "write each page to a file in this `folder`")
	f.StringVarP(&g.file, "output", "o", "", "write the pages to this `file`")
	f.BoolVarP(&g.fail, "fail", "f", false, "do not write a page with a status of 400 or more, and exit with 2")
	f.BoolVar(&g.usage, "usage", false, "print what the site says about the use of each page")
	f.Lookup("timeout").Usage = "longest `duration` of fetching one robots.txt, redirects and retries included, or of one request for a page"
	f.DurationVar(&g.gap, "gap", time.Second, "shortest `duration` between two requests to a site")
	return cmd
}

func (g *getting) run(ctx context.Context, args []string) (err error) {
	switch {
	case len(args) == 0 && g.from == "":
		return usageErrorf("want one or more URLs, or --from and a list of URLs")
	case g.dir != "" && g.file != "":
		return usageErrorf("want --output or --dir, not both")
	case g.from != "" && g.dir == "" && !g.json:
		return usageErrorf("want --dir with --from, for one file a page")
	case g.gap < 0:
		return usageErrorf("--gap is %v; want zero or more", g.gap)
	}
	if err := noFiles(args); err != nil {
		return err
	}
	if !g.inAgent() {
		return g.unnamed()
	}
	var stop func() error
	// The decision comes after the wait for a turn, so the time of the page begins there.
	started := func(context.Context, policy.Decision) { g.limit.Reset(g.timeout) }
	g.crawler, stop, err = g.transport(g.cli, &fetcher.Trace{Decided: started}, &pace.Limits{Gap: g.gap, Parallel: 1})
	if err != nil {
		return err
	}
	if g.dir != "" {
		if err := os.MkdirAll(g.dir, 0o755); err != nil {
			return errors.Join(err, stop())
		}
	}
	g.results = g.output()
	g.page = g.results
	if g.json {
		g.page = io.Discard
	}
	output := &lateFile{name: g.file}
	if g.file != "" {
		g.page = output
	}
	defer func() { err = errors.Join(err, g.results.Flush(), output.Close(), stop()) }()
	list, closeList, err := openList(args, g.from, g.in)
	if err != nil {
		return err
	}
	defer closeList()
	g.size = list.size
	client := &http.Client{Transport: g.crawler, CheckRedirect: g.redirect}
	err = list.entries(func(e entry) bool {
		g.getPage(ctx, client, e)
		return ctx.Err() == nil
	})
	g.code = g.tally.code()
	return cmp.Or(ctx.Err(), err)
}

// pageResult is the --json output for one page.
type pageResult struct {
	URL      string           `json:"url"`
	Final    string           `json:"final,omitempty"`    // URL of the page after redirects
	Status   int              `json:"status,omitempty"`   // status of the page
	Type     string           `json:"type,omitempty"`     // Content-Type
	Bytes    int64            `json:"bytes"`              // length of the page's body
	File     string           `json:"file,omitempty"`     // the page's file, with --dir
	Usage    usage.Set        `json:"usage,omitzero"`     // what the site says about the use of the page
	Decision *policy.Decision `json:"decision,omitempty"` // why the page was refused
	Error    string           `json:"error,omitempty"`
}

// getPage fetches one page and reports the result.
func (g *getting) getPage(ctx context.Context, client *http.Client, e entry) {
	target := e.text
	r := pageResult{URL: display.URL(target, longText)}
	err := e.err // the line is too long
	if err == nil {
		target = g.assume(target)
		r, err = g.fetch(ctx, client, target)
	}
	var denied *fetcher.DeniedError
	switch {
	case errors.As(err, &denied):
		g.tally.add(denied.Decision.Verdict, nil)
		r.Decision = &denied.Decision
	case err != nil:
		g.tally.none++
		r.Error = display.URL(err.Error(), longText)
	default:
		g.tally.allowed++
	}
	switch {
	case g.json:
		g.results.JSON(r)
	case r.Decision != nil:
		d := *r.Decision
		g.warn("%s %s%s: %s", display.Word(d.Verdict), d.URL, redirectedFrom(display.Mask(target), d.URL), display.Reason(d, g.now()))
	case err != nil:
		g.warn("%s: %v", target, err)
	case r.File != "":
		g.warn("%s%s: status %d, %s in %s", g.share(e), r.Final, r.Status, display.Count(r.Bytes, "byte", "bytes"), r.File)
	case g.file != "" || r.Status >= 300:
		g.warn("%s: status %d, %s", r.Final, r.Status, display.Count(r.Bytes, "byte", "bytes"))
	}
	if g.usage && !g.json {
		g.warnUsage(r)
	}
}

// share returns how much of a list is done, for the beginning of a message.
func (g *getting) share(e entry) string {
	if g.size == 0 || e.line == 0 {
		return ""
	}
	return fmt.Sprintf("%3d%%  ", 100*e.end/g.size)
}

// maxUsage is how many lines about the use of a page are printed.
const maxUsage = 50

// warnUsage reports what the site says about the use of a page, if anything.
func (g *getting) warnUsage(r pageResult) {
	said := r.Usage.String()
	if said == "" {
		return
	}
	lines := strings.Split(said, "\n")
	g.warn("%s: the site says about its use:", r.Final)
	for _, line := range lines[:min(len(lines), maxUsage)] {
		g.warn("  %s", line)
	}
	if more := len(lines) - maxUsage; more > 0 {
		g.warn("  and %s", display.Count(more, "more line", "more lines"))
	}
}

// redirectedFrom names the requested URL if a redirect from it was refused.
func redirectedFrom(asked, refused string) string {
	if asked == refused {
		return ""
	}
	return " (from " + asked + ")"
}

// redirect ends the time of a request that was redirected: the next one waits for its turn.
func (g *getting) redirect(_ *http.Request, via []*http.Request) error {
	g.limit.Stop()
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// fetch fetches one page within its time.
func (g *getting) fetch(ctx context.Context, client *http.Client, target string) (pageResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("the page took longer than %v; see --timeout", g.timeout)
	g.limit = time.AfterFunc(math.MaxInt64, func() { cancel(late) })
	defer g.limit.Stop()
	r, err := g.copyPage(ctx, client, target)
	if err != nil && context.Cause(ctx) == late {
		err = late
	}
	return r, err
}

// longName is the longest name of a page's file, in bytes.
const longName = 200

// pageFile returns the file of a page in --dir. Its name is the URL without the scheme, with
// triplets in place of slashes. The end of a long one is a hash.
func (g *getting) pageFile(target string) *lateFile {
	_, name, _ := strings.Cut(display.Mask(target), "://")
	if name = url.QueryEscape(name); len(name) > longName {
		name = fmt.Sprintf("%s-%x", name[:longName], sha256.Sum256([]byte(target)))[:longName+17]
	}
	return &lateFile{name: strings.TrimSuffix(g.dir, "/") + "/" + name}
}

// copyPage copies one page to g.page, or to its file.
func (g *getting) copyPage(ctx context.Context, client *http.Client, target string) (r pageResult, err error) {
	r = pageResult{URL: display.URL(target, longText)}
	if _, err := parseURL(target); err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return r, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return r, plainError(err)
	}
	defer resp.Body.Close()
	r.Final, r.Status, r.Type = resp.Request.URL.Redacted(), resp.StatusCode, clean.Text(resp.Header.Get("Content-Type"), 200)
	r.Usage = g.crawler.Usage(resp)
	if g.fail && r.Status >= http.StatusBadRequest {
		return r, fmt.Errorf("status %d, page not written", r.Status)
	}
	page := g.page
	if page == g.results && g.results.Width > 0 {
		page = display.NewPageWriter(g.results)
	}
	if g.dir != "" {
		file := g.pageFile(target)
		r.File, page = file.name, file
		if _, err := file.Write(nil); err != nil { // an empty page has a file, too
			return r, err
		}
		defer func() {
			if err = cmp.Or(err, file.Close()); err != nil {
				os.Remove(file.name)
				r.File = ""
			}
		}()
	}
	// Hide ReadFrom: a bufio.Writer would keep the body's error as its own.
	r.Bytes, err = io.Copy(struct{ io.Writer }{page}, &pageBody{r: resp.Body})
	return r, err
}

// plainError returns the error of a request without the URL, which the message has already.
func plainError(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		err = with.Err
	}
	if err == io.EOF {
		return errors.New("the server closed the connection without an answer")
	}
	return err
}

// pageBody reads a page and explains an error in the middle of it.
type pageBody struct {
	r io.Reader
	n int64
}

func (b *pageBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("the page broke off after %s: %w", display.Count(b.n, "byte", "bytes"), err)
	}
	return n, err
}

// lateFile creates its file at the first Write, so that a refused page does not
// empty a file of an earlier run.
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
