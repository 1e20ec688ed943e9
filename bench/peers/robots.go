package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gocolly/colly/v2"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

// A robotsCase is a case of a crawler: what a site answers, and what the crawler makes
// of it. Most fields are used by one project only.
type robotsCase struct {
	ID    string
	Agent string // of the crawler; "" or "*": any that no file names

	// The site.
	Robots  *string
	Base64  []byte `json:"robots_b64"`
	Fixture string // file with the text
	Status  int    // without a text; with one, the page's
	Answer  *struct {
		Status int
		Body   string
		Base64 []byte `json:"body_b64"`
		Error  string
	}
	Answers []struct {
		Host, Path, Location, Body string
		Status                     int
	}
	Server string // says if the site is down

	// The question.
	URL, Start, Site, Path, After string
	Token                         string
	UserAgent                     string `json:"user_agent"`
	OptOut                        bool   `json:"opt_out"`
	IgnoreRobots                  bool   `json:"ignore_robots"`
	Parallel                      bool
	Times                         int

	// The expectation.
	Allowed    json.RawMessage            // true or false, or by path
	Checks     map[string]json.RawMessage // the same, or "asked" and "not asked"
	Defer      *bool
	CrawlDelay json.RawMessage     `json:"crawl_delay_s"` // null: none
	Other      map[string][]string // records by name
	Sitemaps   []string
	Wildcard   *bool `json:"matched_wildcard"`
	Decoded    *string
	Tag        []string `json:"x_robots_tag"`
	NoCache    bool
	NoFollow   bool
	NoIndex    bool
	Error      *string // of colly
	ToPage     *int    `json:"requests_to_page"`
}

// A robotsFile is a file of cases.
type robotsFile struct {
	name, about string
	file        string // in the folder of the tests
	reasons     []reason
}

func (f robotsFile) suite(t *testing.T, folder string) suite {
	s := suite{name: f.name, about: f.about, reasons: f.reasons}
	file := filepath.Join(folder, f.file)
	eachLine(t, file, func(c robotsCase) {
		out := &result{id: c.ID}
		s.cases = append(s.cases, out)
		c.moveHosts()
		synctest.Test(t, func(t *testing.T) { c.run(t, filepath.Dir(file), out) })
	})
	return s
}

// moveHosts gives public addresses to the hosts h1, h2 and so on of StormCrawler. Redirects
// to names without a domain are refused.
func (c *robotsCase) moveHosts() {
	const address = "8.8.8."
	c.Start = strings.Replace(c.Start, "//h", "//"+address, 1)
	for i := range c.Answers {
		a := &c.Answers[i]
		a.Host = strings.Replace(a.Host, "h", address, 1)
		a.Location = strings.Replace(a.Location, "//h", "//"+address, 1)
	}
}

// run answers the questions of a case.
func (c *robotsCase) run(t *testing.T, folder string, out *result) {
	if c.Tag != nil {
		c.checkTag(out)
		return
	}
	web := httptest.New(t)
	site := web.Site(c.origin())
	c.publish(t, web, folder)
	tr, err := c.crawler(web)
	if err != nil {
		out.differs = append(out.differs, err.Error())
		return
	}
	if c.After != "" {
		if _, err := tr.Check(t.Context(), address("http://"+c.Answers[0].Host+"/")); err != nil {
			t.Fatal(err)
		}
	}
	c.checkVerdicts(t, tr, site, out)
	if c.CrawlDelay != nil || c.Other != nil || c.Sitemaps != nil {
		r, err := tr.Record(t.Context(), address(c.origin()))
		if err != nil {
			t.Fatal(err)
		}
		c.checkFile(r.File(), tr.Token(), out)
	}
}

// origin returns the origin of the site that the case asks about.
func (c *robotsCase) origin() string {
	u := address(cmp.Or(c.URL, c.Start, c.Site, "http://example.com"))
	return u.Scheme + "://" + u.Host
}

// publish sets up the sites.
func (c *robotsCase) publish(t *testing.T, web *httptest.Web, folder string) {
	site := web.Site(c.origin())
	text := c.Base64
	switch {
	case c.Robots != nil:
		text = []byte(*c.Robots)
	case c.Fixture != "":
		var err error
		if text, err = os.ReadFile(filepath.Join(folder, c.Fixture)); err != nil {
			t.Fatal(err)
		}
	}
	site.Robots(httptest.Text(string(text)))
	if text == nil && c.Status != 0 {
		site.Robots(httptest.Status(c.Status))
	}
	if a := c.Answer; a != nil {
		site.Robots(httptest.Text(a.Body + string(a.Base64)).Status(cmp.Or(a.Status, http.StatusOK)))
		if a.Error != "" {
			web.Names(address(c.Site).Host, httptest.NoSuchHost())
		}
	}
	for _, a := range c.Answers {
		if a.Host != "" {
			site = web.Site("http://" + a.Host)
		}
		step := httptest.Text(a.Body).Status(a.Status)
		if a.Location != "" {
			step = step.Header("Location", a.Location)
		}
		site.Path(a.Path, step)
	}
}

