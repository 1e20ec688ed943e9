package policy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

// Decision is a verdict and all its reasons. Times that do not apply are zero.
type Decision struct {
	Verdict Verdict
	URL     string // the URL asked about, a password in it masked
	// Clause is the section of RFC 9309 the decision rests on, or "house" for a
	// choice of ours where the RFC is silent.
	Clause    string
	Access    Access        // what the last retrieval came to
	Match     matcher.Match // the group and rule, if rules decided
	Profile   string        // the profile's name
	Robots    string        // the robots.txt asked
	Served    string        // the URL that answered, after redirects
	Status    int           // the last retrieval's status, 0 without an answer
	Fetched   time.Time     // when the copy in use was received or last confirmed
	Expires   time.Time     // when the next fetch is due
	Stale     bool          // a copy is used past its lifetime: the file is unreachable
	DownSince time.Time     // the first failure of the present outage
	RetryAt   time.Time     // verdict Defer: not before this
	Turn      time.Time     // when a request would have its turn, if it must wait for that; package fetcher knows
	Cause     string        // the last failure, in words safe for a log
	Pacing    string        // what that wait, or a Defer, is for; a Crawl-delay that is not obeyed in full
	Override  string        // the operator's reason, if an operator's word decided
	Digest    string        // the SHA-256 of the copy in use as it was received, in hex; "" without one
}

// Allowed reports whether the URL may be accessed now. It is false for Defer
// and for Disallow.
func (d Decision) Allowed() bool { return d.Verdict == Allow }

// String returns the decision and its reasons in one line that may be mailed to a
// webmaster as it stands. Text of the server is quoted and bounded.
func (d Decision) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", strings.ToUpper(d.Verdict.String()), clean.Link(d.URL, maxURL), d.reason())
	if d.Clause != "" {
		fmt.Fprintf(&b, " [%s]", d.citation())
	}
	for _, t := range []struct {
		words string
		at    time.Time
	}{
		{"fetched", d.Fetched}, {"unreachable since", d.DownSince}, {"not before", d.RetryAt}, {"next fetch", d.nextFetch()},
		{"its turn", d.Turn},
	} {
		if !t.at.IsZero() {
			fmt.Fprintf(&b, "; %s %s", t.words, t.at.UTC().Format(time.RFC3339))
		}
	}
	if d.Pacing != "" && !d.late() {
		fmt.Fprintf(&b, "; pacing: %s", clean.Text(d.Pacing, maxWords))
	}
	return b.String()
}

// late reports that the URL is put off for the sake of pacing alone.
func (d Decision) late() bool { return d.Verdict == Defer && d.Pacing != "" }

// nextFetch is when the next fetch is due, unless RetryAt already says so.
func (d Decision) nextFetch() time.Time {
	if d.RetryAt.IsZero() {
		return d.Expires
	}
	return time.Time{}
}

// citation names the clause and the profile.
func (d Decision) citation() string {
	clause := "RFC 9309, section " + d.Clause
	if d.Clause == "house" {
		clause = "house rule"
	}
	if d.Profile != "" {
		clause += "; profile " + d.Profile
	}
	return clause
}

// reason says in words why, with the file it is taken from.
func (d Decision) reason() string {
	robots := "robots.txt"
	if d.Robots != "" {
		robots = clean.Link(d.Robots, maxURL)
	}
	if d.Served != "" && d.Served != d.Robots {
		robots += " (served by " + clean.Link(d.Served, maxURL) + ")"
	}
	if d.Stale {
		robots = "an expired cached copy of " + robots
	}
	switch {
	case d.Override != "":
		return "by order of the operator: " + clean.Text(d.Override, maxWords)
	case d.late():
		return clean.Text(d.Pacing, maxWords)
	case d.Cause != "" && d.Robots == "":
		return clean.Text(d.Cause, maxWords)
	case d.Match.Rule.Line != 0:
		return fmt.Sprintf("%s of %s", d.Rule(), robots)
	case d.Clause == "2.2.2" && d.Verdict == Allow && d.Match.Agent == "":
		return "robots.txt itself may always be read"
	case d.Match.Agent != "":
		return fmt.Sprintf("no rule of group %s matches in %s", clean.Quote(d.Match.Agent, maxQuote), robots)
	case d.Match.Allowed:
		return "no group applies in " + robots
	case d.Verdict == Defer && (d.Clause == "2.4" || d.Cause == ""):
		return robots + " must be fetched first" // nothing is known, or nothing that still counts
	case d.Cause != "":
		return fmt.Sprintf("%s is %s (%s)", robots, d.Access, clean.Text(d.Cause, maxWords))
	}
	return fmt.Sprintf("%s is %s (status %d)", robots, d.Access, d.Status)
}

