package prometheus_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"testing/fstest"

	"github.com/prometheus/client_golang/prometheus"

	politeprom "github.com/rfc9309/polite/contrib/prometheus"
	"github.com/rfc9309/polite/fetcher"
)

// A crawl of one site, and the numbers that a scrape would have.
func Example() {
	site := httptest.NewServer(http.FileServerFS(fstest.MapFS{
		"robots.txt": {Data: []byte("User-agent: *\nDisallow: /private\n")},
		"page":       {},
	}))
	defer site.Close()

	registry := prometheus.NewRegistry()
	m, err := politeprom.New(registry)
	if err != nil {
		log.Fatal(err)
	}
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Trace: m.Trace()})
	if err != nil {
		log.Fatal(err)
	}
	if err := m.Watch(t); err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: t}
	for _, path := range []string{"/page", "/private"} {
		if resp, err := client.Get(site.URL + path); err == nil {
			resp.Body.Close()
		}
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "polite_decisions_total" {
			for _, m := range f.Metric {
				fmt.Println(m.Label[1].GetValue(), m.Counter.GetValue())
			}
		}
	}
	// Output:
	// allow 1
	// disallow 1
}
