package main

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
)

// testSigner has the Ed25519 key of RFC 9421, appendix B.1.4, which the draft uses.
func testSigner(t *testing.T) *signer {
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	if err != nil {
		t.Fatal(err)
	}
	return &signer{ed25519.NewKeyFromSeed(seed), "https://bot.test/keys", time.Now}
}

// TestVectors makes the signatures of RFC 9421, appendix B.2.6, and of the draft's text of 9
// October 2026, appendix E.2.
func TestVectors(t *testing.T) {
	const keyid = `;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"`
	for _, v := range []struct {
		name, params string
		covered      []component
		want         string
	}{
		{"RFC_9421_B.2.6", `;created=1618884473;keyid="test-key-ed25519"`,
			[]component{{`"date"`, "Tue, 20 Apr 2021 02:07:55 GMT"}, {`"@method"`, "POST"}, {`"@path"`, "/foo"}, {`"@authority"`, "example.com"}, {`"content-type"`, "application/json"}, {`"content-length"`, "18"}},
			"wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="},
		{"E.2.1", `;created=1735689600` + keyid + `;alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"`,
			[]component{{`"@authority"`, "example.com"}, {`"signature-agent";key="sig2"`, `"https://signature-agent.test"`}},
			"CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ=="},
		{"E.2.2", `;created=1735689600` + keyid + `;alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"`,
			[]component{{`"@authority"`, "example.com"}, {`"signature-agent"`, `"https://signature-agent.test"`}},
			"jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA=="},
		{"E.2.3", `;created=1735689600;expires=4889289600` + keyid + `;tag="http-message-signatures-directory"`,
			[]component{{`"@authority";req`, "signature-agent.test"}, {`"content-digest"`, "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"}},
			"l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg=="},
	} {
		h := http.Header{}
		testSigner(t).add(h, "sig", v.params, v.covered...)
		if got := h.Get("Signature"); got != "sig=:"+v.want+":" {
			t.Errorf("%s\ngot  %s\nwant %s", v.name, got, v.want)
		}
	}
	if got, want := testSigner(t).thumbprint(), keyid[8:len(keyid)-1]; got != want {
		t.Errorf("thumbprint: got %s, want %s", got, want)
	}
}

// verify checks at a server the signature that sign made.
func verify(r *http.Request, key ed25519.PublicKey) bool {
	input := strings.TrimPrefix(r.Header.Get("Signature-Input"), "sig1=")
	host, _ := authority(r)
	base := fmt.Sprintf("\"@authority\": %s\n\"@method\": %s\n\"@path\": %s\n\"signature-agent\";key=\"sig1\": %s\n\"@signature-params\": %s", host, r.Method,
		r.URL.EscapedPath(), strings.TrimPrefix(r.Header.Get("Signature-Agent"), "sig1="), input)
	signature, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(r.Header.Get("Signature"), "sig1="), ":"))
	return err == nil && ed25519.Verify(key, []byte(base), signature)
}

// TestOnTheWire verifies at a server what a client signed, whatever net/http makes of the
// host on its way.
func TestOnTheWire(t *testing.T) {
	s := testSigner(t)
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !verify(r, s.key.Public().(ed25519.PublicKey)) || r.Proto != proto {
				http.Error(w, "requests must be signed", http.StatusForbidden)
			}
		}))
		site.EnableHTTP2 = proto == "HTTP/2.0"
		site.StartTLS()
		defer site.Close()
		for _, host := range []string{"", "B.test", "b.test:443", "b.test:8443", "b.test:", "b.test.", "b\u00fccher.example", "B\u00dcCHER.example:443", "[::1]:443", "[::1]"} {
			for _, path := range []string{"", "/a%2fb%7E/../c?d=e", "/\u00fc"} {
				r, err := http.NewRequest(http.MethodGet, site.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Method, r.Host = "", host
				if err := s.sign(r); err != nil {
					t.Fatal(err)
				}
				resp, err := site.Client().Transport.RoundTrip(r)
				if err != nil {
					t.Fatalf("%s %q%s: %v", proto, host, path, err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("%s %q%s: got %d", proto, host, path, resp.StatusCode)
				}
			}
		}
	}
	if err := s.sign(&http.Request{URL: &url.URL{Scheme: "https", Host: "a.test", Opaque: "//b.test/c"}, Header: http.Header{}}); err == nil {
		t.Error("an opaque URL was signed")
	}
}

// TestAuthority checks the rows of RFC 9421, section 2.2.3, and RFC 9110, section 4.2.3.
func TestAuthority(t *testing.T) {
	for at, want := range map[string]string{
		"https://WWW.Example.COM/": "www.example.com", "https://a.test:443/": "a.test", "http://a.test:80/": "a.test", "https://a.test:80/": "a.test:80",
		"http://a.test:443/": "a.test:443", "https://[2001:DB8::443]:443/": "[2001:db8::443]", "https://b\u00fccher.example/": "xn--bcher-kva.example",
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := authority(&http.Request{URL: u}); got != want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", at, got, err, want)
		}
	}
	if got, _ := authority(&http.Request{URL: &url.URL{}, Host: "A.test:443", TLS: &tls.ConnectionState{}}); got != "a.test" {
		t.Errorf("at the server: got %s, want a.test", got)
	}
}

// TestDirectory checks the key directory and its signature.
func TestDirectory(t *testing.T) {
	s := testSigner(t)
	s.now = func() time.Time { return time.Unix(1735689600, 0) }
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "https://bot.test"+directoryPath, nil))
	if got, want := w.Body.String(), `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := w.Header().Get("Signature-Input"), `binding=("@authority";req "content-digest");created=1735689600;expires=1735776000;`; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "https://bot.test/", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("another path: got %d, want 404", w.Code)
	}
}

// TestDeadConnection has a site read a signed request on a connection that was kept alive,
// and close it without an answer. An *http.Transport then sends the same request again by
// itself, which the site takes for a replay. Without connections that are kept alive the
// crawler gets an error, and may ask again with a new signature.
func TestDeadConnection(t *testing.T) {
	for _, test := range []struct {
		name      string
		keepAlive bool
		want      []string // each request that the site sees
	}{
		{"kept_alive", true, []string{"/robots.txt", "/first", "/second", "/second again"}},
		{"not_kept_alive", false, []string{"/robots.txt", "/first", "/second"}},
	} {
		t.Run("10/"+test.name, func(t *testing.T) {
			var seen []string // by one request after the other
			signatures := map[string]bool{}
			site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if signatures[r.Header.Get("Signature")] {
					seen = append(seen, r.URL.Path+" again")
					return
				}
				signatures[r.Header.Get("Signature")] = true
				if seen = append(seen, r.URL.Path); r.URL.Path == "/second" {
					panic(http.ErrAbortHandler)
				}
			}))
			defer site.Close()
			base := site.Client().Transport.(*http.Transport)
			base.DisableKeepAlives = !test.keepAlive
			tr, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: base, Sign: testSigner(t).sign, Egress: func(netip.Addr) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"/first", "/second"} {
				if resp, err := (&http.Client{Transport: tr}).Get(site.URL + path); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
			site.Close()
			if !slices.Equal(seen, test.want) {
				t.Errorf("got  %q\nwant %q", seen, test.want)
			}
		})
	}
}
