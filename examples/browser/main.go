// Browser crawls with a headless Chromium. Each request of a page waits for its decision
// and its turn before it leaves the browser.
//
//	go run ./browser -proxy localhost:3128 https://example.com/
//
// The Fetch domain of the DevTools protocol pauses each navigation, redirect, image,
// script, XHR, CORS preflight and favicon. Transport.Admit decides. The browser then sends
// the request, or fails it with BlockedByClient. A busy browser sends a request some time
// after its turn, so two requests can arrive closer together than their turns were.
//
// Some requests are not paused: WebSockets, WebRTC, service workers, a tab that a page
// opens after a click, and what the browser fetches for itself (updates, sign-in). So put
// a proxy or a firewall in front of the browser. In the test it is a web of two sites, which
// refuses everything else. It must also refuse private addresses, at each connection: a name can change its address
// after the decision (DNS rebinding), and Options.PageEgress covers only robots.txt here.
//
// It leaves out: links, and a queue of pages with those that are deferred.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/rfc9309/polite/fetcher"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	proxy := flag.String("proxy", "", "host:port of the proxy of the browser; none if empty")
	flag.Parse()
	t, err := fetcher.New(agent, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := run(os.Stdout, t, *proxy, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run opens each page in a browser.
func run(w io.Writer, t *fetcher.Transport, proxy string, pages []string) error {
	out := log.New(w, "", 0) // requests print at the same time
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags(proxy)...)
	defer stop()
	ctx, closeBrowser := chromedp.NewContext(ctx)
	defer closeBrowser()
	if err := chromedp.Do(ctx); errors.Is(err, exec.ErrNotFound) {
		out.Print("No browser is installed: this example needs Chromium or Chrome.")
		return nil
	} else if err != nil {
		return err
	}
	for _, page := range pages {
		if err := visit(ctx, out, t, page); err != nil {
			return err
		}
	}
	return nil
}

// visit opens a page in a new tab and waits until its network is idle.
func visit(ctx context.Context, out *log.Logger, t *fetcher.Transport, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	ctx, closeTab := chromedp.NewContext(ctx)
	v := &tab{ctx: ctx, transport: t, out: out, open: map[network.RequestID]*fetcher.Admission{}}
	defer v.endAll()
	defer closeTab()
	if err := chromedp.Listen(ctx, v.event); err != nil {
		return err
	}
	stages := []*fetch.RequestPattern{{RequestStage: fetch.RequestStageRequest}, {RequestStage: fetch.RequestStageResponse}}
	if _, err := chromedp.Call(ctx, fetch.Enable, fetch.EnableParams{Patterns: stages}); err != nil {
		return err
	}
	out.Printf("\n%s\n%8s  %-9s %-9s %-8s URL", address, "waited", "type", "decision", "clause")
	events := chromedp.Events(ctx, page.LifecycleEvent)
	nav, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		return err
	}
	if nav.ErrorText != "" {
		out.Print("  no page: ", nav.ErrorText)
		return nil
	}
	for ev, err := range events {
		if err != nil || ev.Name == "networkIdle" && ev.LoaderID == nav.LoaderID {
			return err
		}
	}
	return nil
}
