// Warc writes what a crawl obeyed as WARC 1.1 records, and reads them back: for each
// robots.txt, and each redirect on the way to it, a request and a response, and for each
// decision a metadata record that points to the response.
//
// The records have what package fetcher knows: the body decoded and cut at 500 KiB,
// without its transfer encoding, and the fields of the request that Polite sets. An
// archive that needs the bytes of the connection takes them below http.Transport.
//
// It leaves out: the pages.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"

	"github.com/rfc9309/polite/examples/internal/web"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example":  {Robots: web.Text("User-agent: *\nDisallow: /cart\n")},
		"moved.example": {Robots: web.Redirect("http://files.example/robots.txt")},
		"files.example": {Robots: web.Text("User-agent: ExampleBot\nDisallow: /drafts\n")},
		"busy.example":  {Robots: web.Steps(web.Status(503))},
	})
	defer local.Close()
	var file bytes.Buffer // a real crawler writes to a file and begins a new one every gigabyte
	archive := &archive{file: &file, responses: map[string]string{}}
	t, err := fetcher.New(agent, &fetcher.Options{
		Base:   local.Transport(),
		Egress: web.AnyAddress,
		Trace:  &fetcher.Trace{Fetched: archive.fetched, Decided: archive.decided},
	})
	if err != nil {
		return err
	}
	for _, page := range []string{"http://shop.example/cart", "http://shop.example/", "http://moved.example/drafts", "http://busy.example/"} {
		target, err := url.Parse(page)
		if err != nil {
			return err
		}
		if _, err := t.Check(context.Background(), target); err != nil {
			return err
		}
	}
	if archive.err != nil {
		return archive.err
	}
	fmt.Fprintf(out, "%d bytes\n", file.Len())
	return list(out, &file)
}

// list prints what a file has: the first line of requests and responses, and of decisions
// the verdict and the beginning of the digest of the text.
func list(out io.Writer, file io.Reader) error {
	all, err := read(file)
	for _, r := range all {
		first, _, _ := bytes.Cut(r.block, []byte("\r\n"))
		var d struct{ Verdict, Digest string }
		if r.kind == "metadata" && json.Unmarshal(r.block, &d) == nil {
			first = fmt.Appendf(nil, "%s %.8s", d.Verdict, d.Digest)
		}
		fmt.Fprintf(out, "%-8s  %s  %s\n", r.kind, r.target, bytes.TrimSpace(first))
	}
	return err
}

// An archive writes records as the hooks of a Trace report them.
type archive struct {
	mu        sync.Mutex
	file      io.Writer
	responses map[string]string // IDs of the last responses, by the URL of robots.txt
	last      policy.Attempt    // its URLs and its time
	err       error             // the first error of the file
}

// fetched writes the requests and the answers of one fetch. A file that a redirect led to is
// reported a second time, for its own authority, and is not written again.
func (a *archive) fetched(f policy.Attempt, _ *policy.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if last := a.last; last.Served == f.Robots && last.Received.Equal(f.Received) {
		a.responses[f.Robots] = a.responses[last.Robots]
		return
	}
	a.last = policy.Attempt{Robots: f.Robots, Served: f.Served, Received: f.Received}
	for _, hop := range f.Hops {
		a.exchange(f, hop.From, hop.Status, hop.Header, nil)
	}
	a.exchange(f, cmp.Or(f.Served, f.Robots), f.Status, f.Header, f.Body)
}

// exchange writes a request, and its answer if there was one.
func (a *archive) exchange(f policy.Attempt, target string, status int, header http.Header, body []byte) {
	u, err := url.Parse(target)
	if err != nil {
		a.err = err
		return
	}
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n\r\n", u.RequestURI(), u.Host, agent)
	id := a.write(record{kind: "request", target: target, date: f.Sent, content: "application/http;msgtype=request", block: request})
	if status == 0 {
		return // no answer; the metadata record says why
	}
	header = header.Clone()
	header.Del("Transfer-Encoding")
	header.Del("Content-Encoding") // the body is decoded
	header.Set("Content-Length", strconv.Itoa(len(body)))
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", status, http.StatusText(status))
	header.Write(&b)
	b.WriteString("\r\n")
	b.Write(body)
	a.responses[f.Robots] = a.write(record{
		kind: "response", target: target, date: f.Received, content: "application/http;msgtype=response", to: id, block: b.Bytes(),
	})
}

// decided writes a decision beside the response that it rests on.
func (a *archive) decided(_ context.Context, d policy.Decision) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, err := json.Marshal(d)
	if err != nil {
		a.err = err
		return
	}
	a.write(record{kind: "metadata", target: d.URL, date: d.At, content: "application/json", to: a.responses[d.Robots], block: text})
}

func (a *archive) write(r record) string {
	id, err := r.write(a.file)
	if a.err == nil {
		a.err = err
	}
	return id
}
