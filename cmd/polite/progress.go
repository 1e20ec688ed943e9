package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/term"
)

// progress is the line on a terminal that tells how far a list is. It belongs
// to the goroutine that prints.
type progress struct {
	w     io.Writer // nil if there is no terminal, or no list
	s     *stream
	width int
	at    int64 // octets of the list whose results are printed
	drawn bool
}

func newProgress(s *stream) *progress {
	b := &progress{s: s, width: 80}
	f, ok := terminal(s.err)
	if !ok || s.list.r == nil {
		return b
	}
	b.w = f
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		b.width = w
	}
	return b
}

// clear removes the line before something else is written.
func (b *progress) clear() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}

func (b *progress) draw(now time.Time) {
	if b.w == nil {
		return
	}
	fmt.Fprintf(b.w, "\r\x1b[K%s", b.line(now))
	b.drawn = true
}

// line is the bar: how far, how many, how fast, what came of it, how long still.
// What does not fit the width is left out from the right.
func (b *progress) line(now time.Time) string {
	t, st := &b.s.tally, b.s.crawler.Stats()
	took := now.Sub(b.s.start)
	parts := []string{
		count(t.total(), "URL", "URLs"),
		thousands(int64(float64(t.total())/max(took.Seconds(), 0.001))) + "/s",
		count(st.Retrievals+st.StoreHits, "site", "sites"),
		fmt.Sprintf("%s allow %s disallow %s defer", thousands(t.allowed), thousands(t.disallowed), thousands(t.deferred)),
	}
	if b.s.list.size > 0 && b.at > 0 {
		part := min(float64(b.at)/float64(b.s.list.size), 1)
		left := time.Duration(float64(took) * (1 - part) / part)
		full := int(part * 10)
		parts = append([]string{
			fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("=", full), strings.Repeat(" ", 10-full), part*100),
			span(left) + " left",
		}, parts...)
	}
	line := ""
	for _, p := range parts {
		if columns(line)+2+columns(p) >= b.width {
			break
		}
		if line != "" {
			line += "  "
		}
		line += p
	}
	return line
}
