package matcher

import (
	"fmt"
	"strings"
	"testing"
)

// TestEveryByte compares with the reference on each byte and its triplets, in a path, in a
// query and at the end, in a pattern and in a target.
func TestEveryByte(t *testing.T) {
	for _, d := range dialects {
		for c := range 256 {
			spellings := []string{string([]byte{byte(c)}), fmt.Sprintf("%%%02X", c), fmt.Sprintf("%%%02x", c)}
			for _, place := range []string{"/a_b?c_d", "/a_"} {
				var targets []string
				for _, s := range spellings {
					targets = append(targets, strings.ReplaceAll(place, "_", s))
				}
				for _, pattern := range targets {
					compare(t, d, "user-agent: *\ndisallow: "+pattern, "bot", targets...)
				}
			}
		}
	}
}

// TestEveryPlace checks RFC 9309, section 2.2.2: a triplet equals its byte wherever it stands.
func TestEveryPlace(t *testing.T) {
	before, after := strings.Repeat("a", 20), strings.Repeat("b", 20)
	for i := range before {
		for k := range after {
			raw, triplet := "/"+before[:i]+"~"+after[:k], "/"+before[:i]+"%7E"+after[:k]
			for _, c := range [][2]string{{raw, triplet}, {triplet, raw}} {
				f := Parse([]byte("user-agent: *\ndisallow: "+c[0]+"$"), Dialect{})
				if m := f.Match("bot", c[1]); m.Allowed {
					t.Errorf("2.2.2/%s\ntarget %s\ngot %+v\nwant disallowed", c[0], c[1], m)
				}
			}
		}
	}
}
