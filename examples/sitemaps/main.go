// Sitemaps crawls the pages that a site lists, newest first, instead of following links.
// The sitemaps are those that robots.txt names, and each is fetched like a page: it can be
// disallowed, it waits for its turn, and it can be deferred.
//
//	go run ./sitemaps https://example.com/
//
// It leaves out: sitemaps in text or RSS, the URLs of other hosts, conditional requests for
// a sitemap that has not changed, and what to do with pages. A deferred sitemap or page is
// tried again once, at its RetryAt.
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/fetcher"
)

// Bounds of the sitemaps protocol, and one on the sitemaps of a site.
const (
	maxBytes    = 50 << 20
	maxURLs     = 50_000
	maxSitemaps = 100
)

func main() {
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, arg := range os.Args[1:] {
		site, err := url.Parse(arg)
		if err == nil {
			err = crawl(context.Background(), os.Stdout, t, site)
		}
		if err != nil {
			log.Print(err)
		}
	}
}

// entry is a page or another sitemap.
type entry struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod"` // W3C dates sort as text
}

// crawl visits the pages that the sitemaps of a site list.
func crawl(ctx context.Context, out io.Writer, t *fetcher.Transport, site *url.URL) error {
	rec, err := t.Record(ctx, site)
	if err != nil {
		return err
	}
	var sitemaps, pages []entry
	if f := rec.File(); f != nil {
		for _, s := range f.Sitemaps() {
			sitemaps = append(sitemaps, entry{Loc: s})
		}
	}
	client := &http.Client{Transport: t, Timeout: 3 * time.Minute}
	for i := 0; i < len(sitemaps) && i < maxSitemaps; i++ {
		at, err := site.Parse(sitemaps[i].Loc) // some sites write a path
		if err != nil {
			fmt.Fprintln(out, "skipped", err)
			continue
		}
		listed, more, err := readSitemap(ctx, client, at.String())
		if err != nil {
			fmt.Fprintln(out, "failed ", err)
		}
		pages = append(pages, listed...)
		sitemaps = append(sitemaps, more...)
	}
	slices.SortStableFunc(pages, func(a, b entry) int { return strings.Compare(b.LastMod, a.LastMod) })
	seen := map[string]bool{}
	for _, p := range pages {
		u, err := url.Parse(p.Loc)
		if err != nil || u.Scheme != site.Scheme || u.Host != site.Host || seen[p.Loc] {
			continue // a site lists its own pages only
		}
		seen[p.Loc] = true
		resp, err := get(ctx, client, p.Loc)
		if err != nil {
			fmt.Fprintln(out, "dropped", err)
			continue
		}
		n, _ := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		fmt.Fprintf(out, "fetched %s (%d bytes, changed %s)\n", p.Loc, n, p.LastMod)
	}
	return nil
}

// get fetches a URL. One that is deferred is tried again once, when the decision says so.
func get(ctx context.Context, client *http.Client, page string) (*http.Response, error) {
	for tries := 0; ; tries++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		var denied *fetcher.DeniedError
		if tries > 0 || !errors.Is(err, fetcher.ErrDeferred) || !errors.As(err, &denied) {
			return resp, err
		}
		page = denied.Decision.URL                      // after a redirect another one
		time.Sleep(time.Until(denied.Decision.RetryAt)) // a real crawler visits other sites meanwhile
	}
}

// readSitemap returns the pages and the sitemaps that a sitemap lists, gzip or not.
func readSitemap(ctx context.Context, client *http.Client, at string) (pages, sitemaps []entry, err error) {
	resp, err := get(ctx, client, at)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s: status %d", at, resp.StatusCode)
	}
	var body io.Reader = bufio.NewReader(resp.Body)
	if head, _ := body.(*bufio.Reader).Peek(2); string(head) == "\x1f\x8b" {
		if body, err = gzip.NewReader(body); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	var list struct {
		URLs     []entry `xml:"url"`
		Sitemaps []entry `xml:"sitemap"`
	}
	if err := xml.NewDecoder(io.LimitReader(body, maxBytes)).Decode(&list); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", at, err)
	}
	return list.URLs[:min(len(list.URLs), maxURLs)], list.Sitemaps, nil
}
