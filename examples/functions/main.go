// Functions is a crawler of short-lived functions: a queue starts one for each page, and
// nothing stays in memory between two of them. Redis has the cached copies and the pace, so
// each robots.txt is fetched once and each host is visited at its own pace, whichever
// function does it.
//
//	go run ./functions
//
// A function is paid by the second, so it waits for its turn for a moment only (MaxWait). A
// page that must wait longer goes back to the queue with the time of its decision: it is the URL
// of the decision, which after a redirect is not the page that was asked for. A redirect
// waits for its turn however long that takes, so give the function a deadline.
//
// It leaves out: the queue of your provider (here a slice), and a connection that is opened
// before the first page: most providers keep a process for some pages, so make the Transport
// a package variable there.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/examples/internal/localredis"
	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

// result is what the queue learns of a page.
type result struct {
	page  string
	what  string
	later time.Time // put the page back into the queue for this time; zero: done
}

// handle is one function. Everything in it starts cold.
func handle(ctx context.Context, page, server string, base http.RoundTripper) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // the function's deadline
	defer cancel()
	store, err := redis.Open("redis://"+server, &redis.Options{Timeout: 2 * time.Second})
	if err != nil {
		return result{}, err
	}
	defer store.Close()
	t, err := fetcher.New(agent, &fetcher.Options{
		Base: base, Store: store, MaxBytes: 1 << 20, // the memory ends with the function
		// No Parallel: a process that ends right after a page may not give its place back,
		// and the host would rest until the place expires.
		// No Crawl-delay beyond the deadline: the redirect of a page would never have its turn.
		Pace: &pace.Limits{Gap: 200 * time.Millisecond, MaxWait: 50 * time.Millisecond, DelayCap: 15 * time.Second},
	})
	if err != nil {
		return result{}, err
	}
	defer t.CloseIdleConnections() // the next function need not wait until the lease of the host has run out
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return result{}, err
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
	var denied *fetcher.DeniedError
	switch {
	case errors.Is(err, fetcher.ErrDeferred) && errors.As(err, &denied):
		return result{denied.Decision.URL, "later", denied.Decision.RetryAt}, nil
	case errors.Is(err, fetcher.ErrDisallowed):
		return result{page: page, what: "dropped"}, nil
	case err != nil:
		return result{}, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return result{page: page, what: "fetched"}, err
}

func main() {
	err := run(os.Stdout)
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Println("There is no redis-server on this machine; install it to see this example.")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	server, address, err := localredis.Start()
	if err != nil {
		return err
	}
	defer server.Wait()
	defer server.Process.Kill()
	local := web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /cart\n"), Moved: "/old"},
		"busy.example": {Robots: web.Status(503)},
	})
	defer local.Close()
	queue := []string{"http://shop.example/old", "http://shop.example/cart", "http://shop.example/1", "http://shop.example/2",
		"http://shop.example/3", "http://busy.example/1", "http://busy.example/2"}
	return dispatch(out, queue, address, local)
}

// dispatch plays the provider: it starts a function for each page at once, and one for each
// page that was deferred when the first of them may be tried again.
func dispatch(out io.Writer, queue []string, server string, local *web.Web) error {
	functions, again := 0, 0
	for {
		results, errs := make([]result, len(queue)), make([]error, len(queue))
		var all sync.WaitGroup
		for i, page := range queue {
			all.Go(func() { results[i], errs[i] = handle(context.Background(), page, server, local.Transport()) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		functions += len(queue)
		queue = queue[:0]
		next := time.Now().Add(time.Second)
		for _, r := range results {
			if r.later.IsZero() || time.Until(r.later) > 10*time.Second { // a host that is down
				fmt.Fprintln(out, r.what, r.page)
				continue
			}
			queue, again = append(queue, r.page), again+1
			if r.later.Before(next) {
				next = r.later
			}
		}
		if len(queue) == 0 {
			break
		}
		time.Sleep(time.Until(next)) // a provider starts each page at its own time
	}
	fmt.Fprintf(out, "%d functions, %d pages went back to the queue, %d requests for robots.txt\n", functions, again, len(local.Requests("", "/robots.txt")))
	return nil
}
