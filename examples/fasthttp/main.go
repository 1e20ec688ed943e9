// Fasthttp puts Polite over a client without net/http: a base of thirty lines makes the requests
// with fasthttp, for pages and for robots.txt.
//
//	go run ./fasthttp https://example.com/
//
// It leaves out: trailers, bodies of requests, and the address rule for pages (Options.PageEgress),
// which sees the names that such a base connects to, but not their addresses.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/rfc9309/polite/fetcher"
)

// base makes requests with a fasthttp client. Its Do follows no redirect, so that Polite checks
// each. It must not try again either: each try takes a turn.
type base struct{ client *fasthttp.Client }

func (b base) RoundTrip(req *http.Request) (*http.Response, error) {
	out, in := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(out)
	defer fasthttp.ReleaseResponse(in)
	out.Header.SetMethod(cmp.Or(req.Method, http.MethodGet))
	out.SetRequestURI(req.URL.String())
	for name, values := range req.Header { // User-Agent, and If-None-Match and others for robots.txt
		for _, v := range values {
			out.Header.Add(name, v)
		}
	}
	deadline, ok := req.Context().Deadline() // robots.txt has one: Options.Timeout
	if !ok {
		deadline = time.Now().Add(time.Minute)
	}
	if err := b.client.DoDeadline(out, in, deadline); err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: in.StatusCode(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		ContentLength: int64(len(in.Body())), Body: io.NopCloser(bytes.NewReader(bytes.Clone(in.Body()))), Request: req,
	}
	// Copy the whole header. Polite reads Location, Retry-After, RateLimit, Cache-Control, Age, Date,
	// Expires, ETag, Last-Modified, Content-Type and Content-Encoding, and you may want the others.
	for name, value := range in.Header.All() {
		resp.Header.Add(string(name), string(value))
	}
	return resp, nil
}

func main() {
	if err := run(os.Stdout, &fasthttp.Client{}, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer, client *fasthttp.Client, pages []string) error {
	client.MaxIdemponentCallAttempts, client.NoDefaultUserAgentHeader, client.MaxResponseBodySize = 1, true, 8<<20
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Base: base{client}})
	if err != nil {
		return err
	}
	for _, page := range pages {
		resp, err := (&http.Client{Transport: t, Timeout: 3 * time.Minute}).Get(page)
		if err != nil {
			fmt.Fprintln(out, "dropped", err)
			continue
		}
		resp.Body.Close()
		fmt.Fprintln(out, "fetched", page, resp.StatusCode)
	}
	return nil
}
