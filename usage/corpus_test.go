package usage

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/realfiles"
	"github.com/rfc9309/polite/matcher"
)

// signal is one word of a Content-Signal or Content-Usage record.
var signal = regexp.MustCompile(`([a-z-]+)=(\w+)`)

// TestCorpus compares real files with an independent reading of their records: lines, split
// at commas, of the groups that name the crawler. It also checks that a file without such
// records says nothing.
func TestCorpus(t *testing.T) {
	files, records := 0, 0
	for _, body := range realfiles.Bodies(t) {
		text := string(body)
		f := matcher.Parse(body, matcher.Dialect{})
		lower := strings.ToLower(text)
		told := strings.Contains(lower, "content-signal") || strings.Contains(lower, "content-usage")
		for _, token := range []string{"", "GPTBot", "Googlebot", "CCBot"} {
			got := OfFile(f, token, "/no/such/page")
			if !told {
				if got.String() != "" && !strings.Contains(lower, "license") {
					t.Errorf("file %q\ngot  %s\nwant nothing", text, got)
				}
				continue
			}
			for _, k := range got.Skipped() {
				if k.Reason != "not in any group" || strings.Contains(lower[:strings.Index(lower, strings.ToLower(k.Source.Text))], "\nuser-agent:") {
					t.Errorf("file %q: got %s, want it read", text, k)
				}
			}
			var want []string
			for _, name := range []string{"Content-Usage", "Content-Signal"} {
				for _, value := range f.Group(token).Other(name) {
					if !strings.HasPrefix(value, "/") {
						records++
						for _, m := range signal.FindAllStringSubmatch(value, -1) {
							want = append(want, m[1]+"="+map[string]string{"y": "allowed", "yes": "allowed", "n": "denied", "no": "denied"}[m[2]])
						}
					}
				}
			}
			if words := strings.Fields(strings.ReplaceAll(summary(got), "=unknown", "=")); !slices.Equal(words, want) {
				t.Errorf("file %q, token %q\ngot  %q\nwant %q", text, token, words, want)
			}
		}
		if told {
			files++
		}
	}
	if t.Logf("%d files, %d records", files, records); files < 10 || records < 30 {
		t.Errorf("got %d files and %d records, want more", files, records)
	}
}

// TestRealPaths reads the records of a real file with some 50 paths.
func TestRealPaths(t *testing.T) {
	for _, body := range realfiles.Bodies(t) {
		if !strings.Contains(string(body), "\nContent-Usage: /blog/rss.xml$ ") {
			continue
		}
		g := matcher.Parse(body, matcher.Dialect{}).Group("ExampleBot")
		for target, want := range map[string]string{
			"/":              "train-ai=allowed search=allowed",
			"/blog":          "train-ai=allowed search=allowed",
			"/blog/2026/x":   "train-ai=allowed search=allowed",
			"/pricing":       "train-ai=allowed search=allowed",
			"/pricing/teams": "train-ai=denied search=denied",
			"/pricin":        "train-ai=denied search=denied",
			"/ja":            "train-ai=allowed search=allowed",
			"/ja/x":          "train-ai=allowed search=allowed",
			"/japan":         "train-ai=denied search=denied",
		} {
			want += " ai-train=denied search=denied ai-input=denied"
			if !g.Match(target).Allowed {
				t.Errorf("%s: the file does not allow it", target)
			}
			if got := summary(OfGroup(g, target)); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", target, got, want)
			}
		}
		return
	}
	t.Error("the corpus has no file with paths")
}
