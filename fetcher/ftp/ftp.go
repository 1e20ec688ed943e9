// Package ftp fetches files by FTP (RFC 959) through an http.Client, so that a crawler
// can fetch ftp URLs and the robots.txt that governs them (RFC 9309, section 2.3).
//
// A [Transport] is registered with an http.Transport, which serves the other schemes.
// Options.Schemes of package fetcher admits the URLs:
//
//	base := http.DefaultTransport.(*http.Transport).Clone()
//	base.RegisterProtocol("ftp", &ftp.Transport{})
//	t, err := fetcher.New(agent, &fetcher.Options{Base: base, Schemes: []string{"ftp"}})
//
// ftp://host/robots.txt then governs the URLs of ftp://host and no others: an
// http://host has a robots.txt of its own. Rules, cached copies, pace and outages are as
// for http.
//
// # What an answer means
//
// A request is a GET; any other method is an error. The answer is one that net/http
// could have given:
//
//   - 200 with the file. Content-Length is there if the server knows SIZE.
//   - 404 if the server answers 550 for the file. It does so for a directory, too, and
//     for a file that it does not show.
//   - 401 if it refuses the login, with 530 or 332, and keeps the connection.
//
// Everything else is an error. A reply of 400 to 499, such as 421 (no more connections)
// or 425 (no data connection), is a *policy.Failure of class Connect. A 530 with which the
// server closes the connection is one, too: it is how some servers say that they have no
// room. An unexpected reply is one of class Protocol. A file that breaks off, that is
// shorter than SIZE said, or after which the server does not report success is one of
// class Body. To the fetcher all of these are a server that is down: no decision rests on
// half a file.
//
// # What you need to think about
//
// The login is anonymous, and the password is the User-Agent, so that the log of the
// server names the crawler. A URL with userinfo logs in with that; its robots.txt is
// fetched anonymously.
//
// The path of a URL is relative to the folder of the login, and /%2Fetc is /etc there
// (RFC 1738, section 3.2.2). A URL with a query is an error.
//
// Each request has connections of its own, which end with its body or its context. A
// request without a deadline can wait for ever, so give it one. The data connection
// is passive and goes to the address of the control connection, whatever address the
// server names. Replies are read up to 64 KiB. Connections are reported to net/http/httptrace,
// by which Options.PageEgress sees their address.
//
// Not supported: TLS, proxies, active data connections, listings of directories, the
// ;type of a URL, and requests for a part of a file.
package ftp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/origin"
)

// Transport is an http.RoundTripper for GET requests of ftp URLs. The zero value is
// ready for use. It has no state, and is safe for concurrent use.
type Transport struct{}

// RoundTrip fetches one file. It keeps the contract of http.RoundTripper.
func (*Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	address, err := address(req)
	if err != nil {
		return nil, fmt.Errorf("ftp: %w", err)
	}
	s := &session{req: req}
	s.ctx, s.end = context.WithCancel(req.Context())
	file, size, err := s.open(address)
	if err == nil {
		resp := answer(req, http.StatusOK)
		if resp.ContentLength = size; size >= 0 {
			resp.Header.Set("Content-Length", strconv.FormatInt(size, 10))
		}
		resp.Body = &body{session: s, file: file, size: size}
		return resp, nil
	}
	defer s.end()
	code, _ := s.reply(err)
	if status := s.status(code); status > 0 {
		s.client.Quit()
		return answer(req, status), nil
	}
	return nil, s.failure(err)
}

// address returns the host and port that a request is for. An error says why FTP cannot
// serve the request.
func address(req *http.Request) (string, error) {
	u := req.URL
	switch {
	case u == nil || u.Scheme != "ftp":
		return "", errors.New("want an ftp URL")
	case req.Method != "" && req.Method != http.MethodGet:
		return "", fmt.Errorf("method %s; want GET", clean.Quote(req.Method, maxQuote))
	case req.Host != "" && req.Host != u.Host:
		// The rules of that host were checked, and FTP cannot ask for it.
		return "", fmt.Errorf("the request has Host %s; want the host of the URL", clean.Quote(req.Host, maxQuote))
	case u.Opaque != "" || u.ForceQuery || u.RawQuery != "":
		return "", errors.New("an opaque URL or one with a query; want a path only")
	}
	host, err := origin.Host(u.Hostname())
	if err != nil {
		return "", err
	}
	return host + ":" + cmp.Or(u.Port(), strconv.FormatUint(origin.DefaultPort(u.Scheme), 10)), nil
}

// login returns the user and the password of a request.
func login(req *http.Request) (user, password string) {
	if u := req.URL.User; u != nil {
		password, _ = u.Password()
		return u.Username(), password
	}
	return "anonymous", cmp.Or(req.Header.Get("User-Agent"), "anonymous@")
}

// fileName returns the name of a file in the folder of the login.
func fileName(path string) string { return cmp.Or(strings.TrimPrefix(path, "/"), "/") }

// answer returns the answer to a request.
func answer(req *http.Request, status int) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.0", ProtoMajor: 1, Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}
