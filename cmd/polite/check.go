package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/evidence"
	"github.com/rfc9309/polite/cmd/polite/internal/explain"
	"github.com/rfc9309/polite/cmd/polite/internal/parallel"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// checking is one run of polite check.
type checking struct {
	siteFlags
	*cli
	from     string // --from
	explain  bool   // --explain
	evidence string // --evidence
	parallel int    // --parallel

	crawler      *fetcher.Transport
	explanations *explain.Log  // nil without --explain
	log          *evidence.Log // nil without --evidence
	results      *display.Writer
	tally        tally
	start        time.Time
	progress     *progress
}

func (c *cli) checkCommand() *cobra.Command {
	k := &checking{cli: c}
	cmd := &cobra.Command{
		Use:   "check [flags] URL...",
		Short: "Say whether URLs may be fetched, and why",
		Long: `Check fetches the robots.txt of each URL's site once. For each URL it says
whether the URL may be fetched, which rule or answer decided, and when the next
fetch of robots.txt is due. It fetches no pages. A second request to a host,
such as a redirect of its robots.txt, waits half a second. If a host pauses for
longer than --timeout, for instance after a 503, its URLs are deferred.

A URL without a scheme, such as example.com/a, is taken as https, or as http for
a host of this machine.

With --from it reads URLs from a file or from standard input, one per line. It
skips blank lines and lines that begin with #. The list may have any length.
Sites are checked in parallel, results are printed in the order of the list, and
a summary ends the output. Ctrl-C prints the results so far and ends the program
with exit code 2, because the other URLs have no decision.

` + exitCodes,
		Example: `  polite check https://example.com/private
  polite check --explain --agent "ExampleBot/1.0 (+https://example.com/bot)" \
      https://example.com/
  polite check --store robots.db --from urls.txt --json > decisions.jsonl
  polite check --store redis://localhost:6379/0 --from - < urls.txt`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return k.run(cmd.Context(), args) },
	}
	k.flags(cmd, "decide for the crawler with this product `token`, or several, separated by commas (default: first word of the agent)")
	k.storeFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&k.from, "from", "", "read URLs from this `file`; - is standard input")
	f.BoolVar(&k.explain, "explain", false, "explain each decision in full; check one site after another")
	f.StringVar(&k.evidence, "evidence", "", "log everything that was fetched and decided in this `file`, for polite replay")
	f.IntVar(&k.parallel, "parallel", 64, "check this many `sites` at the same time")
	return cmd
}

func (k *checking) run(ctx context.Context, args []string) error {
	if len(args) == 0 && k.from == "" {
		return usageErrorf("want a URL, or --from and a list of URLs")
	}
	if err := noFiles(args); err != nil {
		return err
	}
	if k.parallel < 1 {
		return usageErrorf("--parallel is %d; want 1 or more", k.parallel)
	}
	if k.evidence != "" && k.store != "" {
		return usageErrorf("--evidence has what this run fetched; want no --store")
	}
	list, closeList, err := openList(args, k.from, k.in)
	if err != nil {
		return err
	}
	defer closeList()
	return k.checkList(ctx, list)
}

