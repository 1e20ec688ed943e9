package conformance

import (
	_ "embed" // for figures.txt
	"fmt"
	"strings"
)

const promisesHead = `# Proof

This page is written by ` + "`go test ./internal/conformance -update`" + `. Do not edit it.

Each line has a promise of Polite and the tests that fail if it is broken, as FOLDER/NAME. ` + "`go test ./FOLDER -run NAME`" + ` runs
one of them, and ` + "`.ci/run tests`" + ` checks that each has run. The name of a subtest begins with a section of RFC 9309. A promise
that states an amount has the figure of its last measurement, with the command and the date, or a link to the page that the
command writes. What each sentence of the RFC asks is in
[conformance.md](conformance.md), and what the project measures in [numbers.md](numbers.md) and [lab.md](lab.md).
`

// A promise is a claim about Polite and the tests that prove it.
type promise struct {
	says   string
	figure string // its name in figures.txt; "" if it states no amount
	proofs []string
}

// A figure is what was measured last of a promise.
type figure struct {
	text    string
	command string
	date    string
}

// String returns the figure as a cell of a table, "" for none. A link needs no command,
// which the page that it leads to has.
func (f figure) String() string {
	switch {
	case f.text == "":
		return ""
	case f.command == "":
		return f.text
	}
	return fmt.Sprintf("%s: `%s`, %s", f.text, f.command, f.date)
}

//go:embed figures.txt
var figuresFile string

// figures returns the figures of figures.txt by name. A line has a name, a text, a command
// and a date, or a name and a link to the page that the command writes.
func figures() map[string]figure {
	all := map[string]figure{}
	for line := range strings.Lines(figuresFile) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case strings.HasPrefix(line, "#"):
		case len(fields) == 4:
			all[fields[0]] = figure{fields[1], fields[2], fields[3]}
		case len(fields) == 2 && strings.HasPrefix(fields[1], "["):
			all[fields[0]] = figure{text: fields[1]}
		}
	}
	return all
}

// A promiseSection is a heading with its promises.
type promiseSection struct {
	title    string
	promises []promise
}

