package usage

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
)

// BenchmarkOfGroup measures groups without records, with a few, with some 50 paths and
// with as many as are read, and hostile ones.
func BenchmarkOfGroup(b *testing.B) {
	paths := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "Content-Usage: /section%d/ train-ai=y, search=y\n", i)
		}
		return text.String()
	}
	for _, c := range []struct{ name, records, target string }{
		{"none", "", "/section7/page"},
		{"signal", "Content-Signal: search=yes, ai-train=no\n", "/section7/page"},
		{"paths=50", paths(50), "/section7/page"},
		{"paths=1024", paths(1024), "/section7/page"},
		{"paths=20000", paths(10000) + paths(10000), "/section7/page"},
		{"hostile", strings.Repeat("Content-Usage: /*a*a*a*a*b x=n\n", 16000), "/" + strings.Repeat("a", 2048)},
		{"labels", "Content-Usage: " + strings.Repeat("a,b,", 16<<10) + "c\n", "/"},
	} {
		g := matcher.Parse([]byte("User-agent: *\nAllow: /\n"+c.records), matcher.Dialect{}).Group("")
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				OfGroup(g, c.target)
			}
		})
	}
}

// BenchmarkOfHeader measures a usual header and a hostile one.
func BenchmarkOfHeader(b *testing.B) {
	for name, h := range map[string]http.Header{
		"usual":   {"Content-Type": {"text/html"}, "X-Robots-Tag": {"noindex, nofollow"}, "Content-Usage": {"train-ai=n"}, "Date": {"x"}, "Etag": {"x"}},
		"hostile": {"Link": {strings.Repeat("<a>;rel=\"license license\",", 40_000)}, "X-Robots-Tag": {strings.Repeat("a:b,", 250_000)}, "Robots-Tag": {strings.Repeat("a;b,", 250_000)}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				OfHeader(h, "ExampleBot")
			}
		})
	}
}
