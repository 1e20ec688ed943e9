package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// checking is one run of polite check.
type checking struct {
	online
	*cli
	from     string
	explain  bool
	parallel int
	crawler  *fetcher.Transport
	stories  *stories // nil without --explain
	paper    *paper
	column   int // width of the URLs, where all are known
	tally    tally
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
a summary ends it. Ctrl-C ends it at once with what was done so far.`,
		Example: `  polite check https://example.com/private
  polite check --agent "ExampleBot/1.0 (+https://example.com/bot)" --explain https://example.com/
  polite check --store robots.db --from urls.txt --json > rulings.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return k.run(cmd.Context(), args) },
	}
	k.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&k.from, "from", "", "read URLs from this `file`; - is standard input")
	f.BoolVar(&k.explain, "explain", false, "tell the whole story of each ruling")
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
	list := &list{args: args}
	if k.from == "-" {
		list.r = k.in
	} else if k.from != "" {
		f, err := os.Open(k.from)
		if err != nil {
			return err
		}
		defer f.Close()
		list.r = f
		if fi, err := f.Stat(); err == nil && fi.Mode().IsRegular() {
			list.size = fi.Size()
		}
	}
	return k.over(ctx, list)
}

// over checks a list and sets the exit code.
func (k *checking) over(ctx context.Context, l *list) (err error) {
	var trace *fetcher.Trace
	if k.explain {
		k.stories = newStories()
		trace = k.stories.trace()
		k.parallel = 1 // what is told of one retrieval must not mix with another
	}
	crawler, closeStore, err := k.transport(k.cli, trace, nil)
	if err != nil {
		return err
	}
	defer func() {
		if e := closeStore(); e != nil && err == nil {
			err = fmt.Errorf("closing the store: %w", e)
		}
	}()
	k.crawler, k.paper = crawler, k.cli.paper()
	if l.r == nil {
		for _, a := range l.args {
			k.column = max(k.column, min(columns(shown(a, 2000)), 60))
		}
	}
	s := newStream(k, l)
	readErr := s.run(ctx)
	if err := k.paper.Flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	if s.cut {
		k.warn("interrupted; what follows the results above was not checked")
		k.tally.none++
	}
	if l.r != nil {
		fmt.Fprintln(k.err, s.summary())
	}
	k.code = k.tally.code()
	return readErr
}

// rule gives one URL its ruling.
func (k *checking) rule(ctx context.Context, j *job) {
	if j.err == nil {
		j.decision, j.err = k.crawler.Check(ctx, j.target)
	}
}

// failed is what --json says of a URL without a ruling.
type failed struct {
	URL   string `json:"url"`
	Error string `json:"error"`
}

// print writes one result.
func (k *checking) print(ctx context.Context, j *job) {
	k.tally.add(j.decision, j.err)
	now := k.now()
	switch {
	case j.err != nil && k.json:
		k.paper.json(failed{j.text, shown(j.err.Error(), 600)})
	case j.err != nil:
		k.paper.ruling(noRuling, j.text, k.column, shown(j.err.Error(), 600))
	case k.explain:
		k.tell(ctx, j, now)
	case k.json:
		k.paper.json(j.decision)
	default:
		k.paper.ruling(word(j.decision), j.text, k.column, reason(j.decision, now))
	}
}

// tell writes the story of one ruling.
func (k *checking) tell(ctx context.Context, j *job, now time.Time) {
	rec, _ := k.crawler.Record(ctx, j.target) // warm by now; without one there is less to tell
	s := k.stories.of(j.decision, rec, j.target, k.productToken())
	if k.json {
		k.paper.json(told{j.decision, s})
		return
	}
	s.write(k.paper, j.decision, now)
}

// told is a Decision with its story, as one object.
type told struct {
	decision policy.Decision
	story    *story
}

func (t told) MarshalJSON() ([]byte, error) {
	d, err := json.Marshal(t.decision)
	if err != nil {
		return nil, err
	}
	s, err := json.Marshal(t.story)
	if err != nil {
		return nil, err
	}
	return append(append(d[:len(d)-1], `,"story":`...), append(s, '}')...), nil
}

// tally counts results, and is the exit code.
type tally struct{ allowed, disallowed, deferred, none int64 }

func (t *tally) add(d policy.Decision, err error) {
	switch {
	case err != nil:
		t.none++
	case d.Verdict == policy.Allow:
		t.allowed++
	case d.Verdict == policy.Defer:
		t.deferred++
	default:
		t.disallowed++
	}
}

func (t *tally) total() int64 { return t.allowed + t.disallowed + t.deferred + t.none }

func (t *tally) code() int {
	switch {
	case t.none > 0:
		return exitFailed
	case t.disallowed > 0:
		return exitDisallowed
	case t.deferred > 0:
		return exitDeferred
	}
	return exitAllowed
}
