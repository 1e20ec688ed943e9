package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/numbers.md")

// TestRun checks that every kind of site has a line, and that docs/numbers.md has the
// same table: the bytes counted and stored, and the number of sites, within a tenth.
func TestRun(t *testing.T) {
	number := 1000
	if *update {
		number = sites
	}
	var out bytes.Buffer
	if err := run(&out, number); err != nil {
		t.Fatal(err)
	}
	const file, command = "../../docs/numbers.md", "$ cd bench && go run ./sizing\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), command)
	table, after, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("%s has no table after %q", file, command)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+command+out.String()+"```"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, kind := range kinds {
		got, want := columns(t, out.String(), kind.name), columns(t, table, kind.name)
		for i, name := range []string{"file", "counted", "heap", "stored", "sites"} {
			if name != "heap" && math.Abs(got[i]-want[i]) > want[i]/10 {
				t.Errorf("%s: %s, %s\ngot  %v\nwant %v; run go test ./sizing -update", file, kind.name, name, want[i], got[i])
			}
		}
	}
}

// columns returns the numbers in the line of a kind of site.
func columns(t *testing.T, table, name string) (numbers []float64) {
	_, rest, _ := strings.Cut(table, "\n"+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	for _, field := range strings.Fields(line) {
		if n, err := strconv.ParseFloat(field, 64); err == nil {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) != 5 {
		t.Fatalf("table:\n%s\nwant a line with five numbers for %q", table, name)
	}
	return numbers
}
