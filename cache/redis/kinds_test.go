//go:build unix

package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// written makes a key and a certificate for the loopback address, signed by
// itself, and returns the names of their files.
func written(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: public}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(public)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return cert, key, roots
}

// Over TLS the server's certificate counts.
func TestTLS(t *testing.T) {
	cert, key, roots := written(t)
	srv := start(t, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no",
		"--port", "0", "--tls-port", "PORT")
	secure := strings.Replace(srv.url(), "redis://", "rediss://", 1)
	s := opened(t, secure, &Options{Timeout: 10 * time.Second, TLS: &tls.Config{RootCAs: roots}})
	mustWork(t, s)
	for name, url := range map[string]string{"unknown_root": secure, "no_tls": srv.url()} {
		t.Run("house/"+name, func(t *testing.T) {
			if _, err := opened(t, url, slow).Get(t.Context(), "k"); !errors.Is(err, ErrDown) {
				t.Errorf("Get: %v, want %v", err, ErrDown)
			}
		})
	}
}

// A user who may touch the store's keys alone, in a prefix of their own, has all
// that the store needs.
func TestUser(t *testing.T) {
	srv := start(t)
	srv.do("ACL", "SETUSER", "crawler", "on", ">secret", "~fleet:*", "+@all", "-@admin", "-@dangerous")
	with := func(user string) string { return strings.Replace(srv.url(), "redis://", "redis://"+user+"@", 1) }
	s := opened(t, with("crawler:secret"), &Options{Timeout: 10 * time.Second, Prefix: "fleet"})
	mustWork(t, s)
	release, err := s.Lease(t.Context(), "k", time.Hour)
	if err != nil {
		t.Fatalf("Lease: %v", err)
	}
	release()
	if _, err := opened(t, with("crawler:wrong"), slow).Get(t.Context(), "k"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get with a wrong password: %v, want an error that is not absence", err)
	}
	elsewhere := opened(t, with("crawler:secret"), slow)
	if _, err := elsewhere.Get(t.Context(), "k"); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDown) {
		t.Errorf("Get in another prefix: %v, want the server's refusal", err)
	}
}
