package main

import (
	"bytes"
	"testing"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/lint"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// FuzzLint lints any file under any profile. Every remark must appear, which shows
// that lint and matcher number the lines alike, and the output must be clean.
func FuzzLint(f *testing.F) {
	for _, text := range []string{
		simpleRobots, hostileRobots, "\xef\xbb\xbfUser-agent: *\r\rDisallow: x\r\n\nx", "\xff\xfea\x00\n\x00b\x00", "\xfe\xff\x00a\x00\r\x00", "\xff\xfe\x00\xd8x", "\xff\xfe", "",
	} {
		f.Add([]byte(text), uint8(0))
		f.Add([]byte(text), uint8(3))
		f.Add([]byte(text), uint8(5))
	}
	f.Fuzz(func(t *testing.T, text []byte, n uint8) {
		profile, _ := policy.ByName(profiles[int(n)%len(profiles)])
		var out, errs bytes.Buffer
		l := &linting{reading: reading{cli: &cli{out: &out, err: &errs}}}
		p := display.New(&out, display.Auto)
		used := []*policy.Profile{profile}
		if n%2 == 1 {
			used = append(used, policy.RFC9309(), policy.Google(), policy.Koster1996())
		}
		remarks := lint.Run(text, &lint.Options{Profiles: used, Site: "example.com", Cut: n%3 == 0})
		l.write(p, text, used, remarks)
		p.Flush()
		if got := bytes.Count(out.Bytes(), []byte("\n        ^ ")); got != len(remarks) {
			t.Errorf("%q under %s: %d remarks shown of %d\n%s", text, profile.Name, got, len(remarks), &out)
		}
		for _, r := range remarks {
			if r.Level == "" || r.Check == "" {
				t.Errorf("%q: %+v is no known check", text, r)
			}
		}
		for line := range bytes.Lines(out.Bytes()) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if got := clean.Text(string(line), len(line)); got != string(line) {
				t.Errorf("%q under %s\ngot %q, which is not clean", text, profile.Name, line)
			}
		}
	})
}
