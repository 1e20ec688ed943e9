package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/exam"
	"github.com/rfc9309/polite/policy"
)

// TestExam lets the crawler sit the exam of polite exam. It fails nothing, and exercises
// all cases except those of a crawler that fetches robots.txt twice a minute or reads sitemaps.
func TestExam(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	e, err := exam.Open(exam.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := &schedule{giveUp: 10 * time.Second, seen: map[string]bool{}}
	for _, page := range e.URLs() {
		s.add(page)
	}
	o := options()
	o.Profile = policy.RFC9309()
	o.Profile.Retry.Min = time.Second // a minute is better for the web
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(e.Authority())
	o.Base = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	if err := s.crawl(io.Discard, o); err != nil {
		t.Log(err) // pages that redirect to nowhere or answer with a failure
	}
	var missing []string
	r := e.Report("ended", false)
	for _, res := range r.Results {
		switch res.Verdict {
		case exam.Failed:
			t.Errorf("%s: %v: %s", res.Name, res.Request, res.Seen)
		case exam.NotExercised:
			missing = append(missing, res.Name)
		}
	}
	if want := []string{"2.3.1.1/new_file", "house/conditional_requests", "house/sitemap"}; !slices.Equal(missing, want) {
		t.Errorf("not exercised\ngot  %v\nwant %v", missing, want)
	}
}
