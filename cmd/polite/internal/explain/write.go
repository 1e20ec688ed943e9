package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// Write writes the decision and its explanation.
func (s *Explanation) Write(p *display.Writer, d policy.Decision, now time.Time) {
	p.Title(display.Word(d.Verdict), d.URL)
	p.WriteString("\n")
	w := &sectionWriter{Writer: p}
	w.begin("why")
	w.prose(0, display.Cause(d))
	w.prose(0, display.Citation(d))
	w.begin("requests")
	s.writeRequests(w, d)
	w.begin("lifetime")
	for _, h := range s.Header {
		w.line("%s", h)
	}
	if life := display.Lifetime(d, now); life != "" {
		w.prose(0, life)
	} else {
		w.line("none: the file is not needed")
	}
	if s.NotText != "" {
		w.begin("file")
		w.prose(0, s.NotText)
	}
	if s.hasFile {
		w.begin("group")
		s.writeRules(w)
		w.begin("others")
		s.writeOthers(w)
		w.begin("usage")
		s.writeUsage(w)
	}
	p.WriteString("\n")
}

// writeRequests writes the requests for robots.txt.
func (s *Explanation) writeRequests(w *sectionWriter, d policy.Decision) {
	switch {
	case len(s.Requests) > 0:
	case d.Robots != "":
		w.line("none: a cached copy was used")
		w.line("%s", clean.Text(d.Robots, 300))
	case d.Verdict == policy.Defer:
		w.line("none: the host wants no request yet")
	default:
		w.line("none: no robots.txt is needed for this URL")
	}
	for _, q := range s.Requests {
		status := "---" // no answer
		if q.Status != 0 {
			status = fmt.Sprint(q.Status)
		}
		w.line("%s  %7s  %s", status, millis(q.Millis), q.URL)
		if q.Error != "" {
			w.prose(14, q.Error)
		}
	}
}

// millis formats a short time.
func millis(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// writeRules writes the rules and marks the deciding one.
func (s *Explanation) writeRules(w *sectionWriter) {
	if s.Agent == "" {
		w.line("no group applies")
		return
	}
	head := display.Group(s.Agent)
	if s.Delay != "" {
		head += ", Crawl-delay " + s.Delay
	}
	if len(s.Rules) == 0 {
		head += ", no rules"
	}
	w.line("%s", head)
	if s.Before > 0 {
		w.line("%10s%s", "", display.Count(s.Before, "rule before", "rules before"))
	}
	for _, r := range s.Rules {
		if r.Decides {
			w.line("%s", w.Paint(display.Bold, fmt.Sprintf(" > %5d  %s", r.Line, r.Rule)))
		} else {
			w.line("   %5d  %s", r.Line, r.Rule)
		}
	}
	if s.After > 0 {
		w.line("%10s%s", "", display.Count(s.After, "rule after", "rules after"))
	}
}

// writeOthers writes the decisions for other crawlers.
func (s *Explanation) writeOthers(w *sectionWriter) {
	if len(s.Others) == 0 {
		w.line("same decision: the file names no other crawler")
	}
	column := 0
	for _, o := range s.Others {
		column = max(column, min(display.Columns(o.Agent), 24))
	}
	for _, o := range s.Others {
		rule := o.Rule
		if rule == "" {
			rule = "no rule matches"
		}
		w.line("%s  %s  %s", display.Pad(o.Agent, column), w.Verdict(display.Word(o.Verdict)), rule)
	}
	if s.More > 0 {
		w.line("and %s", display.Count(s.More, "more crawler", "more crawlers"))
	}
}

// writeUsage writes what the file says about the use of the page, if anything.
func (s *Explanation) writeUsage(w *sectionWriter) {
	said := s.Usage.String()
	if said == "" {
		return
	}
	lines := strings.Split(said, "\n")
	for _, l := range lines[:min(len(lines), maxUsage)] {
		w.prose(0, l)
	}
	if more := len(lines) - maxUsage; more > 0 {
		w.line("and %s", display.Count(more, "more line", "more lines"))
	}
	w.prose(0, "experimental: reported, never enforced; the header of a page can say more")
}

// sectionWriter writes lines with a left margin of twelve columns. The first line
// of a section has the section's name in the margin.
type sectionWriter struct {
	*display.Writer
	name string // name of a section that has no line yet, or ""
}

func (c *sectionWriter) begin(name string) { c.name = name }

func (c *sectionWriter) line(format string, args ...any) {
	fmt.Fprintf(c, "  %s  ", c.Paint(display.Faint, display.Pad(c.name, 8)))
	fmt.Fprintf(c, format+"\n", args...)
	c.name = ""
}

// prose writes a text behind so many spaces, folded on a terminal.
func (c *sectionWriter) prose(indent int, s string) {
	lines := []string{s}
	if c.Width > 0 {
		lines = display.Fold(s, c.Width-12-indent)
	}
	for _, l := range lines {
		c.line("%*s%s", indent, "", l)
	}
}
