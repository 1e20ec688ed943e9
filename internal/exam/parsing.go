package exam

import (
	"strings"

	"github.com/rfc9309/polite/internal/httptest"
)

// parsing returns the cases about odd files (section 2.3.1.5).
func parsing() []*Case {
	const (
		try = "Crawlers MUST try to parse each line"
		use = "Crawlers MUST use the parseable rules."
	)
	return []*Case{
		{Name: "2.3.1.5/byte_order_mark", Text: try, Site: "the file begins with a byte order mark, and its only group, *, disallows /private", after: []string{"2.2.1/star"},
			robots: "\uFEFFUser-agent: *\nDisallow: /private\n", closed: []string{private}},
		{Name: "2.3.1.5/lines_that_are_no_records", Text: try, Site: "lines that are no records are around Disallow: /private",
			robots: "<p>\n" + forAll("::: no record\n\xff\xfe\xfd\nDisallow: /private\n}{\n"), closed: []string{private}},
		{Name: "2.3.1.5/nul", Text: try, Site: "a line with NUL bytes is before Disallow: /private", robots: forAll("no\x00record\x00\nDisallow: /private\n"), closed: []string{private}},
		{Name: "2.3.1.5/rules_on_a_page", Text: use, Site: "the file is an HTML page with lines that disallow /private",
			robots: "<!doctype html>\n<title>robots</title>\n<pre>\n" + forAll("Disallow: /private\n") + "</pre>\n", closed: []string{private}},
		{Name: "2.3.1.5/page_without_rules", Text: "2.2.1|If no group matches the product token", Site: "an HTML page is served in place of the file", judge: judgeOpen,
			build: robotsAnswers(httptest.Text("<!doctype html>\n<title>Welcome</title>\n<p>Welcome.</p>\n").Header("Content-Type", "text/html; charset=utf-8"))},
	}
}

func crOnly(s string) string { return strings.ReplaceAll(s, "\n", "\r") }
func crlf(s string) string   { return strings.ReplaceAll(s, "\n", "\r\n") }
