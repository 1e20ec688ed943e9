package matcher

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAppendText holds that what is written is read again as the same file.
func TestAppendText(t *testing.T) {
	r := random{rand.New(rand.NewPCG(3, 4))}
	for _, d := range dialects {
		files := []string{"", "\n\n", "user-agent: *\n\n\ndisallow: /a#b\n", "user-agent: a\n" + strings.Repeat("x", 20000) + "\nallow: /" + strings.Repeat("y", 20000)}
		for range 2000 {
			files = append(files, r.file())
		}
		for _, robots := range files {
			again(t, Parse([]byte(robots), d.dialect))
		}
	}
}

// again writes a file and reads it.
func again(t *testing.T, f *File) {
	t.Helper()
	text, err := f.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := Parse(text, f.dialect); !got.Equal(f) {
		t.Errorf("text %q\ngot  %q\nwant %q", text, got.text, f.text)
	}
}
