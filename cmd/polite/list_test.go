package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// generatedList is a list that is generated while it is read. Line n is a URL of
// site n mod sites.
type generatedList struct {
	n, total, sites int
	rest            []byte
	end             func() // called at the end of the list
}

func (e *generatedList) Read(p []byte) (int, error) {
	for ; len(e.rest) < len(p) && e.n < e.total; e.n++ {
		e.rest = fmt.Appendf(e.rest, "http://site-%d.example/d%d/page-%d.html\n", e.n%e.sites, e.n%2, e.n)
	}
	if len(e.rest) == 0 {
		e.end()
		return 0, io.EOF
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// robotsOf answers every request with the robots.txt of its host.
type robotsOf struct{ requests atomic.Int64 }

func (b *robotsOf) RoundTrip(req *http.Request) (*http.Response, error) {
	b.requests.Add(1)
	text := "User-agent: *\nDisallow: /d1/\n# of " + req.URL.Host + "\n"
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"text/plain"}}, ContentLength: int64(len(text)),
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

// TestLongList checks a list that is longer than the window. The results must be in
// order, each site gets one request, and the memory is bounded.
func TestLongList(t *testing.T) {
	const total, sites, most = 100_000, 1000, 64 << 20
	var memory runtime.MemStats
	base := &robotsOf{}
	out, in := io.Pipe()
	var errs bytes.Buffer
	list := &generatedList{total: total, sites: sites, end: func() {
		// What others allocate during a collection counts as in use until the next one.
		for try := 0; try == 0 || memory.HeapAlloc > most && try < 5; try++ {
			runtime.GC()
			runtime.ReadMemStats(&memory)
		}
		t.Logf("%d bytes in use at the end of the list", memory.HeapAlloc)
	}}
	c := &cli{in: list, out: in, err: &errs, now: time.Now, base: base}
	code := make(chan int, 1)
	go func() {
		defer in.Close()
		code <- c.run(t.Context(), []string{"check", "--from", "-"})
	}()
	n := 0
	for lines := bufio.NewScanner(out); lines.Scan(); n++ {
		word := [...]string{"ALLOW     ", "DISALLOW  "}[n%2]
		want := fmt.Sprintf("%shttp://site-%d.example/d%d/page-%d.html  ", word, n%sites, n%2, n)
		if !strings.HasPrefix(lines.Text(), want) {
			t.Fatalf("line %d\ngot  %s\nwant %s ...", n, lines.Text(), want)
		}
	}
	if got := <-code; got != exitDisallowed {
		t.Errorf("exit %d, want %d", got, exitDisallowed)
	}
	if n != total || base.requests.Load() != sites {
		t.Errorf("got %d lines, %d requests; want %d, %d", n, base.requests.Load(), total, sites)
	}
	if memory.HeapAlloc > most {
		t.Errorf("%d bytes in use at the end of the list; want %d at most", memory.HeapAlloc, most)
	}
	if want := "100,000 URLs in "; !strings.HasPrefix(errs.String(), want) {
		t.Errorf("summary: got %q, want %q ...", errs.String(), want)
	}
}
