package docs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/policy"
)

// answered returns a fetch with a status. Status 0 means that there was no answer.
func answered(status int, body string, now time.Time) policy.Attempt {
	a := policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: status, Header: http.Header{}, Body: []byte(body), Sent: now, Received: now,
	}
	if status == 0 {
		a.Err = &policy.Failure{Class: policy.Timeout}
	}
	return a
}

// TestReadmeTable compares the README's table of answers with the default profile. The
// second column says what may be fetched without a cached copy. The third column begins
// with the time to the next fetch.
func TestReadmeTable(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /x\n"
	redirect := answered(302, "", start)
	redirect.Header.Set("Location", "/next")
	redirect.Hops = make([]policy.Hop, 5)
	outage := answered(503, "", start)
	examples := map[string][]policy.Attempt{
		"2xx":                                 {answered(200, rules, start), answered(203, rules, start)},
		"200 without a rule, 204":             {answered(200, "", start), answered(204, "", start)},
		"more redirects, or a loop":           {redirect},
		"404, 410":                            {answered(404, "", start), answered(410, "", start)},
		"another 4xx":                         {answered(400, "", start), answered(401, "", start), answered(403, "", start), answered(451, "", start)},
		"407, 408, 421, 425, 429":             {answered(407, "", start), answered(408, "", start), answered(421, "", start), answered(425, "", start), answered(429, "", start)},
		"5xx for 30 days, and no cached copy": {outage},
		"5xx, DNS, TLS, timeout, a broken body": {
			outage, answered(0, "", start), answered(599, "", start), answered(206, rules, start),
		},
	}
	for _, row := range tableUnder(t, "../README.md", "## What an answer means") {
		attempts, known := examples[row[0]]
		delete(examples, row[0])
		for _, a := range attempts {
			p := policy.RFC9309()
			r := p.Learn(nil, a)
			for strings.Contains(row[0], "30 days") && a.Received.Before(start.Add(31*day)) {
				a.Sent, a.Received = r.NextTry(), r.NextTry()
				r = p.Learn(r, a)
			}
			d := r.Decide("ExampleBot", pageURL("/x"), a.Received)
			if !strings.HasPrefix(row[1], readmeWords(d)) {
				t.Errorf("README: %s, %d\ngot  %q\nwant it to begin with %q", row[0], a.Status, row[1], readmeWords(d))
			}
			next, err := time.ParseDuration(leadingDuration(row[2]))
			if err == nil && r.NextTry().Sub(a.Received).Round(time.Hour) != next {
				t.Errorf("README: %s, %d\ngot  %q\nwant %v", row[0], a.Status, row[2], r.NextTry().Sub(a.Received))
			}
		}
		if !known && row[0] != "304" && !strings.HasPrefix(row[0], "301") {
			t.Errorf("README: %q\ngot  no example for it\nwant one in this test", row[0])
		}
	}
	for cell := range examples {
		t.Errorf("README\ngot  no row %q\nwant one", cell)
	}
}

// readmeWords returns the words with which the README's table begins a decision.
func readmeWords(d policy.Decision) string {
	switch {
	case d.Match.Rule.Line > 0:
		return "what the rules say"
	case d.Verdict == policy.Allow:
		return "everything"
	}
	return "nothing yet"
}

// leadingDuration returns the duration at the beginning of a cell, in the format of
// time.ParseDuration.
func leadingDuration(cell string) string {
	words := strings.Fields(cell)
	if len(words) < 2 {
		return ""
	}
	return words[0] + strings.Trim(words[1], ";,")
}

// tableUnder returns the cells of the first table under a heading, without the row of
// column names.
func tableUnder(t *testing.T, page, heading string) [][]string {
	_, text, _ := strings.Cut(readPage(t, page), heading+"\n")
	_, text, _ = strings.Cut(text, "|---|")
	var rows [][]string
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) > 2 {
			cells[0] = strings.TrimPrefix(cells[0], "| ")
			rows = append(rows, cells)
		} else if len(rows) > 0 {
			break
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s\ngot  no table under %q", page, heading)
	}
	return rows
}
