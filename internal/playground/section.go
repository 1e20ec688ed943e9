package playground

import (
	"regexp"
	"strings"
	"time"
)

// This file finds the section of docs/blocked.md about a decision.

// A rule sends decisions to a section: those with one verdict whose reason has a text.
// The first rule that fits decides.
type rule struct {
	verdict string         // "" for all
	reason  *regexp.Regexp // found in the reason
	profile string         // "" for all
	anchor  string
	also    func(f facts) bool // nil: nothing else is needed
}

const month = 30 * 24 * time.Hour

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

// rules are in the order of the page, except where one fits less often than the next.
var rules = []rule{
	{"DISALLOW", re(`^by order of the operator`), "", "an-operator-said-so", nil},
	{"DISALLOW", re(`^must not connect to`), "", "its-address-is-private", nil},
	{"DISALLOW", re(` is restricted `), "", "the-site-is-closed-by-the-draft-of-1996", nil},
	{"DISALLOW", re(` of an expired cached copy of `), "", "the-copy-has-expired", nil},
	{"DISALLOW", re(`\(served by `), "", "the-rule-is-in-another-file", nil},
	{"DISALLOW", re(` in group "\*" `), "", "a-rule-for-all-crawlers", nil},
	{"DISALLOW", re(` in group `), "", "a-rule-for-this-crawler", nil},
	{"DISALLOW", re(``), "", "the-site-says-no", nil},

	{"DEFER", re(`^no turn `), "", "it-is-not-your-turn", nil},
	{"DEFER", re(`\(status 429`), "", "the-server-says-that-you-are-too-fast", nil},
	{"DEFER", re(`\(status [45]\d\d |\(redirects `), "strict", "the-strict-profile", nil},
	{"DEFER", re(` is unreachable \(`), "", "down-for-more-than-30-days", func(f facts) bool { return f.between("unreachable since", "not before") > month }},
	{"DEFER", re(`\(status 5\d\d`), "", "the-server-is-in-trouble", nil},
	{"DEFER", re(`\(status [6-9]\d\d`), "", "the-server-answers-with-a-number-of-its-own", nil},
	{"DEFER", re(`\(dns: `), "", "the-name-does-not-resolve", nil},
	{"DEFER", re(`\(connect: `), "", "nobody-listens", nil},
	{"DEFER", re(`\(tls: `), "", "the-certificate-is-not-valid", nil},
	{"DEFER", re(`\(timeout: `), "", "no-answer-in-time", nil},
	{"DEFER", re(`\(body: `), "", "the-body-broke-off-or-cannot-be-read", nil},
	{"DEFER", re(`\(protocol: `), "", "the-server-does-not-speak-http", nil},
	{"DEFER", re(`\(egress: `), "", "a-redirect-into-a-private-network", nil},
	{"DEFER", re(`\(status 3\d\d`), "", "a-redirect-that-leads-nowhere", nil},
	{"DEFER", re(`\(status 2\d\d`), "", "an-answer-that-is-no-file", nil},
	{"DEFER", re(``), "", "the-site-has-not-said-anything", nil},

	{"ALLOW", re(`^robots.txt itself`), "", "robotstxt-itself", nil},
	{"ALLOW", re(`^no rule of group`), "", "the-rule-does-not-match", nil},
	{"ALLOW", re(`^line \d+ `), "", "a-longer-rule-allows-it", nil},
	{"ALLOW", re(`^no group applies`), "", "a-page-in-place-of-a-file", facts.soon},
	{"ALLOW", re(`^no group applies`), "", "the-file-is-for-other-crawlers", nil},
	{"ALLOW", re(` counts as missing \((redirects|more than \d+ redirects)`), "", "redirects-without-end", nil},
	{"ALLOW", re(`^there is no robots.txt| counts as missing `), "", "there-is-no-file", nil},
	{"ALLOW", re(` is unreachable \(status`), "", "down-for-30-days-and-answering", nil},
	{"", re(``), "", "why-was-i-not-blocked", nil},
}

var shortTime = re(`^(now|in \d+ (min|s)( \d+ s)?)$`)

// soon reports whether the next fetch is due within an hour of the last one.
func (f facts) soon() bool {
	d := f.between("fetched", "next fetch")
	next := f.tail["next fetch"] // of a decision as printed, it is a time from now
	return 0 < d && d <= time.Hour || next == "in 1 h" || shortTime.MatchString(next)
}

// section returns the anchor of the section.
func (f facts) section() string {
	for _, r := range rules {
		if (r.verdict == "" || r.verdict == f.verdict) && (r.profile == "" || r.profile == f.profile) &&
			r.reason.MatchString(f.reason) && (r.also == nil || r.also(f)) {
			return r.anchor
		}
	}
	panic("the last rule fits every decision")
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchorOf returns the anchor of a heading.
func anchorOf(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// sectionOf returns the heading of a section and its text up to the next heading, without
// the decisions in it. Both are "" if the page has no such section.
func sectionOf(page, anchor string) (title, text string) {
	var b strings.Builder
	inside, code := false, false
	for line := range strings.Lines(page) {
		switch heading := strings.TrimLeft(line, "#"); {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code:
		case heading != line:
			if inside {
				return title, strings.TrimSpace(b.String())
			}
			title = strings.TrimSpace(heading)
			inside = anchorOf(title) == anchor
		case inside:
			b.WriteString(line)
		}
	}
	if !inside {
		return "", ""
	}
	return title, strings.TrimSpace(b.String())
}
