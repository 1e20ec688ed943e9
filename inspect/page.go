package inspect

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// Options adjusts a Page. The zero value of every field is a sound choice.
type Options struct {
	// Actions enables what changes something or sends a request: the buttons
	// that refresh or forget an authority, and asking a site about a URL of
	// which the memory knows nothing. False shows and does nothing.
	Actions bool

	// Recent is how many rulings, and how many retrievals, are kept to be
	// shown. Zero is 200; less than zero keeps none.
	Recent int
}

const defaultRecent = 200

// Page is the page of one crawler, with its own short memory of what happened.
// It is safe for concurrent use, owns no goroutine and needs no closing.
type Page struct {
	actions bool
	history *history
	guard   *http.CrossOriginProtection
	html    *template.Template
	style   template.CSS
	csp     string
	turn    chan struct{} // held by the one walk over the memory
}

// New returns a Page. Nil options are zero options.
func New(o *Options) *Page {
	if o == nil {
		o = &Options{}
	}
	recent := o.Recent
	if recent == 0 {
		recent = defaultRecent
	}
	return &Page{
		actions: o.Actions,
		history: newHistory(max(recent, 0)),
		guard:   http.NewCrossOriginProtection(),
		html:    parse(),
		style:   template.CSS(styleSheet),
		csp:     contentPolicy(styleSheet),
		turn:    make(chan struct{}, 1),
	}
}

// Trace returns hooks for fetcher.Options.Trace that note rulings and
// retrievals for the page and then call those of next, which may be nil and is
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
	p.history.hook()
	return &t
}

// Handler returns the page over what t holds. It serves one path, whichever it
// is mounted at.
func (p *Page) Handler(t *fetcher.Transport) http.Handler { return &desk{Page: p, t: t} }

// desk is a page with the Transport it is about.
type desk struct {
	*Page
	t *fetcher.Transport
}

// ServeHTTP shows on GET and acts on POST, so that nothing a link can do has an
// effect.
func (k *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a answer
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

func (k *desk) methods() string {
	if k.actions {
		return "GET, HEAD, POST"
	}
	return "GET, HEAD"
}

// show is the page that the query asks for.
func (k *desk) show(r *http.Request) answer {
	q := r.URL.Query()
	switch {
	case q.Has("authority"):
		return k.authority(r.Context(), q)
	case q.Has("url"):
		return k.ask(r.Context(), q)
	}
	switch q.Get("view") {
	case "":
		return k.overview(q)
	case "authorities":
		return k.authorities(r.Context(), q)
	case "recent":
		return k.recent(q)
	}
	return failed(http.StatusNotFound, "There is no such page.")
}
