package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/lanes"
	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/cmd/polite/internal/story"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
)

// checking is one run of polite check.
type checking struct {
	online
	*cli
	from     string
	explain  bool
	parallel int

	crawler *fetcher.Transport
	told    *story.Log // nil without --explain
	paper   *paper.Paper
	column  int // width of the URLs, where all are known
	tally   tally
	start   time.Time
	bar     *progress
}

func (c *cli) checkCommand() *cobra.Command {
	k := &checking{cli: c}
	cmd := &cobra.Command{
		Use:   "check [flags] URL...",
		Short: "Say whether URLs may be fetched, and why",
		Long: `Check retrieves the robots.txt of each URL's site, once, and says whether the URL
may be fetched, by which rule or answer of the server, and when the file is
asked for again. No page is fetched.

With --from it reads URLs from a file or from standard input, one a line; blank
lines and lines that begin with # are passed over. Lists of any length are
streamed: sites are asked in parallel, results come in the order of the list, and
a summary ends it. Ctrl-C ends it at once with the results that are there; the
exit code is then 2, for the others have no ruling.

` + exitCodes,
		Example: `  polite check https://example.com/private
  polite check --explain --agent "ExampleBot/1.0 (+https://example.com/bot)" https://example.com/
  polite check --store robots.db --from urls.txt --json > rulings.jsonl
  polite check --store redis://localhost:6379/0 --from - < urls.txt`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return k.run(cmd.Context(), args) },
	}
	k.flags(cmd)
	k.tokenFlag(cmd)
	k.storeFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&k.from, "from", "", "read URLs from this `file`; - is standard input")
	f.BoolVar(&k.explain, "explain", false, "tell the whole story of each ruling; sites are asked one after another")
	f.IntVar(&k.parallel, "parallel", 64, "how many `sites` are asked at a time")
	return cmd
}

func (k *checking) run(ctx context.Context, args []string) error {
	if len(args) == 0 && k.from == "" {
		return misused("want a URL, or --from and a list of them")
	}
	if k.parallel < 1 {
		return misused("--parallel is %d; want 1 or more", k.parallel)
	}
	list, closeList, err := openList(args, k.from, k.in)
	if err != nil {
		return err
	}
	defer closeList()
	return k.over(ctx, list)
}

// over checks a list and sets the exit code.
func (k *checking) over(ctx context.Context, l *list) (err error) {
	var trace *fetcher.Trace
	if k.explain {
		k.told = story.NewLog()
		trace = k.told.Trace()
		k.parallel = 1 // a Log hears one retrieval at a time
	}
	crawler, stop, err := k.transport(k.cli, trace, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	k.crawler, k.paper, k.start = crawler, paper.New(k.out), k.now()
	if l.r == nil {
		k.column = paper.Column(l.args)
	}
	k.bar = newProgress(k, l)
	work := lanes.Work[*item]{Workers: k.parallel, Lane: (*item).site, Slots: (*item).slots, Do: k.rule, Result: k.result, Idle: k.idle}
	err = work.Run(ctx, l.each)
	k.bar.clear()
	if err := k.paper.Flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	k.code = k.tally.code()
	if ctx.Err() != nil {
		k.warn("interrupted; the URLs that are not above were not checked")
		k.code, err = exitFailed, nil
	}
	if l.r != nil {
		paper.Say(k.err, k.summary())
	}
	return err
}

// rule gives one URL its ruling.
func (k *checking) rule(ctx context.Context, i *item) bool {
	if i.err == nil {
		i.decision, i.err = k.crawler.Check(ctx, i.target)
	}
	return i.err == nil || ctx.Err() == nil
}

// failed is what --json says of a URL without a ruling.
type failed struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

// result writes one result.
func (k *checking) result(i *item) error {
	k.bar.clear()
	k.bar.at = i.at
	k.tally.add(i.decision.Verdict, i.err)
	switch now := k.now(); {
	case i.err != nil && k.json:
		return k.paper.JSON(failed{clean.Text(i.text, longText), clean.Text(i.err.Error(), longText)})
	case i.err != nil:
		k.paper.Ruling(paper.None, i.text, k.column, clean.Text(i.err.Error(), longText))
	case k.explain:
		return k.tell(i, now)
	case k.json:
		return k.paper.JSON(i.decision)
	default:
		k.paper.Ruling(paper.Word(i.decision.Verdict), i.text, k.column, paper.Reason(i.decision, now))
	}
	return nil
}

// tell writes the story of one ruling.
func (k *checking) tell(i *item, now time.Time) error {
	// The record is in memory by now; without one there is less to tell.
	rec, _ := k.crawler.Record(context.Background(), i.target)
	s := k.told.Tell(i.decision, rec, i.target, k.crawler.Token())
	if k.json {
		return k.paper.JSON(story.Told{Decision: i.decision, Story: s})
	}
	s.Write(k.paper, i.decision, now)
	return nil
}

// idle lets results be seen while the list goes on, and how far it is.
func (k *checking) idle() error {
	if k.paper.Buffered() > 0 {
		k.bar.clear()
	}
	if err := k.paper.Flush(); err != nil {
		return err
	}
	k.bar.draw(k.now())
	return nil
}

// summary tells what came of the list.
func (k *checking) summary() string {
	st, t, number := k.crawler.Stats(), &k.tally, paper.Thousands[int64]
	return fmt.Sprintf("%s in %s: %s allowed, %s disallowed, %s deferred, %s without a ruling; %s for robots.txt, %s from the store",
		paper.Count(t.total(), "URL", "URLs"), paper.Span(k.now().Sub(k.start)), number(t.allowed), number(t.disallowed),
		number(t.deferred), number(t.none), paper.Count(st.Requests, "request", "requests"), paper.Count(st.StoreHits, "copy", "copies"))
}
