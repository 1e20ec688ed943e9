// Package golden holds files that are written by tests against what the tests
// would write today.
package golden

import (
	"os"
	"slices"
	"strings"
)

// Diff reports how a file differs from what it should be: the lines that only
// the file has, marked "- ", and then those that it lacks, marked "+ ". It is
// "" if they are the same. With update set the file is written first, so that
// it cannot differ.
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

// only lists the lines of one that the other has not.
func only(mark string, one, other []string) string {
	var b strings.Builder
	for _, l := range one {
		if !slices.Contains(other, l) {
			b.WriteString(mark + l + "\n")
		}
	}
	return b.String()
}
