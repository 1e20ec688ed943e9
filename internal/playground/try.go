// Package playground is what the page of docs/play computes: the decisions on URLs for a
// robots.txt that a visitor writes, and the section of docs/blocked.md about a decision
// that a visitor has. Nothing is fetched.
package playground

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rfc9309/polite/policy"
)

// A Question is what the visitor wrote.
type Question struct {
	Robots  string   `json:"robots"`  // the text of robots.txt
	Answer  string   `json:"answer"`  // how the site answers; see answers
	Profile string   `json:"profile"` // the name of a profile
	Tokens  []string `json:"tokens"`  // product tokens
	URLs    []string `json:"urls"`    // URLs, or paths of https://example.com
}

// A Result has the decisions on each URL for each token.
type Result struct {
	Rows []Row     `json:"rows"`
	At   time.Time `json:"at"`
}

// A Row is one decision.
type Row struct {
	URL     string `json:"url"`
	Token   string `json:"token"`
	Verdict string `json:"verdict"` // allow, disallow or defer; "" if the URL is not valid
	Line    int    `json:"line"`    // the line of the deciding rule, 0 if none
	Rule    string `json:"rule"`    // the deciding rule
	Why     string `json:"why"`     // the reason, or what is wrong with the URL
}

// Bounds on a Question, so that a page that is updated with each key stays quick.
const (
	maxTokens = 10
	maxURLs   = 100
)

// answers are what a site may answer, by name.
var answers = map[string]policy.Attempt{
	"file":    {Status: http.StatusOK},
	"404":     {Status: http.StatusNotFound},
	"403":     {Status: http.StatusForbidden},
	"429":     {Status: http.StatusTooManyRequests},
	"503":     {Status: http.StatusServiceUnavailable},
	"timeout": {Err: &policy.Failure{Class: policy.Timeout, Err: context.DeadlineExceeded}},
	"loop":    {Status: http.StatusFound, Header: http.Header{"Location": {"/robots.txt"}}},
}

// Try decides on each URL for each token, as if the answer had just come.
func Try(q Question, now time.Time) (Result, error) {
	p, ok := policy.ByName(q.Profile)
	if !ok {
		return Result{}, fmt.Errorf("there is no profile %q", q.Profile)
	}
	a, ok := answers[q.Answer]
	if !ok {
		return Result{}, fmt.Errorf("there is no answer %q", q.Answer)
	}
	a.Body, a.Sent, a.Received = []byte(q.Robots), now, now
	a.Cut = len(a.Body) > p.Limit
	res := Result{Rows: []Row{}, At: now}
	for _, written := range firstOf(q.URLs, maxURLs) {
		target, err := parseURL(written)
		if err != nil {
			res.Rows = append(res.Rows, Row{URL: written, Why: err.Error()})
			continue
		}
		rec := p.Learn(nil, attemptAt(p, a, target))
		for _, token := range firstOf(q.Tokens, maxTokens) {
			res.Rows = append(res.Rows, newRow(rec.Decide(token, target, now), token))
		}
	}
	return res, nil
}

// attemptAt returns the attempt for the robots.txt of a URL. A loop has used all redirects.
func attemptAt(p *policy.Profile, a policy.Attempt, target *url.URL) policy.Attempt {
	a.Robots = target.Scheme + "://" + target.Host + "/robots.txt"
	if a.Status == http.StatusFound {
		for range p.Hops {
			a.Hops = append(a.Hops, policy.Hop{From: a.Robots, To: a.Robots, Status: a.Status})
		}
	}
	return a
}

func newRow(d policy.Decision, token string) Row {
	r := Row{URL: d.URL, Token: token, Verdict: d.Verdict.String(), Line: d.Match.Rule.Line}
	_, r.Why, _ = strings.Cut(d.String(), ": ") // the verdict and the URL have their own columns
	if r.Line > 0 {
		kind := "Disallow: "
		if d.Match.Rule.Allow {
			kind = "Allow: "
		}
		r.Rule = kind + d.Match.Rule.Pattern
	}
	return r
}

// parseURL reads a URL. A path is of https://example.com, and a host without a scheme is
// reached by https.
func parseURL(written string) (*url.URL, error) {
	switch {
	case strings.HasPrefix(written, "/"):
		written = "https://example.com" + written
	case !strings.Contains(written, "://"):
		written = "https://" + written
	}
	u, err := url.Parse(written)
	if err == nil && (u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		err = fmt.Errorf("not an http or https URL: %q", written)
	}
	return u, err
}

// firstOf returns the first most lines that are not blank, without spaces around them.
func firstOf(lines []string, most int) []string {
	var out []string
	for _, l := range lines {
		if l = strings.TrimSpace(l); l != "" && len(out) < most {
			out = append(out, l)
		}
	}
	return out
}
