package grammar

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWrite checks random texts of small grammars.
func TestWrite(t *testing.T) {
	for _, test := range []struct{ abnf, want string }{
		{`a = "x" "y"`, `^[xX][yY]$`},
		{`a = 2b / 3*c` + "\nb = %x62\nc = %x63", `^(bb|c{3,})$`},
		{`a = [%x61] (%x0D.0A / 2*%x30-39)`, `^a?(\r\n|[0-9]{2,})$`},
		{`a = 1*(%x41-43 / "-")`, `^[A-C-]+$`},
	} {
		g, err := Parse(test.abnf)
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(test.want)
		r := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			if got := g.Write("a", r); !want.Match(got) {
				t.Fatalf("%s wrote %q, want %s", test.abnf, got, test.want)
			}
		}
	}
	for _, abnf := range []string{"a", "a = (b", `a = "b`, "a = %xZZ", "a = b ) c", "a = %x100"} {
		if _, err := Parse(abnf); err == nil {
			t.Errorf("%q is a grammar, want an error", abnf)
		}
	}
}

// TestRFC9309 writes files of the grammar of the RFC, which are in UTF-8.
func TestRFC9309(t *testing.T) {
	g, err := Parse(RFC9309)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	rules := 0
	for range 10_000 {
		text := string(g.Write("robotstxt", r))
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x0b\x1f") {
			t.Fatalf("wrote %q", text)
		}
		rules += strings.Count(strings.ToLower(text), "allow")
	}
	if rules < 10_000 {
		t.Errorf("10,000 files have %d rules", rules)
	}
}

// TestText compares the grammar with the RFC.
func TestText(t *testing.T) {
	folder := os.Getenv("POLITE_SPEC")
	if folder == "" {
		t.Skip("POLITE_SPEC is not set: it names the folder with the text that the grammar comes from")
	}
	text, err := os.ReadFile(filepath.Join(folder, "rfc9309.txt"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(regexp.MustCompile(`(?m);.*$`).ReplaceAllString(string(text), ""))
	all := strings.Join(words, " ")
	for line := range strings.Lines(strings.TrimSpace(RFC9309)) {
		if line = strings.TrimSpace(line); !strings.Contains(all, line) {
			t.Errorf("the RFC does not have\n%s", line)
		}
	}
}
