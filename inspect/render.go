package inspect

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleSheet string

// A reply is one page before it is written as HTML or as JSON.
type reply struct {
	status int // 0 means 200
	view   string
	title  string
	body   any        // fields without a JSON name are only in the HTML
	to     url.Values // if not nil, redirect to this query
}

// notices are the texts about the action just performed. The query has only their
// keys, because anybody can write the query of a link.
var notices = map[string]string{
	"refreshed": "robots.txt was fetched again just now.",
	"forgotten": "The site was forgotten. Its robots.txt is fetched when it is needed.",
}

// problem is the body of a reply that is an error.
type problem struct {
	Problem string `json:"error"`
}

func failed(status int, why string) reply {
	return reply{status: status, view: "problem", title: http.StatusText(status), body: problem{why}}
}

// frame is the data of the parts that all pages have.
type frame struct {
	Title, View string
	Style       template.CSS
	Now         time.Time
	Actions     bool
	Live        bool // the page reloads itself
	Notice      string
	JSON        string // query of the same page as JSON
	Body        any
}

// write sends a reply as HTML or JSON. The whole body is made before it is sent.
func (k *handler) write(w http.ResponseWriter, r *http.Request, a reply) {
	h := w.Header()
	h.Set("Content-Security-Policy", k.csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	if a.to != nil {
		if wantsJSON(r) {
			a.to.Set("format", "json")
		}
		// http.Redirect would resolve this against r.URL.Path, which
		// http.StripPrefix may have shortened.
		h.Set("Location", "?"+a.to.Encode())
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	var b bytes.Buffer
	var err error
	if wantsJSON(r) {
		h.Set("Content-Type", "application/json")
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		err = e.Encode(a.body)
	} else {
		h.Set("Content-Type", "text/html; charset=utf-8")
		err = k.html.ExecuteTemplate(&b, "page", k.frame(r, a))
	}
	if err != nil {
		http.Error(w, "The page could not be rendered.", http.StatusInternalServerError)
		return
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	w.Write(b.Bytes())
}

// frame returns the frame of a reply.
func (k *handler) frame(r *http.Request, a reply) frame {
	q := r.URL.Query()
	if v, ok := a.body.(askView); ok { // the URL may come from a form
		q = url.Values{"url": {v.URL}, "as": {v.As}}
	}
	q.Set("format", "json")
	return frame{
		Title: text(a.title), View: a.view, Style: k.style, Now: time.Now().UTC(), Actions: k.actions,
		Live: a.view == "overview" && q.Has("live"), Notice: notices[q.Get("did")], JSON: "?" + q.Encode(), Body: a.body,
	}
}

// wantsJSON reports whether the client asks for JSON, with format=json or with an
// Accept header that names JSON and not HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := strings.Join(r.Header["Accept"], ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// contentPolicy returns a Content-Security-Policy that permits one inline style
// sheet, by its hash, and forms to this origin. It permits no scripts, no images and
// no framing. It forbids style attributes too, so the charts get their colours from
// classes.
func contentPolicy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// parse parses the templates, which are part of the package.
func parse() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"text":     text,
		"ago":      func(t time.Time) string { return ago(t, time.Now()) },
		"until":    func(t time.Time) string { return until(t, time.Now()) },
		"after":    func(r retrieval) string { return "after " + duration(r.Next.Sub(r.Time).Round(time.Second)) },
		"cause":    causeBeside,
		"decided":  explained,
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":    func(t time.Time) string { return clock(t.UTC(), time.Now().UTC()) },
		"duration": func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
		"number":   number,
		"size":     size,
		"int64":    func(n int) int64 { return int64(n) },
		"share":    share,
		"sum": func(n ...int64) (s int64) {
			for _, x := range n {
				s += x
			}
			return s
		},
		"add":        func(a, b int) int { return a + b },
		"decisions":  func(s []bucket) chart { return draw("Decisions", verdictKinds, s) },
		"retrievals": func(s []bucket) chart { return draw("Fetches of robots.txt", retrievalKinds, s) },
		"blank":      func() askView { return askView{} },
		"site":       func(robots string) string { return strings.TrimSuffix(robots, "/robots.txt") },
		"spans":      func() any { return spans },
		"verdicts":   func() any { return verdicts },
	}).Parse(pageText))
}
