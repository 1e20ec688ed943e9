package inspect

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// overviewView is the first page: totals, rates and what happened last.
type overviewView struct {
	Stats      fetcher.Stats `json:"stats"`
	Hooked     bool          `json:"hooked"` // the hooks of Page.Trace are installed
	Span       string        `json:"span"`
	Seconds    int           `json:"bucket_seconds"`
	Series     []bucket      `json:"series"`
	Rulings    []ruling      `json:"rulings"`
	Retrievals []retrieval   `json:"retrievals"`
}

// overviewRows is how many rulings and retrievals the first page shows.
const overviewRows = 8

// overview costs the same however much the memory holds: its totals are counters.
// A span that is not known is the first one, so that old links live on.
func (k *desk) overview(q url.Values) answer {
	at := max(slices.IndexFunc(spans[:], func(s span) bool { return s.Name == q.Get("span") }), 0)
	v := overviewView{Stats: k.t.Stats(), Span: spans[at].Name, Seconds: int(spans[at].Width / time.Second)}
	v.Series = k.history.series(at, time.Now())
	v.Rulings, v.Retrievals, v.Hooked = k.history.recent(overviewRows)
	return answer{view: "overview", title: "Overview", body: v}
}

// recentView is all that is kept of what happened last.
type recentView struct {
	Hooked     bool        `json:"hooked"`
	Verdict    string      `json:"verdict,omitempty"` // the one that is shown, "" for all
	Rulings    []ruling    `json:"rulings"`
	Retrievals []retrieval `json:"retrievals"`
}

// recent picks one verdict out of what is kept. It does not search further back,
// since there is nothing.
func (k *desk) recent(q url.Values) answer {
	v := recentView{Verdict: q.Get("verdict")}
	if v.Verdict != "" && !slices.Contains(verdicts[:], v.Verdict) {
		return failed(http.StatusBadRequest, "There is no such verdict.")
	}
	v.Rulings, v.Retrievals, v.Hooked = k.history.recent(cap(k.history.rulings.items))
	if v.Verdict != "" {
		v.Rulings = slices.DeleteFunc(v.Rulings, func(r ruling) bool { return r.Decision.Verdict.String() != v.Verdict })
	}
	return answer{view: "recent", title: "Recent", body: v}
}

var verdicts = [...]string{"allow", "disallow", "defer"}

// authoritiesView is one page of the list.
type authoritiesView struct {
	Search  string         `json:"search"`
	State   string         `json:"state"`
	Sort    string         `json:"sort"`
	Falling bool           `json:"falling"`
	Census  map[string]int `json:"census"` // authorities found by text, by state
	Matched int            `json:"matched"`
	Before  int            `json:"before"`
	Rows    []row          `json:"rows"`
	Prev    string         `json:"prev,omitempty"` // queries of the neighbouring pages
	Next    string         `json:"next,omitempty"`
	Heads   []head         `json:"-"`
	Chips   []chip         `json:"-"`
	Seconds float64        `json:"seconds"` // what the walk took
}

// A row is one authority in the list.
type row struct {
	Authority string        `json:"authority"`
	State     policy.Access `json:"state"`
	Stale     bool          `json:"stale"`
	Due       bool          `json:"due"`
	Status    int           `json:"status"`
	Fetched   time.Time     `json:"fetched,omitzero"`
	Expires   time.Time     `json:"expires,omitzero"`
	DownSince time.Time     `json:"down_since,omitzero"`
	Cause     string        `json:"cause,omitempty"`
	Rules     int           `json:"rules"`
	Octets    int           `json:"octets"`
}

// newRow describes a record. The rules are counted here, for the rows of one
// page, since that reads the whole file.
func newRow(authority string, rec *policy.Record, now time.Time) row {
	d := condition(rec, now)
	r := row{
		Authority: authority, State: d.Access, Stale: d.Stale, Due: rec.Due(now), Status: d.Status,
		Fetched: d.Fetched, Expires: d.Expires, DownSince: d.DownSince, Octets: octets(rec),
	}
	if d.Access != policy.Successful {
		r.Cause = text(d.Cause)
	}
	if f := rec.File(); f != nil {
		r.Rules = f.Rules()
	}
	return r
}

