package docs_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/playground"
)

// TestBlockedSections checks that the playground sends each decision on blocked.md, as a
// line and as JSON, to the section that has it, and that it shows the text there.
func TestBlockedSections(t *testing.T) {
	page := readPage(t, "blocked.md")
	sections := map[string]string{} // the heading of each decision
	heading := ""
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		if decision.MatchString(line) {
			sections[strings.TrimSpace(line)] = heading
		}
	}
	for _, c := range printedCases() {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			d := c.decide(t)
			asJSON, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			for _, written := range []string{d.String(), "2026/05/01 00:00:00 Get \"" + d.URL + "\": " + d.String() + "\n", string(asJSON)} {
				got, err := playground.Explain(written, page)
				if err != nil {
					t.Fatalf("%s: %v", written, err)
				}
				if want := sections[d.String()]; got.Title != want || got.Line != d.String() || got.URL != d.URL {
					t.Errorf("%s\ngot  section %q, line %q\nwant %q", written, got.Title, got.Line, want)
				}
				if strings.Contains(got.Section, "```") {
					t.Errorf("%s: got %q, want no decision in it", written, got.Section)
				}
			}
		})
	}
}

// TestPlayProfiles checks that the page of the playground offers every profile.
func TestPlayProfiles(t *testing.T) {
	page, err := os.ReadFile("play/index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rfc9309", "strict", "google", "google2019", "draft2019", "koster1996"} {
		if !strings.Contains(string(page), `<option value="`+name+`"`) {
			t.Errorf("index.html: got no option %q", name)
		}
	}
}
