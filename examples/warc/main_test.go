package main

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	const want = `request   http://shop.example/robots.txt  GET /robots.txt HTTP/1.1
response  http://shop.example/robots.txt  HTTP/1.1 200 OK
metadata  http://shop.example/cart  disallow 00542a9a
metadata  http://shop.example/  allow 00542a9a
request   http://moved.example/robots.txt  GET /robots.txt HTTP/1.1
response  http://moved.example/robots.txt  HTTP/1.1 302 Found
request   http://files.example/robots.txt  GET /robots.txt HTTP/1.1
response  http://files.example/robots.txt  HTTP/1.1 200 OK
metadata  http://moved.example/drafts  disallow cb6a2f19
request   http://busy.example/robots.txt  GET /robots.txt HTTP/1.1
response  http://busy.example/robots.txt  HTTP/1.1 503 Service Unavailable
metadata  http://busy.example/  defer
`
	_, got, _ := strings.Cut(out.String(), "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRead reads what is no record, or a damaged one.
func TestRead(t *testing.T) {
	var whole bytes.Buffer
	r := record{kind: "request", target: "http://a.example/", date: time.Now(), content: "text/plain", block: []byte("block")}
	if _, err := r.write(&whole); err != nil {
		t.Fatal(err)
	}
	if all, err := read(&whole); err != nil || len(all) != 1 || string(all[0].block) != "block" || all[0].id != r.id {
		t.Errorf("got %+v, %v; want the record", all, err)
	}
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\n\r\n",
		"WARC/1.1\r\nContent-Length: -1\r\n\r\n",
		"WARC/1.1\r\nContent-Length: 99999999\r\n\r\n",
		"WARC/1.1\r\nContent-Length: 1\r\nWARC-Date: yesterday\r\n\r\nx\r\n\r\n",
		"WARC/1.1\r\nContent-Length: 1\r\nWARC-Date: 2026-05-01T00:00:00Z\r\n\r\nx\r\n\r\n",
		"WARC/1.1\r\nContent-Length: 9\r\nWARC-Date: 2026-05-01T00:00:00Z\r\n\r\nx",
	} {
		var file bytes.Buffer
		w := gzip.NewWriter(&file)
		w.Write([]byte(text))
		w.Close()
		if all, err := read(&file); err == nil {
			t.Errorf("%q: got %+v, want an error", text, all)
		}
	}
	if _, err := read(strings.NewReader("WARC/1.1\r\n")); err == nil {
		t.Error("a file without compression was read")
	}
}
