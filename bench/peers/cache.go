package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// A cacheTest is a test of http-tests/cache-tests. Each of its requests is a decision
// here, for which robots.txt is fetched or not.
type cacheTest struct {
	ID       string
	Requests []cacheRequest
}

// A cacheRequest is what the server answers and what the test expects.
type cacheRequest struct {
	Status         []any           `json:"response_status"`
	Headers        [][]any         `json:"response_headers"`
	Interim        [][]any         `json:"interim_responses"`
	Disconnect     bool            `json:"disconnect"`
	Pause          bool            `json:"pause_after"`
	Type           string          `json:"expected_type"`
	ExpectedStatus json.RawMessage `json:"expected_status"` // null: no answer
	RequestHeaders [][]string      `json:"expected_request_headers"`
}

// cacheSuites runs the tests for a private cache of one file, first with the least limits
// that a Profile may have, and then those that agree as Polite is shipped.
func cacheSuites(t *testing.T, folder string) (bare, shipped suite) {
	folder = filepath.Join(folder, "cache-tests")
	selected := selection(t, filepath.Join(folder, "selection.tsv"))
	least := policy.RFC9309()
	least.Fresh.Default, least.Fresh.Min, least.Fresh.MinStale = time.Second, time.Second, 0
	bare = suite{name: "http cache-tests", about: aboutBare, reasons: bareReasons}
	shipped = suite{name: "http cache-tests, with limits", about: aboutShipped, reasons: shippedReasons}
	eachLine(t, filepath.Join(folder, "tests.jsonl"), func(c cacheTest) {
		if !selected[c.ID] {
			return
		}
		out := c.run(t, least)
		bare.cases = append(bare.cases, out)
		if len(out.differs) == 0 {
			shipped.cases = append(shipped.cases, c.run(t, policy.RFC9309()))
		}
	})
	return bare, shipped
}

// selection returns the ids of the tests that concern a cache of robots.txt.
func selection(t *testing.T, file string) map[string]bool {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	selected := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "\t") // id, suite, kind, private, file_cache
		selected[columns[0]] = columns[4] == "yes"
	}
	return selected
}

// A cacheServer answers the requests of one test.
type cacheServer struct {
	test  *cacheTest
	n     int                     // the decision that is made now
	asked map[int][]*http.Request // the requests for each decision
	etag  string                  // of the last answer
}

// ServeHTTP answers with what the test says for the present decision.
func (s *cacheServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked[s.n] = append(s.asked[s.n], r)
	q := s.test.Requests[s.n]
	if q.Disconnect {
		panic(http.ErrAbortHandler)
	}
	for _, i := range q.Interim {
		w.WriteHeader(int(i[0].(float64)))
	}
	for _, h := range q.Headers {
		value, date := fmt.Sprint(h[1]), time.Now().UTC()
		if seconds, ok := h[1].(float64); ok {
			value = date.Add(time.Duration(seconds) * time.Second).Format(http.TimeFormat)
		}
		w.Header().Add(h[0].(string), value)
	}
	status := http.StatusOK
	if len(q.Status) > 0 {
		status = int(q.Status[0].(float64))
	}
	if strings.HasSuffix(q.Type, "validated") {
		status = 999
		if s.etag != "" && r.Header.Get("If-None-Match") == s.etag {
			status = http.StatusNotModified
		}
	}
	s.etag = w.Header().Get("ETag")
	w.WriteHeader(status)
	if status != http.StatusNoContent && status != http.StatusNotModified {
		fmt.Fprintf(w, "User-agent: *\nDisallow: /\nRequest: %d\n", s.n)
	}
}

// run makes a decision for each request of a test.
func (c *cacheTest) run(t *testing.T, p *policy.Profile) *result {
	out := &result{id: c.ID}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))) // a date of the tests may not be far ahead
		web := httptest.New(t)
		s := &cacheServer{test: c, asked: map[int][]*http.Request{}}
		web.Site("http://example.com").Robots(httptest.Handler(s.ServeHTTP))
		tr, err := fetcher.New("ExampleBot/1.0", &fetcher.Options{Base: web.Transport(), Profile: p, Attempts: 1, Pace: pace.Unlimited()})
		if err != nil {
			t.Fatal(err)
		}
		for n, q := range c.Requests {
			s.n = n
			s.decide(t, tr, out)
			pause := 1500 * time.Millisecond // longer than the least lifetime, and shorter than any in the tests
			if q.Pause {
				pause = 3 * time.Second
			}
			time.Sleep(pause)
		}
	})
	return out
}

// decide makes the present decision and compares how it was made.
func (s *cacheServer) decide(t *testing.T, tr *fetcher.Transport, out *result) {
	page := address("http://example.com/page")
	d, err := tr.Check(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	q, asked := s.test.Requests[s.n], s.asked[s.n]
	source := s.source(t, tr)
	what := "decision " + strconv.Itoa(s.n+1)
	switch cached := len(asked) == 0 || source < s.n; q.Type {
	case "cached", "not_cached":
		out.check(what+" cached", cached, q.Type == "cached")
	case "etag_validated":
		out.check(what+" validated", len(asked) == 1 && asked[0].Header.Get("If-None-Match") != "" && cached, true)
	}
	if string(q.ExpectedStatus) == "null" {
		out.check(what, d.Verdict, policy.Defer)
	}
	for _, h := range q.RequestHeaders {
		if len(asked) > 0 {
			out.check(what+" "+h[0], asked[0].Header.Get(h[0]), h[1])
		}
	}
}

// source returns the number of the request that the cached copy is from. Without a copy
// it is the present one.
func (s *cacheServer) source(t *testing.T, tr *fetcher.Transport) int {
	r, err := tr.Record(t.Context(), address("http://example.com/page"))
	if err != nil {
		t.Fatal(err)
	}
	if f := r.File(); f != nil {
		for _, value := range f.Other("Request") {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return s.n
}
