package playground

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A Page is what the visitor is shown about one decision.
type Page struct {
	Line    string `json:"line"`    // the decision in one line
	Verdict string `json:"verdict"` // allow, disallow or defer
	URL     string `json:"url"`
	Parts   []Part `json:"parts"`   // what the line says, part by part
	Anchor  string `json:"anchor"`  // the section of docs/blocked.md about such decisions
	Title   string `json:"title"`   // its heading
	Section string `json:"section"` // its text, in Markdown and without the decisions
}

// A Part is a part of the line and its name.
type Part struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// ErrNoDecision is the error of a text without a decision.
var ErrNoDecision = errors.New("this is no decision: paste the line that begins with ALLOW, DISALLOW or DEFER, what polite check prints, or the JSON of a decision")

// Explain reads a decision, as a line, as JSON or as polite check prints it, and finds its section in the text of
// docs/blocked.md. A line may have other words before it, as in a log.
func Explain(written, blocked string) (Page, error) {
	f, err := read(written)
	if err != nil {
		return Page{}, err
	}
	p := Page{Line: f.line, Verdict: strings.ToLower(f.verdict), URL: f.url, Parts: f.parts(), Anchor: f.section()}
	p.Title, p.Section = sectionOf(blocked, p.Anchor)
	return p, nil
}

// facts are the parts of a decision's line.
type facts struct {
	line    string
	verdict string // ALLOW, DISALLOW or DEFER
	url     string
	reason  string            // from the URL to the bracket
	clause  string            // the section of RFC 9309, or "house rule"
	profile string            // the profile's name
	tail    map[string]string // what follows the bracket, by its first words
}

var (
	whole = regexp.MustCompile(`(ALLOW|DISALLOW|DEFER) ([a-z]+://\S+): (.*?) \[(RFC 9309, section [0-9.]+|house rule)(?:; profile ([^\]]*))?\]((?:; .*)?)`)
	tails = regexp.MustCompile(`; (fetched|unreachable since|not before|next fetch|its turn|pacing:) ([^;]*)`)
)

// read reads a decision as a line or as JSON.
func read(written string) (facts, error) {
	written = strings.TrimSpace(written)
	if strings.HasPrefix(written, "{") {
		d, err := decode(written)
		if err != nil {
			return facts{}, err
		}
		written = d.String()
	}
	m := whole.FindStringSubmatch(strings.ReplaceAll(written, "\n", " "))
	if m == nil {
		return readPrinted(strings.Join(strings.Fields(written), " "))
	}
	f := facts{line: m[0], verdict: m[1], url: m[2], reason: m[3], clause: m[4], profile: m[5], tail: map[string]string{}}
	for _, t := range tails.FindAllStringSubmatch(m[6], -1) {
		f.tail[t[1]] = t[2]
	}
	return f, nil
}

// What polite check prints has other words, and gives times from now.
var (
	explained = regexp.MustCompile(`(ALLOW|DISALLOW|DEFER) ([a-z]+://\S+) why (.*?) (RFC 9309, section [0-9.]+|house rule)(?:; profile (\S+))?`)
	printed   = regexp.MustCompile(`(ALLOW|DISALLOW|DEFER) ([a-z]+://\S+?):? ((?:line|no|robots\.txt|there|by|must) .*)`)
	state     = regexp.MustCompile(`^robots\.txt (is \w+|counts as missing): (.*)$`)
	inGroup   = regexp.MustCompile(` in group "?(.*?)"?$`)
)

// readPrinted reads what polite check and get print, with single spaces.
func readPrinted(written string) (facts, error) {
	f := facts{tail: map[string]string{}}
	rest := ""
	if m := explained.FindStringSubmatch(written); m != nil {
		f.line, f.verdict, f.url, f.reason, f.clause, f.profile = m[0], m[1], m[2], m[3], m[4], m[5]
	} else if m := printed.FindStringSubmatch(written); m != nil {
		f.line, f.verdict, f.url = m[0], m[1], m[2]
		f.reason, rest, _ = strings.Cut(m[3], "; ")
	} else {
		return facts{}, ErrNoDecision
	}
	file := "robots.txt"
	for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == ';' || r == ',' }) {
		part = strings.TrimSpace(part)
		for _, name := range []string{"fetched", "next fetch", "served by"} {
			if text, ok := strings.CutPrefix(part, name+" "); ok {
				f.tail[name] = text
			}
		}
		if part == "expired" {
			file = "an expired cached copy of " + file
		}
	}
	if by := f.tail["served by"]; by != "" {
		file += " (served by " + by + ")"
	}
	f.reason = state.ReplaceAllString(f.reason, "robots.txt $1 ($2)")
	f.reason = inGroup.ReplaceAllString(f.reason, ` in group "$1" of `+file)
	return f, nil
}

// decode reads the JSON of a policy.Decision, whose Verdict and Access are words.
func decode(text string) (policy.Decision, error) {
	type plain policy.Decision // without MarshalJSON
	var d struct {
		plain
		Verdict string `json:"verdict"`
		Access  string `json:"access"`
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return policy.Decision{}, ErrNoDecision
	}
	for _, v := range []policy.Verdict{policy.Disallow, policy.Defer, policy.Allow} {
		if v.String() == d.Verdict {
			d.plain.Verdict = v
		}
	}
	for _, a := range []policy.Access{policy.Unreachable, policy.Successful, policy.Unavailable, policy.Restricted} {
		if a.String() == d.Access {
			d.plain.Access = a
		}
	}
	return policy.Decision(d.plain), nil
}

// parts returns the parts in the order of the line.
func (f facts) parts() []Part {
	meaning := map[string]string{
		"ALLOW":    "the URL may be fetched",
		"DISALLOW": "the site says no: drop the URL",
		"DEFER":    "not now: keep the URL until the time after “not before”",
	}
	parts := []Part{{f.verdict, meaning[f.verdict]}, {"URL", f.url}, {"Reason", f.reason}}
	if f.clause != "" {
		parts = append(parts, Part{"Rests on", f.clause})
	}
	if f.profile != "" {
		parts = append(parts, Part{"Profile", f.profile})
	}
	for _, name := range []string{"fetched", "unreachable since", "not before", "next fetch", "its turn", "pacing:"} {
		if t := f.tail[name]; t != "" {
			parts = append(parts, Part{strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], ":"), t})
		}
	}
	return parts
}

// between returns the time from one part of the tail to another, 0 if one is missing.
func (f facts) between(from, to string) time.Duration {
	a, err := time.Parse(time.RFC3339, f.tail[from])
	b, err2 := time.Parse(time.RFC3339, f.tail[to])
	if err != nil || err2 != nil {
		return 0
	}
	return b.Sub(a)
}
