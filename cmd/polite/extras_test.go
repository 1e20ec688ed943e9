package main

import (
	"strings"
	"testing"
)

// TestCompletion checks that each shell gets a script, and that names and values are
// completed.
func TestCompletion(t *testing.T) {
	for _, shell := range shells {
		if code, script, _ := polite(t, "", "completion", shell); code != 0 || !strings.Contains(script, "__complete") {
			t.Errorf("polite completion %s: exit %d, %d bytes", shell, code, len(script))
		}
	}
	for _, tt := range []struct{ args, want string }{
		{"si", "sitemaps\t"}, {"check --prof", "--profile\t"}, {"check --profile go", "google2019\n"},
		{"test --format j", "junit\n"}, {"completion z", "zsh\n"}, {"help di", "diff\t"},
	} {
		_, out, _ := polite(t, "", append([]string{"__complete"}, strings.Fields(tt.args)...)...)
		if !strings.Contains(out, tt.want) {
			t.Errorf("polite %s[Tab]\ngot  %q\nwant %q", tt.args, out, tt.want)
		}
	}
}
