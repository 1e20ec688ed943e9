package main

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// life is how long the signature of a request is valid.
const life = time.Minute

// directoryPath is where a server has its key directory.
const directoryPath = "/.well-known/http-message-signatures-directory"

// A signer signs requests with an Ed25519 key, and serves the key.
type signer struct {
	key       ed25519.PrivateKey
	directory string           // https URL of the keys
	now       func() time.Time // time.Now
}

// A component is a part of a message that a signature covers: RFC 9421, section 2.
type component struct{ name, value string }

// sign is a fetcher.Options.Sign.
func (s *signer) sign(r *http.Request) error {
	if r.URL.Opaque != "" {
		return errors.New("an opaque URL has no path to sign")
	}
	host, err := authority(r)
	if err != nil {
		return err
	}
	nonce := make([]byte, 32)
	rand.Read(nonce)
	r.Header.Set("Signature-Agent", fmt.Sprintf("sig1=%q", s.directory))
	params := fmt.Sprintf(`;created=%d;expires=%d;keyid="%s";alg="ed25519";nonce="%s";tag="web-bot-auth"`,
		s.now().Unix(), s.now().Add(life).Unix(), s.thumbprint(), base64.StdEncoding.EncodeToString(nonce))
	s.add(r.Header, "sig1", params,
		component{`"@authority"`, host},
		component{`"@method"`, cmp.Or(r.Method, http.MethodGet)},
		component{`"@path"`, cmp.Or(r.URL.EscapedPath(), "/")},
		component{`"signature-agent";key="sig1"`, fmt.Sprintf("%q", s.directory)})
	return nil
}

// add signs components and adds the two fields of the signature. The text that is signed is the
// signature base: RFC 9421, section 2.5.
func (s *signer) add(h http.Header, label, params string, covered ...component) {
	var names []string
	var base strings.Builder
	for _, c := range covered {
		names = append(names, c.name)
		fmt.Fprintf(&base, "%s: %s\n", c.name, c.value)
	}
	input := "(" + strings.Join(names, " ") + ")" + params
	fmt.Fprintf(&base, `"@signature-params": %s`, input)
	h.Set("Signature-Input", label+"="+input)
	h.Set("Signature", label+"=:"+base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, []byte(base.String())))+":")
}

// authority returns the host of a request in ASCII and in lower case, without the default port of
// its scheme: RFC 9421, section 2.2.3. A server behind a proxy for TLS must set the scheme itself.
func authority(r *http.Request) (string, error) {
	host, err := httpguts.PunycodeHostPort(cmp.Or(r.Host, r.URL.Host))
	port := ":80"
	if r.URL.Scheme == "https" || r.TLS != nil {
		port = ":443"
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(host), port), ":"), err
}

// public returns the public key in base64: the x of a JSON Web Key.
func (s *signer) public() string {
	return base64.RawURLEncoding.EncodeToString(s.key.Public().(ed25519.PublicKey))
}

// thumbprint returns the SHA-256 thumbprint of the key: RFC 8037, appendix A.3.
func (s *signer) thumbprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":"%s"}`, s.public()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// ServeHTTP answers with the key directory. The answer is signed (appendix B of the draft),
// which proves that the directory has the private key.
func (s *signer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, err := authority(r)
	if r.URL.Path != directoryPath || err != nil {
		http.NotFound(w, r)
		return
	}
	body := fmt.Appendf(nil, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"%s","x":"%s"}]}`, s.thumbprint(), s.public())
	sum := sha256.Sum256(body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	w.Header().Set("Content-Type", "application/http-message-signatures-directory+json")
	w.Header().Set("Content-Digest", digest)
	params := fmt.Sprintf(`;created=%d;expires=%d;keyid="%s";tag="http-message-signatures-directory"`,
		s.now().Unix(), s.now().Add(24*time.Hour).Unix(), s.thumbprint())
	s.add(w.Header(), "binding", params, component{`"@authority";req`, host}, component{`"content-digest"`, digest})
	w.Write(body)
}
