package main

import (
	"fmt"
	"runtime"
)

// real compares libraries on real files, all taken together.
func (b *bench) real(jobs []job) {
	b.agree(jobs)
	b.parses("parse, real files", jobs)
	b.asks("match, real files", jobs)
	b.both("parse and one match, real files", jobs, 1)
	b.both("parse and 1,000 matches, real files", jobs[:min(len(jobs), 500)], 1000)
	b.retained(jobs)
}

// agree prints how often libraries answer alike.
func (b *bench) agree(jobs []job) {
	fmt.Printf("\nanswers on real files\n")
	for _, l := range b.libraries[1:] {
		same, all := 0, 0
		for _, j := range jobs {
			_, ours := b.libraries[0].parse(j.body)
			_, theirs := l.parse(j.body)
			for _, t := range j.targets {
				all++
				if theirs != nil && ours(t) == theirs(t) {
					same++
				}
			}
		}
		fmt.Printf("  as %s: %d of %d\n", l.name, same, all)
	}
}

// asks compares questions to parsed files.
func (b *bench) asks(title string, jobs []job) {
	fmt.Printf("\n%s\n  ", title)
	var ours cost
	for _, l := range b.libraries[:3] {
		n := 0
		var asks []func(string) bool
		for _, j := range jobs {
			_, allowed := l.parse(j.body)
			asks = append(asks, allowed)
			if allowed != nil {
				n += len(j.targets)
			}
		}
		all := func() {
			for i, allowed := range asks {
				for _, t := range jobs[i].targets {
					if allowed != nil {
						allowed(t)
					}
				}
			}
		}
		all()
		ours = b.print(l, b.measure(n, all), ours)
	}
	fmt.Println()
}

// both compares reading a file and asking it n times.
func (b *bench) both(title string, jobs []job, n int) {
	fmt.Printf("\n%s\n  ", title)
	var ours cost
	for _, l := range b.libraries {
		if l.name == "grobotstxt" && n > 1 {
			continue
		}
		c := b.measure(len(jobs), func() {
			for _, j := range jobs {
				_, allowed := l.parse(j.body)
				for i := 0; i < n && allowed != nil; i++ {
					allowed(j.targets[i%len(j.targets)])
				}
			}
		})
		ours = b.print(l, c, ours)
	}
	fmt.Println()
}

// retained compares the memory of parsed files, before and after one question.
func (b *bench) retained(jobs []job) {
	fmt.Printf("\nretained, real files, as a part of the raw octets\n")
	raw := 0
	for _, j := range jobs {
		raw += len(j.body)
	}
	for _, l := range b.libraries[:3] {
		kept := make([]any, len(jobs))
		asks := make([]func(string) bool, len(jobs))
		start := heap()
		for i, j := range jobs {
			kept[i], _ = l.parse(j.body)
		}
		parsed := heap() - start
		for i, j := range jobs {
			if _, asks[i] = l.parse(j.body); asks[i] != nil {
				asks[i](j.targets[0])
			}
			kept[i] = nil
		}
		asked := heap() - start
		fmt.Printf("  %-14s parsed %.2f, asked once %.2f\n", l.name, float64(parsed)/float64(raw), float64(asked)/float64(raw))
		runtime.KeepAlive(kept)
		runtime.KeepAlive(asks)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
