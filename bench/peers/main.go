// Command peers runs the tests of other projects with Polite and prints which of them
// agree, and the reason for each difference:
//
//	POLITE_PEERS=FOLDER go run ./peers
//
// FOLDER has the tests as data, one folder for each project. The page docs/peers.md is
// the output of this command, and a test of this package compares them.
package main

import (
	"fmt"
	"os"
	"testing"
)

func main() {
	folder := os.Getenv("POLITE_PEERS")
	if folder == "" {
		fmt.Fprintln(os.Stderr, "peers: POLITE_PEERS does not name a folder with the tests of other projects")
		os.Exit(2)
	}
	// The fake clock of testing/synctest exists only inside a test.
	table := func(t *testing.T) { fmt.Print(page(run(t, folder))) }
	everything := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "Peers", F: table}}, nil, nil)
}

// run runs all suites. A difference without a reason fails the test.
func run(t *testing.T, folder string) (suites []suite) {
	cache, limited := cacheSuites(t, folder)
	suites = append(suites, cache, limited, fieldSuite(t, folder), collySuite(t, folder))
	for _, file := range robotsFiles {
		suites = append(suites, file.suite(t, folder))
	}
	suites = append(suites, filesSuite(t, folder))
	for i := range suites {
		for _, problem := range suites[i].explain() {
			t.Errorf("%s: %s", suites[i].name, problem)
		}
	}
	return suites
}
