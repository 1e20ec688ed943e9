package exam

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/httptest"
)

// Most start pages link to these two pages, before and after all other links. A crawler that
// requests both has read the whole page and follows its links.
const (
	first = "/page-1"
	last  = "/page-2"
)

// A Request is a request of the crawler. Its text is bounded and printable.
type Request struct {
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	URL    string    `json:"url"`
	Agent  string    `json:"user_agent"`
	Target string    `json:"-"` // path and query as sent

	header interface{ Get(string) string }
}

// Bounds of what is shown of a request, in bytes.
const (
	longURL   = 300
	longAgent = 200
)

func newRequest(r httptest.Request) Request {
	return Request{
		Time: r.Time, Method: clean.Text(r.Method, 20), URL: clean.Link(r.URL(), longURL), Agent: clean.Text(r.Header.Get("User-Agent"), longAgent),
		Target: r.Target, header: r.Header,
	}
}

// String returns the request with its time: "12:00:01.234Z GET http://127.93.9.2:40001/private".
func (r Request) String() string {
	return clock(r) + " " + r.Method + " " + r.URL
}

func clock(r Request) string { return r.Time.UTC().Format("15:04:05.000Z") }

// A view is what a crawler did at the sites of a case.
type view struct {
	c            *Case
	sites        []*visits
	cut          bool // the crawler was ended before it was done
	visitsOthers bool // it requested pages of several other sites
}

// visits are the requests to a site in the order of their arrival.
type visits struct {
	*site
	all   []Request
	asked int // index of the first request for robots.txt, or -1

	connected bool // there was a connection
}

func visitsTo(s *site, all []httptest.Request, dials []httptest.Dial) *visits {
	v := &visits{site: s}
	for _, r := range all {
		if r.Origin == s.Origin() {
			v.all = append(v.all, newRequest(r))
		}
	}
	v.asked = slices.IndexFunc(v.all, v.isRobots)
	v.connected = slices.ContainsFunc(dials, func(d httptest.Dial) bool { return d.Err == nil && d.Address == s.address })
	return v
}

// isRobots reports whether a request is for robots.txt or for a URL that it redirects to.
func (v *visits) isRobots(r Request) bool { return slices.Contains(v.robots, r.Target) }

// isPage reports whether a request is for a page. Browsers request an icon by themselves.
func (v *visits) isPage(r Request) bool { return !v.isRobots(r) && r.Target != "/favicon.ico" }

// pages returns the requests for pages after the first request for robots.txt. What was
// requested before has a case of its own. Without a request for robots.txt all pages count.
func (v *visits) pages() []Request {
	var pages []Request
	for _, r := range v.all[max(v.asked, 0):] {
		if v.isPage(r) {
			pages = append(pages, r)
		}
	}
	return pages
}

// pageAt returns the first of the pages with this path.
func (v *visits) pageAt(path string) (Request, bool) {
	pages := v.pages()
	i := slices.IndexFunc(pages, func(r Request) bool { return same(r.Target, path) })
	if i < 0 {
		return Request{}, false
	}
	return pages[i], true
}

// nthAsked returns the index of the nth request for /robots.txt, or -1.
func (v *visits) nthAsked(n int) int {
	for i, r := range v.all {
		if r.Target == "/robots.txt" {
			if n--; n == 0 {
				return i
			}
		}
	}
	return -1
}

// same reports whether two targets are the same in any percent-encoding.
func same(a, b string) bool { return unescaped(a) == unescaped(b) }

func unescaped(target string) string {
	if s, err := url.PathUnescape(target); err == nil {
		return s
	}
	return target
}

func passed(r Request, format string, args ...any) Mark {
	return Mark{Passed, fmt.Sprintf(format, args...), &r}
}

func failed(r Request, format string, args ...any) Mark {
	return Mark{Failed, fmt.Sprintf(format, args...), &r}
}

func notExercised(why string) Mark { return Mark{NotExercised, why, nil} }

// ago returns the time between two requests.
func ago(r, before Request) string { return r.Time.Sub(before.Time).Round(time.Millisecond).String() }

// missing returns the mark of a case whose main site got no request for robots.txt.
func (v *view) missing() Mark {
	if len(v.sites[0].all) == 0 {
		return notExercised("did not come to this site")
	}
	return notExercised("did not request robots.txt")
}

// judgeRules judges most cases. The crawler passes if it requested all paths of c.open and no path
// of c.closed.
func judgeRules(v *view) Mark { return v.judgeSite(0, v.c.closed, v.c.open, v.c.needs...) }

// judgeSite judges one site by the paths that its robots.txt disallows, the paths that it
// allows, and the paths without whose request nothing is known.
func (v *view) judgeSite(n int, closed, open []string, needs ...string) Mark {
	s := v.sites[n]
	for _, r := range s.pages() {
		if slices.ContainsFunc(closed, func(path string) bool { return same(r.Target, path) }) {
			if s.asked < 0 {
				return failed(r, "requested it, and never requested robots.txt")
			}
			return failed(r, "requested it, although robots.txt disallows it")
		}
	}
	if s.asked < 0 {
		if len(s.all) == 0 && n > 0 {
			return notExercised("did not come to the second site")
		}
		return v.missing()
	}
	if len(needs) == 0 {
		needs = []string{first}
	}
	var reached Request
	for _, path := range append(slices.Clone(needs), last) {
		r, ok := s.pageAt(path)
		if !ok {
			return notExercised(fmt.Sprintf("did not request %s, which is allowed", path))
		}
		reached = r
	}
	for _, path := range open {
		if _, ok := s.pageAt(path); !ok && v.cut {
			return notExercised("was ended before it could request " + path)
		} else if !ok {
			return failed(reached, "requested this, but never %s, which the same page links to and robots.txt allows", path)
		}
	}
	return passed(reached, "requested this and no page that is disallowed")
}

// judgeOpen asks whether a crawler requests pages of a site that is open as a whole.
func judgeOpen(v *view) Mark {
	s := v.sites[0]
	pages := s.pages()
	switch {
	case s.asked < 0:
		return v.missing()
	case len(pages) > 0:
		return passed(pages[0], "requested pages")
	case v.cut:
		return notExercised("was ended before it could request a page")
	case !v.visitsOthers:
		return notExercised("requested pages at few other sites, either")
	}
	return failed(s.all[s.asked], "requested this and no page, although no rule applies")
}
