package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/rfc9309/polite/policy"
)

// paper is standard output with what is known of the one who reads it.
type paper struct {
	*bufio.Writer
	colour bool
	width  int // columns of the terminal; 0 if it is none, and lines are not folded
}

func (c *cli) paper() *paper {
	p := &paper{Writer: bufio.NewWriterSize(c.out, 64<<10)}
	if f, ok := terminal(c.out); ok {
		p.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		p.width = 80
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			p.width = w
		}
	}
	return p
}

// terminal reports whether w is one.
func terminal(w io.Writer) (*os.File, bool) {
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// json writes one object a line.
func (p *paper) json(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	p.Write(b)
	return p.WriteByte('\n')
}

// The colours of a terminal, by their meaning.
const (
	green  = "32"
	red    = "31"
	yellow = "33"
	faint  = "2"
	bold   = "1"
)

// paint returns s in a colour if the terminal has some.
func (p *paper) paint(colour, s string) string {
	if !p.colour || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

// noRuling stands where a verdict would.
const noRuling = "NONE"

// verdict is the word for a verdict in eight columns.
func (p *paper) verdict(word string) string {
	colour := red
	switch word {
	case "ALLOW":
		colour = green
	case "DEFER":
		colour = yellow
	}
	return p.paint(colour, fmt.Sprintf("%-8s", word))
}

// ruling writes one result: verdict, URL in a column of the given width, reason.
// On a terminal a reason that does not fit goes below.
func (p *paper) ruling(word, url string, column int, reason string) {
	const indent = 10
	url = shown(url, 2000)
	if p.width > 0 && indent+max(column, columns(url))+2+columns(reason) > p.width {
		fmt.Fprintf(p, "%s  %s\n", p.verdict(word), p.paint(bold, url))
		for _, line := range fold(reason, p.width-indent) {
			fmt.Fprintf(p, "%*s%s\n", indent, "", line)
		}
		return
	}
	pad := max(column-columns(url), 0)
	fmt.Fprintf(p, "%s  %s%*s  %s\n", p.verdict(word), p.paint(bold, url), pad, "", reason)
}

// word is the verdict as shown.
func word(d policy.Decision) string { return strings.ToUpper(d.Verdict.String()) }

// reason says why and until when, in one line.
func reason(d policy.Decision, now time.Time) string {
	parts := []string{cause(d)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if d.Served != "" && d.Served != d.Robots {
		add("served by %s", shown(d.Served, 300))
	}
	if !d.DownSince.IsZero() {
		add("unreachable %s", since(d.DownSince, now))
	}
	if !d.Fetched.IsZero() {
		age := ago(d.Fetched, now)
		if d.Stale {
			age += ", past its time"
		}
		add("fetched %s", age)
	}
	if again := again(d, now); again != "" {
		// What was fetched and when it is fetched again read as one.
		parts[len(parts)-1] += ", asked again " + again
	}
	return strings.Join(parts, "; ")
}

// cause is the rule or the answer of the server that decided.
func cause(d policy.Decision) string {
	switch {
	case d.Override != "":
		return "by order of the operator: " + shown(d.Override, 200)
	case d.Match.Rule.Line != 0:
		return rule(d)
	case d.Match.Agent != "":
		return "no rule of group " + group(d.Match.Agent) + " matches"
	case d.Match.Allowed:
		return "no group applies"
	case d.Robots == "" && d.Allowed():
		return "robots.txt itself is always allowed"
	case d.Cause != "":
		return fmt.Sprintf("robots.txt is %s: %s", d.Access, shown(d.Cause, 200))
	case d.Status == 0:
		return fmt.Sprintf("robots.txt is %s", d.Access)
	}
	return fmt.Sprintf("robots.txt is %s: status %d", d.Access, d.Status)
}

// rule is the deciding rule, bounded and quoted by the Decision, without quotes
// around a plain name of a group.
func rule(d policy.Decision) string {
	r := d.Rule()
	if s, ok := strings.CutSuffix(r, ` in group "`+d.Match.Agent+`"`); ok {
		return s + " in group " + group(d.Match.Agent)
	}
	return r
}

// group is the name of a group, in quotes unless it is "*" or a product token.
func group(agent string) string {
	for i := range len(agent) {
		c := agent[i]
		if l := c | 0x20; ('a' > l || l > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '*' {
			return `"` + shown(agent, 120) + `"`
		}
	}
	return shown(agent, 120)
}

// again says when the file is asked for again, as in "in 23 h 57 min".
func again(d policy.Decision, now time.Time) string {
	at := d.RetryAt
	if at.IsZero() {
		at = d.Expires
	}
	switch {
	case at.IsZero():
		return ""
	case at.Sub(now) < time.Second:
		return "now"
	}
	return "in " + span(at.Sub(now))
}

func ago(t, now time.Time) string {
	if now.Sub(t) < time.Second {
		return "just now"
	}
	return span(now.Sub(t)) + " ago"
}

func since(t, now time.Time) string {
	if now.Sub(t) < time.Second {
		return "just now"
	}
	return "for " + span(now.Sub(t))
}

// span is a length of time in its two largest units: "23 h 57 min". A day is
// "24 h", the word of RFC 9309, section 2.4.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute:
		return units(d, time.Minute, "min", time.Second, "s")
	}
	switch d = d.Round(time.Minute); {
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return units(d, time.Hour, "h", time.Minute, "min")
	}
	return units(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
}

// units is d in two units, the second left out where it is nothing.
func units(d, large time.Duration, l string, small time.Duration, s string) string {
	n, rest := d/large, d%large/small
	if rest == 0 {
		return fmt.Sprintf("%d %s", n, l)
	}
	return fmt.Sprintf("%d %s %d %s", n, l, rest, s)
}

// shown is text of a stranger as a terminal may see it: printable characters
// only, at most most octets, the mark of the cut not counted.
func shown(s string, most int) string {
	var b strings.Builder
	for i, r := range s {
		if i >= most {
			b.WriteString("…")
			break
		}
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// link is shown for a URL that will be used: what cannot stand in one is
// percent-encoded and not replaced.
func link(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError || r == ' ' || !strconv.IsPrint(r) {
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// columns is how many columns of a terminal s takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			n += 2
		default:
			n++
		}
	}
	return n
}

// fold breaks s at spaces into lines of at most width columns; a longer word
// has a line of its own.
func fold(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// count is n with its noun, and with commas between thousands.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
