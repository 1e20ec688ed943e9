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
	seen := map[string]bool{robots: true}
	for {
		// The validators belong to the URL that the copy came from.
		var header http.Header
		if a.Served == old.Origin() {
			header = old.Validators()
		}
		resp, body, err := c.get(a.Served, header)
		a.Received, a.Err = time.Now(), err
		if err != nil {
			a.Status, a.Header, a.Body = 0, nil, nil // drop the answer of the previous hop
			return a
		}
		a.Status, a.Header = resp.StatusCode, resp.Header
		if a.Cut = len(body) > c.profile.Limit; a.Cut {
			body = body[:c.profile.Limit]
		}
		a.Body = body
		to, err := a.Location()
		if err != nil || len(a.Hops) == c.profile.Hops || seen[to.String()] {
			return a // not a redirect, or one that is not followed: Learn decides what it means
		}
		seen[to.String()] = true
		a.Hops = append(a.Hops, policy.Hop{From: a.Served, To: to.String(), Status: a.Status})
		a.Served = to.String()
	}
}

// get makes one request on a new connection. An error is a *policy.Failure that says
// which part of the request failed.
func (c *crawler) get(page string, header http.Header) (*http.Response, []byte, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, nil, &policy.Failure{Class: policy.Protocol, Err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = "80"
	}
	conn, err := c.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, nil, &policy.Failure{Class: class(err, policy.Connect), Err: err}
	}
	defer conn.Close()
	until, _ := ctx.Deadline()
	conn.SetDeadline(until)

	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\nConnection: close\r\n", u.RequestURI(), u.Host, agent)
	header.Write(conn)
	fmt.Fprint(conn, "\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, nil, &policy.Failure{Class: class(err, policy.Protocol), Err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(c.profile.Limit)+1))
	if err != nil { // a truncated file must not count as a complete one
		return nil, nil, &policy.Failure{Class: class(err, policy.Body), Err: err}
	}
	return resp, body, nil
}

// class returns the class of a failure in a part of a request.
func class(err error, part policy.Class) policy.Class {
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return policy.DNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return policy.Timeout
	}
	return part
}
