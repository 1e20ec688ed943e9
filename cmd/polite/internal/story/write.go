package story

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// Write writes the story under its ruling.
func (s *Story) Write(p *paper.Paper, d policy.Decision, now time.Time) {
	p.Title(paper.Word(d.Verdict), d.URL)
	p.WriteString("\n")
	w := &chapters{Paper: p}
	w.begin("why")
	w.prose(paper.Cause(d))
	w.prose(paper.Citation(d))
	w.begin("asked")
	s.asked(w, d)
	w.begin("lifetime")
	for _, h := range s.Header {
		w.line("%s", h)
	}
	if life := paper.Lifetime(d, now); life != "" {
		w.prose(life)
	} else {
		w.line("none: the file is not looked at")
	}
	if s.file {
		w.begin("group")
		s.rules(w)
		w.begin("others")
		s.rulings(w)
	}
	p.WriteString("\n")
}

// asked writes the requests.
func (s *Story) asked(w *chapters, d policy.Decision) {
	if len(s.Requests) == 0 && d.Robots == "" {
		w.line("nobody: no robots.txt is needed for this")
	} else if len(s.Requests) == 0 {
		w.line("nobody: the copy was at hand")
		w.line("%s", clean.Text(d.Robots, 300))
	}
	for _, q := range s.Requests {
		status := "---"
		if q.Status != 0 {
			status = fmt.Sprint(q.Status)
		}
		w.line("%s  %7s  %s", status, millis(q.Millis), q.URL)
		if q.Error != "" {
			w.line("%14s%s", "", q.Error)
		}
	}
}

// millis is a short time with about two digits.
func millis(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// rules writes the rules with the deciding one marked.
func (s *Story) rules(w *chapters) {
	if s.Agent == "" {
		w.line("none applies")
		return
	}
	head := paper.Group(s.Agent)
	if s.Delay != "" {
		head += ", Crawl-delay " + s.Delay
	}
	if len(s.Rules) == 0 {
		head += ", without a rule"
	}
	w.line("%s", head)
	if s.Before > 0 {
		w.line("%10s%s", "", paper.Count(s.Before, "rule before", "rules before"))
	}
	for _, r := range s.Rules {
		if r.Decides {
			w.line("%s", w.Paint(paper.Bold, fmt.Sprintf(" > %5d  %s", r.Line, r.Rule)))
		} else {
			w.line("   %5d  %s", r.Line, r.Rule)
		}
	}
	if s.After > 0 {
		w.line("%10s%s", "", paper.Count(s.After, "rule after", "rules after"))
	}
}

// rulings writes what other crawlers would be told.
func (s *Story) rulings(w *chapters) {
	if len(s.Others) == 0 {
		w.line("the same: the file names no other crawler")
	}
	column := 0
	for _, o := range s.Others {
		column = max(column, min(paper.Columns(o.Agent), 24))
	}
	for _, o := range s.Others {
		rule := o.Rule
		if rule == "" {
			rule = "no rule matches"
		}
		w.line("%s  %s  %s", paper.Pad(o.Agent, column), w.Verdict(paper.Word(o.Verdict)), rule)
	}
	if s.More > 0 {
		w.line("and %s", paper.Count(s.More, "crawler more", "crawlers more"))
	}
}

// chapters writes lines under names in a margin of twelve columns.
type chapters struct {
	*paper.Paper
	name string
}

func (c *chapters) begin(name string) { c.name = name }

func (c *chapters) line(format string, args ...any) {
	fmt.Fprintf(c, "  %s  ", c.Paint(paper.Faint, paper.Pad(c.name, 8)))
	fmt.Fprintf(c, format+"\n", args...)
	c.name = ""
}

// prose is line for a text that is folded on a terminal.
func (c *chapters) prose(s string) {
	if c.Width == 0 {
		c.line("%s", s)
		return
	}
	for _, part := range paper.Fold(s, c.Width-12) {
		c.line("%s", part)
	}
}

// Told is a Decision with its story as one object: the Decision's fields, and
// "story".
type Told struct {
	Decision policy.Decision
	Story    *Story
}

func (t Told) MarshalJSON() ([]byte, error) {
	d, err := json.Marshal(t.Decision)
	if err != nil {
		return nil, err
	}
	s, err := json.Marshal(t.Story)
	if err != nil {
		return nil, err
	}
	return append(append(d[:len(d)-1], `,"story":`...), append(s, '}')...), nil
}
