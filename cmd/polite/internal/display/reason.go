package display

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/token"
	"github.com/rfc9309/polite/policy"
)

// Word returns the verdict in capital letters.
func Word(v policy.Verdict) string { return strings.ToUpper(v.String()) }

// Reason returns in one line why the decision was made and how long it is valid.
func Reason(d policy.Decision, now time.Time) string {
	parts := []string{Cause(d)}
	if d.Served != "" && d.Served != d.Robots {
		parts = append(parts, "served by "+clean.Text(d.Served, 300))
	}
	if life := Lifetime(d, now); life != "" {
		parts = append(parts, life)
	}
	return strings.Join(parts, "; ")
}

// Lifetime returns the age of the cached copy, how long the file has been
// unreachable, and when the next fetch is due. It returns "" if none of these apply.
func Lifetime(d policy.Decision, now time.Time) string {
	var parts []string
	if down := outageText(d, now); down != "" {
		parts = append(parts, down)
	}
	var times []string
	if !d.Fetched.IsZero() {
		times = append(times, "fetched "+Ago(d.Fetched, now))
	}
	if d.Stale {
		times = append(times, "expired")
	}
	if wait, ok := Wait(d, now); ok && wait < time.Second {
		times = append(times, "next fetch now")
	} else if ok {
		times = append(times, "next fetch in "+Span(wait))
	}
	if len(times) > 0 {
		parts = append(parts, strings.Join(times, ", "))
	}
	return strings.Join(parts, "; ")
}

// outageText returns how long the file has been unreachable. If an expired copy decided,
// it adds the reason of the failure, which Cause leaves out.
func outageText(d policy.Decision, now time.Time) string {
	long := now.Sub(d.DownSince) >= time.Second
	if d.DownSince.IsZero() || !long && !d.Stale {
		return ""
	}
	down := "unreachable"
	if long {
		down += " for " + Span(now.Sub(d.DownSince))
	}
	if d.Stale && d.Cause != "" {
		down += ": " + clean.Text(d.Cause, 200)
	}
	return down
}

// Wait returns the time until the next fetch of robots.txt. ok is false if no fetch
// is planned.
func Wait(d policy.Decision, now time.Time) (wait time.Duration, ok bool) {
	at := d.RetryAt
	if at.IsZero() {
		at = d.Expires
	}
	return max(at.Sub(now), 0), !at.IsZero()
}

// Cause returns the rule or the answer of the server that decided.
func Cause(d policy.Decision) string {
	switch {
	case d.Override != "":
		return "by order of the operator: " + clean.Text(d.Override, 200)
	case d.Verdict == policy.Defer && d.Pacing != "":
		return clean.Text(d.Pacing, 200)
	case d.Match.Rule.Line != 0:
		return Rule(d)
	case d.Clause == "2.2.2" && d.Allowed() && d.Match.Agent == "":
		return "robots.txt itself may always be read"
	case d.Match.Agent != "":
		return "no rule of group " + Group(d.Match.Agent) + " matches"
	case d.Match.Allowed:
		return "no group applies"
	case Missing(d):
		return fmt.Sprintf("there is no robots.txt (status %d)", d.Status)
	case d.Access == policy.Unavailable:
		return "robots.txt counts as missing: " + cmp.Or(clean.Text(d.Cause, 200), fmt.Sprintf("status %d", d.Status))
	case d.Cause != "":
		return fmt.Sprintf("robots.txt is %s: %s", d.Access, clean.Text(d.Cause, 200))
	case d.Status == 0:
		return fmt.Sprintf("robots.txt is %s", d.Access)
	}
	return fmt.Sprintf("robots.txt is %s: status %d", d.Access, d.Status)
}

// Missing reports whether the server said that there is no robots.txt.
func Missing(d policy.Decision) bool {
	return d.Access == policy.Unavailable && (d.Status == http.StatusNotFound || d.Status == http.StatusGone)
}

// Rule returns the deciding rule with its group. d.Rule has bounded and quoted it.
// The quotes around the name of the group are removed if it is a plain word.
func Rule(d policy.Decision) string {
	r := d.Rule()
	if s, ok := strings.CutSuffix(r, ` in group "`+d.Match.Agent+`"`); ok {
		return s + " in group " + Group(d.Match.Agent)
	}
	return r
}

// Group returns the name of a group, in quotes unless it is "*" or a product token.
func Group(agent string) string {
	shown := clean.Text(agent, 120)
	if agent == "*" || agent == token.Prefix(agent) {
		return shown
	}
	return `"` + shown + `"`
}

// Citation returns the clause and the profile of a decision.
func Citation(d policy.Decision) string {
	c := "RFC 9309, section " + d.Clause
	if d.Clause == "house" {
		c = "house rule"
	}
	if d.Profile != "" {
		c += "; profile " + d.Profile
	}
	return c
}
