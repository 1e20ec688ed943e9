package matcher

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestSize compares Size with the memory that the real files take.
func TestSize(t *testing.T) {
	sites := corpus(t)
	files := make([]*File, len(sites))
	before := heap()
	for i, s := range sites {
		files[i] = Parse(s.body, Dialect{})
		files[i].Match("ExampleBot", "/index.html")
	}
	first, ready := 0, 0
	for _, f := range files {
		first += f.Size()
		f.Match("ExampleBot", "/index.html")
		ready += f.Size()
	}
	runtime.GC() // what questions left behind lasts two
	taken := heap() - before
	runtime.KeepAlive(sites)
	for _, n := range []int{first, ready} {
		if ratio := float64(n) / float64(taken); ratio < 0.85 || ratio > 1.15 {
			t.Errorf("%d files\ngot a size of %d bytes, %.2f of what they take\nwant %d bytes", len(files), n, ratio, taken)
		}
	}
	t.Logf("sizes %d and %d, %d taken", first, ready, taken)
	runtime.KeepAlive(files)
}

// TestSizeOfKinds compares Size with the memory of files whose groups have one kind of
// content each.
func TestSizeOfKinds(t *testing.T) {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+"\n", i)
		}
		return b.String()
	}
	for _, tt := range []struct{ name, text string }{
		{"few_rules", lines(40, "disallow: /%d")},
		{"rules", lines(5000, "disallow: /%d")},
		{"rules_with_a_query", lines(5000, "disallow: /a?%d")},
		{"rules_with_stars", lines(5000, "disallow: /a*b%d")},
		{"rules_with_many_stars", lines(2000, "disallow: /a*b%[1]d*c*d*e*f*g*h")},
		{"rules_that_change", lines(5000, "disallow: /%%7Ea%d")},
		{"other_records", lines(5000, "x%d: y")},
	} {
		t.Run("house/"+tt.name, func(t *testing.T) {
			groups := make([]*Group, 20)
			text := []byte("user-agent: *\n" + tt.text)
			f := Parse(text, Dialect{})
			before := heap()
			for i := range groups {
				groups[i] = f.choose("ExampleBot")
				groups[i].Match("/index.html")
				groups[i].Match("/index.html")
			}
			taken := heap() - before
			size := groups[0].Size() * len(groups)
			if ratio := float64(size) / float64(taken); ratio < 0.85 || ratio > 1.15 {
				t.Errorf("%s\ngot a size of %d bytes, %.2f of what they take\nwant %d bytes", tt.name, size, ratio, taken)
			}
			runtime.KeepAlive(groups)
			runtime.KeepAlive(f)
		})
	}
}

// TestKeptGroups checks which groups a File keeps, and that Size counts each once.
func TestKeptGroups(t *testing.T) {
	f := Parse([]byte("user-agent: *\ndisallow: /"+strings.Repeat("a", 1000)+"\nuser-agent: bot\ndisallow: /b"), Dialect{})
	text := f.Size()
	first := f.Group("one")
	if got, least := f.Size(), text+first.Size(); got <= least || got > least+100 {
		t.Errorf("house/one_group: got a size of %d bytes, want a little over %d", got, least)
	}
	one := f.Size()
	if g := f.Group("two"); g != first {
		t.Error("house/one_agent_value: got two groups, want one")
	}
	if got := f.Size(); got <= one || got > one+100 {
		t.Errorf("house/two_tokens: got a size of %d bytes, want a little over %d", got, one)
	}
	if f.Group("bot") == first || f.Group("one") != first || f.Group("bot") != f.Group("bot") {
		t.Error("house/kept: want the groups of two agent values, each kept")
	}
	for i := range 10 * maxGroups {
		f.Group(fmt.Sprint("bot", strings.Repeat("x", i)))
	}
	if got, most := f.Size(), one+maxGroups*(100+10*maxGroups); got > most {
		t.Errorf("house/many_tokens: got a size of %d bytes, want %d at most", got, most)
	}
}

// TestKeptEmptyAgent checks that a crawler without a group does not obey the group of an empty name.
func TestKeptEmptyAgent(t *testing.T) {
	f := Parse([]byte("user-agent:\ndisallow: /"), Google())
	for token, allowed := range map[string]bool{"": false, "bot": true} {
		if m := f.Match(token, "/a"); m.Allowed != allowed {
			t.Errorf("google/token %q: got %+v, want allowed %v", token, m, allowed)
		}
	}
}

// heap returns the bytes in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
