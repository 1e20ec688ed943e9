package main

// colly is Colly with its robots.txt switch on. The patch replaces the function behind the switch:
// it keeps the name, the signature and the error for a forbidden page.
var colly = adopter{
	module: "github.com/gocolly/colly/v2", version: "v2.3.0",
	edits: []edit{
		{"colly.go", "func (c *Collector) checkRobots(", "// String is the text representation", `// checkRobots decides by the robots.txt of u. Its first call puts Polite over the transport of
// the collector, so that redirects, and the pace of each site, obey robots.txt as well.
func (c *Collector) checkRobots(u *url.URL) error {
	c.lock.Lock()
	polite, ok := c.backend.Client.Transport.(*fetcher.Transport)
	if !ok {
		var err error
		if polite, err = fetcher.New(c.UserAgent, &fetcher.Options{Base: c.backend.Client.Transport}); err != nil {
			c.lock.Unlock()
			return err
		}
		c.backend.Client.Transport = polite
	}
	c.lock.Unlock()
	d, err := polite.Check(c.Context, u)
	switch {
	case err != nil:
		return err
	case d.Verdict == policy.Disallow:
		return ErrRobotsTxtBlocked
	case d.Verdict == policy.Defer:
		return &fetcher.DeniedError{Decision: d}
	}
	return nil
}

`},
		{"colly.go", "	robotsMap  ", "	", ""},
		{"colly.go", "	c.robotsMap = ", "	", ""},
		{"colly.go", "		robotsMap: ", "		", ""},
		{"colly.go", `	"github.com/temoto/robotstxt"`, "\n", "\t\"github.com/rfc9309/polite/fetcher\"\n\t\"github.com/rfc9309/polite/policy\""},
	},
	program: `package main

import (
	"net/http"
	"os"

	"github.com/gocolly/colly/v2"
)

func crawl(base http.RoundTripper, pages []string) {
	c := colly.NewCollector(colly.UserAgent("ExampleBot/0.1 (+https://example.com/bot)"))
	c.IgnoreRobotsTxt = false
	c.WithTransport(base)
	for _, page := range pages {
		if err := c.Visit(page); err != nil {
			os.Stderr.WriteString(page + ": " + err.Error() + "\n")
		}
	}
}
`,
}
