package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/evidence"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
)

// longDecision is the longest decision that is shown as JSON, in bytes.
const longDecision = 16 << 10

func (c *cli) replayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay [flags] FILE",
		Short: "Derive logged decisions again from the logged texts",
		Long: `Replay reads a file that polite check --evidence wrote; - is standard input. It
derives each decision again, from the texts and the times in the file, without
any network. It ends at the first decision that differs.

The exit code is 0 if all decisions follow from the file, 1 if one differs, and
2 if the file cannot be read.`,
		Example: `  polite check --evidence log.jsonl https://example.com/private
  polite replay log.jsonl`,
		Args: between(1, 1, "one file, or - for standard input"),
		RunE: func(_ *cobra.Command, args []string) error { return c.replay(args[0]) },
	}
}

func (c *cli) replay(name string) error {
	log := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	var r evidence.Replay
	err := r.Run(log)
	var differs *evidence.DifferenceError
	switch {
	case errors.As(err, &differs):
		c.code = exitDisallowed
		c.warn("line %d differs", differs.Line)
		p := c.output()
		fmt.Fprintf(p, "logged   %s\nderived  %s\n", clean.Text(differs.Logged, longDecision), clean.Text(differs.Again, longDecision))
		return p.Flush()
	case err != nil:
		return err
	}
	display.Message(c.out, fmt.Sprintf("%s derived again from %s, and all are the same%s",
		display.Count(int64(r.Decisions), "decision", "decisions"), display.Count(int64(r.Fetches), "fetch", "fetches"), others(r.Others)))
	return nil
}

// others says how many decisions do not follow from texts.
func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %s only on the pace or on the operator", display.Count(int64(n), "more rests", "more rest"))
}

// logTo makes k.log write to a file, if there is one, and adds it to the trace. The caller
// must call the function that it returns.
func (k *checking) logTo(name string, trace *fetcher.Trace) (closeLog func() error) {
	if name == "" {
		return func() error { return nil }
	}
	f := &lateFile{name: name} // a mistake in the command line does not empty an earlier log
	k.log = evidence.NewLog(f)
	k.log.Trace(trace)
	return func() error { return errors.Join(k.log.Err(), f.Close()) }
}
