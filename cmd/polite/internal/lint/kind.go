package lint

import (
	"strings"

	"github.com/rfc9309/polite/matcher"
)

// NotText says what a file is that is no text in UTF-8 with user-agent lines, and what
// crawlers make of it. It returns "" for other files.
func NotText(text string) string {
	head := strings.ToLower(strings.TrimLeft(text[:min(len(text), 1024)], mark+" \t\r\n"))
	kind := ""
	switch {
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		return "the file is UTF-16: Google and others read no rule of it; want UTF-8"
	case strings.HasPrefix(text, "\x1f\x8b"):
		kind = "compressed with gzip, without a Content-Encoding"
	case strings.HasPrefix(head, "<?xml"), strings.HasPrefix(head, "<error>"):
		kind = "XML"
	case strings.HasPrefix(head, "<"):
		kind = "an HTML page"
	case strings.Contains(head, "\x00"):
		kind = "binary"
	default:
		return ""
	}
	for range matcher.Parse([]byte(text), matcher.Dialect{}).Agents() {
		return "" // some of it is a robots.txt, so each line gets its remarks
	}
	return "the file is " + kind + ", not a robots.txt: crawlers find no rule in it and may fetch everything; want text in UTF-8"
}