// checkList checks a list and sets the exit code.
func (k *checking) checkList(ctx context.Context, l *list) (err error) {
	trace := &fetcher.Trace{}
	if k.explain {
		k.explanations = explain.NewLog()
		trace = k.explanations.Trace()
		k.parallel = 1 // a Log can follow one retrieval at a time
	}
	closeLog := k.logTo(k.evidence, trace)
	defer func() { err = errors.Join(err, closeLog()) }()
	crawler, stop, err := k.transport(k.cli, trace, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	k.crawler, k.results, k.start = crawler, k.output(), k.now()
	if k.log != nil {
		k.log.Begin(evidence.Run{Profile: k.profile, Token: k.decidesFor(crawler)})
		if k.log.Err() != nil {
			return nil // closeLog has the error
		}
	}
	k.results.Fit(l.full()...)
	if l.r != nil {
		k.results.Widen(listColumn)
	}
	k.progress = newProgress(k, l)
	work := parallel.Work[*item]{Workers: k.parallel, Key: (*item).site, Slots: (*item).slots, Do: k.decide, Result: k.result, Idle: k.idle}
	err = work.Run(ctx, l.each)
	k.progress.clear()
	if err := k.results.Flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	k.code = k.tally.code()
	if ctx.Err() != nil {
		k.warn("interrupted; URLs that are not listed above were not checked")
		k.code, err = exitFailed, nil
	}
	if l.r != nil {
		display.Message(k.err, k.summary())
	}
	return err
}

// decide gets the decision on one URL. It reports false if ctx ended first.
func (k *checking) decide(ctx context.Context, i *item) bool {
	if i.err == nil {
		i.decision, i.err = k.check(ctx, i)
		if i.err == nil && k.log != nil {
			k.log.Decided(i.decision)
		}
	}
	return i.err == nil || ctx.Err() == nil
}

// check decides on a URL for the crawler of --token. The crawler that fetches robots.txt may
// have another name.
func (k *checking) check(ctx context.Context, i *item) (policy.Decision, error) {
	d, err := k.crawler.Check(ctx, i.target)
	if err != nil || d.Fetched.IsZero() || k.inAgent() {
		return d, err // without a copy the name of the crawler makes no difference
	}
	rec, err := k.crawler.Record(ctx, i.target)
	if err != nil {
		return d, err
	}
	return rec.Decide(k.decidesFor(k.crawler), i.target, d.At), nil
}

// checkResult is the --json output for one URL: the decision with what it was made for.
type checkResult struct {
	policy.Decision
	token string // the product token of the crawler
	agent string // the User-Agent of the requests for robots.txt
	story *explain.Explanation
}

// MarshalJSON adds the other fields to the fields of the Decision.
func (r checkResult) MarshalJSON() ([]byte, error) {
	d, err := r.Decision.MarshalJSON()
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(struct {
		Token string               `json:"token"`
		Agent string               `json:"agent"`
		Story *explain.Explanation `json:"story,omitempty"`
	}{r.token, r.agent, r.story})
	return append(append(d[:len(d)-1], ','), more[1:]...), err
}

// errorResult is the --json output for a URL without a decision.
type errorResult struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

// result counts and writes one result.
func (k *checking) result(i *item) error {
	k.progress.clear()
	k.progress.done = i.end
	k.tally.add(i.decision.Verdict, i.err)
	if i.typed != i.text {
		k.reportScheme(i.typed, i.text)
	}
	switch now := k.now(); {
	case i.err != nil && k.json:
		return k.results.JSON(errorResult{display.URL(i.text, longText), display.URL(i.err.Error(), longText)})
	case i.err != nil:
		k.results.Result(display.Error, i.text, display.URL(i.err.Error(), longText))
	case k.explain:
		return k.writeExplanation(i, now)
	case k.json:
		return k.results.JSON(k.jsonResult(i))
	default:
		k.results.Result(display.Word(i.decision.Verdict), i.text, display.Reason(i.decision, now))
	}
	return nil
}

// jsonResult returns the --json output for one URL with a decision.
func (k *checking) jsonResult(i *item) checkResult {
	return checkResult{Decision: i.decision, token: k.decidesFor(k.crawler), agent: clean.Text(k.agent, longText)}
}

// writeExplanation writes one decision with its explanation.
func (k *checking) writeExplanation(i *item, now time.Time) error {
	// The record is in memory now. Without one the explanation is shorter.
	rec, _ := k.crawler.Record(context.Background(), i.target)
	e := k.explanations.Explain(i.decision, rec, i.target, k.decidesFor(k.crawler))
	if k.json {
		r := k.jsonResult(i)
		r.story = e
		return k.results.JSON(r)
	}
	e.Write(k.results, i.decision, now)
	return nil
}

// idle writes buffered results and draws the progress line.
func (k *checking) idle() error {
	if k.results.Buffered() > 0 {
		k.progress.clear()
	}
	if err := k.results.Flush(); err != nil {
		return err
	}
	k.progress.draw(k.now())
	return nil
}

// summary returns the line that ends the output for a list.
func (k *checking) summary() string {
	st, t, number := k.crawler.Stats(), &k.tally, display.Thousands[int64]
	return fmt.Sprintf("%s in %s: %s allowed, %s disallowed, %s deferred, %s; %s for robots.txt, %s read from the store",
		display.Count(t.total(), "URL", "URLs"), display.Span(k.now().Sub(k.start)), number(t.allowed), number(t.disallowed),
		number(t.deferred), display.Count(t.none, "error", "errors"), display.Count(st.Requests, "request", "requests"), display.Count(st.StoreHits, "copy", "copies"))
}
