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

// TestSizeOfPacked checks that the first Group, or Size, drops the text of a packed file.
func TestSizeOfPacked(t *testing.T) {
	text := []byte(lines(1000, "disallow: /%d"))
	for name, ask := range map[string]func(*File){"group": func(f *File) { f.Group("ExampleBot") }, "size": func(f *File) { f.Size() }} {
		unpacked := 0
		f := ParsePacked(text, Dialect{}, "packed", func(string) string { unpacked++; return string(text) })
		if ask(f); unpacked != 0 {
			t.Errorf("3.1/%s: the text was unpacked, want it read as it came", name)
		}
		if f.Text() != string(text) || unpacked != 1 {
			t.Errorf("3.1/%s: the text was unpacked %d times, want 1", name, unpacked)
		}
	}
}

// lines returns n lines of a format, which gets the number of the line.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

// TestSizeOfKinds compares Size with the memory of files whose groups have one kind of
// content each.
func TestSizeOfKinds(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"few_rules", lines(40, "disallow: /%d")},
		{"most_rules_without_an_index", lines(fewRules, "disallow: /%d")},
		{"rules", lines(5000, "disallow: /%d")},
		{"rules_with_a_query", lines(5000, "disallow: /a?%d")},
		{"rules_with_stars", lines(5000, "disallow: /a*b%d")},
		{"rules_with_many_stars", lines(2000, "disallow: /a*b%[1]d*c*d*e*f*g*h")},
		{"rules_that_change", lines(5000, "disallow: /%%7Ea%d")},
		{"other_records", lines(5000, "x%d: y")},
		{"long_agent", "user-agent: examplebot " + strings.Repeat("x", 100_000)},
	} {
		t.Run("house/"+tt.name, func(t *testing.T) {
			groups := make([]*Group, max(20, 1<<20/len(tt.text)))
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

// TestSizeOfIdleLines checks that lines that are no rules take no memory in a group.
func TestSizeOfIdleLines(t *testing.T) {
	g := Parse([]byte("user-agent: *\ndisallow: /a\n"+strings.Repeat("disallow:\n", 50_000)), Dialect{}).Group("bot")
	if got := g.Size(); got > 1000 {
		t.Errorf("one rule and 50,000 empty ones\ngot a size of %d bytes\nwant 1000 at most", got)
	}
}

// TestSizeBefore compares Size before the first match with Size after the second, which
// makes the index of many rules.
func TestSizeBefore(t *testing.T) {
	for _, tt := range []struct {
		name, text  string
		least, most float64
	}{
		{"no_rule", "", 1, 1},
		{"few_rules", lines(fewRules, "disallow: /%d"), 1, 1},
		{"few_rules_with_stars", lines(fewRules, "disallow: /a*b%d"), 1, 1},
		{"many_rules", lines(fewRules+1, "disallow: /%d"), 0.85, 1},
		{"many_rules_with_stars", lines(fewRules+1, "disallow: /a*b%d"), 0.85, 1},
		{"rules", lines(5000, "disallow: /%d"), 0.96, 1},
		{"rules_with_stars", lines(5000, "disallow: /a*b%d"), 0.96, 1},
	} {
		t.Run("house/"+tt.name, func(t *testing.T) {
			g := Parse([]byte("user-agent: *\n"+tt.text), Dialect{}).Group("ExampleBot")
			before := g.Size()
			g.Match("/a")
			g.Match("/a")
			if ratio := float64(before) / float64(g.Size()); ratio < tt.least || ratio > tt.most {
				t.Errorf("%s\ngot %d bytes before, %.3f of %d after\nwant a part from %v to %v", tt.name, before, ratio, g.Size(), tt.least, tt.most)
			}
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
	if g := f.Group(strings.Repeat("t", 1000)); g != first {
		t.Error("house/one_agent_value: got two groups, want one")
	}
	if got, least := f.Size(), one+1000; got <= least || got > least+100 {
		t.Errorf("house/two_tokens: got a size of %d bytes, want a little over %d", got, least)
	}
	if bot := f.Group("bot"); bot == first || f.Group("one") != first || f.Group("bot") != bot {
		t.Error("house/kept: want the groups of two agent values, each kept")
	}
	for i := range 10 * maxGroups {
		f.Group(fmt.Sprint("bot", strings.Repeat("x", i)))
	}
	if got, most := f.Size(), one+maxGroups*(100+10*maxGroups); got > most {
		t.Errorf("house/many_tokens: got a size of %d bytes, want %d at most", got, most)
	}
}

// TestOldestGroup checks that a File with the groups of maxGroups tokens drops the oldest for a new one.
func TestOldestGroup(t *testing.T) {
	f := Parse([]byte(lines(3*maxGroups, "user-agent: bot-%d\ndisallow: /")), Dialect{})
	var groups []*Group
	for i := range 3 * maxGroups {
		groups = append(groups, f.Group(fmt.Sprint("bot-", i)))
		if m := f.groups.Load(); m.group != groups[i] {
			t.Fatalf("house/%d_tokens: the newest group is %q", i+1, m.group.Agent())
		}
		kept := 0
		for k := f.groups.Load(); k != nil; k = k.older {
			if k.group != groups[i-kept] {
				t.Errorf("house/%d_tokens: group %d from the newest is %q", i+1, kept, k.group.Agent())
			}
			kept++
		}
		if want := min(i+1, maxGroups); kept != want {
			t.Errorf("house/%d_tokens\ngot  %d groups\nwant %d", i+1, kept, want)
		}
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
