package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// tab decides about the requests of one tab of the browser.
type tab struct {
	ctx       context.Context // ends when the tab is closed
	transport *fetcher.Transport
	out       *log.Logger

	mu   sync.Mutex
	open map[network.RequestID]*fetcher.Admission // requests in flight
}

// event runs on the goroutine that reads from the browser, so it must not block.
func (v *tab) event(ev any) {
	switch ev := ev.(type) {
	case *fetch.EventRequestPaused:
		if ev.ResponseStatusCode == 0 && ev.ResponseErrorReason == "" {
			go v.admit(ev) // ends after the turn of the request, or with the tab
			return
		}
		v.answer(ev)
		go chromedp.Call(v.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID})
	case *network.EventLoadingFinished:
		v.take(ev.RequestID).Done()
	case *network.EventLoadingFailed:
		v.take(ev.RequestID).Fail(failure(ev))
	}
}

// admit waits for the decision and the turn of a request. Then it sends or fails the request.
func (v *tab) admit(ev *fetch.EventRequestPaused) {
	a := v.decide(ev)
	if a == nil {
		refuse := fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonBlockedByClient}
		chromedp.Call(v.ctx, fetch.FailRequest, refuse)
		return
	}
	v.mu.Lock()
	v.open[id(ev)] = a
	v.mu.Unlock()
	if _, err := chromedp.Call(v.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: ev.RequestID}); err != nil {
		v.take(id(ev)).Done() // the page has cancelled the request
	}
}

// decide waits for the decision and the turn of a request, and prints the decision. It
// returns nil if the request must not be sent.
func (v *tab) decide(ev *fetch.EventRequestPaused) *fetcher.Admission {
	start := time.Now()
	target, err := url.Parse(ev.Request.URL)
	if err != nil {
		v.out.Print("  no decision: ", err)
		return nil
	}
	var a *fetcher.Admission
	var d policy.Decision
	if from := v.take(id(ev)); from != nil { // a redirect keeps the NetworkID
		a, d, err = from.Redirect(v.ctx, target)
	} else {
		a, d, err = v.transport.Admit(v.ctx, target)
	}
	switch {
	case v.ctx.Err() != nil: // the tab is closed
	case err != nil:
		v.out.Print("  no decision: ", err)
	default:
		v.out.Printf("%7.2fs  %-9s %-9s %-8s %s", time.Since(start).Seconds(), ev.ResourceType, d.Verdict, d.Clause, target)
	}
	return a
}

// answer reports the head of an answer, if there is one. It ends the request if the tab
// may get no event for its end: for a worker or a favicon. The next request of a redirect ends
// the one before.
func (v *tab) answer(ev *fetch.EventRequestPaused) {
	h := http.Header{}
	for _, field := range ev.ResponseHeaders {
		h.Add(field.Name, field.Value)
	}
	v.mu.Lock()
	a := v.open[id(ev)]
	v.mu.Unlock()
	if ev.ResponseErrorReason == "" {
		a.Answer(int(ev.ResponseStatusCode), h)
	}
	if ev.ResourceType == network.ResourceTypeOther || ev.NetworkID == "" {
		v.take(id(ev)).Done()
	}
}

// failure returns the error of a failed request. It is nil if the page or the browser gave up the
// request, because that says nothing about the host.
func failure(ev *network.EventLoadingFailed) error {
	if ev.Canceled || ev.BlockedReason != "" || ev.CorsErrorStatus != nil || strings.HasPrefix(ev.ErrorText, "net::ERR_BLOCKED_BY_") {
		return nil
	}
	return errors.New(ev.ErrorText)
}

// id returns the key of a request in tab.open. The requests of a worker have no NetworkID.
func id(ev *fetch.EventRequestPaused) network.RequestID {
	return cmp.Or(ev.NetworkID, network.RequestID(ev.RequestID))
}

// take removes and returns the admission of a request, nil if it has none.
func (v *tab) take(id network.RequestID) *fetcher.Admission {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.open[id]
	delete(v.open, id)
	return a
}

// endAll ends the requests that were in flight when the tab was closed.
func (v *tab) endAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, a := range v.open {
		a.Done()
	}
}
