package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rfc9309/polite/internal/grammar"
	"github.com/rfc9309/polite/matcher"
)

// TestReferenceVectors checks the second reading with the vectors.
func TestReferenceVectors(t *testing.T) {
	list, err := readVectors()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if v.Class != "rfc" || strings.ContainsAny(v.Agent, "*, ") {
			continue
		}
		_, rest, _ := strings.Cut(v.URL, "://")
		target := "/"
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			target = "/" + strings.TrimPrefix(rest[i:], "/")
		}
		if got := readPlainly(v.File(), v.Agent).allows(target); got != v.Allowed {
			t.Errorf("%s: robots %q, agent %q, url %q: got %v, want %v", v.ID, v.File(), v.Agent, v.URL, got, v.Allowed)
		}
	}
}

// TestReferenceRandom compares the second reading and the matcher on random files.
func TestReferenceRandom(t *testing.T) {
	g, r := grammar.Files(), rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		for _, q := range g.Ask(r, 5) {
			if strings.Trim(q.Token, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" {
				continue
			}
			got, want := matcher.Parse([]byte(q.File), matcher.Dialect{}).Match(q.Token, q.Target), readPlainly([]byte(q.File), q.Token).allows(q.Target)
			if got.Allowed != want {
				t.Errorf("file %q, token %q, target %q: got %+v, the second reading says %v", q.File, q.Token, q.Target, got, want)
			}
		}
	}
}

// TestReferenceFiles compares the second reading and the matcher on the files of the lab.
func TestReferenceFiles(t *testing.T) {
	files, note, err := readFiles()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(note)
	for i, f := range files {
		group := matcher.Parse(f.body[:min(len(f.body), 500<<10)], matcher.Dialect{}).Group(token)
		for _, u := range f.targets {
			if got := group.Match(u.text); got.Allowed != u.allowed {
				t.Errorf("file %d %.200q, target %q: got %+v, the second reading says %v", i, f.body, u.text, got, u.allowed)
			}
		}
		if delay, ok := group.CrawlDelay(); ok != (f.plain.delay >= 0) || ok && delay != f.plain.delay {
			t.Errorf("file %d: Crawl-delay %v, %v, the second reading says %v", i, delay, ok, f.plain.delay)
		}
	}
}
