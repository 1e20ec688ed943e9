package field

import (
	"math"
	"net/http"
	"slices"
	"testing"
)

// TestMembers checks how the lines of a list are split.
func TestMembers(t *testing.T) {
	for _, tt := range []struct{ lines, want []string }{
		{nil, nil},
		{[]string{""}, []string{""}},
		{[]string{" a ,\tb", "c"}, []string{"a", "b", "c"}},
		{[]string{"a b,,"}, []string{"a b", "", ""}},
	} {
		if got := slices.Collect(Members(tt.lines)); !slices.Equal(got, tt.want) {
			t.Errorf("Members(%q)\ngot  %q\nwant %q", tt.lines, got, tt.want)
		}
	}
}

// TestLength checks that the longest of several lengths counts.
func TestLength(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  int64
	}{
		{nil, 0},
		{[]string{"10"}, 10},
		{[]string{"10", "30, 20"}, 30},
		{[]string{"-1"}, 0},
		{[]string{"x, 5"}, 5},
		{[]string{"99999999999999999999"}, math.MaxInt64},
	} {
		if got := Length(http.Header{"Content-Length": tt.lines}); got != tt.want {
			t.Errorf("Length of %q\ngot  %d\nwant %d", tt.lines, got, tt.want)
		}
	}
}
