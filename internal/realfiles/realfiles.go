// Package realfiles reads real robots.txt files for tests, from the folder that the
// environment variable POLITE_CORPUS names. Without the folder it skips the test.
package realfiles

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Bodies returns the text of each file.
func Bodies(t testing.TB) (bodies [][]byte) {
	t.Helper()
	EachLine(t, "robots-real.jsonl.gz", func(line struct{ B64 []byte }) { bodies = append(bodies, line.B64) })
	return bodies
}

// EachLine calls do with every line of a compressed file of JSON values.
func EachLine[T any](t testing.TB, name string, do func(T)) {
	t.Helper()
	folder := os.Getenv("POLITE_CORPUS")
	if folder == "" {
		t.Skip("POLITE_CORPUS does not name a folder with real robots.txt files")
	}
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for lines := json.NewDecoder(z); ; {
		var line T
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		do(line)
	}
}
