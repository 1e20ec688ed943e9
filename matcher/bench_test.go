package matcher

import (
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

func BenchmarkRealParse(b *testing.B) {
	sites := corpus(b)
	n := 0
	for _, s := range sites {
		n += len(s.body)
	}
	b.SetBytes(int64(n))
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range sites {
			Parse(s.body, Dialect{})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(sites)), "ns/file")
}

func BenchmarkRealMatch(b *testing.B) {
	type q struct {
		f *File
		t string
		u *url.URL
	}
	var qs []q
	for _, s := range corpus(b) {
		f := Parse(s.body, Dialect{})
		for _, u := range s.urls {
			p, err := url.Parse(u)
			if err != nil {
				b.Fatal(err)
			}
			qs = append(qs, q{f, p.RequestURI(), p})
		}
	}
	b.Run("match", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			x := &qs[i%len(qs)]
			x.f.Match("ExampleBot", x.t)
		}
	})
	b.Run("url", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			x := &qs[i%len(qs)]
			x.f.MatchURL("ExampleBot", x.u)
		}
	})
}

func BenchmarkRealRetained(b *testing.B) {
	sites := corpus(b)
	raw := 0
	for _, s := range sites {
		raw += len(s.body)
	}
	var before, after runtime.MemStats
	for b.Loop() {
		files := make([]*File, len(sites))
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i, s := range sites {
			files[i] = Parse(s.body, Dialect{})
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		parsed := after.HeapAlloc - before.HeapAlloc
		size := 0
		for i := range sites {
			files[i].Match("ExampleBot", sites[i].urls[0])
			size += files[i].Size()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		used := after.HeapAlloc - before.HeapAlloc
		for i := range files {
			for _, a := range files[i].Agents() {
				files[i].Group(a)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		all := after.HeapAlloc - before.HeapAlloc
		n := float64(len(sites))
		b.ReportMetric(float64(parsed)/n, "parsed/file")
		b.ReportMetric(float64(used)/n, "matched/file")
		b.ReportMetric(float64(all)/n, "allgroups/file")
		b.ReportMetric(float64(size)/n, "Size/file")
		b.ReportMetric(float64(parsed)/float64(raw), "parsed/raw")
		b.ReportMetric(float64(used)/float64(raw), "matched/raw")
		b.ReportMetric(float64(all)/float64(raw), "allgroups/raw")
		runtime.KeepAlive(files)
	}
}

func generated(n int) []byte {
	var sb strings.Builder
	sb.WriteString("User-agent: *\n")
	for i := range n {
		fmt.Fprintf(&sb, "Disallow: /section%d/page%d/\n", i%97, i)
	}
	return []byte(sb.String())
}

func BenchmarkRules(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000, 100000} {
		f := Parse(generated(n), Dialect{})
		hit := fmt.Sprintf("/section%d/page%d/x.html", (n/2)%97, n/2)
		for name, t := range map[string]string{"hit": hit, "miss": "/section5/none.html?q=1"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.Match("ExampleBot", t)
				}
			})
		}
	}
}

func BenchmarkRealFirst(b *testing.B) {
	sites := corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range sites {
			Parse(s.body, Dialect{}).Match("ExampleBot", "/index.html")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(sites)), "ns/file")
}

// BenchmarkWarmURL matches URLs with a group of 13 rules, as a transport does for
// each request.
func BenchmarkWarmURL(b *testing.B) {
	f := Parse(generated(13), Dialect{})
	for _, c := range []struct{ name, url string }{
		{"path", "https://example.com/section5/none.html"},
		{"hit", "https://example.com/section5/page5/x.html"},
		{"query", "https://example.com/section5/none.html?id=17&ref=home"},
		{"encoded", "https://example.com/caf%C3%A9/none%2Fx.html"},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.MatchURL("ExampleBot", u)
			}
		})
	}
}
