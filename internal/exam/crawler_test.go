package exam

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/matcher"
)

// A faults has the faults of a crawler. The zero value obeys everything.
type faults struct {
	agent    string                                      // User-Agent; "" means one that names a page
	read     func(text string) string                    // misreads robots.txt
	target   func(link string) string                    // misreads a link before it is matched
	key      func(u *url.URL) string                     // authority whose robots.txt governs u
	failed   func(status int, err error) (open bool)     // whether a fetch that failed opens the site
	redirect func(from, to *url.URL, hops int) (ok bool) // whether a redirect of robots.txt is followed; otherwise there is no file
	blind    func(from, to *url.URL) bool                // follows this redirect of a page without a check

	idle, ignores, pageFirst, everyPage, keepsOld, keepsForTarget, unconditional, jar, noDelay, noPause, noRest, partial bool

	proxy    string // URL of a proxy
	missing  string // rules in place of a missing file
	parallel int    // requests at a time to a host
}

const testAgent = "ExampleBot/1.0 (+https://example.com/bot)"

// A crawler visits every page that robots.txt allows. Each authority has a goroutine.
type crawler struct {
	faults
	client *http.Client
	mu     sync.Mutex
	seen   map[string]bool
	hosts  map[string]*crawledHost
	files  map[string]*robotsFile
	all    sync.WaitGroup
}

type crawledHost struct {
	queue    []string // URLs as they were linked
	running  bool
	mu       sync.Mutex
	until    time.Time // no request before
	failures atomic.Int32
	waited   int // how often robots.txt was waited for
}

// A robotsFile is the robots.txt of an authority.
type robotsFile struct {
	mu      sync.Mutex
	rules   *matcher.File // nil means that everything is disallowed
	fetched bool
	expires time.Time
	retry   time.Time
	etag    string
}

var anchor = regexp.MustCompile(`href="([^"]*)"`)

func (f faults) crawl(urls []string) {
	if f.idle {
		return
	}
	if f.agent == "" {
		f.agent = testAgent
	}
	f.parallel = max(f.parallel, 1)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 1}
	if u, err := url.Parse(f.proxy); err == nil && f.proxy != "" {
		transport.Proxy = http.ProxyURL(u)
	}
	c := &crawler{faults: f, client: &http.Client{Transport: transport, Timeout: 5 * time.Second}, seen: map[string]bool{}, hosts: map[string]*crawledHost{}, files: map[string]*robotsFile{}}
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if f.jar {
		c.client.Jar, _ = cookiejar.New(nil)
	}
	for _, u := range urls {
		c.add(u)
		if c.keepsForTarget {
			time.Sleep(50 * time.Millisecond) // so that the site that redirects is visited before the other one
		}
	}
	c.all.Wait()
	transport.CloseIdleConnections()
}

func authority(u *url.URL) string { return u.Scheme + "://" + u.Host }

// add queues a URL that is new.
func (c *crawler) add(link string) {
	u, err := url.Parse(link)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[link] {
		return
	}
	c.seen[link] = true
	h := c.hosts[authority(u)]
	if h == nil {
		h = &crawledHost{}
		c.hosts[authority(u)] = h
	}
	h.queue = append(h.queue, link)
	if !h.running {
		h.running = true
		c.all.Go(func() { c.visit(h) })
	}
}

// visit requests the pages of a host until none is left.
func (c *crawler) visit(h *crawledHost) {
	for {
		c.mu.Lock()
		n := min(c.parallel, len(h.queue))
		some := h.queue[:n:n]
		h.queue = h.queue[n:]
		h.running = n > 0
		c.mu.Unlock()
		if n == 0 {
			return
		}
		var all sync.WaitGroup
		for _, link := range some {
			all.Go(func() { c.page(h, link) })
		}
		all.Wait()
	}
}

// page requests a page if it is allowed, and queues what it links to.
func (c *crawler) page(h *crawledHost, link string) {
	u, _ := url.Parse(link)
	if h.failures.Load() >= 10 && !c.noRest {
		return
	}
	f := c.fileFor(u)
	if c.pageFirst && !f.fetched {
		c.get(h, u)
	}
	if !c.ignores && !c.allowed(h, f, u, link) {
		return
	}
	var delay time.Duration
	if f.rules != nil && !c.noDelay {
		delay, _ = f.rules.Group("ExampleBot").CrawlDelay()
	}
	time.Sleep(h.turn(delay))
	c.get(h, u)
}

