package retrieve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// TestConnections uses connections that fail before a request, over http and https
// (RFC 9309, section 2.3.1.4). Operators count failures by their class.
func TestConnections(t *testing.T) {
	line := func(l httptest.Line) func(*httptest.Web, *httptest.Site) {
		return func(_ *httptest.Web, s *httptest.Site) { s.Connect(l) }
	}
	cert := func(c httptest.Certificate) func(*httptest.Web, *httptest.Site) {
		return func(_ *httptest.Web, s *httptest.Site) { s.Cert(c) }
	}
	name := func(n httptest.Name) func(*httptest.Web, *httptest.Site) {
		return func(w *httptest.Web, _ *httptest.Site) { w.Names("example.com", n) }
	}
	for _, tt := range []struct {
		name   string
		origin string
		also   func(*httptest.Web, *httptest.Site)
		class  policy.Class
		dials  int
	}{
		{"no_such_host", secure, name(httptest.NoSuchHost()), policy.DNS, 1},
		{"servfail", secure, name(httptest.ServFail()), policy.DNS, 2},
		{"no_address", secure, name(httptest.Addrs()), policy.DNS, 1},
		{"resolver_is_mute", secure, name(httptest.NoAnswer()), policy.DNS, 2},
		{"refused", secure, line(httptest.Refused), policy.Connect, 2},
		{"unreachable", secure, line(httptest.Unreachable), policy.Connect, 2},
		{"no_answer_to_syn", secure, line(httptest.Lost), policy.Timeout, 0},
		{"down", secure, func(_ *httptest.Web, s *httptest.Site) { s.Down() }, policy.Connect, 2},
		{"http_hangs_up", site, line(httptest.HungUp), policy.Connect, 2},
		{"http_is_torn", site, line(httptest.Torn), policy.Connect, 2},
		{"http_is_silent", site, line(httptest.Silent), policy.Timeout, 1},
		{"tls_hangs_up", secure, line(httptest.HungUp), policy.Connect, 2},
		{"tls_is_torn", secure, line(httptest.Torn), policy.Connect, 2},
		{"tls_is_silent", secure, line(httptest.Silent), policy.Timeout, 2},
		{"tls_is_plain_http", secure, line(httptest.Plain), policy.TLS, 1},
		{"certificate_expired", secure, cert(httptest.Expired), policy.TLS, 1},
		{"certificate_of_another", secure, cert(httptest.WrongName), policy.TLS, 1},
		{"certificate_by_nobody", secure, cert(httptest.UnknownIssuer), policy.TLS, 1},
		{"no_certificate", secure, cert(httptest.NoCertificate), policy.TLS, 1},
	} {
		t.Run("2.3.1.4/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(tt.origin).Robots(text)
				tt.also(web, s)
				a := trial{want: down}.hold(t, over(web.Transport()), tt.origin)
				if got, n := web.Dials(), len(web.Requests()); !hasClass(a, tt.class) || len(got) != tt.dials || n != 0 {
					t.Errorf("got  %v after %d dials and %d requests\nwant class %v after %d and none", a.Err, len(got), n, tt.class, tt.dials)
				}
			})
		})
	}
}

// A certificate that a function of the tls.Config refuses is a failure of TLS as well, and
// is not tried again: crypto/tls does not wrap the error of that function.
func TestCertificateThatTheBaseRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(secure).Robots(text)
		base := web.Transport()
		base.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
			_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: x509.NewCertPool()})
			return err
		}}
		a := trial{want: down}.hold(t, over(base), secure)
		if n := len(web.Dials()); !hasClass(a, policy.TLS) || n != 1 {
			t.Errorf("2.3.1.4/certificate_refused_by_the_base: got %v after %d dials, want class %v after 1", a.Err, n, policy.TLS)
		}
	})
}

// wire returns a transport whose connections are served by a function, byte by
// byte, and counts them. The function must return when the connection ends.
func wire(serve func(net.Conn)) (base *http.Transport, dials *atomic.Int32) {
	dials = new(atomic.Int32)
	return &http.Transport{
		ForceAttemptHTTP2: true, IdleConnTimeout: 10 * time.Second,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			near, far := net.Pipe()
			go func() { // ends with the connection
				defer far.Close()
				serve(far)
			}()
			return near, nil
		},
	}, dials
}

// mostDials is the largest number of connections of one fetch: two tries, with the
// three that net/http may make for each.
const mostDials = 6

