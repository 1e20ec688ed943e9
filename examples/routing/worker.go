package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rfc9309/polite/fetcher"
)

// An answer says what became of a page.
type answer struct {
	Verdict string
	Status  int           // of the page; 0 if it was not fetched
	Wait    time.Duration // no further request to the host for this long; clocks may differ
}

// done reports whether the page need not be sent to a worker again.
func (a answer) done() bool {
	return a.Verdict == "disallow" || a.Verdict == "allow" && a.Status != 0 && a.Status != http.StatusTooManyRequests
}

// work is a worker. It prints its address and then fetches the pages that it is asked
// for, until it is killed.
func work(out io.Writer, router string, o *fetcher.Options) error {
	o.Store = &remote{url: router}
	o.Pace.MaxWait = time.Second // a worker serves other hosts meanwhile
	t, err := fetcher.New(agent, o)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, l.Addr())
	client := &http.Client{Transport: t, Timeout: 3 * time.Minute}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		page, err := url.Parse(req.FormValue("page"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(visit(t, client, page))
	}))
}

// visit fetches a page. The target of a redirect waits for its turn here, even for longer
// than MaxWait.
func visit(t *fetcher.Transport, client *http.Client, page *url.URL) answer {
	a := answer{Verdict: "allow"}
	resp, err := client.Get(page.String())
	var denied *fetcher.DeniedError
	switch {
	case errors.As(err, &denied):
		a.Verdict, a.Wait = denied.Decision.Verdict.String(), time.Until(denied.Decision.RetryAt)
	case err == nil:
		a.Status = resp.StatusCode
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if d, ok := t.Peek(page); ok {
		a.Wait = max(a.Wait, time.Until(d.Turn)) // the gap, the pause or the rest after this page
	}
	return a
}