// crawler returns a crawler with the product token of the case.
func (c *robotsCase) crawler(web *httptest.Web) (*fetcher.Transport, error) {
	o := &fetcher.Options{Base: web.Transport(), Attempts: 1, Pace: pace.Unlimited()}
	if c.OptOut || c.IgnoreRobots {
		o.Override = func(*url.URL) (policy.Verdict, string, bool) { return policy.Allow, "the case asks for it", true }
	}
	tr, err := fetcher.New(cmp.Or(c.UserAgent, "ExampleBot/1.0"), o)
	if err != nil {
		return nil, err
	}
	return tr.As(cmp.Or(strings.Trim(c.Agent, "*"), c.Token, "ExampleBot"))
}

// questions returns the targets of a case with what it expects: true, false, "asked" or
// "not asked".
func (c *robotsCase) questions() map[string]string {
	all := map[string]string{}
	byPath := c.Checks
	if c.Allowed != nil && json.Unmarshal(c.Allowed, &byPath) != nil {
		byPath = map[string]json.RawMessage{c.URL: c.Allowed}
	}
	if c.Decoded != nil {
		want := matcher.Parse([]byte(*c.Decoded), matcher.Dialect{}).Match("ExampleBot", "/").Allowed
		byPath = map[string]json.RawMessage{"/": json.RawMessage(strconv.FormatBool(want))}
	}
	for target, want := range byPath {
		if !strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
			target = c.origin() + target
		}
		all[target] = strings.Trim(string(want), `"`)
	}
	return all
}

// checkVerdicts compares the decisions about the targets of a case.
func (c *robotsCase) checkVerdicts(t *testing.T, tr *fetcher.Transport, site *httptest.Site, out *result) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for target, want := range c.questions() {
		ask := func() {
			d, err := tr.Check(t.Context(), address(target))
			mu.Lock()
			defer mu.Unlock()
			switch want {
			case "true", "false":
				out.check(target+" allowed", fmt.Sprint(d.Allowed(), " ", err), want+" <nil>")
			default:
				out.check(target+" asked", err == nil, want == "asked")
			}
			if c.Defer != nil {
				out.check(target+" deferred", d.Verdict == policy.Defer, *c.Defer)
			}
			if c.Wildcard != nil {
				out.check(target+" by the default group", d.Match.Agent == "*", *c.Wildcard)
			}
		}
		for range max(c.Times, 1) {
			all.Go(ask)
			if !c.Parallel {
				all.Wait()
			}
		}
	}
	all.Wait()
	if c.Parallel || c.Times > 1 {
		out.check("requests for robots.txt", len(site.Requests("/robots.txt")), 1)
	}
}

// fileWide are the records that crawler-commons reads for the whole file, not for a
// group.
var fileWide = []string{"content-signal", "content-signals", "llm-policy", "host"}

// checkFile compares other records than rules.
func (c *robotsCase) checkFile(f *matcher.File, token string, out *result) {
	if c.CrawlDelay != nil {
		got := "null"
		if d, ok := f.CrawlDelay(token); ok {
			got = fmt.Sprint(d.Seconds())
		}
		out.check("Crawl-delay", got, string(c.CrawlDelay))
	}
	for field, want := range c.Other {
		records := f.Group(token).Other(field)
		if slices.Contains(fileWide, field) {
			records = f.Other(field)
		}
		got := []string{}
		for _, value := range records {
			got = append(got, value)
		}
		out.check(field, got, want)
	}
	if c.Sitemaps != nil {
		out.check("Sitemap", f.Sitemaps(), c.Sitemaps)
	}
}

// checkTag compares what is read in X-Robots-Tag.
func (c *robotsCase) checkTag(out *result) {
	said := usage.OfHeader(http.Header{"X-Robots-Tag": c.Tag}, "ExampleBot")
	for label, want := range map[string]bool{"nocache": c.NoCache, "nofollow": c.NoFollow, "noindex": c.NoIndex} {
		value, _ := said.Get(label)
		out.check(label, value == usage.Denied, want)
	}
}

// collySuite runs colly itself over Polite.
func collySuite(t *testing.T, folder string) suite {
	s := suite{name: "colly", about: aboutColly}
	eachLine(t, filepath.Join(folder, "colly", "robots.jsonl"), func(c robotsCase) {
		out := &result{id: c.ID}
		s.cases = append(s.cases, out)
		synctest.Test(t, func(t *testing.T) { c.visit(t, out) })
	})
	return s
}

// visit visits a page with colly, whose transport makes the decisions.
func (c *robotsCase) visit(t *testing.T, out *result) {
	web := httptest.New(t)
	c.publish(t, web, "")
	page := c.origin() + c.Path
	site := web.Site(c.origin()).Path(c.Path, httptest.Text("page"))
	if c.Server != "" {
		site.Down()
	}
	tr, err := c.crawler(web)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.CloseIdleConnections()
	collector := colly.NewCollector()
	collector.IgnoreRobotsTxt = true // the transport reads robots.txt
	collector.WithTransport(tr)
	status := 0
	collector.OnResponse(func(r *colly.Response) { status = r.StatusCode })
	err = collector.Visit(page)
	switch {
	case c.Error == nil:
		out.check("error and status", fmt.Sprint(err, status), fmt.Sprint(nil, c.Status))
	case *c.Error == "any":
		out.check("error", err != nil, true)
	default:
		out.check(*c.Error, errors.Is(err, fetcher.ErrDisallowed), true)
	}
	if c.ToPage != nil {
		out.check("requests to the page", len(site.Requests(c.Path)), *c.ToPage)
	}
}

// address returns a URL of the tests.
func address(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
