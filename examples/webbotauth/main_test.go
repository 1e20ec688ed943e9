package main

import (
	"bufio"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
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