// promises are the promises of docs/proof.md, in its order.
var promises = []promiseSection{
	{"Fetching", []promise{
		{"Robots.txt is fetched once per scheme and authority, whatever the number of workers.", "once",
			[]string{"fetcher/TestHerd", "TestOneRetrieval"}},
		{"In a fleet with a Redis server it is fetched once for all processes.", "fleet",
			[]string{"internal/fleettest/TestFleetAsksOnce"}},
		{"A caller that leaves does not disturb the others, and no caller waits longer than its context.", "context",
			[]string{"fetcher/TestHerdThatLeaves", "pace/TestNobodyWaitsPastItsContext"}},
		{"No fetch of robots.txt takes longer than Options.Timeout, even if a base or a callback blocks.", "stuck",
			[]string{"fetcher/TestStuckBases", "fetcher/TestRuleThatBlocks"}},
		{"A redirect of robots.txt leads to no private address, whatever name it uses.", "",
			[]string{"fetcher/TestRedirectsToPrivateAddresses", "fetcher/TestRedirectsToPrivateNames", "fetcher/TestRebinding"}},
		{"The request of the caller is unchanged, its body is closed, and either a response or an error is returned.", "",
			[]string{"fetcher/TestContract"}},
	}},
	{"Deciding", []promise{
		{"The decisions follow a table that a second implementation confirms, for every history of up to three events.", "decisions",
			[]string{"policy/TestEveryHistory", "policy/TestEveryEventInEveryState", "policy/FuzzLearn"}},
		{"The matcher agrees with a slow reference on random files, and with the vectors.", "",
			[]string{"matcher/FuzzReference", "matcher/TestVectors"}},
		{"It agrees with that reference, and in Google's dialect with a translation of Google's parser, on random files made from the RFC's grammar.", "grammar",
			[]string{"matcher/TestGrammar", "bench/TestGrammar"}},
		{"Access to everything needs a complete file, a complete 4xx, exhausted redirects or 30 days of failed fetches.", "outage",
			[]string{"policy/TestOutage", "policy/TestDownIsNoMissingFile", "fetcher/TestShortBodies"}},
		{"An older copy never replaces a newer one.", "",
			[]string{"policy/TestMerge", "fetcher/TestMemoryIsNewerThanStore"}},
		{"The rules of one authority govern no other.", "",
			[]string{"internal/origin/TestKeyOfHandmadeURLs", "policy/TestAnotherAuthority"}},
		{"Retry-After, max-age and clocks of any value do not overflow.", "overflow",
			[]string{"fetcher/TestRetryAfter", "policy/TestFarTimes"}},
		{"Each decision is explained in one line.", "",
			[]string{"policy/TestString"}},
		{"A warm decision allocates nothing in the matcher.", "warm",
			[]string{"matcher/TestAllocations", "policy/TestWarm"}},
	}},
	{"Keeping", []promise{
		{"A store that fails, hangs, lies or is damaged is a miss: it changes no decision.", "damage",
			[]string{"fetcher/TestStoreInTrouble", "fetcher/TestStoreHangs", "cache/redis/TestForeignValues", "cache/disk/TestChangedByte"}},
		{"A process that is killed loses at most the writes of its last second.", "kill",
			[]string{"cache/disk/TestKill"}},
		{"A process whose reads of the store fail replaces no record that it has not seen.", "",
			[]string{"fetcher/TestUnseenRecordStays"}},
		{"A file or a 4xx that came with no-store is never written to a store.", "",
			[]string{"fetcher/TestNoStore", "policy/TestNoStore"}},
		{"Memory stays within its bound, whatever the number of authorities.", "memory",
			[]string{"fetcher/TestMemoryOfACrowd", "internal/lru/TestHeapStaysInTheBound", "pace/TestMemoryBound"}},
	}},
	{"Spacing", []promise{
		{"A crawler built without options keeps half a second between two requests to a host.", "half",
			[]string{"fetcher/TestPacedByDefault", "docs/TestReadmePace"}},
		{"A gap is kept exactly, among goroutines and among processes.", "gap",
			[]string{"pace/TestGapsAreExact", "pace/TestFleetShare"}},
		{"A host that keeps failing rests, and then one request at a time tries it.", "early",
			[]string{"pace/TestBreaker", "pace/TestBreakerModel"}},
		{"A pause after 429, 503, 509 or 529 applies to every caller from the answer on.", "",
			[]string{"pace/TestAPauseHoldsForEveryCallerAtOnce", "pace/TestPauses"}},
		{"A body that a crawler forgets to close does not stop its host.", "",
			[]string{"fetcher/TestUnclosedBodies", "fetcher/TestBodiesReadSlowly", "fetcher/TestRetriesWithoutClose"}},
		{"A crawler identifies itself: pages without a User-Agent carry the agent.", "",
			[]string{"fetcher/TestPagesCarryTheAgent"}},
	}},
	{"Hostile sites", []promise{
		{"A file or a pattern costs at most linear time.", "linear",
			[]string{"matcher/TestHostile"}},
		{"Of a body that decodes to a gigabyte, at most the limit of the profile is decoded and kept.", "bomb",
			[]string{"fetcher/TestHostileBodiesAreCheap"}},
		{"Text of a server is quoted and bounded in every error, log and page.", "",
			[]string{"policy/TestHostileText", "inspect/TestTextIsHarmless", "cmd/polite/TestTranscripts"}},
		{"A panic in one fetch of robots.txt harms no other fetch.", "",
			[]string{"fetcher/TestPanics"}},
	}},
	{"Long runs", []promise{
		{"In an hour of a crawl with all faults of the web no decision is wrong, and every call returns.", "soak",
			[]string{"TestSoak", "TestSoakKnowsEveryFault"}},
		{"No input makes a parser or the state machine panic or contradict itself.", "fuzz",
			[]string{"matcher/FuzzParse", "policy/FuzzAttempt", "policy/FuzzLoad", "usage/FuzzHeader", "fetcher/FuzzAnswer", "internal/origin/FuzzKey"}},
	}},
	{"Joining", []promise{
		{"A program that imports package fetcher gets no database, no Redis client and no command line.", "",
			[]string{"internal/surface/TestModules"}},
		{"Every exported name is recorded, and a change of one is seen.", "",
			[]string{"internal/surface/TestSurface"}},
		{"A store of your own can be tested, and a broken promise is named.", "",
			[]string{"cache/cachetest/TestEveryBreachIsNoticed", "pace/pacetest/TestMemory"}},
		{"The program of the README compiles, its table of answers is true, and every link of the pages leads somewhere.", "",
			[]string{"docs/TestReadme", "docs/TestReadmeTable", "docs/TestLinks"}},
	}},
}

// writePromises returns docs/proof.md.
func writePromises() string {
	var b strings.Builder
	b.WriteString(promisesHead)
	measured := figures()
	for _, s := range promises {
		fmt.Fprintf(&b, "\n## %s\n\n| promise | tests | last figure |\n|---|---|---|\n", s.title)
		for _, p := range s.promises {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", p.says, strings.Join(p.proofs, "`, `"), measured[p.figure])
		}
	}
	return b.String()
}
