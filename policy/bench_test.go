package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rfc9309/polite/policy"
)

// sized returns a file with n rules. The last one disallows /private.
func sized(n int) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "Disallow: /area/%d/*.cgi\n", i)
	}
	return b.String() + "Disallow: /private\n"
}

func warm(b *testing.B, rules int) *policy.Record {
	a := attempt(b, "200", start)
	a.Body = []byte(sized(rules))
	r := policy.RFC9309().Learn(nil, a)
	if r.Allows("ExampleBot", private, start) {
		b.Fatal("/private is allowed, want the last rule to disallow it")
	}
	return r
}

// BenchmarkAllows measures what nearly every request asks.
func BenchmarkAllows(b *testing.B) {
	for _, rules := range []int{1, 13, 1000} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			r := warm(b, rules)
			b.ReportAllocs()
			for b.Loop() {
				if !r.Allows("ExampleBot", public, start) {
					b.Fatal("/public is disallowed, want it allowed")
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	r := warm(b, 13)
	b.ReportAllocs()
	for b.Loop() {
		if d := r.Decide("ExampleBot", public, start); !d.Allowed() {
			b.Fatal(d)
		}
	}
}

func BenchmarkString(b *testing.B) {
	d := warm(b, 13).Decide("ExampleBot", private, start)
	b.ReportAllocs()
	for b.Loop() {
		_ = d.String()
	}
}

func BenchmarkLearn(b *testing.B) {
	p := policy.RFC9309()
	file := attempt(b, `200 + ETag: "a" + Cache-Control: public, max-age=3600 + Content-Type: text/plain`, start)
	file.Body = []byte(sized(13))
	for name, a := range map[string]policy.Attempt{
		"file": file, "not_modified": attempt(b, "304", start), "gone": attempt(b, "404", start), "outage": attempt(b, "dns", start),
	} {
		b.Run(name, func(b *testing.B) {
			old := p.Learn(nil, file)
			b.ReportAllocs()
			for b.Loop() {
				p.Learn(old, a)
			}
		})
	}
}

// BenchmarkText measures all that a new text costs: to learn it, to compile the group of a
// crawler, to pack it, and to store it.
func BenchmarkText(b *testing.B) {
	p := policy.RFC9309()
	a := attempt(b, "200", start)
	a.Body = []byte(sized(100))
	b.ReportAllocs()
	for b.Loop() {
		r := p.Learn(nil, a)
		r.Text().Size("ExampleBot")
		stored(b, r)
	}
}

func BenchmarkStore(b *testing.B) {
	p := policy.RFC9309()
	r := warm(b, 13)
	data := stored(b, r)
	b.Run("marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			stored(b, r)
		}
	})
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := p.Load(data)
			if err != nil {
				b.Fatal(err)
			}
			r.Text().Size("ExampleBot")
		}
	})
}
