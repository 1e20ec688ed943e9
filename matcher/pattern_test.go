package matcher

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPairs finds pieces by their pairs of octets where strings.Index does.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	text := func(n int, of string) string {
		var b strings.Builder
		for range n {
			b.WriteByte(of[r.IntN(len(of))])
		}
		return b.String()
	}
	var x pairs
	for range 3000 {
		of := []string{"ab", "abcd", "abcdefghijklmnopqrstuvwxyz%/"}[r.IntN(3)]
		target := "/" + text(r.IntN(400), of)
		x.read(target)
		for range 20 {
			piece, from := text(1+r.IntN(12), of), r.IntN(len(target)+1)
			if at := r.IntN(len(target)); r.IntN(2) == 0 {
				piece = target[at:min(at+len(piece), len(target))]
			}
			want := strings.Index(target[from:], piece)
			if want >= 0 {
				want += from
			}
			if got := x.find(target, from, piece, r.IntN(2) == 0); got != want {
				t.Fatalf("target %q piece %q from %d\ngot %d\nwant %d", target, piece, from, got, want)
			}
			pattern, whole := "/*"+piece+"*"+text(2, of)+"**"+text(1, of), r.IntN(2) == 0
			if got, want := matches(pattern, target, whole, &x), matches(pattern, target, whole, nil); got != want {
				t.Fatalf("target %q pattern %q whole %v\ngot %v\nwant %v", target, pattern, whole, got, want)
			}
		}
	}
}

// TestRulesApart tries so many rules of so many stars that pairs are used, by
// index and one after another.
func TestRulesApart(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	text := func(n int, of string) string {
		var b strings.Builder
		for range n {
			b.WriteByte(of[r.IntN(len(of))])
		}
		return b.String()
	}
	hits := 0
	for range 20 {
		robots := "user-agent: bot\n"
		for range many + 100 {
			robots += []string{"allow: /", "disallow: /"}[r.IntN(2)]
			for range starsMost + 1 + r.IntN(12) {
				robots += "*" + text(1+r.IntN(3), "abcd?/")
			}
			robots += []string{"", "$"}[r.IntN(2)] + "\n"
		}
		g := Parse([]byte(robots), Dialect{}).Group("bot")
		x := newIndex(g.file, g.all(), many)
		if len(x.apart) <= many {
			t.Fatalf("%d rules are apart, want more than %d", len(x.apart), many)
		}
		for range 40 {
			target := "/" + text(r.IntN(120), "abcd") + []string{"", "?%2F" + text(r.IntN(80), "abcd?")}[r.IntN(2)]
			var got, want Match
			g.say(&got, g.match(x, target))
			if g.say(&want, g.match(nil, target)); got != want {
				t.Fatalf("file %q target %q\nwith index %+v\nwithout    %+v", robots, target, got, want)
			}
			if want.Rule.Line > 0 {
				hits++
			}
		}
	}
	if hits < 100 || hits > 700 {
		t.Errorf("%d of 800 targets met a rule: too few or too many to mean anything", hits)
	}
}