// identity makes a certificate for example.com and client settings that trust it.
// Session tickets are off: a pipe without a buffer would wait for both ends to
// read.
func identity(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"},
		NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	server = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, SessionTicketsDisabled: true}
	return server, &tls.Config{RootCAs: pool}
}

// hello reads the first record of the client.
func hello(c net.Conn) { c.Read(make([]byte, 16<<10)) }

// drain reads until the client closes the connection.
func drain(c net.Conn) { io.Copy(io.Discard, c) }

// TestHandshakes uses servers that fail during the TLS handshake or right after it.
func TestHandshakes(t *testing.T) {
	server, client := identity(t)
	config := func(change func(*tls.Config)) *tls.Config {
		c := server.Clone()
		change(c)
		return c
	}
	// speak answers every request by TLS with whole(), and ends as the row says.
	speak := func(c *tls.Config, answer string, end func(conn *tls.Conn, below net.Conn)) func(net.Conn) {
		return func(below net.Conn) {
			conn := tls.Server(below, c)
			if conn.Handshake() != nil {
				return
			}
			hello(conn)
			io.WriteString(conn, answer)
			end(conn, below)
		}
	}
	ok := whole("HTTP/1.1 200 OK", "Connection: close")
	closes := func(conn *tls.Conn, _ net.Conn) { conn.Close() }
	const either = policy.Class(255) // of several
	for _, tt := range []struct {
		name  string
		serve func(net.Conn)
		want  string
		class policy.Class
	}{
		{"2.3.1.1/whole", speak(server, ok, closes), obeyed, 0},
		{"2.3.1.1/tls_1.2", speak(config(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }), ok, closes), obeyed, 0},
		{"2.3.1.1/no_farewell_after_a_length", speak(server, ok, func(_ *tls.Conn, below net.Conn) { below.Close() }), obeyed, 0},
		{"2.3.1.4/no_farewell_within_a_length", speak(server, ok[:len(ok)-5], func(_ *tls.Conn, below net.Conn) { below.Close() }), down, policy.Body},
		{"2.3.1.4/rubbish_within_the_body", speak(server, ok[:len(ok)-5], func(_ *tls.Conn, below net.Conn) {
			io.WriteString(below, "\x17\x03\x03\x00\x10rubbishrubbishru")
			drain(below)
		}), down, policy.Body},
		{"2.3.1.4/tls_1.1", speak(config(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }), ok, closes), down, policy.TLS},
		// The server's alert and the end of its connection race in TLS 1.3: either may be seen first.
		{"2.3.1.4/wants_a_certificate", speak(config(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), ok, closes), down, either},
		{"2.3.1.4/wants_a_certificate_1.2", speak(config(func(c *tls.Config) { c.ClientAuth, c.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12 }), ok, closes), down, policy.TLS},
		{"2.3.1.4/closes_after_hello", hello, down, policy.Connect},
		{"2.3.1.4/alert_after_hello", func(c net.Conn) { hello(c); io.WriteString(c, "\x15\x03\x03\x00\x02\x02\x28"); drain(c) }, down, policy.TLS},
		{"2.3.1.4/rubbish_after_hello", func(c net.Conn) { hello(c); io.WriteString(c, strings.Repeat("rubbish", 100)); drain(c) }, down, policy.TLS},
		{"2.3.1.4/half_a_hello", func(c net.Conn) { hello(c); io.WriteString(c, "\x16\x03\x03\x00\x7a\x02\x00"); drain(c) }, down, policy.Timeout},
		{"2.3.1.4/a_record_over_its_limit", func(c net.Conn) {
			hello(c)
			io.WriteString(c, "\x16\x03\x03\xff\xff")
			drain(c)
		}, down, policy.TLS},
		{"2.3.1.4/hello_that_drips", func(c net.Conn) {
			hello(c)
			for i := 0; ; i++ {
				if _, err := c.Write([]byte("\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03abcdefgh")[i%20 : i%20+1]); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}, down, policy.Timeout},
		{"2.3.1.4/never_reads", func(c net.Conn) { time.Sleep(40 * time.Second) }, down, policy.Timeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, dials := wire(tt.serve)
				base.TLSClientConfig, base.TLSHandshakeTimeout = client, 10*time.Second
				a := trial{want: tt.want}.hold(t, over(base), secure)
				if tt.want == down && tt.class != either && !hasClass(a, tt.class) {
					t.Errorf("got  %v\nwant class %v", a.Err, tt.class)
				}
				if n := dials.Load(); n > mostDials {
					t.Errorf("got  %d connections for one retrieval, want at most %d", n, mostDials)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
