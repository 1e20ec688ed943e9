package matcher

import (
	"runtime"
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

// heap returns the bytes in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
