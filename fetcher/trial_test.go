package fetcher_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
)

// The decisions on the private and the public page.
const (
	obeyed  = "disallow, allow" // the rules are there
	nothing = "allow, allow"    // there is no rule, or no file
	down    = "defer, defer"    // nobody knows
)

// A trial is an answer of http://example.com to every request for its robots.txt,
// and the decision that must follow. Its name begins with the clause.
type trial struct {
	name     string
	answer   httptest.Step // of robots.txt; nothing is said of it if also says all
	want     string        // obeyed, nothing or down
	requests int           // requests that arrive at all sites
	also     func(w *httptest.Web, s *httptest.Site)
}

// raw is an answer given byte by byte.
func raw(name, answer, want string, requests int) trial {
	return trial{name: name, answer: httptest.Raw(answer), want: want, requests: requests}
}

// run runs a trial, and checks what must be true of every trial: a decision comes within
// the budget, nothing keeps running (or the bubble fails the test), and the words of the
// Decision can be printed as they are.
func (tt trial) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		s := web.Site(site).Robots(tt.answer)
		if tt.also != nil {
			tt.also(web, s)
		}
		tt.hold(t, newTransport(t, &fetcher.Options{Base: web.Transport()}), site)
		if got := len(web.Requests()); got != tt.requests {
			t.Errorf("got  %d requests\nwant %d\n%v", got, tt.requests, web.Requests())
		}
	})
}

// hold checks the two pages of an origin.
func (tt trial) hold(t *testing.T, tr *fetcher.Transport, origin string) {
	t.Helper()
	began := time.Now()
	var got []string
	for _, path := range []string{"/private", "/public"} {
		d, err := tr.Check(t.Context(), must(origin+path))
		if err != nil {
			t.Fatalf("%s: no decision: %v", path, err)
		}
		got = append(got, d.Verdict.String())
		for _, text := range []string{d.String(), d.Cause} {
			if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || len(text) > 2000 {
				t.Errorf("%s: the words of the decision cannot be printed (byte %d of %d): %.300q", path, i, len(text), text)
			}
		}
	}
	if s := strings.Join(got, ", "); s != tt.want {
		d, _ := tr.Peek(must(origin + "/private"))
		t.Errorf("/private, /public:\ngot  %s\nwant %s\n%v", s, tt.want, d)
	}
	if took := time.Since(began); took > 31*time.Second {
		t.Errorf("got  a decision after %v\nwant one within the 30 s of a retrieval", took)
	}
}

// runAll runs a table of trials under one name.
func runAll(t *testing.T, name string, table []trial) {
	seen := map[string]int{}
	for _, tt := range table {
		if seen[tt.name]++; seen[tt.name] > 1 {
			t.Errorf("%s/%s stands twice in the table", name, tt.name)
		}
		t.Run(tt.name, tt.run)
	}
}
