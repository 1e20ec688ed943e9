// Ownstack is a crawler with its own HTTP code, which here opens a connection and writes
// a GET request. Only the decisions come from Polite: it imports package policy and not
// fetcher.
//
//	go run ./ownstack https://example.com/ https://example.org/
//
// The crawler keeps one Record for each scheme and authority, fetches robots.txt when the
// Record is due, follows its redirects, and fills an Attempt with the result. Learn and
// Decide do the rest.
//
// It leaves out: turns between requests, redirects of pages, and a bound on the records.
package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	c := &crawler{profile: policy.RFC9309(), records: map[string]*policy.Record{}, dial: new(net.Dialer).DialContext}
	for _, page := range os.Args[1:] {
		if err := c.visit(os.Stdout, page); err != nil {
			log.Print(err)
		}
	}
}

// visit fetches a page if it is allowed. A deferred page is one to visit again at RetryAt.
func (c *crawler) visit(out io.Writer, page string) error {
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
		rec = c.profile.Learn(rec, c.fetchRobots(key+"/robots.txt", rec))
		c.records[key] = rec
	}
	return rec.Decide("ExampleBot", u, time.Now()), nil
}

// fetchRobots fetches a robots.txt and follows as many redirects as the profile permits.
// Learn decides what the last answer means.
func (c *crawler) fetchRobots(robots string, old *policy.Record) policy.Attempt {
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
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	conn, err := c.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	if err != nil {
		return nil, nil, failure(policy.Connect, err)
	}
	defer conn.Close()
	conn.SetDeadline(deadline)
	if u.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname()})
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, nil, failure(policy.TLS, err)
		}
		conn = secure
	}
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
