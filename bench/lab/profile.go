package main

import (
	"bytes"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// This file says which part of the program the processor time went to.

// parts are the parts of the program, by their packages.
var parts = []struct{ name, prefix string }{
	{"matcher", "github.com/rfc9309/polite/matcher."},
	{"policy", "github.com/rfc9309/polite/policy."},
	{"pace", "github.com/rfc9309/polite/pace."},
	{"memory", "github.com/rfc9309/polite/internal/lru."},
	{"fetcher", "github.com/rfc9309/polite/"},
	{"the lab itself", "github.com/rfc9309/polite/bench/lab."},
	{"the lab itself", "main."},
	{"garbage collector", "runtime.gcBgMarkWorker"},
}

// elsewhere is the part of what none of the parts has called.
const elsewhere = "scheduler, timers, other"

// A usage is the processor time by part, in any unit.
type usage map[string]float64

// profiled runs do and returns the profile of its processor time.
func profiled(do func()) (*profile.Profile, error) {
	var raw bytes.Buffer
	if err := pprof.StartCPUProfile(&raw); err != nil {
		return nil, err
	}
	do()
	pprof.StopCPUProfile()
	return profile.Parse(&raw)
}

// usageOf returns the processor time of the parts.
func usageOf(p *profile.Profile) usage {
	used := usage{}
	for _, s := range p.Sample {
		used[partOf(s)] += float64(s.Value[len(s.Value)-1])
	}
	return used
}

// timeIn returns the processor time of the functions whose names end in name, with all that
// they call.
func timeIn(p *profile.Profile, name string) (sum time.Duration) {
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return slices.ContainsFunc(l.Line, func(line profile.Line) bool { return strings.HasSuffix(line.Function.Name, name) })
		}) {
			sum += time.Duration(s.Value[len(s.Value)-1])
		}
	}
	return sum
}

// partOf returns the part of the innermost function that belongs to one.
func partOf(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			best := ""
			name := elsewhere
			for _, part := range parts {
				if strings.HasPrefix(line.Function.Name, part.prefix) && len(part.prefix) > len(best) {
					best, name = part.prefix, part.name
				}
			}
			if best != "" {
				return name
			}
		}
	}
	return elsewhere
}
