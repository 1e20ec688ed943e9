// Gocrawl crawls from the pages that its arguments name, with gocrawl's default options but for
// the limit to the hosts of the first pages.
package main

import (
	"log"
	"os"

	"github.com/PuerkitoBio/gocrawl"
)

func main() {
	o := gocrawl.NewOptions(new(gocrawl.DefaultExtender))
	o.UserAgent = "gocrawl/1.0 (+https://github.com/PuerkitoBio/gocrawl)"
	o.RobotUserAgent = "gocrawl"
	o.SameHostOnly = false
	o.LogFlags = gocrawl.LogNone
	if err := gocrawl.NewCrawlerWithOptions(o).Run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}
