package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	const want = `http://news.example/lasting: "news" from the site, 2 turns
http://news.example/lasting: "news" from the cache, 0 turns
http://news.example/changing: "news" from the site, 1 turns
http://news.example/changing: "news" from the cache, 1 turns
http://news.example/old: "news" from the site, 2 turns
http://news.example/changing: disallow by line 2 "Disallow: /" in group "*", 0 turns
http://news.example/lasting: "news" from the cache, 0 turns
`
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestSquid has a cache below Polite, as a proxy that two crawlers share: the site is
// asked once for its robots.txt and once for the page, and what robots.txt says holds. The
// time that the file spent in the proxy counts as its age.
func TestSquid(t *testing.T) {
	var files, pages atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		if r.URL.Path == "/robots.txt" {
			files.Add(1)
			io.WriteString(w, "User-agent: *\nDisallow: /private\n")
			return
		}
		pages.Add(1)
		io.WriteString(w, "page")
	}))
	defer site.Close()
	proxy := startSquid(t)
	var expires time.Time
	for i := range 2 {
		tr, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
			Base: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}, Pace: pace.Unlimited(),
		})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: tr}
		for range 2 {
			resp, err := client.Get(site.URL + "/page")
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(text) != "page" || err != nil {
				t.Fatalf("got %q, %v; want the page", text, err)
			}
		}
		if _, err := client.Get(site.URL + "/private"); err == nil {
			t.Error("/private was fetched, though it is disallowed")
		}
		private, _ := url.Parse(site.URL + "/private")
		d, _ := tr.Peek(private)
		if i == 0 {
			expires = d.Expires
			time.Sleep(2 * time.Second) // the file becomes older in the proxy
		} else if late := d.Expires.Sub(expires); late > 1900*time.Millisecond { // Age counts whole seconds
			t.Errorf("the second crawler keeps the file %v longer than the first, want no longer", late)
		}
	}
	if files.Load() != 1 || pages.Load() != 1 {
		t.Errorf("%d requests for robots.txt and %d for the page, want 1 and 1", files.Load(), pages.Load())
	}
}

// startSquid starts a squid with a cache in memory on loopback.
func startSquid(t *testing.T) *url.URL {
	program, err := exec.LookPath("squid")
	if err != nil {
		t.Skip("squid is not installed")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	config := filepath.Join(t.TempDir(), "squid.conf")
	text := strings.NewReplacer("PORT", strconv.Itoa(port)).Replace(`http_port 127.0.0.1:PORT
http_access allow all
cache_mem 8 MB
access_log none
cache_log /dev/null
memory_cache_shared off
pid_filename none
coredump_dir none
shutdown_lifetime 0 seconds
cache_effective_user proxy
`) // squid does not run as root, and Debian has this user for it
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	squid := exec.CommandContext(t.Context(), program, "-N", "-n", "polite"+strconv.Itoa(port), "-f", config)
	squid.Cancel = func() error { return squid.Process.Signal(syscall.SIGTERM) } // it removes its shared memory
	squid.WaitDelay = 10 * time.Second
	var messages bytes.Buffer
	squid.Stderr = &messages
	if err := squid.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { squid.Wait() }) // the context of the test has ended by then
	for range 100 {
		conn, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			conn.Close()
			return &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}
		}
		time.Sleep(100 * time.Millisecond)
	}
	squid.Process.Kill()
	squid.Wait()
	t.Skipf("squid does not start: %s", &messages)
	return nil
}
