// Prometheus exports a crawl to Prometheus: the numbers of decisions, of retrievals of
// robots.txt and of waits, the hosts that keep requests waiting, and the memory in use.
//
//	go run ./prometheus
//
// Copy the file internal/metrics/metrics.go into your crawler. Here a small crawl runs on
// loopback, and then /metrics is scraped once and printed.
//
// It leaves out: the pages of the crawl, whose numbers your crawler knows itself, and alerts.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rfc9309/polite/examples/internal/metrics"
	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example":   {Robots: web.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 600\n")},
		"moved.example":  {Robots: web.Redirect("http://shop.example/robots.txt")},
		"busy.example":   {Robots: web.Status(503)},
		"plain.example":  {},
		"broken.example": {Page: web.Status(500)},
	})
	defer local.Close()

	registry := prometheus.NewRegistry()
	t, err := fetcher.New(agent, &fetcher.Options{
		Base:   local.Transport(), // leave this out to visit the real web
		Egress: web.AnyAddress,
		Pace:   &pace.Limits{Gap: 20 * time.Millisecond, DelayCap: 50 * time.Millisecond},
		Trace:  metrics.New(registry).Trace(),
	})
	if err != nil {
		return err
	}
	metrics.Watch(registry, t)

	client := &http.Client{Transport: t, Timeout: 2 * time.Minute}
	for _, host := range []string{"shop.example", "moved.example", "busy.example", "plain.example", "broken.example", "lost.test"} {
		for _, path := range []string{"/page/1", "/page/2", "/cart"} {
			if err := visit(client, "http://"+host+path); err != nil {
				return err
			}
		}
	}
	return scrape(out, registry)
}

// visit fetches a page. The hooks count the result.
func visit(client *http.Client, page string) error {
	resp, err := client.Get(page)
	if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
		return nil
	}
	if err != nil {
		return err
	}
	io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

// scrape reads the metrics, as Prometheus does every few seconds, and prints them
// without the buckets of histograms.
func scrape(out io.Writer, registry *prometheus.Registry) error {
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	resp, err := http.Get(server.URL + "/metrics")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), "_bucket{") {
			fmt.Fprintln(out, lines.Text())
		}
	}
	return lines.Err()
}