// A head is the head of a column that can be sorted by.
type head struct {
	Name, Link, Class string
	Sorted            bool
}

// A chip chooses a state.
type chip struct {
	Name, Link string
	Count      int
	Chosen     bool
}

// Bounds of one page of the list.
const (
	defaultRows = 50
	maxRows     = 500
	maxSearch   = 300
)

// readSearch is what the query asks of the list. What cannot be meant is an
// error in words.
func readSearch(q url.Values) (search, string) {
	s := search{
		text:  strings.ToLower(strings.TrimSpace(q.Get("q"))),
		state: cmp.Or(q.Get("state"), everything), order: cmp.Or(q.Get("sort"), "authority"), down: q.Get("dir") == "down", rows: defaultRows,
	}
	if len(s.text) > maxSearch || !slices.Contains(states[:], s.state) || orders[s.order] == nil {
		return s, "There is no such list."
	}
	if n, err := strconv.Atoi(q.Get("rows")); err == nil {
		s.rows = min(max(n, 1), maxRows)
	}
	for _, name := range []string{"after", "before"} {
		if !q.Has(name) {
			continue
		}
		e, ok := place(q.Get(name))
		if !ok {
			return s, "There is no such place in the list."
		}
		s.from, s.back = &e, name == "before"
	}
	return s, ""
}

// link is the query for the same list, changed.
func (s search) link(change func(s *search, q url.Values)) string {
	q := url.Values{"view": {"authorities"}}
	change(&s, q)
	if s.text != "" {
		q.Set("q", s.text)
	}
	if s.state != everything {
		q.Set("state", s.state)
	}
	if s.order != "authority" {
		q.Set("sort", s.order)
	}
	if s.down {
		q.Set("dir", "down")
	}
	if s.rows != defaultRows {
		q.Set("rows", strconv.Itoa(s.rows))
	}
	return "?" + q.Encode()
}

// authorities finds a page of rows in one walk and describes those alone: what is
// costly to say of a record is said of no other.
func (k *desk) authorities(ctx context.Context, q url.Values) answer {
	s, wrong := readSearch(q)
	if wrong != "" {
		return failed(http.StatusBadRequest, wrong)
	}
	start := time.Now()
	f, err := k.walk(ctx, &s)
	if err != nil {
		return failed(http.StatusServiceUnavailable, err.Error())
	}
	v := authoritiesView{
		Search: text(s.text), State: s.state, Sort: s.order, Falling: s.down,
		Census: f.census, Matched: f.census[s.state], Before: f.before, Rows: []row{},
	}
	now := time.Now()
	for _, e := range f.entries {
		v.Rows = append(v.Rows, newRow(e.authority, e.rec, now))
	}
	v.Seconds = now.Sub(start).Seconds()
	v.neighbours(s, f)
	v.controls(s)
	return answer{view: "authorities", title: "Authorities", body: v}
}

// neighbours links to the pages before and after this one.
func (v *authoritiesView) neighbours(s search, f found) {
	n := len(f.entries)
	if n == 0 {
		return
	}
	if f.before > 0 {
		v.Prev = s.link(func(_ *search, q url.Values) { q.Set("before", f.entries[0].String()) })
	}
	if f.before+n < v.Matched {
		v.Next = s.link(func(_ *search, q url.Values) { q.Set("after", f.entries[n-1].String()) })
	}
}