// Rule returns the deciding rule as a webmaster finds it, for instance
// `line 4 "Disallow: /private" in group "*"`, or "" if no rule decided.
func (d Decision) Rule() string {
	m := d.Match
	if m.Rule.Line == 0 {
		return ""
	}
	kind := "Disallow: "
	if m.Rule.Allow {
		kind = "Allow: "
	}
	return fmt.Sprintf("line %d %s in group %s", m.Rule.Line, clean.Quote(kind+m.Rule.Pattern, maxQuote), clean.Quote(m.Agent, maxQuote))
}

// Bounds on text of a server wherever a Decision shows it, in bytes.
const (
	maxQuote = 120
	maxWords = 200
	maxURL   = 300
)

// LogValue returns the decision as a group of attributes, the zero ones left out.
func (d Decision) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("verdict", d.Verdict.String()), slog.String("url", clean.Link(d.URL, maxURL)),
		slog.String("clause", d.Clause), slog.String("access", d.Access.String()), slog.String("profile", d.Profile),
	}
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, clean.Text(value, maxURL)))
		}
	}
	moment := func(key string, t time.Time) {
		if !t.IsZero() {
			attrs = append(attrs, slog.Time(key, t))
		}
	}
	text("rule", d.Rule())
	text("robots", d.Robots)
	if d.Served != d.Robots {
		text("served", d.Served)
	}
	if d.Status != 0 {
		attrs = append(attrs, slog.Int("status", d.Status))
	}
	if d.Stale {
		attrs = append(attrs, slog.Bool("stale", true))
	}
	moment("fetched", d.Fetched)
	moment("expires", d.Expires)
	moment("down_since", d.DownSince)
	moment("retry_at", d.RetryAt)
	moment("turn", d.Turn)
	text("cause", d.Cause)
	text("pacing", d.Pacing)
	text("override", d.Override)
	text("digest", d.Digest)
	return slog.GroupValue(attrs...)
}

// jsonDecision gives the JSON form: the fields of Decision in snake_case.
type jsonDecision struct {
	Verdict   Verdict   `json:"verdict"`
	URL       string    `json:"url"`
	Clause    string    `json:"clause"`
	Access    Access    `json:"access"`
	Match     jsonMatch `json:"match"`
	Profile   string    `json:"profile"`
	Robots    string    `json:"robots"`
	Served    string    `json:"served"`
	Status    int       `json:"status"`
	Fetched   time.Time `json:"fetched,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	Stale     bool      `json:"stale"`
	DownSince time.Time `json:"down_since,omitzero"`
	RetryAt   time.Time `json:"retry_at,omitzero"`
	Turn      time.Time `json:"turn,omitzero"`
	Cause     string    `json:"cause,omitempty"`
	Pacing    string    `json:"pacing,omitempty"`
	Override  string    `json:"override,omitempty"`
	Digest    string    `json:"digest,omitempty"`
}

type jsonMatch struct {
	Allowed bool     `json:"allowed"`
	Agent   string   `json:"agent"`
	Rule    jsonRule `json:"rule"`
}

type jsonRule struct {
	Line    int    `json:"line"`
	Allow   bool   `json:"allow"`
	Pattern string `json:"pattern"`
}

// MarshalJSON returns an object with the fields of Decision in snake_case.
// Verdict and access are words, times are RFC 3339 and left out where zero, and
// text is without what a log must not see: URLs of at most 8 KiB, the rest of
// at most 1 KiB.
func (d Decision) MarshalJSON() ([]byte, error) {
	const most, url = 1 << 10, 8 << 10
	rule := d.Match.Rule
	return json.Marshal(jsonDecision{
		Verdict: d.Verdict, URL: clean.Text(d.URL, url), Clause: d.Clause, Access: d.Access, Profile: d.Profile,
		Match:  jsonMatch{d.Match.Allowed, clean.Text(d.Match.Agent, most), jsonRule{rule.Line, rule.Allow, clean.Text(rule.Pattern, most)}},
		Robots: clean.Text(d.Robots, url), Served: clean.Text(d.Served, url), Status: d.Status, Fetched: d.Fetched, Expires: d.Expires,
		Stale: d.Stale, DownSince: d.DownSince, RetryAt: d.RetryAt, Turn: d.Turn,
		Cause: clean.Text(d.Cause, most), Pacing: clean.Text(d.Pacing, most), Override: clean.Text(d.Override, most), Digest: clean.Text(d.Digest, most),
	})
}
