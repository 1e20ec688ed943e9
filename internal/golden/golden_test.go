package golden

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiff(t *testing.T) {
	const want = "one\ntwo\nthree\n"
	for _, tt := range []struct{ name, file, diff string }{
		{"house/the_same", want, ""},
		{"house/other_line_ends", "one\r\ntwo\r\nthree\r\n", ""},
		{"house/a_line_more", "one\ntwo\nhalf\nthree\n", "- half\n"},
		{"house/a_line_less", "one\nthree\n", "+ two\n"},
		{"house/a_line_changed", "one\n2\nthree\n", "- 2\n+ two\n"},
		{"house/another_order", "two\none\nthree\n", "the same lines in another order\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "page")
			if err := os.WriteFile(file, []byte(tt.file), 0o644); err != nil {
				t.Fatal(err)
			}
			if got, err := Diff(file, want, false); got != tt.diff || err != nil {
				t.Errorf("%q\ngot  %q, %v\nwant %q", tt.file, got, err, tt.diff)
			}
			if got, err := Diff(file, want, true); got != "" || err != nil {
				t.Errorf("%q, after the update:\ngot  %q, %v\nwant nothing", tt.file, got, err)
			}
		})
	}
	if _, err := Diff(filepath.Join(t.TempDir(), "none"), want, false); !os.IsNotExist(err) {
		t.Errorf("no file:\ngot  %v\nwant an error that says so", err)
	}
}
