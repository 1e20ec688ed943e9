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
