// Retryable uses Polite and go-retryablehttp together in both orders, and counts the
// requests that the sites see.
//
//	go run ./retryable
//
// Put Polite below the retries. Then each try is a request that waits for its turn and
// gets its own decision. Polite above the retries works too, but then one turn covers
// all tries of a page, and a robots.txt that answers 503 is fetched several times in a
// row instead of once a minute. The addresses of its redirects are checked before the
// connection is made, instead of while it is made. In both orders a redirect of a page is a
// request of its own: it waits for its turn and gets its own decision.
//
// It leaves out: when a deferred page is visited again (see workers), and a limit on the time
// that all tries of a page may take.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	for _, way := range []struct {
		name   string
		client func(base http.RoundTripper) (*http.Client, error)
	}{
		{"Polite under go-retryablehttp", under},
		{"Polite over go-retryablehttp", over},
	} {
		fmt.Fprintf(out, "%s\n", way.name)
		if err := crawl(out, way.client); err != nil {
			return err
		}
	}
	return nil
}

// crawl visits a page that works at the second try, a page that redirects, a disallowed page,
// and a page of a site whose robots.txt cannot be fetched.
func crawl(out io.Writer, build func(http.RoundTripper) (*http.Client, error)) error {
	local := web.Start(map[string]web.Site{
		"shop.example": {
			Robots: web.Text("User-agent: *\nDisallow: /cart\n"),
			Page:   web.Steps(web.Status(500), web.Text("here you are")),
			Moved:  "/old",
		},
		"busy.example": {Robots: web.Status(503)},
	})
	defer local.Close()
	client, err := build(local.Transport()) // http.DefaultTransport visits the real web
	if err != nil {
		return err
	}
	for _, page := range []string{"http://shop.example/page/1", "http://shop.example/old", "http://shop.example/cart", "http://busy.example/"} {
		resp, err := client.Get(page)
		var denied *fetcher.DeniedError
		switch {
		case errors.As(err, &denied):
			fmt.Fprintln(out, "  ", denied.Decision)
		case err != nil:
			return err
		default:
			resp.Body.Close()
			fmt.Fprintln(out, "   fetched", page, resp.Status)
		}
	}
	for _, at := range [][2]string{{"shop.example", "/page/1"}, {"shop.example", "/moved/here"}, {"shop.example", "/cart"}, {"busy.example", "/robots.txt"}} {
		fmt.Fprintf(out, "   requests for %s%s: %d\n", at[0], at[1], len(local.Requests(at[0], at[1])))
	}
	return nil
}

// under puts Polite below the retries.
func under(base http.RoundTripper) (*http.Client, error) {
	t, err := fetcher.New(agent, &fetcher.Options{Base: base, Pace: &pace.Limits{Gap: 10 * time.Millisecond}})
	if err != nil {
		return nil, err
	}
	rc := newRetrying()
	rc.HTTPClient = &http.Client{Transport: t}
	// A refusal is final. Without this, go-retryablehttp tries three more times by
	// default. That sends no request, but takes seconds.
	rc.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	return rc.StandardClient(), nil
}

// over puts Polite above the retries.
func over(base http.RoundTripper) (*http.Client, error) {
	rc := newRetrying()
	rc.HTTPClient = &http.Client{
		Transport: base,
		// Pass each redirect on to Polite and http.Client.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t, err := fetcher.New(agent, &fetcher.Options{
		Base: &retryablehttp.RoundTripper{Client: rc},
		Pace: &pace.Limits{Gap: 10 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t}, nil
}

// newRetrying returns a client that returns the last answer with any status instead of
// an error.
func newRetrying() *retryablehttp.Client {
	rc := retryablehttp.NewClient()
	rc.Logger = nil
	rc.RetryMax = 2
	rc.RetryWaitMin, rc.RetryWaitMax = 20*time.Millisecond, 100*time.Millisecond
	rc.ErrorHandler = retryablehttp.PassthroughErrorHandler
	return rc
}
