package docs_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/usage"
)

// TestUsagePage compares the examples of usage.md with what package usage reads.
func TestUsagePage(t *testing.T) {
	for _, row := range tableUnder(t, "usage.md", "## What is read") {
		text, result := strings.Trim(row[0], "`"), strings.TrimSuffix(row[2], " |")
		var said usage.Set
		if name, value, _ := strings.Cut(text, ": "); row[1] == "header" {
			said = usage.OfHeader(http.Header{name: {value}}, "ExampleBot")
		} else {
			said = usage.OfFile(matcher.Parse([]byte("User-agent: *\n"+text), matcher.Dialect{}), "ExampleBot", "/blog/post")
		}
		var words []string
		for p := range said.All() {
			words = append(words, p.Label+" "+p.Value.String())
		}
		got := strings.Join(words, ", ")
		if got == "" {
			got = "nothing"
		}
		for _, k := range said.Skipped() {
			reason, _, _ := strings.Cut(k.Reason, " (")
			got += "; skipped, " + reason
		}
		if got != result {
			t.Errorf("usage.md: %s\ngot  %s\nwant %s", text, result, got)
		}
	}
}
