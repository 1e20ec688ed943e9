package playground

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

// TestTry checks the decisions on the URLs of a visitor.
func TestTry(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /private\nAllow: /private/open\nNoindex: /x\n\nUser-agent: GreedyBot\nDisallow: /\n"
	for _, tt := range []struct {
		name, answer, profile, token, url string
		want                              string // verdict, line, and the rule or a part of the reason
	}{
		{"2.2.2/disallowed", "file", "rfc9309", "ExampleBot", "https://example.org/private/1", "disallow 2 Disallow: /private"},
		{"2.2.2/path", "file", "rfc9309", "ExampleBot", "/private/open", "allow 3 Allow: /private/open"},
		{"2.2.2/host", "file", "rfc9309", "ExampleBot", "example.org/", "allow 0 no rule of group"},
		{"2.2.1/group", "file", "rfc9309", "greedybot", "/", "disallow 7 Disallow: /"},
		{"2.3.1.3/404", "404", "rfc9309", "ExampleBot", "/private", "allow 0 status 404"},
		{"2.3.1.3/403_strict", "403", "strict", "ExampleBot", "/", "defer 0 status 403"},
		{"2.3.1.3/403_in_1996", "403", "koster1996", "ExampleBot", "/", "disallow 0 is restricted"},
		{"2.3.1.4/503", "503", "rfc9309", "ExampleBot", "/", "defer 0 not before 2026-05-01T00:"},
		{"2.3.1.4/429", "429", "google", "ExampleBot", "/", "defer 0 status 429"},
		{"2.3.1.4/timeout", "timeout", "rfc9309", "ExampleBot", "/", "defer 0 timeout: "},
		{"2.3.1.2/loop", "loop", "rfc9309", "ExampleBot", "/", "allow 0 redirects"},
		{"2.3/no_url", "file", "rfc9309", "ExampleBot", "gopher://x/", " 0 not an http or https URL"},
		{"2.3/broken_url", "file", "rfc9309", "ExampleBot", "https://%zz/", " 0 invalid URL escape"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res, err := Try(Question{rules, tt.answer, tt.profile, []string{tt.token, " "}, []string{"", tt.url}}, start)
			if err != nil || len(res.Rows) != 1 {
				t.Fatalf("got %+v, %v; want one row", res, err)
			}
			r := res.Rows[0]
			got := fmt.Sprintf("%s %d %s %s", r.Verdict, r.Line, r.Rule, r.Why)
			head, tail, _ := strings.Cut(tt.want, " 0 ")
			if !strings.HasPrefix(got, head) || !strings.Contains(got, tail) {
				t.Errorf("%s %s\ngot  %s\nwant %s", tt.token, tt.url, got, tt.want)
			}
		})
	}
	res, err := Try(Question{Robots: rules, Answer: "file", Profile: "rfc9309"}, start)
	if err != nil || len(res.Rows) != 0 {
		t.Errorf("got %+v, %v; want no row", res, err)
	}
	many := strings.Split(strings.Repeat("x,", 1000), ",")
	if res, err := Try(Question{rules, "file", "rfc9309", many, many}, start); err != nil || len(res.Rows) != maxTokens*maxURLs {
		t.Errorf("got %d rows, %v; want at most %d", len(res.Rows), err, maxTokens*maxURLs)
	}
	for _, q := range []Question{{Answer: "file", Profile: "none"}, {Answer: "none", Profile: "strict"}} {
		if _, err := Try(q, start); err == nil {
			t.Errorf("%+v: got no error", q)
		}
	}
}

// TestNoDecision checks that other text is refused. The decisions are tested with
// docs/blocked.md.
func TestNoDecision(t *testing.T) {
	for _, written := range []string{"", "DISALLOW", "{}", `{"verdict":`, "DISALLOW https://example.com/: because", `[1]`} {
		if p, err := Explain(written, ""); !errors.Is(err, ErrNoDecision) {
			t.Errorf("%q: got %+v, %v; want an error", written, p, err)
		}
	}
}

