// Browser crawls with a headless Chromium. Each request of a page waits for its decision
// and its turn before it leaves the browser.
//
//	go run ./browser
//
// The Fetch domain of the DevTools protocol pauses each navigation, redirect, image,
// script, XHR, CORS preflight and favicon. Transport.Admit decides. The browser then sends
// the request, or fails it with BlockedByClient. A busy browser sends a request some time
// after its turn, so two requests can arrive closer together than their turns were.
//
// Some requests are not paused: WebSockets, WebRTC, service workers, a tab that a page
// opens after a click, and what the browser fetches for itself (updates, sign-in). Here
// the only proxy of the browser is the local web, which serves two sites and refuses
// everything else. On the real web, put a proxy or a firewall in front of the browser. It
// must also refuse private addresses, at each connection: a name can change its address
// after the decision (DNS rebinding), and Options.PageEgress covers only robots.txt here.
//
// It leaves out: links, and a queue of pages with those that are deferred.
package main

import (
	"context"
	"errors"
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
	"github.com/rfc9309/polite/pace"
)

const agent = "ExampleBot/0.1 (+https://example.com/bot)"

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer) error {
	local := smallWeb()
	defer local.Close()
	t, err := fetcher.New(agent, &fetcher.Options{
		Base: local.Transport(), // leave this out to visit the real web
		Pace: &pace.Limits{Gap: 200 * time.Millisecond, Parallel: 2},
	})
	if err != nil {
		return err
	}
	out := log.New(w, "", 0) // requests print at the same time
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags(local.Addr())...)
	defer stop()
	ctx, closeBrowser := chromedp.NewContext(ctx)
	defer closeBrowser()
	if err := chromedp.Do(ctx); errors.Is(err, exec.ErrNotFound) {
		out.Print("No browser is installed: this example needs Chromium or Chrome.")
		return nil
	} else if err != nil {
		return err
	}
	for _, path := range []string{"/shoes", "/old", "/cart"} {
		if err := visit(ctx, out, t, "http://shop.example"+path); err != nil {
			return err
		}
	}
	report(out, local)
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
