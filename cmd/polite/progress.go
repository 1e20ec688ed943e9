package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
)

// progress is the line on a terminal that tells how far a list is. It belongs
// to the goroutine that writes the results.
type progress struct {
	*checking
	shown bool  // there is a list and a terminal
	size  int64 // octets of the list, 0 if unknown
	at    int64 // octets of it whose results are written
	drawn bool
}

func newProgress(k *checking, l *list) *progress {
	_, ok := paper.Terminal(k.err)
	return &progress{checking: k, size: l.size, shown: ok && l.r != nil && os.Getenv("TERM") != "dumb"}
}

// clear removes the line before something else is written.
func (b *progress) clear() {
	if b.drawn {
		fmt.Fprint(b.err, "\r\x1b[K")
		b.drawn = false
	}
}

func (b *progress) draw(now time.Time) {
	if !b.shown {
		return
	}
	width, _ := paper.Terminal(b.err) // it may have changed
	fmt.Fprintf(b.err, "\r\x1b[K%s", b.line(now, width))
	b.drawn = true
}

// line is how far, how long still, how many, how fast, and what came of it. What
// does not fit the width is left out from the right.
func (b *progress) line(now time.Time, width int) string {
	took := now.Sub(b.start)
	t, st, number := &b.tally, b.crawler.Stats(), paper.Thousands[int64]
	parts := append(b.share(took),
		paper.Count(t.total(), "URL", "URLs"),
		number(int64(float64(t.total())/max(took.Seconds(), 0.001)))+"/s",
		paper.Count(st.Retrievals+st.StoreHits, "site", "sites"),
		fmt.Sprintf("%s allow %s disallow %s defer", number(t.allowed), number(t.disallowed), number(t.deferred)))
	line := parts[0]
	for _, p := range parts[1:] {
		if paper.Columns(line)+2+paper.Columns(p) >= width {
			break
		}
		line += "  " + p
	}
	return line
}

// share is the part of the list that is done, and the time the rest will take
// at the same pace; nothing where its size is not known.
func (b *progress) share(took time.Duration) []string {
	if b.size == 0 || b.at == 0 {
		return nil
	}
	const width = 10
	part := min(float64(b.at)/float64(b.size), 1)
	left := time.Duration(float64(took) * (1 - part) / part)
	full := int(part * width)
	return []string{
		fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("=", full), strings.Repeat(" ", width-full), part*100),
		paper.Span(left) + " left",
	}
}
