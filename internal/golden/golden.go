// Package golden compares generated files with the text that a test generates now.
package golden

import (
	"os"
	"slices"
	"strings"
)

// Diff returns how a file differs from want: the lines that only the file has,
// marked "- ", and then the lines that only want has, marked "+ ". It returns "" if
// nothing differs. If update is set it first writes want to the file.
func Diff(file, want string, update bool) (string, error) {
	if update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			return "", err
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	// A checkout on Windows may have other line ends.
	got := strings.ReplaceAll(string(text), "\r\n", "\n")
	if got == want {
		return "", nil
	}
	has, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	diff := missing("- ", has, wants) + missing("+ ", wants, has)
	if diff == "" {
		diff = "the same lines in another order\n"
	}
	return diff, nil
}

// missing returns the lines of one that are missing in other, each after the mark.
func missing(mark string, one, other []string) string {
	var b strings.Builder
	for _, l := range one {
		if !slices.Contains(other, l) {
			b.WriteString(mark + l + "\n")
		}
	}
	return b.String()
}