// controls are the links that sort and filter the list. Each begins at the first
// page, as a place in one order means nothing in another. A state in which nothing
// is stands in nobody's way.
func (v *authoritiesView) controls(s search) {
	for _, h := range []struct{ name, order, class string }{
		{"Authority", "authority", ""}, {"Copy", "age", ""}, {"Asked again", "next", ""},
		{"Down since", "down", ""}, {"Size", "size", "num wide"},
	} {
		sorted := s.order == h.order
		link := s.link(func(s *search, _ url.Values) { s.order, s.down = h.order, sorted && !s.down })
		v.Heads = append(v.Heads, head{h.name, link, h.class, sorted})
	}
	for _, state := range states {
		c := chip{state, s.link(func(s *search, _ url.Values) { s.state = state }), v.Census[state], s.state == state}
		if c.Count > 0 || c.Chosen || state == everything {
			v.Chips = append(v.Chips, c)
		}
	}
}

// authorityView is one authority.
type authorityView struct {
	row
	Robots     string      `json:"robots"`
	Origin     string      `json:"origin"` // the URL the copy came from
	Profile    string      `json:"profile"`
	As         string      `json:"as,omitempty"` // the crawler it is looked at as, if not our own
	Agent      string      `json:"agent"`        // the group that this crawler obeys
	Delay      float64     `json:"crawl_delay_seconds,omitempty"`
	Ruled      bool        `json:"ruled"` // there is a group in force, so Agent means something
	Sitemaps   []string    `json:"sitemaps,omitempty"`
	Validators http.Header `json:"validators,omitempty"`
	Source     *source     `json:"source,omitempty"`
	More       string      `json:"-"` // the query for the lines that follow
	Retrievals []retrieval `json:"retrievals,omitempty"`
}

// shownSitemaps is how many sitemaps of one file are shown.
const shownSitemaps = 20

// authority shows a record as it is in memory. It neither asks the site nor looks
// into the store.
func (k *desk) authority(ctx context.Context, q url.Values) answer {
	name := q.Get("authority")
	rec, err := k.find(ctx, name)
	switch {
	case err != nil:
		return failed(http.StatusServiceUnavailable, err.Error())
	case rec == nil:
		return failed(http.StatusNotFound, text(name)+" is not in memory.")
	}
	as, err := k.as(q.Get("as"))
	if err != nil {
		return failed(http.StatusBadRequest, text(err.Error()))
	}
	d := condition(rec, time.Now())
	v := authorityView{
		row: newRow(name, rec, time.Now()), Robots: text(rec.Robots()), Origin: text(rec.Origin()), Profile: d.Profile, As: q.Get("as"),
		Retrievals: k.history.of(clean.Cut(rec.Robots(), keptURL)),
	}
	v.Validators = rec.Validators()
	if rec.File() != nil {
		first, _ := strconv.Atoi(q.Get("line"))
		v.rules(rec, as, first)
	}
	return answer{view: "authority", title: name, body: v}
}

// rules adds what the copy says, with the group that t obeys marked. Which group
// that is comes from a ruling and not from the file, because the operator's word or
// a copy that has had its time leaves no group in force.
func (v *authorityView) rules(rec *policy.Record, t *fetcher.Transport, first int) {
	f := rec.File()
	target, err := url.Parse(v.Authority + "/") // not the robots.txt itself, on which no group rules
	if err != nil {
		return
	}
	d, ok := t.Peek(target)
	g := group(f, d.Match.Agent)
	v.Ruled = ok && d.Override == ""
	if g != nil {
		v.Agent = text(g.Agent())
		delay, _ := g.CrawlDelay()
		v.Delay = delay.Seconds()
	}
	v.Source = read(f, g, first)
	if v.Source.Next > 0 {
		q := url.Values{"authority": {v.Authority}, "line": {strconv.Itoa(v.Source.Next)}}
		if v.As != "" {
			q.Set("as", v.As)
		}
		v.More = "?" + q.Encode()
	}
	for _, s := range f.Sitemaps() {
		if len(v.Sitemaps) == shownSitemaps {
			break
		}
		v.Sitemaps = append(v.Sitemaps, text(s))
	}
}

// as is the Transport of another crawler, our own for "".
func (k *desk) as(token string) (*fetcher.Transport, error) {
	if token == "" {
		return k.t, nil
	}
	return k.t.As(clean.Cut(token, keptText))
}
