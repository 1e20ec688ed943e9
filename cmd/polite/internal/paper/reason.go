package paper

import (
	"fmt"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// Word is the verdict as shown.
func Word(v policy.Verdict) string { return strings.ToUpper(v.String()) }

// Reason says why and until when, in one line.
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

// Lifetime says how old the copy is, how long the file has been unreachable and
// when it is asked for again; "" if there is nothing to say.
func Lifetime(d policy.Decision, now time.Time) string {
	var parts []string
	if down := outage(d, now); down != "" {
		parts = append(parts, down)
	}
	again := ""
	if wait, ok := Wait(d, now); ok && wait < time.Second {
		again = "asked again now"
	} else if ok {
		again = "asked again in " + Span(wait)
	}
	if !d.Fetched.IsZero() {
		age := "fetched " + Ago(d.Fetched, now)
		if d.Stale {
			age += ", past its time"
		}
		if again != "" {
			age += ", "
		}
		again = age + again // the two moments of a copy read as one
	}
	if again != "" {
		parts = append(parts, again)
	}
	return strings.Join(parts, "; ")
}

// outage says for how long the file has been unreachable, and why where that is
// not what decided: a copy did.
func outage(d policy.Decision, now time.Time) string {
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

// Wait is the time until the file is asked for again; ok is false if it is not.
func Wait(d policy.Decision, now time.Time) (wait time.Duration, ok bool) {
	at := d.RetryAt
	if at.IsZero() {
		at = d.Expires
	}
	return max(at.Sub(now), 0), !at.IsZero()
}

// Cause is the rule or the answer of the server that decided.
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
	case d.Cause != "":
		return fmt.Sprintf("robots.txt is %s: %s", d.Access, clean.Text(d.Cause, 200))
	case d.Status == 0:
		return fmt.Sprintf("robots.txt is %s", d.Access)
	}
	return fmt.Sprintf("robots.txt is %s: status %d", d.Access, d.Status)
}

// Rule is the deciding rule, bounded and quoted by the Decision, without quotes
// around a plain name of a group.
func Rule(d policy.Decision) string {
	r := d.Rule()
	if s, ok := strings.CutSuffix(r, ` in group "`+d.Match.Agent+`"`); ok {
		return s + " in group " + Group(d.Match.Agent)
	}
	return r
}

// Group is the name of a group, in quotes unless it is "*" or a product token.
func Group(agent string) string {
	shown := clean.Text(agent, 120)
	if agent == "*" || strings.IndexFunc(agent, NotToken) < 0 {
		return shown
	}
	return `"` + shown + `"`
}

// NotToken reports whether a character ends a product token: it is no letter, no
// digit, neither "-" nor "_".
func NotToken(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
}

// Citation names the clause and the profile of a ruling.
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
