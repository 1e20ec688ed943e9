package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// This file is the web: one server on loopback for all hosts.

// pageText is every page, 2 KiB.
var pageText = strings.Repeat("A page of text.\n", 128)

// startWeb starts the server.
func startWeb() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			return
		}
		io.WriteString(w, pageText)
	}))
}

// pageOf returns the URL of the page of a host.
func pageOf(host int) string { return fmt.Sprintf("http://host%d.test/page", host) }

// transport returns a transport that has only this server, under any name. It makes a
// connection for almost every page, as a crawler of many hosts does.
func transport(address string) *http.Transport {
	return &http.Transport{MaxIdleConns: 1, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// Else the ports of closed connections stay in use for a minute.
		return c, c.(*net.TCPConn).SetLinger(0)
	}}
}
