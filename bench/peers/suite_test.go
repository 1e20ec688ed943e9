package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// loopback makes the server of the suite listen on the loopback interface only.
const loopback = `const net = require("net"), listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port) { return listen.call(this, port, "127.0.0.1"); };
`

// TestCacheTestsSuite runs http-cache-tests itself, which is a package of npm, through a
// reverse proxy with and without Polite. Polite does not cache pages, so the results must
// be the same. POLITE_CACHE_TESTS is the folder of the installed package.
func TestCacheTestsSuite(t *testing.T) {
	folder := os.Getenv("POLITE_CACHE_TESTS")
	if folder == "" {
		t.Skip("POLITE_CACHE_TESTS does not name the folder of the package http-cache-tests")
	}
	server := startSuite(t, folder)
	tr, err := fetcher.New("ExampleBot/1.0", &fetcher.Options{Pace: pace.Unlimited()})
	if err != nil {
		t.Fatal(err)
	}
	want, got := runSuite(t, folder, server, http.DefaultTransport), runSuite(t, folder, server, tr)
	passed := 0
	for id, result := range want {
		if got[id] != result {
			t.Errorf("%s: passes over Polite: %t, without: %t", id, got[id], result)
		}
		if result {
			passed++
		}
	}
	if t.Logf("%d of %d tests pass", passed, len(want)); passed < 100 || tr.Stats().Allowed == 0 {
		t.Error("the suite did not run, or not over Polite")
	}
}

// startSuite starts the server of the suite and returns its address.
func startSuite(t *testing.T, folder string) *url.URL {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "node", "-r", write(t, filepath.Join(dir, "loopback.cjs"), loopback), "server/server.mjs")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "npm_config_protocol=http", "npm_config_port="+port, "npm_config_pidfile="+filepath.Join(dir, "pid"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	// The server writes a line when it listens.
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return address("http://127.0.0.1:" + port)
}

// runSuite runs the client of the suite through a proxy and returns which tests pass.
func runSuite(t *testing.T, folder string, server *url.URL, base http.RoundTripper) map[string]bool {
	proxy := httputil.NewSingleHostReverseProxy(server)
	proxy.Transport, proxy.ErrorLog = base, log.New(io.Discard, "", 0)
	front := httptest.NewServer(proxy)
	defer front.Close()
	cmd := exec.Command("node", "--no-warnings", "cli.mjs")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "npm_config_base="+front.URL, "npm_package_config_id=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]any{}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatal(err)
	}
	passed := map[string]bool{}
	for id, result := range results {
		passed[id] = result == true
	}
	return passed
}
