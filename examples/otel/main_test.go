package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestRun checks that the spans of requests are below the span of their retrieval, that
// decisions are events of the page's span, and that no metric names a server.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	// T stands for any duration.
	text := regexp.MustCompile(`\d+(\.\d+)?(s|ms|µs)`).ReplaceAllString(out.String(), "T")
	for _, want := range []string{
		"\n    page http://shop.example/cart T\n" +
			"      - polite.decision polite.verdict=disallow polite.clause=2.2.2 polite.rule=line 2 \"Disallow: /cart\" in group \"*\"\n",
		"      - polite.decision polite.verdict=defer polite.clause=2.3.1.4 polite.cause=status 503 Service Unavailable polite.retry_at=",
		"\nrobots.txt T url.full=http://moved.example/robots.txt polite.access=successful polite.redirects=1 ",
		"\n    GET T url.scheme=http http.response.status_code=302 http.request.method=GET url.full=http://moved.example/robots.txt server.address=moved.example server.port=80\n" +
			"    GET T url.scheme=http http.response.status_code=200 http.request.method=GET url.full=http://shop.example/robots.txt ",
		" error.type=dns http.request.method=GET url.full=http://lost.test/robots.txt server.address=lost.test server.port=80 ERROR dns: ",
		" s error.type=503 http.request.method=GET http.response.status_code=503 url.scheme=http\n",
		"    2 polite.access=unreachable\n",
		"    1 polite.stale=false polite.verdict=disallow\n",
		"\npolite.paced_hosts ({host})\n    1 polite.wait.reason=breaker\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("output:\n%s\nwant\n%s", text, want)
		}
	}
}
