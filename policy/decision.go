package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

// This file explains decisions.

// Decision is a verdict and all its reasons. Times that do not apply are zero.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	URL     string  `json:"url"` // the URL asked about, a password in it masked
	// At is when the record decided; zero if none did, as with Override.
	At time.Time `json:"at,omitzero"`
	// Clause is the section of RFC 9309 the decision rests on, or "house" for a
	// choice of ours where the RFC is silent.
	Clause  string        `json:"clause"`
	Access  Access        `json:"access"`           // the result of the last fetch
	Match   matcher.Match `json:"match"`            // the group and the rule, if rules decided
	Profile string        `json:"profile"`          // the name of the profile
	Robots  string        `json:"robots"`           // the URL of robots.txt at the initial authority
	Served  string        `json:"served"`           // the URL that answered, after redirects
	Status  int           `json:"status"`           // the status of the last fetch, 0 without an answer
	Fetched time.Time     `json:"fetched,omitzero"` // when the copy in use was received or last confirmed
	Expires time.Time     `json:"expires,omitzero"` // when the next fetch is due
	Stale   bool          `json:"stale"`            // an expired copy is in use because the file is unreachable
	// DownSince is the first failed fetch of the present outage. If Pacing defers because requests
	// for pages fail, it is the first of their failures.
	DownSince time.Time `json:"down_since,omitzero"`
	RetryAt   time.Time `json:"retry_at,omitzero"` // when to ask again for a URL that is deferred
	Turn      time.Time `json:"turn,omitzero"`     // when a paced request would have its turn, as foreseen before it waits; set by package fetcher
	Cause     string    `json:"cause,omitempty"`   // why the last fetch failed, in words safe for a log
	// Pacing is set by package fetcher. If the verdict is Defer it says why an
	// allowed URL gets no turn in time. Otherwise it says what Turn waits for, and
	// how far a Crawl-delay is obeyed.
	Pacing   string `json:"pacing,omitempty"`
	Override string `json:"override,omitempty"` // the operator's reason, if the operator decided
	// Digest is the SHA-256 of the copy in use as it was received, without what
	// was cut at the limit, in hex; "" without a copy.
	Digest string `json:"digest,omitempty"`
	// CrawlDelay is the Crawl-delay in the group that the crawler obeys, 0 without one. It
	// is as long as the file says: Pacing says if package fetcher obeys less of it.
	CrawlDelay time.Duration `json:"-"` // MarshalJSON adds it as a string
}

// Allowed reports whether the URL may be accessed now. It is false for Defer
// and for Disallow.
func (d Decision) Allowed() bool { return d.Verdict == Allow }

// String returns the decision and its reasons in one line that may be mailed to a
// webmaster as it stands. Text of the server is quoted and bounded. A Decision without a URL,
// such as [Record.State] returns, has no verdict to show, here and in a log or as JSON.
func (d Decision) String() string {
	var b strings.Builder
	if d.URL != "" {
		fmt.Fprintf(&b, "%s %s: ", strings.ToUpper(d.verdict()), clean.Link(d.URL, maxURL))
	}
	b.WriteString(d.reason())
	if d.Clause != "" {
		fmt.Fprintf(&b, " [%s]", d.citation())
	}
	moment := func(words string, t time.Time) {
		if !t.IsZero() {
			fmt.Fprintf(&b, "; %s %s", words, t.UTC().Format(time.RFC3339))
		}
	}
	moment("fetched", d.Fetched)
	moment("unreachable since", d.DownSince)
	moment("not before", d.RetryAt)
	if d.RetryAt.IsZero() { // otherwise the next fetch is then
		moment("next fetch", d.Expires)
	}
	moment("its turn", d.Turn)
	if d.Pacing != "" && !d.paced() {
		fmt.Fprintf(&b, "; pacing: %s", clean.Text(d.Pacing, maxWords))
	}
	return b.String()
}

// verdict returns the name of the verdict, "" if the Decision has none.
func (d Decision) verdict() string {
	if d.URL == "" {
		return ""
	}
	return d.Verdict.String()
}

// paced reports whether pacing alone defers the URL.
func (d Decision) paced() bool { return d.Verdict == Defer && d.Pacing != "" }

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
	robots := d.file()
	switch {
	case d.Override != "":
		return "by order of the operator: " + clean.Text(d.Override, maxWords)
	case d.paced():
		return clean.Text(d.Pacing, maxWords)
	case d.Cause != "" && d.Robots == "": // Options.PageEgress of package fetcher refused the address
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
	case d.URL == "" && d.Robots == "":
		return "robots.txt has not been fetched"
	case d.Access == Unavailable && (d.Status == http.StatusNotFound || d.Status == http.StatusGone):
		return fmt.Sprintf("there is no robots.txt (status %d%s)", d.Status, d.servedBy(" from "))
	}
	cause := clean.Text(cmp.Or(d.Cause, fmt.Sprintf("status %d", d.Status)), maxWords)
	if d.Access == Unavailable {
		return fmt.Sprintf("%s counts as missing (%s)", robots, cause)
	}
	return fmt.Sprintf("%s is %s (%s)", robots, d.Access, cause)
}

// file names the file that the decision rests on.
func (d Decision) file() string {
	robots := "robots.txt"
	if d.Robots != "" {
		robots = clean.Link(d.Robots, maxURL)
	}
	if by := d.servedBy("served by "); by != "" {
		robots += " (" + by + ")"
	}
	if d.Stale {
		robots = "an expired cached copy of " + robots
	}
	return robots
}

// servedBy returns words and the URL that answered, "" if that is robots.txt itself.
func (d Decision) servedBy(words string) string {
	if d.Served == "" || d.Served == d.Robots {
		return ""
	}
	return words + clean.Link(d.Served, maxURL)
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
	text := func(key, value string) slog.Attr { return slog.String(key, clean.Text(value, maxURL)) }
	served := d.Served
	if served == d.Robots {
		served = ""
	}
	attrs := []slog.Attr{
		slog.String("verdict", d.verdict()), slog.String("url", clean.Link(d.URL, maxURL)),
		text("clause", d.Clause), slog.String("access", d.Access.String()), text("profile", d.Profile),
		text("rule", d.Rule()), text("robots", d.Robots), text("served", served),
		slog.Int("status", d.Status), slog.Bool("stale", d.Stale),
		slog.Time("fetched", d.Fetched), slog.Time("expires", d.Expires), slog.Time("down_since", d.DownSince),
		slog.Time("retry_at", d.RetryAt), slog.Time("turn", d.Turn),
		text("cause", d.Cause), text("pacing", d.Pacing), text("override", d.Override), text("digest", d.Digest),
		slog.Duration("crawl_delay", d.CrawlDelay),
	}
	isZero := func(a slog.Attr) bool { return reflect.ValueOf(a.Value.Any()).IsZero() }
	return slog.GroupValue(slices.DeleteFunc(attrs, isZero)...)
}

// MarshalJSON returns an object with the fields of Decision in snake_case.
// Verdict and access are words. Times are RFC 3339, the Crawl-delay is a string such as "1.5s",
// and both are left out where zero. Text
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
	var delay string
	if d.CrawlDelay != 0 {
		delay = d.CrawlDelay.String()
	}
	return json.Marshal(struct {
		Verdict string `json:"verdict,omitempty"`
		fields
		CrawlDelay string `json:"crawl_delay,omitempty"`
	}{d.verdict(), fields(d), delay})
}
