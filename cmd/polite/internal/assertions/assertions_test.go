package assertions

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/rfc9309/polite/cmd/polite/internal/junit"
	"github.com/rfc9309/polite/matcher"
)

// FuzzReports checks any file of assertions with any robots.txt. Each report has an entry
// for each assertion, and no line that the texts could have made.
func FuzzReports(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /\x1b[31m\"<&>\nAllow: /a#\n", "* allow /a\nBot disallow /\x1b[2J]]>\nBot allow /b#c # d\n")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, robots, text string) {
		any := func(string) error { return nil }
		all, errs := Read(strings.NewReader(text), any, any)
		if len(all) == 0 && len(errs) == 0 {
			t.Fatalf("%q: neither an assertion nor an error", text)
		}
		file := matcher.Parse([]byte(robots), matcher.Dialect{})
		var results []Result
		failed := 0
		for _, a := range all {
			r := a.Check(file)
			if results = append(results, r); !r.OK() {
				failed++
			}
		}
		var plain, tap, report bytes.Buffer
		if WriteText(&plain, results) != nil || WriteTAP(&tap, results) != nil || WriteJUnit(&report, "robots.txt", results) != nil {
			t.Fatal("a report cannot be written")
		}
		if n := strings.Count(plain.String(), "\n"); n != failed {
			t.Errorf("%d lines, want %d\n%s", n, failed, &plain)
		}
		if n, want := strings.Count(tap.String(), "\n"), 2+len(all)+5*failed; n != want || !strings.Contains(tap.String(), fmt.Sprintf("\n1..%d\n", len(all))) {
			t.Errorf("%d lines of TAP, want %d\n%s", n, want, &tap)
		}
		var s junit.Suite
		if err := xml.Unmarshal(report.Bytes(), &s); err != nil || len(s.Cases) != len(all) || s.Failures != failed {
			t.Errorf("%v: %d cases, %d failures; want %d and %d\n%s", err, len(s.Cases), s.Failures, len(all), failed, &report)
		}
	})
}
