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
	Verdict Verdict `json:"verdict"`
	// URL is the URL asked about, a password in it masked.
	URL string `json:"url"`
	// Clause is the section of RFC 9309 the decision rests on, or "house" for a
	// choice of ours where the RFC is silent.
	Clause string `json:"clause"`
	// Access is what the last fetch came to.
	Access Access `json:"access"`
	// Match is the group and the rule, if rules decided.
	Match matcher.Match `json:"match"`
	// Profile is the name of the profile.
	Profile string `json:"profile"`
	// Robots is the URL of robots.txt at the initial authority.
	Robots string `json:"robots"`
	// Served is the URL that answered, after redirects.
	Served string `json:"served"`
	// Status is the status of the last fetch, 0 without an answer.
	Status int `json:"status"`
	// Fetched is when the copy in use was received or last confirmed.
	Fetched time.Time `json:"fetched,omitzero"`
	// Expires is when the next fetch is due.
	Expires time.Time `json:"expires,omitzero"`
	// Stale says that an expired copy is in use because the file is unreachable.
	Stale bool `json:"stale"`
	// DownSince is the first failed fetch of the present outage.
	DownSince time.Time `json:"down_since,omitzero"`
	// RetryAt is when to ask again for a URL that is deferred.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Turn is when a paced request would have its turn. Package fetcher sets it.
	Turn time.Time `json:"turn,omitzero"`
	// Cause is why the last fetch failed, in words safe for a log.
	Cause string `json:"cause,omitempty"`
	// Pacing is what Turn, or a Defer, waits for, or why a Crawl-delay is not
	// obeyed in full.
	Pacing string `json:"pacing,omitempty"`
	// Override is the operator's reason, if the operator decided.
	Override string `json:"override,omitempty"`
	// Digest is the SHA-256 of the copy in use as it was received, without what
	// was cut at the limit, in hex; "" without a copy.
	Digest string `json:"digest,omitempty"`
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
	if d.Pacing != "" && !d.paced() {
		fmt.Fprintf(&b, "; pacing: %s", clean.Text(d.Pacing, maxWords))
	}
	return b.String()
}

// paced reports whether pacing alone defers the URL.
func (d Decision) paced() bool { return d.Verdict == Defer && d.Pacing != "" }

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

// reason says why, and names the file.
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
	case d.paced():
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

// MarshalJSON returns an object with the fields of Decision in snake_case.
// Verdict and access are words, times are RFC 3339 and left out where zero. Text
// has no characters that a log must not see: URLs are cut to 8 KiB, other text to
// 1 KiB.
func (d Decision) MarshalJSON() ([]byte, error) {
	for _, url := range []*string{&d.URL, &d.Robots, &d.Served} {
		*url = clean.Text(*url, 8<<10)
	}
	for _, text := range []*string{&d.Match.Agent, &d.Match.Rule.Pattern, &d.Cause, &d.Pacing, &d.Override, &d.Digest} {
		*text = clean.Text(*text, 1<<10)
	}
	type fields Decision // without this method
	return json.Marshal(fields(d))
}
