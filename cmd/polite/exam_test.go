package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rfc9309/polite/cmd/polite/internal/junit"
	"github.com/rfc9309/polite/internal/exam"
)

// TestExam examines polite get, which follows no links, and reads each format of the report.
func TestExam(t *testing.T) {
	t.Setenv("POLITE_TEST_MAIN", "1")
	t.Setenv("NO_PROXY", "*")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const cases = 5 // with the case that every exam has
	run := func(format string, crawler ...string) (int, string, string) {
		return polite(t, "", append([]string{"exam", "--only", "2.2.1/star,2.2.1/own_group,2.2.3/star,house/agent_names_a_page", "--format", format, "--"}, crawler...)...)
	}
	for _, tt := range []struct {
		format string
		check  func(out string) error
	}{
		{"text", func(out string) error {
			if !strings.Contains(out, "RFC 9309: 4 of 4 cases sat, 4 passed, 0 failed; manners: 1 of 1 cases sat, 1 passed, 0 failed\n") {
				return fmt.Errorf("no summary")
			}
			return nil
		}},
		{"markdown", func(out string) error {
			if strings.Count(out, "\n| 2.2.1/") != 2 {
				return fmt.Errorf("not a line for each case")
			}
			return nil
		}},
		{"json", func(out string) error {
			var r exam.Report
			if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Results) != cases || r.Token != "polite" {
				return fmt.Errorf("%d results of %s, %v", len(r.Results), r.Token, err)
			}
			return nil
		}},
		{"junit", func(out string) error {
			var s junit.Suite
			if err := xml.Unmarshal([]byte(out), &s); err != nil || s.Tests != cases || s.Failures != 0 || len(s.Cases) != cases {
				return fmt.Errorf("%d cases, %d failures, %v", len(s.Cases), s.Failures, err)
			}
			return nil
		}},
		{"sarif", func(out string) error {
			var log struct{ Runs []struct{ Results []any } }
			if err := json.Unmarshal([]byte(out), &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != 0 {
				return fmt.Errorf("%v, %v", log, err)
			}
			return nil
		}},
	} {
		t.Run(tt.format, func(t *testing.T) {
			code, out, errs := run(tt.format, self, "get", "--gap", "0s", "{pages}")
			if err := tt.check(out); code != 0 || errs != "" || err != nil {
				t.Errorf("exit %d, %s, %v\n%s", code, errs, err, out)
			}
		})
	}
	t.Run("failures", func(t *testing.T) {
		code, out, errs := run("sarif", self, "get", "--agent", "Example\x7fBot", "--token", "x", "{pages}")
		if code != 2 || out != "" || !strings.HasPrefix(errs, "polite: the crawler requested nothing, and ended with exit status 2; it printed ") || strings.ContainsRune(errs, '\x7f') {
			t.Errorf("exit %d\n%s\n%s", code, errs, out)
		}
	})
}
