// Ownstack is a crawler with its own HTTP code, which here opens a connection and writes
// a GET request. Only the decisions come from Polite: it imports package policy and not
// fetcher.
//
//	go run ./ownstack
//
// The crawler keeps one Record for each scheme and authority, fetches robots.txt when the
// Record is due, follows its redirects, and fills an Attempt with the result. Learn and
// Decide do the rest.
//
// It leaves out: turns between requests, TLS, redirects of pages, and a bound on the records.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example":  {Robots: web.Text("User-agent: *\nDisallow: /cart\nAllow: /cart/help\n")},
		"moved.example": {Robots: web.Redirect("http://shop.example/robots.txt")},
		"round.example": {Robots: web.Redirect("http://round.example/robots.txt")},
		"busy.example":  {Robots: web.Status(503)},
		"plain.example": {},
	})
	defer local.Close()

	c := &crawler{
		profile: policy.RFC9309(),
		records: map[string]*policy.Record{},
		dial:    local.Transport().DialContext, // for the real web: (&net.Dialer{}).DialContext
	}
	for _, page := range []string{
		"http://shop.example/cart/1", "http://shop.example/cart/help", "http://moved.example/cart/2",
		"http://round.example/", "http://busy.example/", "http://plain.example/", "http://lost.test/",
	} {
		d, err := c.check(page)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, d)
		if d.Allowed() {
			resp, _, err := c.get(page, nil)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, "    fetched:", resp.Status)
		}
	}
	return nil
}

// crawler has its own HTTP code, and a Record of each site.
type crawler struct {
	profile *policy.Profile
	records map[string]*policy.Record // by scheme and authority
	dial    func(ctx context.Context, network, addr string) (net.Conn, error)
}

// check decides about a page. It fetches robots.txt first if that is due.
func (c *crawler) check(page string) (policy.Decision, error) {
	u, err := url.Parse(page)
	if err != nil {
		return policy.Decision{}, err
	}
	key := u.Scheme + "://" + u.Host // a real crawler uses fetcher.Authority or its own canonical form
	rec := c.records[key]
	if rec.Due(time.Now()) {
		rec = c.profile.Learn(rec, c.retrieve(key+"/robots.txt", rec))
		c.records[key] = rec
	}
	return rec.Decide("ExampleBot", u, time.Now()), nil
}

// retrieve fetches a robots.txt and follows as many redirects as the profile permits.
// Learn decides what the last answer means.
func (c *crawler) retrieve(robots string, old *policy.Record) policy.Attempt {
	a := policy.Attempt{Robots: robots, Served: robots, Sent: time.Now()}
	for {
		// The validators belong to the URL that the copy came from.
		var header http.Header
		if a.Served == old.ServedFrom() {
			header = old.Validators()
		}
		resp, body, err := c.get(a.Served, header)
		a.Received, a.Err = time.Now(), err
		if err != nil {
			a.Status, a.Header, a.Body = 0, nil, nil // drop the answer of the previous hop
			return a
		}
		a.Status, a.Header = resp.StatusCode, resp.Header
		a.Body, a.Cut = body, len(body) > c.profile.Limit
		to, err := a.Location()
		if err != nil || len(a.Hops) == c.profile.Hops {
			return a // not a redirect, or one too many
		}
		a.Hops = append(a.Hops, policy.Hop{From: a.Served, To: to.String(), Status: a.Status})
		a.Served = to.String()
	}
}

// get makes one request on a new connection. An error is a *policy.Failure that says
// which part of the request failed.
func (c *crawler) get(page string, header http.Header) (*http.Response, []byte, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, nil, failure(policy.Protocol, err)
	}
	deadline := time.Now().Add(30 * time.Second)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	conn, err := c.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
	if err != nil {
		return nil, nil, failure(policy.Connect, err)
	}
	defer conn.Close()
	conn.SetDeadline(deadline)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nConnection: close\r\n", u.RequestURI(), u.Host, agent)
	header.Write(conn)
	fmt.Fprint(conn, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, nil, failure(policy.Protocol, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.profile.Limit)+1))
	if err != nil { // a truncated file must not count as a complete one
		return nil, nil, failure(policy.Body, err)
	}
	return resp, body, nil
}

// failure returns the error of a part of a request.
func failure(part policy.Class, err error) *policy.Failure {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		part = policy.DNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		part = policy.Timeout
	}
	return &policy.Failure{Class: part, Err: err}
}
