package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vector is one line of vectors/ours.jsonl, which vectors/README.md describes. It
// is a case for polite match --cases together with the right answer.
type vector struct {
	ID      string `json:"id"`
	Allowed bool   `json:"allowed"`
	Class   string `json:"class"`
	Why     string `json:"why"`
	line    []byte
}

func readVectors(t *testing.T, path string) []vector {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	for line := range bytes.Lines(text) {
		v := vector{line: line}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// answer is one line of output.
type answer struct {
	ID      string `json:"id"`
	Allowed bool   `json:"allowed"`
	Line    int    `json:"line"`
	Agent   string `json:"agent"`
	Pattern string `json:"pattern"`
}

func readAnswers(t *testing.T, out string) []answer {
	t.Helper()
	var list []answer
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("output %q: %v", lines.Text(), err)
		}
		list = append(list, a)
	}
	return list
}

// TestVectors runs the command on the vectors that a profile must answer correctly.
func TestVectors(t *testing.T) {
	all := readVectors(t, filepath.Join("..", "..", "vectors", "ours.jsonl"))
	if dir := os.Getenv("POLITE_CONFORMANCE"); dir != "" {
		all = append(all, readVectors(t, filepath.Join(dir, "peers.jsonl"))...)
	} else {
		t.Log("POLITE_CONFORMANCE is not set: the vectors of other implementations are skipped")
	}
	for profile, class := range map[string]string{"rfc9309": "rfc", "google": "google"} {
		t.Run(profile, func(t *testing.T) {
			var in bytes.Buffer
			var want []vector
			for _, v := range all {
				if v.Class == class {
					in.Write(v.line)
					want = append(want, v)
				}
			}
			code, out, errs := polite(t, in.String(), "match", "--cases", "--profile", profile)
			if code != 0 || errs != "" {
				t.Errorf("exit %d, stderr %q; want 0 and nothing", code, errs)
			}
			got := readAnswers(t, out)
			if len(got) != len(want) {
				t.Fatalf("%d cases, %d answers", len(want), len(got))
			}
			for i, v := range want {
				if got[i].ID != v.ID || got[i].Allowed != v.Allowed {
					t.Errorf("case %s\ngot  %+v\nwant %s allowed %v: %s", v.line, got[i], v.ID, v.Allowed, v.Why)
				}
			}
		})
	}
}
