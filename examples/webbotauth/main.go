// Webbotauth is a crawler that signs its requests (Web Bot Auth), with the two servers
// that belong to it: the crawler's key directory, and a site that only lets signed
// crawlers in. At the end it tries three forgeries.
//
// The signatures follow draft-ietf-webbotauth-httpsig-protocol in its text of 9 October
// 2026, with Ed25519. The draft may change. A real crawler keeps its key in a file or a
// key service, and announces the next key before it uses it.
//
// It leaves out: a key that outlives the process, and its replacement.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"time"

	"github.com/rfc9309/polite/fetcher"
)

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	s := &signer{key: key, now: time.Now}
	directory := httptest.NewTLSServer(s)
	defer directory.Close()
	s.directory = directory.URL + directoryPath

	v := &verifier{now: time.Now, seen: map[string]time.Time{}}
	v.keys = func(at, keyid string) (ed25519.PublicKey, error) { return fetchKey(directory.Client(), at, keyid) }
	gate := &gate{verifier: v, out: out}
	site := httptest.NewTLSServer(gate)
	defer site.Close()

	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{
		Base:   site.Client().Transport,
		Sign:   s.sign,
		Egress: func(netip.Addr) error { return nil }, // the site is on this machine
	})
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: t}).Get(site.URL + "/page")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the crawler got %q\n", page)
	return forge(site, s, gate.last)
}

// forge sends three requests that the site must refuse.
func forge(site *httptest.Server, s *signer, used http.Header) error {
	for _, forgery := range []func(r *http.Request) error{
		func(r *http.Request) error { r.Header = used.Clone(); return nil }, // a replay
		func(r *http.Request) error { // signed for another site
			other := r.Clone(r.Context())
			other.Host = "elsewhere.example"
			defer func() { r.Header = other.Header }()
			return s.sign(other)
		},
		func(r *http.Request) error { // signed long ago
			old := &signer{s.key, s.directory, func() time.Time { return time.Now().Add(-time.Hour) }}
			return old.sign(r)
		},
	} {
		r, err := http.NewRequest(http.MethodGet, site.URL+"/page", nil)
		if err != nil {
			return err
		}
		if err := forgery(r); err != nil {
			return err
		}
		resp, err := site.Client().Do(r)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			return fmt.Errorf("a forgery got status %d", resp.StatusCode)
		}
	}
	return nil
}

// A gate is a site for signed crawlers.
type gate struct {
	verifier *verifier
	out      io.Writer
	last     http.Header // of the last request that was let in
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent, err := g.verifier.verify(r)
	if err != nil {
		fmt.Fprintf(g.out, "%s refused: %v\n", r.URL.Path, err)
		w.Header().Set("Accept-Signature", `sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid;tag="`+botTag+`"`)
		http.Error(w, "requests must be signed", http.StatusForbidden)
		return
	}
	fmt.Fprintf(g.out, "%s let in: signed by a key of %s\n", r.URL.Path, agent)
	g.last = r.Header.Clone()
	if r.URL.Path == "/robots.txt" {
		io.WriteString(w, "User-agent: *\nDisallow: /private\n")
		return
	}
	io.WriteString(w, "Welcome.")
}
