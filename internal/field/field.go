// Package field reads header fields that servers send in more than one way.
package field

import (
	"iter"
	"net/http"
	"strconv"
	"strings"
)

// Members returns the members of a field that is a comma-separated list, over all its
// lines, without the white space around them.
func Members(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for part := range strings.SplitSeq(line, ",") {
				if !yield(strings.Trim(part, " \t")) {
					return
				}
			}
		}
	}
}

// Length returns the longest Content-Length, 0 without one that is a number. A body that
// is shorter than one of several lengths may have been cut.
func Length(h http.Header) int64 {
	var longest int64
	for m := range Members(h["Content-Length"]) {
		n, _ := strconv.ParseInt(m, 10, 64) // 0 if it is no number
		longest = max(longest, n)
	}
	return longest
}
