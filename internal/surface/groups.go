package surface

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxEveryone is the largest number of names in everyone.
const maxEveryone = 60

// everyone are the names that a crawler with an http.Client needs: the names in the
// README's program, its errors and its options.
var everyone = strings.Fields(`
	fetcher.New fetcher.Options fetcher.Options.Audit fetcher.Options.Base fetcher.Options.Logger
	fetcher.Options.MaxBytes fetcher.Options.Override fetcher.Options.Pace fetcher.Options.Profile
	fetcher.Options.Store fetcher.Options.Timeout fetcher.Options.Token
	fetcher.Transport fetcher.Transport.Check fetcher.Transport.CloseIdleConnections
	fetcher.Transport.RoundTrip fetcher.Transport.Stats fetcher.Stats
	fetcher.DeniedError fetcher.DeniedError.Decision fetcher.DeniedError.Error
	fetcher.ErrDeferred fetcher.ErrDisallowed fetcher.ErrURL
	policy.RFC9309 policy.Strict policy.Google policy.Profile
	policy.Decision policy.Decision.Allowed policy.Decision.Clause policy.Decision.Expires
	policy.Decision.RetryAt policy.Decision.String policy.Decision.URL policy.Decision.Verdict
	policy.Verdict policy.Allow policy.Defer policy.Disallow
	pace.Default pace.Unlimited pace.Limits pace.Limits.Delay pace.Limits.DelayCap pace.Limits.Gap pace.Limits.MaxWait pace.Limits.Parallel
	pace.Mode pace.Cap pace.Honour pace.Ignore
	cache.Store cache/disk.Open cache/disk.Store cache/disk.Store.Close
	cache/redis.Open cache/redis.Store cache/redis.Store.Close`)

// older are the names that are needed only for the texts before RFC 9309.
var older = strings.Fields(`
	matcher.Draft2019 matcher.Koster1996 policy.Draft2019 policy.Google2019 policy.Koster1996 policy.Restricted`)

// writePage returns docs/api.txt: the lines in three groups, each under its title.
func writePage(lines []string) string {
	groups := []struct {
		title string
		has   func(name string) bool
	}{
		{"What everyone meets", func(name string) bool { return slices.Contains(everyone, name) }},
		{"What builders of their own stack, store or monitoring meet", func(name string) bool {
			return !slices.Contains(everyone, name) && !slices.Contains(older, name)
		}},
		{"Older texts", func(name string) bool { return slices.Contains(older, name) }},
	}
	var b strings.Builder
	for i, g := range groups {
		var in []string
		for _, l := range lines {
			if g.has(nameOf(l)) {
				in = append(in, l)
			}
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "# %s (%d)\n\n%s\n", g.title, len(in), strings.Join(in, "\n"))
	}
	return b.String()
}

var declared = regexp.MustCompile(`^(\S+): (?:(?:func|type|var|const) |method \(\*?([^)]*)\) )?([\w.]+)`)

// nameOf returns the name that a line describes, such as "fetcher.Transport.Check".
func nameOf(line string) string {
	m := declared.FindStringSubmatch(line)
	switch {
	case m == nil:
		return ""
	case m[2] != "":
		return m[1] + "." + m[2] + "." + m[3]
	}
	return m[1] + "." + m[3]
}
