package httptest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A Certificate is the certificate that an https site sends, see [Site.Cert].
type Certificate uint8

const (
	Valid         Certificate = iota // for the site's host, signed by the web's authority, valid from 1990 to 2190
	Expired                          // like Valid, but expired in 1999, before the clock of any bubble begins
	WrongName                        // for the host wrong.invalid
	UnknownIssuer                    // self-signed
	NoCertificate                    // no certificate: the handshake ends with an alert
)

// Cert sets the certificate that an https site sends.
func (s *Site) Cert(c Certificate) *Site {
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.cert = c
	return s
}

// An authority signs the certificates of one web. All certificates have the same key.
type authority struct {
	key  crypto.Signer
	root *x509.Certificate
	pool *x509.CertPool

	mu    sync.Mutex
	shown map[identity]*tls.Certificate
}

// An identity is the key of a certificate in the map of certificates.
type identity struct {
	name string
	kind Certificate
}

func newAuthority() *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	a := &authority{key: key, pool: x509.NewCertPool(), shown: map[identity]*tls.Certificate{}}
	template := certificate("The Web in Memory")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	a.root = a.sign(template, template)
	a.pool.AddCert(a.root)
	return a
}

func certificate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:     time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func (a *authority) sign(template, parent *x509.Certificate) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, a.key.Public(), a.key)
	must(err)
	c, err := x509.ParseCertificate(der)
	must(err)
	return c
}

// certificateFor returns the certificate of a host. It creates the certificate when it is first needed.
func (a *authority) certificateFor(id identity) *tls.Certificate {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.shown[id]
	if c == nil {
		c = &tls.Certificate{Certificate: [][]byte{a.leaf(id).Raw}, PrivateKey: a.key}
		a.shown[id] = c
	}
	return c
}

func (a *authority) leaf(id identity) *x509.Certificate {
	name, parent := id.name, a.root
	if id.kind == WrongName {
		name = "wrong.invalid"
	}
	template := certificate(name)
	template.SerialNumber = big.NewInt(int64(len(a.shown)) + 2)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip, err := netip.ParseAddr(name); err == nil {
		template.IPAddresses = []net.IP{ip.AsSlice()}
	} else {
		template.DNSNames = []string{name}
	}
	switch id.kind {
	case Expired:
		template.NotAfter = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	case UnknownIssuer:
		parent = template
	}
	return a.sign(template, parent)
}

// tlsConfig returns the server's TLS configuration. It finds the site by the name that the client sends.
func (w *Web) tlsConfig() *tls.Config {
	return &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		s := w.secureSiteLocked(canonicalHost(hello.ServerName), hello.Conn.LocalAddr().(*net.TCPAddr).AddrPort())
		if s == nil || s.cert == NoCertificate {
			return nil, errNoCertificate
		}
		id, http2 := identity{s.host.name, s.cert}, s.http2
		c := &tls.Config{Certificates: []tls.Certificate{*w.ca().certificateFor(id)}, NextProtos: []string{"http/1.1"}}
		if http2 {
			c.NextProtos = []string{"h2", "http/1.1"}
		}
		return c, nil
	}}
}

// secureSiteLocked finds the https site for a name at an address. If no site there has the name, it returns the first
// site, like a server with a default host.
func (w *Web) secureSiteLocked(name string, at netip.AddrPort) *Site {
	var first *Site
	for _, s := range w.order {
		if s.scheme != "https" || s.port != at.Port() || !slices.Contains(s.host.home, at.Addr()) {
			continue
		}
		if s.host == w.findLocked(name) {
			return s
		}
		if first == nil {
			first = s
		}
	}
	return first
}

// errNoCertificate ends a handshake with a site that has no certificate, or that has moved to another address.
var errNoCertificate = errors.New("httptest: no certificate")

// must panics if err is not nil. It is called with errors that cannot happen.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Authority returns the certificate of the web's authority in PEM.
func (w *Web) Authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.ca().root.Raw})
}
