// Operators mounts the page of package inspect beside a crawl. It reads from the page,
// as JSON, which sites are down and why a URL is not fetched. An operator would look at
// the same page in a browser.
//
//	go run ./operators
//	go run ./operators -stay 10m    # to look at the page in a browser
//
// It leaves out: a password. The page shows every visited URL, so here only loopback sees it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/inspect"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	stay := flag.Duration("stay", 0, "how long to keep the page for a browser")
	flag.Parse()
	if err := run(os.Stdout, *stay); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, stay time.Duration) error {
	local := web.Start(map[string]web.Site{
		"shop.example":  {Robots: web.Text("User-agent: *\nDisallow: /cart\nDisalow: /search\n")},
		"moved.example": {Robots: web.Redirect("http://shop.example/robots.txt")},
		"busy.example":  {Robots: web.Status(503)},
	})
	defer local.Close()

	page := inspect.New(&inspect.Options{Actions: true})
	t, err := fetcher.New(agent, &fetcher.Options{
		Base:   local.Transport(), // leave this out to visit the real web
		Egress: web.AnyAddress,
		Trace:  page.Trace(nil), // you can pass your own hooks instead of nil: then both are called
	})
	if err != nil {
		return err
	}
	// Use a separate listener on loopback, because the page shows every visited URL.
	mux := http.NewServeMux()
	mux.Handle("/debug/polite/", page.Handler(t))
	operators := httptest.NewServer(mux)
	defer operators.Close()
	at := operators.URL + "/debug/polite/"

	for _, u := range []string{"http://shop.example/cart", "http://moved.example/page/1", "http://busy.example/", "http://lost.test/"} {
		target, err := url.Parse(u)
		if err != nil {
			return err
		}
		if _, err := t.Check(context.Background(), target); err != nil {
			return err
		}
	}
	if err := ask(out, at); err != nil {
		return err
	}
	if stay > 0 {
		fmt.Fprintln(out, "the page is at", at, "for", stay)
		time.Sleep(stay)
	}
	return nil
}

// ask reads two views of the page.
func ask(out io.Writer, at string) error {
	var recent struct {
		Retrievals []struct {
			Robots, Access, Cause string
			Status                int
		}
	}
	if err := get(at, url.Values{"view": {"recent"}}, &recent); err != nil {
		return err
	}
	fmt.Fprintln(out, "retrievals of robots.txt, newest first:")
	for _, r := range recent.Retrievals {
		fmt.Fprintf(out, "  %-12s %3d  %s %s\n", r.Access, r.Status, r.Robots, r.Cause)
	}
	for _, u := range []string{"http://shop.example/cart/1", "http://busy.example/page"} {
		var answer struct{ Why string }
		if err := get(at, url.Values{"url": {u}}, &answer); err != nil {
			return err
		}
		fmt.Fprintf(out, "may I fetch %s?\n  %s\n", u, answer.Why)
	}
	return nil
}

// get reads a view of the page as JSON.
func get(at string, query url.Values, into any) error {
	query.Set("format", "json")
	resp, err := http.Get(at + "?" + query.Encode())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}
