package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/rfc9309/polite/bench/internal/child"
)

// This file is the process of the server: all hosts over HTTP and HTTPS, and a name server
// that knows them.

// serverJob is the job of the server.
type serverJob struct {
	RTT       time.Duration // round trip time
	HTTP2     bool          // HTTPS serves HTTP/2
	Redirects bool          // HTTP redirects each URL to HTTPS
}

// addresses are where a running server listens, and what its clients trust.
type addresses struct {
	HTTP, HTTPS, DNS string
	CA               []byte // certificate, DER
}

// counts are what the server has counted since its start.
type counts struct {
	Connections, Handshakes, Lookups, Requests, Bytes int64
}

// server is the state of the process.
type server struct {
	job                                               serverJob
	connections, handshakes, lookups, requests, bytes atomic.Int64
}

// work serves until the parent ends, and reports the counts whenever the parent asks.
func (j serverJob) work() error {
	s := &server{job: j}
	plain, secure, names := s.listen(), s.listen(), s.listenDNS()
	ca, config := certificates()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		s.handshakes.Add(1)
		return nil, nil
	}
	quiet := log.New(io.Discard, "", 0) // clients reset connections
	web := &http.Server{Handler: s.handler(j.Redirects), ErrorLog: quiet}
	secureWeb := &http.Server{Handler: s.handler(false), ErrorLog: quiet, TLSConfig: config, Protocols: new(http.Protocols)}
	secureWeb.Protocols.SetHTTP1(true)
	secureWeb.Protocols.SetHTTP2(j.HTTP2)
	go web.Serve(plain)                   // until the process ends
	go secureWeb.ServeTLS(secure, "", "") // until the process ends
	go s.answer(names)                    // until the process ends
	if err := child.Report(addresses{plain.Addr().String(), secure.Addr().String(), names.LocalAddr().String(), ca}); err != nil {
		return err
	}
	for child.Wait() == nil {
		if err := child.Report(counts{s.connections.Load(), s.handshakes.Load(), s.lookups.Load(), s.requests.Load(), s.bytes.Load()}); err != nil {
			return err
		}
	}
	return nil
}

// robotsTxt is the robots.txt of each host, but for its last line: 1.8 KB, 45 rules, 11 of
// them with a wildcard, as the median of real files of this size.
var robotsTxt = func() string {
	var b strings.Builder
	b.WriteString("# Crawlers are welcome.\n\nUser-agent: BadBot\nUser-agent: WorseBot\nDisallow: /\n\nUser-agent: *\n")
	for i, folder := range []string{
		"account", "admin", "basket", "cgi-bin", "checkout", "includes", "internal", "login",
		"orders", "print", "private", "scripts", "search", "themes", "wishlist",
	} {
		fmt.Fprintf(&b, "Disallow: /%s/\nAllow: /%s/help/index.html\n", folder, folder)
		if i < 11 {
			fmt.Fprintf(&b, "Disallow: /catalogue/*?%s=\n", folder)
		} else {
			fmt.Fprintf(&b, "Disallow: /archive/2026/%s/old/\n", folder)
		}
	}
	return b.String()
}()

// pageText is every page, 2 KB.
var pageText = strings.Repeat("A page of text.\n", 128)

// content returns the type and the text of a path.
func content(host, path string) (kind, text string) {
	if path == "/robots.txt" {
		return "text/plain; charset=utf-8", robotsTxt + "\nSitemap: https://" + host + "/sitemap.xml\n"
	}
	return "text/html; charset=utf-8", pageText
}

func (s *server) handler(redirects bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if redirects {
			http.Redirect(w, r, "https://"+r.Host+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		kind, text := content(r.Host, r.URL.Path)
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, text)
	})
}

// listener counts connections and delays what they carry.
type listener struct {
	net.Listener
	server *server
}

func (s *server) listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	exitOn(err)
	return listener{l, s}
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.server.connections.Add(1)
	c = counted{c, &l.server.bytes}
	if l.server.job.RTT > 0 {
		c = delayed(c, l.server.job.RTT/2)
	}
	return c, nil
}

// counted counts the bytes of a connection in both directions.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}

// delayed returns a connection that carries what c carries, later by delay in each
// direction. It does not limit the throughput.
func delayed(c net.Conn, delay time.Duration) net.Conn {
	near, far := net.Pipe()
	go pump(far, c, delay) // ends with c
	go pump(c, far, delay) // ends with far
	return near
}

// pump copies from src to dst, later by delay, and then closes dst.
func pump(dst, src net.Conn, delay time.Duration) {
	type chunk struct {
		due  time.Time
		data []byte
	}
	chunks := make(chan chunk, 1024)
	go func() { // ends with src
		defer close(chunks)
		for {
			data := make([]byte, 16<<10)
			n, err := src.Read(data)
			chunks <- chunk{time.Now().Add(delay), data[:n]}
			if err != nil {
				return
			}
		}
	}()
	for c := range chunks {
		time.Sleep(time.Until(c.due))
		if len(c.data) > 0 {
			dst.Write(c.data) // after an error the other direction closes src
		}
	}
	dst.Close()
}

// certificates returns the certificate of a new authority, and a configuration with a
// certificate for all hosts that it signed.
func certificates() (ca []byte, config *tls.Config) {
	caKey, caTemplate := certificate(pkix.Name{CommonName: "bench/broad"})
	caTemplate.IsCA, caTemplate.BasicConstraintsValid, caTemplate.KeyUsage = true, true, x509.KeyUsageCertSign
	ca, err := x509.CreateCertificate(rand.Reader, caTemplate, caTemplate, &caKey.PublicKey, caKey)
	exitOn(err)
	key, template := certificate(pkix.Name{CommonName: "*.example"})
	template.DNSNames = []string{"*.example"}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf, err := x509.CreateCertificate(rand.Reader, template, caTemplate, &key.PublicKey, caKey)
	exitOn(err)
	return ca, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: key}}}
}

// certificate returns a new key and a template for its certificate.
func certificate(subject pkix.Name) (*ecdsa.PrivateKey, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	exitOn(err)
	now := time.Now()
	return key, &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: subject, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour)}
}

func (s *server) listenDNS() net.PacketConn {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	exitOn(err)
	return c
}

// answer answers questions for names: each has the address 127.0.0.1.
func (s *server) answer(c net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		if q.Type == dnsmessage.TypeA {
			s.lookups.Add(1)
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
			}}
		}
		if text, err := m.Pack(); err == nil {
			c.WriteTo(text, from)
		}
	}
}
