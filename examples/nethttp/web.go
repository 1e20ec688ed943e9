package main

import (
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// smallWeb starts the web of this example on loopback. The robots.txt of one site is
// unreachable at first, one site does not exist, and one redirects its robots.txt. The
// options make the demonstration faster.
func smallWeb() (*web.Web, *fetcher.Options) {
	local := web.Start(map[string]web.Site{
		"shop.example": {
			Robots: web.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 0.05\n"),
			Pages:  3,
			Links:  []string{"/cart/1", "/old", "http://busy.example/", "http://moved.example/", "http://moved.example/new", "http://lost.test/"},
			Moved:  "/old",
		},
		"busy.example":  {Robots: web.Steps(web.Status(503), web.Text("User-agent: *\nDisallow:\n")), Pages: 1},
		"moved.example": {Robots: web.Redirect("http://files.example/robots.txt"), Links: []string{"/drafts/1"}, Moved: "/new", MovedTo: "http://lost.test/new"},
		"files.example": {Robots: web.Text("User-agent: ExampleBot\nDisallow: /drafts\n")},
	})

	// Fetch the robots.txt of a site that is down again after a second. For the real
	// web the default of a minute is better.
	hasty := policy.RFC9309()
	hasty.Retry.Min = time.Second
	return local, &fetcher.Options{
		Base:    local.Transport(),
		Egress:  web.AnyAddress,
		Profile: hasty,
		Pace:    &pace.Limits{Gap: 10 * time.Millisecond},
	}
}
