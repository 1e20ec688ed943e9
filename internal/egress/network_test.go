package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"
)

// A refused address is refused after resolution and before the first packet: a
// real listener sees no connection.
func TestNoConnectionToARefusedAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	defer l.Close()
	for name, n := range map[string]*Network{
		"4.4/default": New(http.DefaultTransport, Options{}),
		"4.4/zero":    New(&http.Transport{}, Options{}),
	} {
		if conn, err := n.guarded.DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
			conn.Close()
			t.Errorf("%s: connected to %v, want a refusal", name, l.Addr())
		}
	}
	l.(*net.TCPListener).SetDeadline(time.Now())
	if conn, err := l.Accept(); err == nil {
		conn.Close()
		t.Errorf("the listener got a connection from %v, want none", conn.RemoteAddr())
	}
}

// The clone that checks addresses speaks HTTP/2 if the base does.
func TestProtocols(t *testing.T) {
	off := &http.Transport{Protocols: new(http.Protocols)}
	off.Protocols.SetHTTP1(true)
	for name, tt := range map[string]struct {
		base *http.Transport
		want bool
	}{
		"zero":       {&http.Transport{}, true},
		"default":    {http.DefaultTransport.(*http.Transport), true},
		"own_dialer": {&http.Transport{DialContext: (&net.Dialer{}).DialContext}, false},
		"forced":     {&http.Transport{DialContext: (&net.Dialer{}).DialContext, ForceAttemptHTTP2: true}, true},
		"without":    {off, false},
	} {
		n := New(tt.base, Options{Pages: true})
		n.guarded.CloseIdleConnections() // prepares the protocols
		if got := n.guarded.TLSNextProto["h2"] != nil; got != tt.want {
			t.Errorf("4.4/%s: HTTP/2 %v, want %v", name, got, tt.want)
		}
	}
}

// roundTripper is a base that is not known.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// noNames is a Lookup that resolves nothing.
func noNames(_ context.Context, _, host string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// Names of local networks are refused however they are written, and a trailing dot
// changes nothing.
func TestNamesOfLocalNetworks(t *testing.T) {
	for host, refused := range map[string]bool{
		"printer.local": true, "PRINTER.LOCAL": true, "printer.\uff4cocal": true, "printer\u3002local": true,
		"printer.local.": true, "printer": true, "nowhere.example.": false, "B\u00fccher.example": false,
	} {
		sent := false
		n := New(roundTripper(func(*http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}), Options{Pages: true})
		n.Lookup = noNames
		_, err := n.Page(&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: host, Path: "/"}})
		if got := errors.As(err, new(*RefusedError)); got != refused || sent == refused {
			t.Errorf("4.4/%s: refused %v (%v), sent %v; want refused %v", host, got, err, sent, refused)
		}
	}
}

// A connection to a refused address is recognised also if the host is written in
// another form than net/http uses.
func TestConnectionsOfNamesInAnyForm(t *testing.T) {
	served := 0
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no loopback: ", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ })}
	go server.Serve(l) // ends with Close
	defer server.Close()
	base := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}}
	defer base.CloseIdleConnections()
	for _, host := range []string{"xn--bcher-kva.example", "b\u00fccher.example", "B\u00fccher.EXAMPLE", "PLAIN.example", "plain.example."} {
		n := New(roundTripper(base.RoundTrip), Options{Pages: true})
		n.Lookup = noNames
		_, err := n.Page((&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: host, Path: "/"}, Header: http.Header{}}).WithContext(t.Context()))
		if !errors.As(err, new(*RefusedError)) || served > 0 {
			t.Errorf("4.4/%s: %v and %d requests served, want it refused and none", host, err, served)
		}
	}
}

// An answer without a body keeps http.NoBody, by which its caller knows that there is nothing to
// close, and the context of its request has ended. The connection of a 101 keeps both.
func TestAnswersWithoutABody(t *testing.T) {
	conn := new(net.TCPConn)
	for name, tt := range map[string]struct {
		answer http.Response
		want   io.ReadCloser
		ended  bool
	}{
		"no_body": {http.Response{StatusCode: 204, Body: http.NoBody}, http.NoBody, true},
		"nil":     {http.Response{StatusCode: 204}, nil, true},
		"upgrade": {http.Response{StatusCode: 101, Body: conn}, conn, false},
	} {
		var ctx context.Context
		n := New(roundTripper(func(r *http.Request) (*http.Response, error) {
			ctx = r.Context()
			return &tt.answer, nil
		}), Options{Pages: true})
		n.Lookup = noNames
		resp, err := n.Page((&http.Request{Method: http.MethodHead, URL: &url.URL{Scheme: "http", Host: "a.example"}}).WithContext(t.Context()))
		if err != nil || resp.Body != tt.want || (ctx.Err() != nil) != tt.ended {
			t.Errorf("4.4/%s: %v, a body %T, the context ended with %v; want %T, ended %v", name, err, resp.Body, ctx.Err(), tt.want, tt.ended)
		}
	}
}
