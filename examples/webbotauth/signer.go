package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// This file signs the requests of a crawler, and serves the keys: the draft
// draft-ietf-webbotauth-httpsig-protocol in its text of 9 October 2026.

// A signer signs requests with an Ed25519 key.
type signer struct {
	key       ed25519.PrivateKey
	directory string           // https URL of the keys
	now       func() time.Time // time.Now
}

// life is how long a signature is valid.
const life = time.Minute

// label names the signature among others.
const label = "sig1"

// sign is a fetcher.Options.Sign. A signature is valid for one authority alone, so a
// redirect needs another one: the Transport asks for each request.
func (s *signer) sign(r *http.Request) error {
	agent := httpsfv.NewDictionary()
	agent.Add(label, httpsfv.NewItem(s.directory))
	text, err := httpsfv.Marshal(agent)
	if err != nil {
		return err
	}
	r.Header.Set("Signature-Agent", text)

	nonce := make([]byte, 32)
	rand.Read(nonce)
	ofLabel := httpsfv.NewItem("signature-agent")
	ofLabel.Params.Add("key", label)
	covered := httpsfv.InnerList{
		Items:  []httpsfv.Item{httpsfv.NewItem("@authority"), httpsfv.NewItem("@method"), httpsfv.NewItem("@path"), ofLabel},
		Params: httpsfv.NewParams(),
	}
	covered.Params.Add("created", s.now().Unix())
	covered.Params.Add("expires", s.now().Add(life).Unix())
	covered.Params.Add("keyid", thumbprint(s.key.Public().(ed25519.PublicKey)))
	covered.Params.Add("alg", "ed25519")
	covered.Params.Add("nonce", base64.StdEncoding.EncodeToString(nonce))
	covered.Params.Add("tag", botTag)
	return addSignature(r.Header, ofRequest(r), label, covered, s.key)
}

// addSignature signs a message and adds the two fields of the signature.
func addSignature(h http.Header, m *message, label string, covered httpsfv.InnerList, key ed25519.PrivateKey) error {
	base, err := m.base(covered)
	if err != nil {
		return err
	}
	input, signature := httpsfv.NewDictionary(), httpsfv.NewDictionary()
	input.Add(label, covered)
	signature.Add(label, httpsfv.NewItem(ed25519.Sign(key, []byte(base))))
	for name, d := range map[string]*httpsfv.Dictionary{"Signature-Input": input, "Signature": signature} {
		text, err := httpsfv.Marshal(d)
		if err != nil {
			return err
		}
		h.Set(name, text)
	}
	return nil
}

// A jwk is a public Ed25519 key as JSON: RFC 8037, section 2.
type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	Kid string `json:"kid,omitempty"`
	X   string `json:"x"`
}

// A jwkSet is a key directory.
type jwkSet struct {
	Keys []jwk `json:"keys"`
}

// thumbprint is the SHA-256 thumbprint of a key: RFC 8037, appendix A.3.
func thumbprint(key ed25519.PublicKey) string {
	text := fmt.Sprintf(`{"crv":"Ed25519","kty":"OKP","x":"%s"}`, base64.RawURLEncoding.EncodeToString(key))
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const (
	directoryPath = "/.well-known/http-message-signatures-directory"
	directoryType = "application/http-message-signatures-directory+json"
	directoryTag  = "http-message-signatures-directory"
	botTag        = "web-bot-auth"
)

// ServeHTTP answers with the key directory. The answer is signed (appendix B of the
// draft), which proves that the directory has the private key.
func (s *signer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != directoryPath {
		http.NotFound(w, r)
		return
	}
	public := s.key.Public().(ed25519.PublicKey)
	body, err := json.Marshal(jwkSet{[]jwk{{"OKP", "Ed25519", thumbprint(public), base64.RawURLEncoding.EncodeToString(public)}}})
	if err != nil {
		http.Error(w, "no keys", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(body)
	w.Header().Set("Content-Type", directoryType)
	w.Header().Set("Content-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum[:])+":")
	authority := httpsfv.NewItem("@authority")
	authority.Params.Add("req", true)
	covered := httpsfv.InnerList{Items: []httpsfv.Item{authority, httpsfv.NewItem("content-digest")}, Params: httpsfv.NewParams()}
	covered.Params.Add("created", s.now().Unix())
	covered.Params.Add("expires", s.now().Add(24*time.Hour).Unix())
	covered.Params.Add("keyid", thumbprint(public))
	covered.Params.Add("tag", directoryTag)
	if err := addSignature(w.Header(), &message{header: w.Header(), request: ofRequest(r)}, "binding", covered, s.key); err != nil {
		http.Error(w, "no signature", http.StatusInternalServerError)
		return
	}
	w.Write(body)
}
