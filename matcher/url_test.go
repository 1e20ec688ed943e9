package matcher

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestMatchURL compares MatchURL with Match on the target that net/http sends.
func TestMatchURL(t *testing.T) {
	robots := "user-agent: *\nallow: /a\ndisallow: /\nallow: /*q=1\ndisallow: /*(\nallow: /*%28\ndisallow: /*%2F\nallow: /*$\ndisallow: /*%24$\nallow: /*é\nallow: /*%25\ndisallow: /*?*:\nallow: /*!\n"
	list := []*url.URL{
		{}, {Path: "/"}, {Path: "/a"}, {Path: "/robots.txt"}, {Path: "/robots.txt", ForceQuery: true},
		{Path: "/a(b)"}, {Path: "/a(b)", RawPath: "/a(b)"}, {Path: "/a(b)", RawPath: "/a%28b)"}, {Path: "/a(b)", RawPath: "/c"},
		{Path: "/x/y", RawPath: "/x%2Fy"}, {Path: "/x/y", RawPath: "/x%2fy"}, {Path: "/x/y", RawPath: "/x%2"}, {Path: "/x y", RawPath: "/x y"},
		{Path: "/x$"}, {Path: "/x*"}, {Path: "/é"}, {Path: "/%41"}, {Path: "/x!", RawPath: "/x!"}, {Path: "/x!"}, {Path: "/a;b,c=d&e@f:g+h"}, {Path: "/[x]"},
		{Path: "/x", RawQuery: "q=1"}, {Path: "/x", RawQuery: "u=http%3A%2F%2Fx"}, {Path: "/x", RawQuery: "a#q=1"}, {Path: "", RawQuery: "q=1"},
		{Opaque: "//example.com/a?b", Scheme: "http"}, {Opaque: "opaque", Scheme: "http"}, {Path: "*"}, {Path: "x/a"}, {Path: "x/y", RawPath: "x%2Fy"}, {Path: "/x", RawPath: "%2Fx"}, {Path: "http://example.com/x"}, {Path: "/x!'()[]"}, {Path: "/\x00a"},
		{Path: "/" + strings.Repeat("é(", 400), RawQuery: strings.Repeat("q", 900)},
	}
	for _, d := range dialects {
		g := Parse([]byte(robots), d.dialect).Group("ExampleBot")
		for _, u := range list {
			checkURL(t, d.name, g, u)
		}
	}
}

// checkURL compares MatchURL and AllowsURL with Match on the target that net/http sends.
func checkURL(t *testing.T, dialect string, g *Group, u *url.URL) {
	t.Helper()
	got, want := g.MatchURL(u), g.Match(target(u))
	if allows := g.AllowsURL(u); got != want || allows != want.Allowed {
		t.Errorf("2.2.2: %s %#v target %q\ngot  %+v, AllowsURL %t\nwant %+v", dialect, u, target(u), got, allows, want)
	}
}

// TestMatchURLOfEveryByte compares MatchURL with Match for each byte in a path and in a
// query, under rules that tell the byte from its triplet where the dialect does.
func TestMatchURLOfEveryByte(t *testing.T) {
	for _, d := range dialects {
		for c := range 256 {
			b := string([]byte{byte(c)})
			robots := fmt.Sprintf("user-agent: *\ndisallow: /x%%%02X\nallow: /x%s/\ndisallow: /y?%%%02X\nallow: /y?%s/\n", c, b, c, b)
			g := Parse([]byte(robots), d.dialect).Group("ExampleBot")
			for _, u := range []*url.URL{{Path: "/x" + b + "/"}, {Path: "/y", RawQuery: b + "/"}, {Path: "/x" + b, RawQuery: b}} {
				checkURL(t, d.name, g, u)
			}
		}
	}
}

// TestTripletOfEveryPair checks RFC 3986, section 2.1: a triplet is "%" and two hex digits.
func TestTripletOfEveryPair(t *testing.T) {
	for i := range 1 << 16 {
		s := "%" + string([]byte{byte(i >> 8), byte(i)})
		want, err := hex.DecodeString(s[1:])
		if got, ok := triplet(s, 0); ok != (err == nil) || ok && got != want[0] || !ok && got != '%' {
			t.Errorf("2.2.2/%q\ngot  %#x, %v\nwant %#x, %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{"%", "%4"} {
		if got, ok := triplet(s, 0); ok || got != '%' {
			t.Errorf("2.2.2/%q\ngot  %#x, %v\nwant no triplet", s, got, ok)
		}
	}
}

// TestScheme checks RFC 3986, section 3.1, for all schemes of one and of two bytes.
func TestScheme(t *testing.T) {
	schemes := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	for i := range 1 << 16 {
		two := string([]byte{byte(i >> 8), byte(i)})
		for _, s := range []string{two[:1], two, ""} {
			if got, want := isScheme(s), schemes.MatchString(s) && s[len(s)-1] != '\n'; got != want {
				t.Errorf("2.2.2/%q\ngot  %v\nwant %v", s, got, want)
			}
		}
	}
}

// target returns what net/http sends for u. A path without a leading slash gets
// one.
func target(u *url.URL) string {
	t := u.RequestURI()
	if u.Opaque == "" && !strings.HasPrefix(t, "/") {
		t = "/" + t
	}
	return t
}

// TestAllocations holds that a second question allocates nothing, except for a path
// that net/url has to decode.
func TestAllocations(t *testing.T) {
	var many strings.Builder
	for i := range 2000 {
		many.WriteString("disallow: /" + strings.Repeat("a", i%50) + "*" + strings.Repeat("b", i%40) + "x$\n")
	}
	triplet := "disallow: /*%\n" + lines(fewRules, "disallow: /x%d*y")
	triplets := "/" + strings.Repeat("%25", usualTarget/3)
	u := &url.URL{Path: "/wiki/Talk:x", RawQuery: "u=http%3A%2F%2Fx&y=*"}
	encoded := &url.URL{Path: "/wiki/(é)", RawPath: "/wiki/(%C3%A9)"}
	for name, robots := range map[string]string{"few": "disallow: /x\nallow: /*(\n", "many": many.String(), "triplet": triplet} {
		for _, d := range dialects {
			f := Parse([]byte("user-agent: *\n"+robots), d.dialect)
			for _, c := range []struct {
				name string
				most float64
				ask  func()
			}{
				{"usual", 0, func() { f.MatchURL("ExampleBot", u); f.Match("OtherBot", "/wiki/x?y"); f.Group("ExampleBot") }},
				{"triplets", 0, func() { f.Match("ExampleBot", triplets) }},
				{"encoded", 1, func() { f.MatchURL("ExampleBot", encoded) }}, // net/url compares both paths
			} {
				c.ask()
				c.ask()
				// The least of many runs counts: the race detector makes pools forget.
				least := testing.AllocsPerRun(1, c.ask)
				for range 100 {
					least = min(least, testing.AllocsPerRun(1, c.ask))
				}
				if least > c.most {
					t.Errorf("%s, %s rules, %s target\ngot %v allocations\nwant %v at most", d.name, name, c.name, least, c.most)
				}
			}
		}
	}
}
