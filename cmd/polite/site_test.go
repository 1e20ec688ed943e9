package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// siteCommand finds the commands of a workflow or a page.
var siteCommand = regexp.MustCompile(`(?m)^(?: *run: |)polite (.*)$`)

// TestSiteExample runs the commands that docs/site and docs/site-owners.md tell the
// owners of sites to run. They must succeed, also for a site that has no robots.txt yet.
func TestSiteExample(t *testing.T) {
	for _, name := range []string{"../../docs/site/.github/workflows/robots.yml", "../../docs/site-owners.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		commands := siteCommand.FindAllStringSubmatch(string(text), -1)
		if len(commands) < 4 {
			t.Fatalf("%s: got %d commands, want 4 or more", name, len(commands))
		}
		for _, m := range commands {
			for _, site := range []string{"https://example.com", "https://missing.example"} {
				command := strings.ReplaceAll(m[1], "https://example.com", site)
				t.Run(filepath.Base(name)+"/"+command, func(t *testing.T) {
					t.Chdir("../../docs/site")
					synctest.Test(t, func(t *testing.T) { runSiteCommand(t, command) })
				})
			}
		}
	}
}

// runSiteCommand runs a command for the robots.txt of the example. The exit code 1 is right
// if the command is polite diff, or goes on with ||.
func runSiteCommand(t *testing.T, command string) {
	command, _, mayDiffer := strings.Cut(command, " ||")
	command, _, _ = strings.Cut(command, " >")
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &errs, now: time.Now, base: newWeb(t).Transport()}
	code := c.run(t.Context(), strings.Fields(command))
	if want := strings.HasPrefix(command, "diff"); code != 0 && !(code == 1 && (want || mayDiffer)) {
		t.Errorf("polite %s\ngot  exit %d\n%s%s", command, code, &out, &errs)
	}
}

// TestSiteFails checks that the commands of the example fail for a robots.txt that is
// broken.
func TestSiteFails(t *testing.T) {
	site := t.TempDir()
	if err := os.WriteFile(filepath.Join(site, "robots.txt"), []byte("Disallow: /cart\nUser-agent: *\nDisallow: /search\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"lint robots.txt", "test robots.txt ROBOTS.ASSERT"} {
		args := strings.Fields(command)
		for i := range args {
			args[i] = strings.Replace(args[i], "ROBOTS.ASSERT", "../../docs/site/robots.assert", 1)
			args[i] = strings.Replace(args[i], "robots.txt", filepath.Join(site, "robots.txt"), 1)
		}
		if code, out, errs := polite(t, "", args...); code != 1 {
			t.Errorf("polite %s\ngot  exit %d\nwant 1\n%s%s", command, code, out, errs)
		}
	}
}
