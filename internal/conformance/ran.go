package conformance

import (
	"bufio"
	"io"
	"path"
	"regexp"
	"strings"
)

// A ran is what became of the tests of a module: the results by folder and full name.
type ran map[string]map[string]string

var (
	resultLine  = regexp.MustCompile(`^ *--- (PASS|SKIP|FAIL): (\S+) \(`)
	packageLine = regexp.MustCompile(`^(?:ok|FAIL|---) *\t(\S+)`)
	repeated    = regexp.MustCompile(`#\d+\b`) // what package testing adds to a name that it has seen
)

// readRan reads the output of "go test -v" for packages of a module. It has the results of a
// package before the line with its name.
func readRan(output io.Reader, module string) (ran, error) {
	all, results := ran{}, map[string]string{}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if m := resultLine.FindStringSubmatch(lines.Text()); m != nil {
			if name := repeated.ReplaceAllString(m[2], ""); results[name] != "FAIL" {
				results[name] = m[1]
			}
		} else if m := packageLine.FindStringSubmatch(lines.Text()); m != nil {
			folder := strings.TrimPrefix(strings.TrimPrefix(m[1], module), "/")
			if all[folder] == nil {
				all[folder] = map[string]string{}
			}
			for name, result := range results { // of a second run, too
				if old := all[folder][name]; old == "" || old == "SKIP" || result == "FAIL" {
					all[folder][name] = result
				}
			}
			results = map[string]string{}
		}
	}
	return all, lines.Err()
}

// result returns what became of a proof: "PASS", "SKIP", "FAIL" or "" if it did not run. A
// proof is a test, a row of a test, or a topic of the vectors, which package matcher runs.
func (r ran) result(proof string) string {
	found := ""
	if topic, ok := strings.CutPrefix(proof, vectors+"/"); ok {
		proof = "matcher/" + topic
	}
	for folder, results := range r {
		name, ok := strings.CutPrefix(proof, folder+"/")
		if folder == "" {
			name, ok = proof, !strings.Contains(proof, "/")
		}
		if !ok {
			continue
		}
		for full, result := range results {
			if !strings.Contains("/"+full+"/", "/"+path.Clean(name)+"/") {
				continue
			}
			if found == "" || result == "FAIL" || found == "SKIP" && result == "PASS" {
				found = result
			}
		}
	}
	return found
}
