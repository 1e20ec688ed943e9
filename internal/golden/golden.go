// Package golden compares files that tests write with what the tests would write
// today.
package golden

import (
	"os"
	"slices"
	"strings"
)

// Diff returns how a file differs from what it should be: the lines that only
// the file has, marked "- ", and then the lines that it lacks, marked "+ ". It
// returns "" if nothing differs. With update set it writes the file first.
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
	// A checkout on Windows may have line ends of its own.
	got := strings.ReplaceAll(string(text), "\r\n", "\n")
	if got == want {
		return "", nil
	}
	has, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	diff := only("- ", has, wants) + only("+ ", wants, has)
	if diff == "" {
		diff = "the same lines in another order\n"
	}
	return diff, nil
}

// only returns the lines of one that other does not have, each after the mark.
func only(mark string, one, other []string) string {
	var b strings.Builder
	for _, l := range one {
		if !slices.Contains(other, l) {
			b.WriteString(mark + l + "\n")
		}
	}
	return b.String()
}
