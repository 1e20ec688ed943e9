package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
)

// progress draws a line on a terminal that shows how much of a list is done. Only
// the goroutine that writes the results may use it.
type progress struct {
	*checking
	enabled bool  // there is a list and a terminal
	size    int64 // length of the list in bytes, 0 if unknown
	done    int64 // bytes of the list whose results are written
	drawn   bool  // the line is on the terminal now
}

func newProgress(k *checking, l *list) *progress {
	_, ok := display.Terminal(k.err)
	return &progress{checking: k, size: l.size, enabled: ok && l.r != nil && os.Getenv("TERM") != "dumb"}
}

// clear removes the line before something else is written.
func (b *progress) clear() {
	if b.drawn {
		fmt.Fprint(b.err, "\r\x1b[K")
		b.drawn = false
	}
}

func (b *progress) draw(now time.Time) {
	if !b.enabled {
		return
	}
	width, _ := display.Terminal(b.err) // it may have changed
	fmt.Fprintf(b.err, "\r\x1b[K%s", b.line(now, width))
	b.drawn = true
}

// line returns the progress line: the part done, the time left, the number of URLs,
// the speed, the number of sites and the counts of each verdict. Parts on the right
// that do not fit the width are left out.
func (b *progress) line(now time.Time, width int) string {
	took := now.Sub(b.start)
	t, st, number := &b.tally, b.crawler.Stats(), display.Thousands[int64]
	parts := append(b.share(took),
		display.Count(t.total(), "URL", "URLs"),
		number(int64(float64(t.total())/max(took.Seconds(), 0.001)))+"/s",
		display.Count(st.Retrievals+st.StoreHits, "site", "sites"),
		fmt.Sprintf("%s allow %s disallow %s defer", number(t.allowed), number(t.disallowed), number(t.deferred)))
	line := parts[0]
	for _, p := range parts[1:] {
		if display.Columns(line)+2+display.Columns(p) >= width {
			break
		}
		line += "  " + p
	}
	return line
}

// share returns the part of the list that is done and the time that the rest will
// take at the same speed. It returns nothing if the size of the list is unknown.
func (b *progress) share(took time.Duration) []string {
	if b.size == 0 || b.done == 0 {
		return nil
	}
	const width = 10
	part := min(float64(b.done)/float64(b.size), 1)
	left := time.Duration(float64(took) * (1 - part) / part)
	full := int(part * width)
	return []string{
		fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("=", full), strings.Repeat(" ", width-full), part*100),
		display.Span(left) + " left",
	}
}
