// Sizing measures the memory that a site takes, so that you can choose Options.MaxBytes:
// as Stats counts it, and as the heap grows.
//
//	go run ./sizing
//
// Each line is a crawler with 10,000 sites of one kind. The columns are bytes per site:
// the length of robots.txt, the bytes that count towards MaxBytes, the bytes on the heap,
// and the bytes in a store. No network is used.
//
// It leaves out: what requests in flight take, which their number bounds.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const sites = 10_000

func main() {
	if err := run(os.Stdout, sites); err != nil {
		log.Fatal(err)
	}
}

// kinds are the kinds of sites, each with the answer of site n.
var kinds = []struct {
	name   string
	robots func(n int) (status int, text string)
}{
	{"down", func(int) (int, string) { return 503, "" }},
	{"no robots.txt", func(int) (int, string) { return 404, "" }},
	{"the same 4 rules everywhere", func(int) (int, string) { return 200, file(0, 4) }},
	{"4 rules of its own", func(n int) (int, string) { return 200, file(n, 4) }},
	{"40 rules of its own", func(n int) (int, string) { return 200, file(n, 40) }},
	{"400 rules of its own", func(n int) (int, string) { return 200, file(n, 400) }},
}

// file returns a robots.txt that only site n has.
func file(n, rules int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Sitemap: https://www.site%05d.example/sitemap.xml\nUser-agent: *\n", n)
	for i := range rules {
		fmt.Fprintf(&b, "Disallow: /section-%d/%d/drafts/\n", i, n)
	}
	return b.String()
}

func run(out io.Writer, sites int) error {
	fmt.Fprintf(out, "%-28s %9s %9s %9s %9s %17s\n", "each site has", "file", "counted", "heap", "stored", "sites in 64 MiB")
	for _, kind := range kinds {
		before := heap()
		t, err := crawler(sites, kind.robots)
		if err != nil {
			return err
		}
		s := t.Stats()
		_, text := kind.robots(1)
		counted := float64(s.Bytes) / float64(s.Authorities)
		fmt.Fprintf(out, "%-28s %7d B %7.0f B %7.0f B %7.0f B %17d\n", kind.name, len(text),
			counted, float64(heap()-before)/float64(sites), stored(t), int(64<<20/counted))
		runtime.KeepAlive(t)
	}
	return nil
}

// crawler returns a Transport that has checked each site once.
func crawler(sites int, robots func(n int) (int, string)) (*fetcher.Transport, error) {
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{
		MaxBytes: 1 << 30,
		Base:     answers(robots),
		Pace:     pace.Unlimited(), // what pacing keeps of a host is no part of the table
	})
	if err != nil {
		return nil, err
	}
	for n := range sites {
		u := &url.URL{Scheme: "https", Host: fmt.Sprintf("www.site%05d.example", n), Path: "/"}
		if _, err := t.Check(context.Background(), u); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// stored returns the average length of a record in a store.
func stored(t *fetcher.Transport) float64 {
	size, n := 0, 0
	for _, rec := range t.Records() {
		if data, err := rec.MarshalBinary(); err == nil {
			size, n = size+len(data), n+1
		}
	}
	return float64(size) / float64(max(n, 1))
}

// answers is a RoundTripper that answers without a network.
type answers func(n int) (status int, text string)

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	var n int
	fmt.Sscanf(req.URL.Host, "www.site%d.example", &n)
	status, text := a(n)
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Last-Modified": {"Fri, 01 May 2026 00:00:00 GMT"}, "Etag": {`"5f3a-60b8"`}},
		Body:   io.NopCloser(strings.NewReader(text)),
	}, nil
}

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