// turn reserves the next request to the host, and returns the wait until then.
func (h *crawledHost) turn(delay time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	wait := max(time.Until(h.until), 0)
	h.until = time.Now().Add(wait + delay)
	return wait
}

// pause leaves the host alone.
func (h *crawledHost) pause(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Now().Add(d)
}

// get requests a page and queues what it links to.
func (c *crawler) get(h *crawledHost, u *url.URL) {
	resp, body, err := c.fetch(u, "")
	if err != nil {
		return
	}
	if resp.StatusCode >= 400 {
		h.failures.Add(1)
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && !c.noPause {
		h.pause(time.Duration(s) * time.Second)
	}
	if to, err := resp.Location(); err == nil {
		if c.blind != nil && c.blind(u, to) {
			c.fetch(to, "")
			return
		}
		c.add(to.String())
	}
	for _, m := range anchor.FindAllSubmatch(body, -1) {
		to := html.UnescapeString(string(m[1]))
		if strings.HasPrefix(to, "/") {
			to = authority(u) + to
		}
		c.add(to)
	}
}

func (c *crawler) fileFor(u *url.URL) *robotsFile {
	key := authority(u)
	if c.key != nil {
		key = c.key(u)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.files[key]
	if f == nil {
		f = &robotsFile{}
		c.files[key] = f
	}
	return f
}

// allowed says whether a page is allowed. It waits up to four times for a robots.txt that cannot
// be fetched.
func (c *crawler) allowed(h *crawledHost, f *robotsFile, u *url.URL, link string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.fetched || c.everyPage || !f.expires.IsZero() && time.Now().After(f.expires) {
		c.learn(f, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"})
		if f.fetched {
			break
		}
		if h.waited++; h.waited > 4 {
			return false
		}
		time.Sleep(time.Until(f.retry))
	}
	if c.target != nil {
		link = authority(u) + c.target(strings.TrimPrefix(link, authority(u)))
	}
	return f.rules == nil || f.rules.Match("ExampleBot", strings.TrimPrefix(link, authority(u))).Allowed
}

// learn fetches robots.txt.
func (c *crawler) learn(f *robotsFile, at *url.URL) {
	learnt := func(rules string) { f.rules, f.fetched = matcher.Parse([]byte(rules), matcher.Dialect{}), true }
	first := at
	for hops := 0; ; hops++ {
		etag := f.etag
		if c.unconditional {
			etag = ""
		}
		resp, body, err := c.fetch(at, etag)
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		f.retry = time.Now().Add(100 * time.Millisecond)
		if err == nil && status/100 == 3 && status != 304 {
			to, _ := resp.Location()
			follow := hops < 5
			if c.redirect != nil {
				follow = c.redirect(at, to, hops)
			}
			if !follow {
				learnt("")
				return
			}
			at = to
			continue
		}
		switch {
		case status == 304:
		case err != nil || status >= 500:
			if s, err := strconv.Atoi(resp0(resp).Get("Retry-After")); err == nil {
				f.retry = time.Now().Add(time.Duration(s) * time.Second)
			}
			if c.failed != nil && c.failed(status, err) || c.partial && err == io.ErrUnexpectedEOF {
				learnt(string(body))
			}
			return
		case status >= 400:
			learnt("")
			if c.missing != "" && status == 404 {
				learnt(c.missing)
			}
		case !f.fetched || !c.keepsOld:
			learnt(c.misread(string(body)))
		}
		f.etag = resp.Header.Get("ETag")
		if resp.Header.Get("Cache-Control") == "max-age=1" {
			f.expires = time.Now().Add(time.Second)
		}
		if c.keepsForTarget && at.Host != first.Host {
			other := c.fileFor(at)
			other.mu.Lock()
			other.rules, other.fetched = f.rules, true
			other.mu.Unlock()
		}
		return
	}
}

func resp0(resp *http.Response) http.Header {
	if resp == nil {
		return http.Header{}
	}
	return resp.Header
}

func (c *crawler) misread(text string) string {
	if c.read == nil {
		return text
	}
	return c.read(text)
}

// fetch requests a URL. A body that is cut is returned with the error.
func (c *crawler) fetch(u *url.URL, etag string) (*http.Response, []byte, error) {
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept-Encoding", "gzip")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.Header.Get("Content-Encoding") == "gzip" {
		z, bad := gzip.NewReader(bytes.NewReader(body))
		if bad != nil {
			return resp, body, fmt.Errorf("gzip: %w", bad)
		}
		body, err = io.ReadAll(z)
	}
	return resp, body, err
}

// isTimeout reports whether a fetch had no answer in time.
func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
