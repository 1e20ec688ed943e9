package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/rfc9309/polite/fetcher"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/robots.txt let in", "/page let in", `the crawler got "Welcome."`,
		"refused: the signature was used before", "refused: the signature is not of this request", "refused: the signature has expired",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant a line with %q", &out, want)
		}
	}
}

// testKey is the Ed25519 key of RFC 9421, appendix B.1.4, which the draft uses.
func testKey(t *testing.T) ed25519.PrivateKey {
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

// A vector is a line of the files of vectors.
type vector struct {
	ID      string
	Outcome string
	Request struct {
		Method, URL string
		Headers     map[string]string
	}
	Response struct {
		Headers map[string]string
	}
	Base      string `json:"signed_base"`
	Now       int64
	Directory struct {
		Status int
		Body   string
	}
}

// vectors reads a file of the folder POLITE_PEERS/webbotauth.
func vectors(t *testing.T, name string) (all []vector) {
	folder := os.Getenv("POLITE_PEERS")
	if folder == "" {
		t.Skip("POLITE_PEERS is not set: it names the folder with the vectors of the draft")
	}
	f, err := os.Open(filepath.Join(folder, "webbotauth", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if len(all) < 5 {
		t.Fatalf("%s has %d vectors, want at least 5", name, len(all))
	}
	return all
}

func header(fields map[string]string) http.Header {
	h := http.Header{}
	for name, value := range fields {
		h.Set(name, value)
	}
	return h
}

func (v *vector) request(t *testing.T) *http.Request {
	u, err := url.Parse(v.Request.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Request{Method: v.Request.Method, URL: u, Host: u.Host, Header: header(v.Request.Headers)}
}

// TestVectors makes the signature base of each vector of the draft's text of 9 October
// 2026, and for Ed25519 the signature, which must be the same byte for byte.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t, "draft-vectors.jsonl") {
		t.Run(v.ID, func(t *testing.T) {
			m := ofRequest(v.request(t))
			if len(v.Response.Headers) > 0 {
				m = &message{header: header(v.Response.Headers), request: m}
			}
			inputs, err := dictionary(m.header, "Signature-Input")
			if err != nil {
				t.Fatal(err)
			}
			label := inputs.Names()[0]
			member, _ := inputs.Get(label)
			covered := member.(httpsfv.InnerList)
			if base, err := m.base(covered); err != nil || base != v.Base {
				t.Errorf("got\n%s, %v\nwant\n%s", base, err, v.Base)
			}
			keyid, _ := covered.Params.Get("keyid")
			if keyid != thumbprint(testKey(t).Public().(ed25519.PublicKey)) {
				return // signed by RSA
			}
			want := m.header.Get("Signature")
			if err := addSignature(m.header, m, label, covered, testKey(t)); err != nil || m.header.Get("Signature") != want {
				t.Errorf("got  %s, %v\nwant %s", m.header.Get("Signature"), err, want)
			}
		})
	}
}

// TestComponents checks the components that are made of a request against RFC 9421,
// section 2.2, and RFC 9110, section 4.2.3, which it names for the authority.
func TestComponents(t *testing.T) {
	post := func(uri string) *http.Request {
		r, err := http.NewRequest(http.MethodPost, uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	served := func(host string, secure bool) *http.Request {
		r := httptest.NewRequest("GET", "/path?query", nil)
		if r.Host = host; secure {
			r.TLS = &tls.ConnectionState{}
		}
		return r
	}
	for _, test := range []struct {
		name      string
		request   *http.Request
		component string
		want      string
	}{
		{"2.2.1/post", post("https://www.example.com/path?param=value"), "@method", "POST"},
		{"2.2.1/no_method_is_get", &http.Request{URL: &url.URL{Scheme: "https", Host: "a.test"}}, "@method", "GET"},
		{"2.2.1/case_counts", &http.Request{Method: "get", URL: &url.URL{Scheme: "https", Host: "a.test"}}, "@method", "get"},
		{"2.2.2/target", post("https://www.example.com/path?param=value"), "@target-uri", "https://www.example.com/path?param=value"},
		{"2.2.2/target_by_http", post("http://www.example.com:80/path"), "@target-uri", "http://www.example.com/path"},
		{"2.2.2/target_at_the_server", served("a.test", true), "@target-uri", "https://a.test/path?query"},
		{"2.2.2/target_at_the_server_without_tls", served("a.test", false), "@target-uri", "http://a.test/path?query"},
		{"2.2.3/authority", post("https://www.example.com/path?param=value"), "@authority", "www.example.com"},
		{"2.2.3/lower_case", post("https://WWW.Example.COM/"), "@authority", "www.example.com"},
		{"2.2.3/default_port", post("https://www.example.com:443/"), "@authority", "www.example.com"},
		{"2.2.3/default_port_of_http", post("http://www.example.com:80/"), "@authority", "www.example.com"},
		{"2.2.3/another_port", post("https://www.example.com:8443/"), "@authority", "www.example.com:8443"},
		{"2.2.3/the_port_of_http", post("https://www.example.com:80/"), "@authority", "www.example.com:80"},
		{"2.2.3/the_port_of_https", post("http://www.example.com:443/"), "@authority", "www.example.com:443"},
		{"2.2.3/empty_port", &http.Request{URL: &url.URL{Scheme: "https", Host: "a.test:"}}, "@authority", "a.test"},
		{"2.2.3/ipv6", post("https://[2001:DB8::443]:443/"), "@authority", "[2001:db8::443]"},
		{"2.2.3/idn", post("https://b\u00fccher.example:443/"), "@authority", "xn--bcher-kva.example"},
		{"2.2.3/host_of_its_own", &http.Request{Host: "B.test:443", URL: &url.URL{Scheme: "https", Host: "a.test"}}, "@authority", "b.test"},
		{"2.2.3/at_the_server", served("A.test:443", true), "@authority", "a.test"},
		{"2.2.3/at_the_server_without_tls", served("A.test:80", false), "@authority", "a.test"},
		{"2.2.6/path", post("https://www.example.com/path?param=value"), "@path", "/path"},
		{"2.2.6/empty_path", post("https://www.example.com?param=value"), "@path", "/"},
		{"2.2.6/triplets", post("https://www.example.com/a%2fb%7Ec/../d"), "@path", "/a%2fb%7Ec/../d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ofRequest(test.request).component(httpsfv.NewItem(test.component))
			if err != nil || got != test.want {
				t.Errorf("%s %s\ngot  %s, %v\nwant %s", test.request.Host, test.component, got, err, test.want)
			}
		})
	}
	opaque := &http.Request{URL: &url.URL{Scheme: "https", Host: "a.test", Opaque: "//b.test/c"}, Header: http.Header{}}
	if err := (&signer{testKey(t), "https://bot.test/keys", time.Now}).sign(opaque); err == nil {
		t.Error("an opaque URL was signed")
	}
}

// TestRFC9421 signs the request of RFC 9421, appendix B.2.6.
func TestRFC9421(t *testing.T) {
	r := &http.Request{Method: "POST", URL: &url.URL{Scheme: "https", Host: "example.com", Path: "/foo", RawQuery: "param=Value&Pet=dog"}}
	r.Header = header(map[string]string{"Date": "Tue, 20 Apr 2021 02:07:55 GMT", "Content-Type": "application/json", "Content-Length": "18"})
	inputs, err := httpsfv.UnmarshalDictionary([]string{
		`sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`})
	if err != nil {
		t.Fatal(err)
	}
	covered, _ := inputs.Get("sig-b26")
	const want = "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:"
	err = addSignature(r.Header, ofRequest(r), "sig-b26", covered.(httpsfv.InnerList), testKey(t))
	if got := r.Header.Get("Signature"); err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestForgeries verifies requests that must not be let in.
func TestForgeries(t *testing.T) {
	letIn := map[string]string{
		"NV-08": "the verifier does not read bodies",
		"NV-17": "a path in Signature-Agent is the normal case in the text of 9 October 2026",
	}
	for _, vec := range vectors(t, "negative-vectors.jsonl") {
		t.Run(vec.ID, func(t *testing.T) {
			if why := letIn[vec.ID]; why != "" {
				t.Skip(why)
			}
			v := &verifier{seen: map[string]time.Time{}, now: func() time.Time { return time.Unix(vec.Now, 0) }}
			v.keys = func(_, keyid string) (ed25519.PublicKey, error) { return findKey([]byte(vec.Directory.Body), keyid) }
			// Without a nonce all of them are refused at the end, even if nothing else is wrong.
			agent, err := v.verify(vec.request(t))
			if err == nil || strings.Contains(err.Error(), "nonce") {
				t.Errorf("let in as %s, %v", agent, err)
			}
		})
	}
}

// TestVerify verifies a request that is right, and then with one thing changed.
func TestVerify(t *testing.T) {
	key := testKey(t)
	for _, test := range []struct {
		name   string
		change func(*http.Request)
		want   string // in the error; "": let in
	}{
		{"right", func(*http.Request) {}, ""},
		{"another_method", func(r *http.Request) { r.Method = "PUT" }, "not of this request"},
		{"another_path", func(r *http.Request) { r.URL.Path = "/other" }, "not of this request"},
		{"another_host", func(r *http.Request) { r.Host = "b.test" }, "not of this request"},
		{"the_default_port", func(r *http.Request) { r.Host = "A.test:443" }, ""},
		{"another_agent", func(r *http.Request) { r.Header.Set("Signature-Agent", `sig1="https://b.test/"`) }, "not of this request"},
		{"no_signature", func(r *http.Request) { r.Header.Del("Signature") }, "no Signature"},
		{"no_input", func(r *http.Request) { r.Header.Del("Signature-Input") }, "no Signature-Input"},
		{"an_agent_with_parameters", func(r *http.Request) { r.Header.Set("Signature-Agent", `sig1="https://a.test/";type=x`) }, "parameters"},
		{"a_long_nonce", func(r *http.Request) {
			input := strings.Replace(r.Header.Get("Signature-Input"), `nonce="`, `nonce="`+strings.Repeat("a", 1000), 1)
			covered, _ := httpsfv.UnmarshalDictionary([]string{input})
			m, _ := covered.Get(label)
			addSignature(r.Header, ofRequest(r), label, m.(httpsfv.InnerList), key)
		}, "nonce"},
		{"an_agent_that_is_a_list", func(r *http.Request) { r.Header.Set("Signature-Agent", `sig1=("https://a.test/")`) }, "no https URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &signer{key, "https://bot.test/keys", time.Now}
			r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "a.test", Path: "/page"}, Host: "a.test", Header: http.Header{}}
			if err := s.sign(r); err != nil {
				t.Fatal(err)
			}
			test.change(r)
			v := &verifier{seen: map[string]time.Time{}, now: time.Now}
			v.keys = func(string, string) (ed25519.PublicKey, error) { return key.Public().(ed25519.PublicKey), nil }
			_, err := v.verify(r)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestOnTheWire verifies at a server what a client signed, whatever net/http makes of the
// host on its way.
func TestOnTheWire(t *testing.T) {
	key := testKey(t)
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		v := &verifier{seen: map[string]time.Time{}, now: time.Now}
		v.keys = func(string, string) (ed25519.PublicKey, error) { return key.Public().(ed25519.PublicKey), nil }
		site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := v.verify(r); err != nil {
				http.Error(w, r.Host+": "+err.Error(), http.StatusForbidden)
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
				if err := (&signer{key, "https://bot.test/keys", time.Now}).sign(r); err != nil {
					t.Fatal(err)
				}
				resp, err := site.Client().Transport.RoundTrip(r)
				if err != nil {
					t.Errorf("%s %q%s: %v", proto, host, path, err)
					continue
				}
				said, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK || resp.Proto != proto {
					t.Errorf("%s %q%s: got %s %d %s", proto, host, path, resp.Proto, resp.StatusCode, said)
				}
			}
		}
	}
}

// TestDeadConnection has a site read a signed request on a connection that was kept alive,
// and close it without an answer. An *http.Transport then sends the same request again by
// itself, which the verifier takes for a replay. Without connections that are kept alive the
// crawler gets an error, and may ask again with a new signature.
func TestDeadConnection(t *testing.T) {
	for _, test := range []struct {
		name      string
		keepAlive bool
		want      string // what the site says to each signature
		status    int    // of the second page; 0: an error
	}{
		{"kept_alive", true, "let in, let in, let in, the signature was used before", http.StatusForbidden},
		{"not_kept_alive", false, "let in, let in, let in", 0},
	} {
		t.Run("10/"+test.name, func(t *testing.T) {
			key := testKey(t)
			v := &verifier{seen: map[string]time.Time{}, now: time.Now}
			v.keys = func(string, string) (ed25519.PublicKey, error) { return key.Public().(ed25519.PublicKey), nil }
			var said []string // by one request after the other
			site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := v.verify(r); err != nil {
					said = append(said, err.Error())
					http.Error(w, "requests must be signed", http.StatusForbidden)
					return
				}
				if said = append(said, "let in"); r.URL.Path == "/second" {
					panic(http.ErrAbortHandler)
				}
			}))
			defer site.Close()
			base := site.Client().Transport.(*http.Transport)
			base.DisableKeepAlives = !test.keepAlive
			tr, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{
				Base: base, Sign: (&signer{key, "https://bot.test/keys", time.Now}).sign,
				Egress: func(netip.Addr) error { return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			status := 0
			for _, path := range []string{"/first", "/second"} {
				status = 0
				if resp, err := (&http.Client{Transport: tr}).Get(site.URL + path); err == nil {
					status = resp.StatusCode
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
			site.Close()
			if got := strings.Join(said, ", "); got != test.want || status != test.status {
				t.Errorf("got  %s, status %d\nwant %s, status %d", got, status, test.want, test.status)
			}
		})
	}
}
