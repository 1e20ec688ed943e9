package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
)

// TestVisit checks that a failed page is tried again and a refused page is not, in both
// orders. With Polite above the retries, a robots.txt that fails is fetched more often.
func TestVisit(t *testing.T) {
	for _, order := range []struct {
		name   string
		build  func(fetcher.Options, *retryablehttp.Client) (*http.Client, error)
		robots int // requests for a robots.txt that answers 503
	}{{"under", under, 1}, {"over", over, 3}} {
		t.Run(order.name, func(t *testing.T) {
			local := web.Start(map[string]web.Site{
				"shop.example": {
					Robots: web.Text("User-agent: *\nDisallow: /cart\n"),
					Page:   web.Steps(web.Status(500), web.Text("here you are")),
					Moved:  "/old",
				},
				"busy.example": {Robots: web.Status(503)},
			})
			defer local.Close()
			rc := retryablehttp.NewClient()
			rc.RetryWaitMin, rc.RetryWaitMax = 20*time.Millisecond, 100*time.Millisecond
			client, err := order.build(*local.Options(), rc)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			visit(&out, client, []string{"http://shop.example/page/1", "http://shop.example/old", "http://shop.example/cart", "http://busy.example/"})
			for _, want := range []string{
				"fetched http://shop.example/page/1 200 OK\n",
				`DISALLOW http://shop.example/cart: line 2 "Disallow: /cart"`,
				"DEFER http://busy.example/: http://busy.example/robots.txt is unreachable (status 503",
				"fetched http://shop.example/old 200 OK\n",
			} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output:\n%s\nwant a line with %q", out.String(), want)
				}
			}
			for at, want := range map[[2]string]int{
				{"shop.example", "/page/1"}: 2, {"shop.example", "/moved/here"}: 1, {"shop.example", "/cart"}: 0, {"busy.example", "/robots.txt"}: order.robots,
			} {
				if got := len(local.Requests(at[0], at[1])); got != want {
					t.Errorf("%s%s: got %d requests, want %d", at[0], at[1], got, want)
				}
			}
		})
	}
}
