package egress

import (
	"net"
	"net/http"
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
		"4.4/default": New(http.DefaultTransport, Options{Standard: true}),
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
		n.pages.CloseIdleConnections() // prepares the protocols
		if got := n.pages.TLSNextProto["h2"] != nil; got != tt.want {
			t.Errorf("4.4/%s: HTTP/2 %v, want %v", name, got, tt.want)
		}
	}
}
