package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dunglas/httpsfv"
)

// This file is the other side: a small server that lets signed crawlers in.

const (
	maxLife  = 24 * time.Hour   // longest validity of a signature
	maxSkew  = 10 * time.Second // how far a crawler's clock may be ahead
	maxKeys  = 64 << 10         // longest key directory, in bytes
	maxSeen  = 100_000          // nonces remembered; more within their validity are refused
	maxNonce = 200              // longest nonce, in bytes
	keysTime = 5 * time.Second  // longest fetch of a key directory
)

// A verifier verifies the signatures of requests.
type verifier struct {
	keys func(directory, keyid string) (ed25519.PublicKey, error)
	now  func() time.Time

	mu   sync.Mutex
	seen map[string]time.Time // nonces, by when their signatures expire
}

// verify returns the URL of the keys by which a request is signed.
func (v *verifier) verify(r *http.Request) (agent string, err error) {
	inputs, err := dictionary(r.Header, "Signature-Input")
	if err != nil {
		return "", err
	}
	for _, label := range inputs.Names() {
		m, _ := inputs.Get(label)
		covered, ok := m.(httpsfv.InnerList)
		if tag, _ := covered.Params.Get("tag"); ok && tag == botTag {
			return v.verifyOne(r, label, covered)
		}
	}
	return "", errors.New("no signature has the tag " + botTag)
}

// verifyOne verifies the signature of a label.
func (v *verifier) verifyOne(r *http.Request, label string, covered httpsfv.InnerList) (agent string, err error) {
	p, err := v.parameters(covered.Params)
	if err != nil {
		return "", err
	}
	if !covers(covered, `"@authority"`) && !covers(covered, `"@target-uri"`) {
		return "", errors.New("neither @authority nor @target-uri is covered")
	}
	if !covers(covered, fmt.Sprintf(`"signature-agent";key=%q`, label)) {
		return "", errors.New("the member of Signature-Agent is not covered")
	}
	agents, err := dictionary(r.Header, "Signature-Agent")
	if err != nil {
		return "", err
	}
	m, _ := agents.Get(label)
	item, _ := m.(httpsfv.Item)
	if agent, _ = item.Value.(string); !strings.HasPrefix(agent, "https://") || len(item.Params.Names()) > 0 {
		return "", errors.New("the member of Signature-Agent is no https URL, or has parameters")
	}
	key, err := v.keys(agent, p.keyid)
	if err != nil {
		return "", fmt.Errorf("no key: %w", err)
	}
	if err := checkSignature(r.Header, ofRequest(r), label, covered, key); err != nil {
		return "", err
	}
	return agent, v.once(p) // last, so that nobody can use up the nonces of others
}

// parameters are the parameters of a signature that matter here.
type parameters struct {
	keyid, nonce string
	expires      time.Time
}

// parameters checks the parameters of a signature.
func (v *verifier) parameters(p *httpsfv.Params) (parameters, error) {
	number := func(name string) time.Time {
		value, _ := p.Get(name)
		seconds, _ := value.(int64)
		return time.Unix(seconds, 0)
	}
	text := func(name string) string {
		value, _ := p.Get(name)
		s, _ := value.(string)
		return s
	}
	created, got := number("created"), parameters{text("keyid"), text("nonce"), number("expires")}
	now := v.now()
	switch {
	case created.Unix() == 0 || got.expires.Unix() == 0 || got.keyid == "":
		return got, errors.New("created, expires or keyid is missing")
	case created.After(now.Add(maxSkew)):
		return got, errors.New("the signature is from the future")
	case !got.expires.After(now):
		return got, errors.New("the signature has expired")
	case got.expires.Sub(created) > maxLife:
		return got, fmt.Errorf("the signature is valid for more than %v", maxLife)
	case text("alg") != "" && text("alg") != "ed25519":
		return got, errors.New("the algorithm is not ed25519")
	}
	return got, nil
}

// once refuses a signature that was used before.
func (v *verifier) once(p parameters) error {
	if p.nonce == "" || len(p.nonce) > maxNonce {
		return errors.New("the signature has no nonce of a usual length, so it could be used again")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	for nonce, expires := range v.seen {
		if !expires.After(now) {
			delete(v.seen, nonce)
		}
	}
	name := p.keyid + " " + p.nonce
	if _, used := v.seen[name]; used {
		return errors.New("the signature was used before")
	}
	if len(v.seen) >= maxSeen {
		return errors.New("too many signatures at this time")
	}
	v.seen[name] = p.expires
	return nil
}

// covers reports whether a signature covers a component.
func covers(covered httpsfv.InnerList, component string) bool {
	for _, c := range covered.Items {
		if text, err := httpsfv.Marshal(c); err == nil && text == component {
			return true
		}
	}
	return false
}

// checkSignature checks a signature of a message.
func checkSignature(h http.Header, m *message, label string, covered httpsfv.InnerList, key ed25519.PublicKey) error {
	signatures, err := dictionary(h, "Signature")
	if err != nil {
		return err
	}
	member, _ := signatures.Get(label)
	item, _ := member.(httpsfv.Item)
	signature, ok := item.Value.([]byte)
	if !ok {
		return fmt.Errorf("Signature has no bytes for %q", label)
	}
	base, err := m.base(covered)
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, []byte(base), signature) {
		return errors.New("the signature is not of this request")
	}
	return nil
}

// dictionary parses a dictionary field.
func dictionary(h http.Header, name string) (*httpsfv.Dictionary, error) {
	if len(h.Values(name)) == 0 {
		return nil, fmt.Errorf("there is no %s", name)
	}
	d, err := httpsfv.UnmarshalDictionary(h.Values(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// fetchKey fetches a key from a directory. A server on the public web must also refuse
// private and loopback addresses here, and keep what it has fetched.
func fetchKey(client *http.Client, directory, keyid string) (ed25519.PublicKey, error) {
	c := *client
	c.Timeout = keysTime
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := c.Get(directory)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", directory, resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeys))
	if err != nil {
		return nil, err
	}
	return findKey(body, keyid)
}

// findKey returns the key of a directory that has a thumbprint.
func findKey(directory []byte, keyid string) (ed25519.PublicKey, error) {
	var set jwkSet
	if err := json.Unmarshal(directory, &set); err != nil {
		return nil, err
	}
	for _, k := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err == nil && k.Kty == "OKP" && k.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize && thumbprint(x) == keyid {
			return x, nil
		}
	}
	return nil, fmt.Errorf("the directory has no key %q", keyid)
}
