// Colly crawls from the pages that its arguments name, with robots.txt switched on, as Colly's
// documentation shows it.
package main

import (
	"os"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector(colly.UserAgent("Colly/2.3 (+https://go-colly.org)"), colly.MaxDepth(3), colly.Async())
	c.IgnoreRobotsTxt = false
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	for _, page := range os.Args[1:] {
		c.Visit(page)
	}
	c.Wait()
}
