package httptest_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestServe fetches from sites on a real socket: a page, a reset, a body that is cut, a torn connection, and an https site at
// the same port.
func TestServe(t *testing.T) {
	web := httptest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	addr := l.Addr().String()
	site := web.Site("http://"+addr).Path("/", httptest.Text("hello")).Path("/reset", httptest.Reset()).
		Path("/cut", httptest.Text("hello").Cut(2)).Connect(httptest.Torn, httptest.Open)
	secure := web.Site("https://"+addr).Path("/", httptest.Text("secret"))
	go web.Serve(l, site, secure) // ends with l

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	get := func(url string) (string, error) {
		resp, err := client.Get(url)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	for _, tt := range []struct {
		url, want string
		fails     bool
	}{
		{"http://" + addr + "/", "", true}, // the first connection is torn
		{"http://" + addr + "/", "hello", false},
		{"http://" + addr + "/reset", "", true},
		{"http://" + addr + "/cut", "he", true},
		{"https://" + addr + "/", "secret", false},
	} {
		if got, err := get(tt.url); got != tt.want || (err != nil) != tt.fails {
			t.Errorf("%s\ngot  %q, %v\nwant %q, fails: %v", tt.url, got, err, tt.want, tt.fails)
		}
	}
	// Some clients send the Host without its port.
	req, err := http.NewRequest("GET", "http://"+addr+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "127.0.0.1"
	if resp, err := client.Do(req); err != nil || resp.StatusCode != 200 {
		t.Errorf("Host without a port: got %v, %v, want 200", resp, err)
	} else {
		resp.Body.Close()
	}
	if got, want := fmt.Sprint(site.Requests("/"), secure.Requests()), fmt.Sprintf("[GET http://%s/ GET http://%[1]s/] [GET https://%[1]s/]", addr); got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}
