package inspect

import (
	"cmp"
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// Options configures a Page. The zero value of every field is a good choice.
type Options struct {
	// Actions enables the buttons that fetch robots.txt or forget an authority.
	// If false, the page changes nothing and sends no request.
	Actions bool

	// Recent is how many decisions and how many fetches the page remembers.
	// Zero means 200, a negative number means none.
	Recent int
}

const defaultRecent = 200

// Page is the page of one crawler and its recent history. It is safe for concurrent
// use, starts no goroutine and need not be closed.
type Page struct {
	actions bool
	history *history
	guard   *http.CrossOriginProtection
	html    *template.Template
	style   template.CSS
	csp     string
	walking chan struct{} // has an element while a walk runs
}

// New returns a Page. Nil options mean a zero Options.
func New(o *Options) *Page {
	o = cmp.Or(o, &Options{})
	return &Page{
		actions: o.Actions,
		history: newHistory(max(cmp.Or(o.Recent, defaultRecent), 0)),
		guard:   http.NewCrossOriginProtection(),
		html:    parse(),
		style:   template.CSS(styleSheet),
		csp:     contentPolicy(styleSheet),
		walking: make(chan struct{}, 1),
	}
}

// Trace returns hooks for fetcher.Options.Trace. They record decisions and
// fetches for the page and then call the hooks of next. next may be nil and is
// not changed. Transports that share the hooks share the history.
func (p *Page) Trace(next *fetcher.Trace) *fetcher.Trace {
	var t fetcher.Trace
	if next != nil {
		t = *next
	}
	decided, fetched := t.Decided, t.Fetched
	t.Decided = func(ctx context.Context, d policy.Decision) {
		p.history.decided(d, time.Now())
		if decided != nil {
			decided(ctx, d)
		}
	}
	t.Fetched = func(a policy.Attempt, r *policy.Record) {
		p.history.fetched(a, r)
		if fetched != nil {
			fetched(a, r)
		}
	}
	p.history.setHooked()
	return &t
}

// Handler returns a handler that shows the page for t. It may be mounted at any path.
func (p *Page) Handler(t *fetcher.Transport) http.Handler { return &handler{Page: p, t: t} }

// handler shows a page for one Transport.
type handler struct {
	*Page
	t *fetcher.Transport
}

// ServeHTTP shows a page for GET and performs an action only for POST, so that a
// link changes nothing.
func (k *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a reply
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead:
		a = k.show(r)
	case r.Method == http.MethodPost && k.actions:
		a = k.act(w, r)
	default:
		a = failed(http.StatusMethodNotAllowed, "Only GET: actions are not enabled.")
		if k.actions {
			a = failed(http.StatusMethodNotAllowed, "Only GET and POST.")
		}
		w.Header().Set("Allow", k.methods())
	}
	k.write(w, r, a)
}

func (k *handler) methods() string {
	if k.actions {
		return "GET, HEAD, POST"
	}
	return "GET, HEAD"
}

// show returns the page that the query selects.
func (k *handler) show(r *http.Request) reply {
	q := r.URL.Query()
	switch {
	case q.Has("authority"):
		return k.authority(q)
	case q.Has("url"):
		return k.ask(q)
	}
	switch q.Get("view") {
	case "":
		return k.overview(q)
	case "authorities":
		return k.authorities(r.Context(), q)
	case "pacing":
		return k.pacing(r.Context(), q)
	case "recent":
		return k.recent(q)
	}
	return failed(http.StatusNotFound, "There is no such page.")
}
