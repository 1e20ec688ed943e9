package main

import (
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestManual checks that the manual page has every command and every flag, and that only
// requests of man begin with a dot.
func TestManual(t *testing.T) {
	code, page, errs := polite(t, "", "man")
	if code != 0 || errs != "" {
		t.Fatalf("polite man: exit %d, %s", code, errs)
	}
	plain := strings.ReplaceAll(page, `\-`, "-")
	for _, cmd := range (&cli{out: io.Discard}).root().Commands() {
		if !strings.Contains(plain, ".SS polite "+cmd.Name()+"\n") {
			t.Errorf("the page has no section for polite %s", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(plain, "--"+f.Name) {
				t.Errorf("the page has no --%s of polite %s", f.Name, cmd.Name())
			}
		})
	}
	request := regexp.MustCompile(`^\.(TH|SH|SS|P|TP|B|br|nf|fi)( |$)`)
	for line := range strings.Lines(page) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, ".") && !request.MatchString(line) || strings.HasPrefix(line, "'") {
			t.Errorf("%q would be read as a request", line)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("no groff, which would also read the page")
	}
	groff := exec.Command("groff", "-ww", "-man", "-Tutf8", "-z")
	groff.Stdin = strings.NewReader(page)
	if out, err := groff.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}

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