// TestPrinted checks that what the command prints is understood like the decision itself.
func TestPrinted(t *testing.T) {
	for _, tt := range []struct{ name, written, want string }{
		{"check", "DISALLOW  https://example.com/a  line 4 \"Disallow: /a\" in group *; fetched just now, next fetch in 24 h", "a-rule-for-all-crawlers"},
		{"check_own_group", "DISALLOW  https://example.com/a  line 4 \"Disallow: /a\" in group ExampleBot; fetched just now, next fetch in 24 h", "a-rule-for-this-crawler"},
		{"check_on_a_terminal", "DISALLOW  https://example.com/a\n          line 4 \"Disallow: /a\" in group *;\n          served by https://www.example.com/robots.txt; fetched 2 h ago,\n          next fetch in 22 h\n", "the-rule-is-in-another-file"},
		{"check_expired", "DISALLOW  https://example.com/a  line 4 \"Disallow: /a\" in group *; unreachable for 3 h: status 503; fetched 2 d ago, expired, next fetch in 1 h", "the-copy-has-expired"},
		{"check_503", "DEFER     https://example.com/  robots.txt is unreachable: status 503 Service Unavailable; next fetch in 2 min", "the-server-is-in-trouble"},
		{"check_refused", "DEFER     https://example.com/  robots.txt is unreachable: connect: dial tcp 203.0.113.7:443: connect: connection refused; next fetch in 1 min", "nobody-listens"},
		{"check_404", "ALLOW     https://example.com/  there is no robots.txt (status 404); next fetch in 24 h", "there-is-no-file"},
		{"check_403", "ALLOW     https://example.com/  robots.txt counts as missing: status 403 Forbidden; next fetch in 1 h", "there-is-no-file"},
		{"check_html", "ALLOW     https://example.com/  no group applies; fetched just now, next fetch in 1 h", "a-page-in-place-of-a-file"},
		{"check_no_group", "ALLOW     https://example.com/  no group applies; fetched just now, next fetch in 24 h", "the-file-is-for-other-crawlers"},
		{"check_no_rule", "ALLOW     https://example.com/  no rule of group * matches; fetched just now, next fetch in 24 h", "the-rule-does-not-match"},
		{"check_pace", "DEFER     https://example.com/  no turn within MaxWait: the next one is in 1m0s, because of the gap between requests; next fetch in 1 min", "it-is-not-your-turn"},
		{"explain", "DEFER     https://example.com/\n\n  why       robots.txt is unreachable: tls: failed to verify certificate\n            RFC 9309, section 2.3.1.4; profile rfc9309\n  requests  ---   0.0 ms  https://example.com/robots.txt\n", "the-certificate-is-not-valid"},
		{"get", "polite: DISALLOW https://example.com/a: line 4 \"Disallow: /a\" in group *; fetched just now, next fetch in 24 h", "a-rule-for-all-crawlers"},
	} {
		p, err := Explain(tt.written, "")
		if err != nil || p.Anchor != tt.want || !strings.HasPrefix(p.URL, "https://example.com/") || strings.HasSuffix(p.URL, ":") {
			t.Errorf("%s: %s\ngot  %+v, %v\nwant section %s", tt.name, tt.written, p, err, tt.want)
		}
	}
}

// FuzzExplain checks that no text makes Explain panic.
func FuzzExplain(f *testing.F) {
	f.Add(`DEFER https://example.com/: no turn within MaxWait: the next one is in 1m0s, because of the gap between requests [house rule; profile rfc9309]; not before 2026-05-01T00:01:00Z`, "# A\n```\n")
	f.Add(`{"verdict":"allow","url":"https://example.com/","match":{"rule":{"line":3}}}`, "## It is not your turn\nx")
	f.Fuzz(func(t *testing.T, written, page string) {
		p, err := Explain(written, page)
		if err == nil && p.Anchor == "" {
			t.Errorf("%q: got no section", written)
		}
	})
}
