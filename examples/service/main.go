// Service is the skeleton of a crawler that runs for months: cached copies on disk, an end
// on SIGTERM, metrics, the operators' page, and a restart that continues where the last
// process stopped.
//
//	go run ./service -dir /var/lib/crawler https://example.com/
//	go test -v ./service    # two short lives on loopback
//
// It leaves out: more than one worker (see workers), a frontier that is larger than memory
// and survives a kill (here a file is written at the end), links, and what to do with pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rfc9309/polite/cache/disk"
	politeprom "github.com/rfc9309/polite/contrib/prometheus"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/inspect"
	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	dir := flag.String("dir", "", "folder of the crawler, which must exist")
	addr := flag.String("addr", "localhost:9309", "address of the operators' listener; it shows every visited URL")
	flag.Parse()
	if *dir == "" {
		log.Fatal("want -dir, the folder of the crawler, and the first pages")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, service{dir: *dir, addr: *addr, seeds: flag.Args(), out: os.Stdout}); err != nil {
		log.Fatal(err)
	}
}

// service is what one process needs.
type service struct {
	dir, addr string
	seeds     []string // pages to visit when the folder is new
	base      http.RoundTripper
	out       io.Writer
}

// run crawls until no page is left or ctx ends. In both cases everything is written.
func run(ctx context.Context, s service) (err error) {
	// A new process may start before the old one has closed the file.
	store, err := disk.Open(filepath.Join(s.dir, "robots.db"), &disk.Options{Wait: 10 * time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	page, registry := inspect.New(nil), prometheus.NewRegistry()
	metrics, err := politeprom.New(registry)
	if err != nil {
		return err
	}
	t, err := fetcher.New(agent, &fetcher.Options{Base: s.base, Store: store, Trace: page.Trace(metrics.Trace())})
	if err != nil {
		return err
	}
	if err := metrics.Watch(t); err != nil {
		return err
	}
	server := &http.Server{Addr: s.addr, Handler: operators(t, page, registry), ReadHeaderTimeout: 10 * time.Second}
	go func() { // ends with server.Close
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Print("the operators' page: ", err) // the crawl continues without it
		}
	}()
	defer server.Close()

	list := filepath.Join(s.dir, "frontier.txt")
	frontier, err := readFrontier(list, s.seeds)
	if err != nil {
		return err
	}
	frontier = s.crawl(ctx, &http.Client{Transport: t, Timeout: 3 * time.Minute}, frontier)
	stats := t.Stats()
	fmt.Fprintf(s.out, "end: %d pages left; robots.txt: %d fetched, %d read from disk\n", len(frontier), stats.Retrievals, stats.StoreHits)
	return os.WriteFile(list, []byte(strings.Join(frontier, "\n")), 0o600)
}

// operators serves the page and the metrics.
func operators(t *fetcher.Transport, page *inspect.Page, registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/debug/polite/", page.Handler(t))
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// giveUp is how long a site may be down before its pages are dropped: Polite has fetched its
// robots.txt five or six times by then.
const giveUp = 15 * time.Minute

// crawl visits pages in order and returns those that are left. A deferred page goes to the
// end of the line, with a pause so that a line of deferred pages does not spin. It is the URL
// of the decision: if a redirect was deferred, that is not the page at the front.
func (s service) crawl(ctx context.Context, client *http.Client, frontier []string) []string {
	for len(frontier) > 0 && ctx.Err() == nil {
		page := frontier[0]
		size, err := fetch(ctx, client, page)
		var denied *fetcher.DeniedError
		switch {
		case err == nil:
			fmt.Fprintln(s.out, "fetched", page, size, "bytes")
		case ctx.Err() != nil:
			return frontier // the page was not finished: it stays first
		case errors.Is(err, fetcher.ErrDeferred) && errors.As(err, &denied) && !isDead(denied.Decision):
			frontier = append(frontier, denied.Decision.URL)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		default: // disallowed, dead, or a failure; a real crawler tries failures again
			fmt.Fprintln(s.out, "dropped", err)
		}
		frontier = frontier[1:]
	}
	return frontier
}

// isDead reports whether the site of a deferred page has been down for so long that the crawl
// should not wait for it.
func isDead(d policy.Decision) bool {
	return !d.DownSince.IsZero() && time.Since(d.DownSince) >= giveUp
}

// fetch returns the size of a page.
func fetch(ctx context.Context, client *http.Client, page string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return io.Copy(io.Discard, resp.Body)
}

// readFrontier returns the pages that the last process left, or the seeds.
func readFrontier(list string, seeds []string) ([]string, error) {
	text, err := os.ReadFile(list)
	if errors.Is(err, fs.ErrNotExist) {
		return seeds, nil
	}
	return strings.Fields(string(text)), err
}
