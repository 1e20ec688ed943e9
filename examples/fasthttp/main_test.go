package main

import (
	"bytes"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/rfc9309/polite/examples/internal/web"
)

// TestRun checks that the page is fetched, and that the rule holds for a link and for a redirect.
func TestRun(t *testing.T) {
	local := web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /cart\n"), Moved: "/old", MovedTo: "/cart/1"},
	})
	defer local.Close()
	client := &fasthttp.Client{Dial: func(string) (net.Conn, error) { return net.Dial("tcp", local.Addr()) }}
	var out bytes.Buffer
	if err := run(&out, client, []string{"http://shop.example/", "http://shop.example/cart", "http://shop.example/old"}); err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{"fetched http://shop.example/ 200\n": 1, `line 2 "Disallow: /cart"`: 2, `"http://shop.example/cart/1": disallowed`: 1, "fetched": 1} {
		if got := strings.Count(out.String(), want); got != times {
			t.Errorf("output:\n%s\n%q: got %d times, want %d", out.String(), want, got, times)
		}
	}
}

// TestLength checks that the program stays short.
func TestLength(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(text, []byte("\n")); got > 90 {
		t.Errorf("main.go: got %d lines, want at most 90", got)
	}
}
