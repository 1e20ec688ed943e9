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

// An answer is one page before it is written, as HTML or as JSON. Both show the one
// body: what a field without a JSON name adds is for the eye.
type answer struct {
	status int // 0 is 200
	view   string
	title  string
	body   any
	to     url.Values // the query to go to instead
}

// notices are the words for what was just done. They come from here and not from
// the query, in which anybody may write what he likes.
var notices = map[string]string{
	"refreshed": "The site was asked again just now.",
	"forgotten": "The authority was forgotten. It is asked anew when it is needed.",
}

// problem is the body of an answer that is none.
type problem struct {
	Problem string `json:"error"`
}

func failed(status int, why string) answer {
	return answer{status: status, view: "problem", title: http.StatusText(status), body: problem{why}}
}

// frame is what every page has around its body.
type frame struct {
	Title, View string
	Style       template.CSS
	Now         time.Time
	Actions     bool
	Live        bool // the page is loaded again and again
	Notice      string
	JSON        string // the query for the same as JSON
	Body        any
}

// write sends an answer in the form that was asked for. Nothing is sent before
// all of it is made.
func (k *desk) write(w http.ResponseWriter, r *http.Request, a answer) {
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
		// http.Redirect would resolve this against the path it knows, which
		// http.StripPrefix may have cut.
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
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	w.Write(b.Bytes())
}

// frame surrounds an answer with what the request asked of the page as a whole.
func (k *desk) frame(r *http.Request, a answer) frame {
	q := r.URL.Query()
	if v, ok := a.body.(askView); ok { // perhaps asked by a form, which is not in the query
		q = url.Values{"url": {v.URL}, "as": {v.As}}
	}
	q.Set("format", "json")
	return frame{
		Title: text(a.title), View: a.view, Style: k.style, Now: time.Now().UTC(), Actions: k.actions,
		Live: a.view == "overview" && q.Has("live"), Notice: notices[q.Get("did")], JSON: "?" + q.Encode(), Body: a.body,
	}
}

// wantsJSON reports whether the client asks for JSON: with format=json, or by
// an Accept header that names it and not HTML.
func wantsJSON(r *http.Request) bool {
	if f := r.URL.Query().Get("format"); f != "" {
		return f == "json"
	}
	accept := strings.Join(r.Header["Accept"], ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// contentPolicy permits one inline style sheet, by its hash, and forms to this
// origin, and nothing else: no script, no image, no frame around it. The hash leaves
// room for no other style, so there are no style attributes, and the charts take
// their colours from classes.
func contentPolicy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// parse makes the templates. They are part of the package: that they parse is
// for the tests to see.
func parse() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"text":    text,
		"ago":     func(t time.Time) string { return ago(t, time.Now()) },
		"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":   func(t time.Time) string { return clock(t.UTC(), time.Now().UTC()) },
		"lasting": func(s float64) string { return lasting(time.Duration(s * float64(time.Second))) },
		"number":  number,
		"size":    size,
		"int64":   func(n int) int64 { return int64(n) },
		"share":   share,
		"sum": func(n ...int64) (s int64) {
			for _, x := range n {
				s += x
			}
			return s
		},
		"add":        func(a, b int) int { return a + b },
		"rulings":    func(s []bucket) chart { return draw("Rulings", rulingKinds, s) },
		"retrievals": func(s []bucket) chart { return draw("Retrievals of robots.txt", retrievalKinds, s) },
		"blank":      func() askView { return askView{} },
		"site":       func(robots string) string { return strings.TrimSuffix(robots, "/robots.txt") },
		"spans":      func() any { return spans },
		"verdicts":   func() any { return verdicts },
	}).Parse(pageText))
}
