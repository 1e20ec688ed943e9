// Retryable uses Polite and go-retryablehttp together.
//
//	go run ./retryable https://example.com/          # Polite under the retries
//	go run ./retryable -over https://example.com/    # Polite over the retries
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
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/fetcher"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	above := flag.Bool("over", false, "put Polite over the retries")
	flag.Parse()
	build := under
	if *above {
		build = over
	}
	client, err := build(fetcher.Options{}, retryablehttp.NewClient())
	if err != nil {
		log.Fatal(err)
	}
	visit(os.Stdout, client, flag.Args())
}

// visit fetches pages and prints what became of each.
func visit(out io.Writer, client *http.Client, pages []string) {
	for _, page := range pages {
		resp, err := client.Get(page)
		var denied *fetcher.DeniedError
		switch {
		case errors.As(err, &denied):
			fmt.Fprintln(out, denied.Decision)
		case err != nil:
			fmt.Fprintln(out, "failed ", err)
		default:
			resp.Body.Close()
			fmt.Fprintln(out, "fetched", page, resp.Status)
		}
	}
}

// under puts Polite below the retries.
func under(o fetcher.Options, rc *retryablehttp.Client) (*http.Client, error) {
	t, err := fetcher.New(agent, &o)
	if err != nil {
		return nil, err
	}
	configure(rc)
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

// over puts Polite above the retries, which become its base.
func over(o fetcher.Options, rc *retryablehttp.Client) (*http.Client, error) {
	configure(rc)
	rc.HTTPClient = &http.Client{
		Transport: o.Base,
		// Pass each redirect on to Polite and http.Client.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	o.Base = &retryablehttp.RoundTripper{Client: rc}
	t, err := fetcher.New(agent, &o)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: t, Timeout: 3 * time.Minute}, nil
}

// configure makes a client return the last answer with any status instead of an error.
func configure(rc *retryablehttp.Client) {
	rc.Logger = nil
	rc.RetryMax = 2
	rc.ErrorHandler = retryablehttp.PassthroughErrorHandler
}
