// Package polite has no code. The module is the politeness layer of a crawler: it fetches
// robots.txt, decides about each request as RFC 9309 says, and keeps the requests to a site
// apart.
//
// Most programs need only package fetcher, an [net/http.RoundTripper]:
//
//	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", nil)
//	client := &http.Client{Transport: t}
//
// The packages, by what a crawler needs them for:
//
//   - fetcher: check, pace and send requests; its documentation is the guide
//   - pace: the gap between requests, Crawl-delay, parallel requests and pauses
//   - cache, cache/disk, cache/redis: cached copies that survive a restart or are shared
//   - policy: decisions about fetched files, for a crawler with its own HTTP code
//   - matcher: rules and URLs, without fetching
//   - usage: what a site says about the use of a page (experimental)
//   - inspect: a page for operators
//   - fetcher/ftp: ftp URLs
//
// The command is cmd/polite. Programs to copy are in the folder examples.
package polite
