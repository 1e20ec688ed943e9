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
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// overviewView is the first page: totals, rates and recent events.
type overviewView struct {
	Stats      fetcher.Stats   `json:"stats"`
	Hooked     bool            `json:"hooked"` // the hooks of Page.Trace are installed
	Span       string          `json:"span"`
	Seconds    int             `json:"bucket_seconds"`
	Series     []bucket        `json:"series"`
	Decisions  []decisionEvent `json:"decisions"`
	Retrievals []retrieval     `json:"retrievals"`
}

// overviewRows is how many decisions and retrievals the first page shows.
const overviewRows = 8

// overview returns the first page. Its totals are counters, so its cost does not
// depend on the number of records. An unknown span means the first one.
func (k *handler) overview(q url.Values) reply {
	at := max(slices.IndexFunc(spans[:], func(s span) bool { return s.Name == q.Get("span") }), 0)
	v := overviewView{Stats: k.t.Stats(), Span: spans[at].Name, Seconds: int(spans[at].Width / time.Second)}
	v.Series = k.history.series(at, time.Now())
	v.Decisions, v.Retrievals, v.Hooked = k.history.recent(overviewRows)
	return reply{view: "overview", title: "Overview", body: v}
}

// recentView is the page of all events in the history.
type recentView struct {
	Hooked     bool            `json:"hooked"`
	Verdict    string          `json:"verdict,omitempty"` // the one that is shown, "" for all
	Decisions  []decisionEvent `json:"decisions"`
	Retrievals []retrieval     `json:"retrievals"`
}

// recent returns the page of recent events, with all decisions or those with one
// verdict.
func (k *handler) recent(q url.Values) reply {
	v := recentView{Verdict: q.Get("verdict")}
	if v.Verdict != "" && !slices.Contains(verdicts[:], v.Verdict) {
		return failed(http.StatusBadRequest, "There is no such verdict.")
	}
	v.Decisions, v.Retrievals, v.Hooked = k.history.recent(cap(k.history.decisions.items))
	if v.Verdict != "" {
		v.Decisions = slices.DeleteFunc(v.Decisions, func(r decisionEvent) bool { return r.Decision.Verdict.String() != v.Verdict })
	}
	return reply{view: "recent", title: "Recent", body: v}
}

var verdicts = [...]string{"allow", "disallow", "defer"}

// authoritiesView is one page of the list.
type authoritiesView struct {
	Search  string         `json:"search"`
	State   string         `json:"state"`
	Sort    string         `json:"sort"`
	Falling bool           `json:"falling"`
	Census  map[string]int `json:"census"` // number of authorities that contain the text, by state
	Matched int            `json:"matched"`
	Before  int            `json:"before"`
	Rows    []row          `json:"rows"`
	Prev    string         `json:"prev,omitempty"` // query of the previous page
	Next    string         `json:"next,omitempty"` // query of the next page
	Heads   []head         `json:"-"`
	Chips   []chip         `json:"-"`
	Seconds float64        `json:"seconds"` // duration of the walk
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
	Bytes     int           `json:"bytes"`
}

// newRow returns the row of a record. It counts the rules, which reads the whole
// file, so it is called only for the rows of one page.
func newRow(authority string, rec *policy.Record, now time.Time) row {
	d := rec.State(now)
	r := row{
		Authority: authority, State: d.Access, Stale: d.Stale, Due: rec.Due(now), Status: d.Status,
		Fetched: d.Fetched, Expires: d.Expires, DownSince: d.DownSince, Bytes: memorySize(rec),
	}
	if d.Access != policy.Successful {
		r.Cause = text(d.Cause)
	}
	if f := rec.File(); f != nil {
		r.Rules = f.CountRules()
	}
	return r
}

// A head is the heading of a column. Its link sorts by that column.
type head struct {
	Name, Link, Class string
	Sorted            bool
}

// A chip is a link that filters by a state.
type chip struct {
	Name, Link string
	Count      int
	Chosen     bool
}

const (
	defaultRows = 50  // rows on a page
	maxRows     = 500 // most rows on a page
	maxSearch   = 300 // longest search text in bytes
)

// readSearch returns the search that the query describes, or a message if the query
// is invalid.
func readSearch(q url.Values) (search, string) {
	s := search{
		text:  strings.ToLower(strings.TrimSpace(q.Get("q"))),
		state: cmp.Or(q.Get("state"), everything), order: cmp.Or(q.Get("sort"), "authority"), down: q.Get("dir") == "down", rows: defaultRows,
	}
	if len(s.text) > maxSearch || stateByName(s.state) < 0 || orders[s.order] == nil {
		return s, "There is no such list."
	}
	if n, err := strconv.Atoi(q.Get("rows")); err == nil {
		s.rows = min(max(n, 1), maxRows)
	}
	for _, name := range []string{"after", "before"} {
		if !q.Has(name) {
			continue
		}
		e, ok := parseEntry(q.Get(name))
		if !ok {
			return s, "There is no such place in the list."
		}
		s.from, s.back = &e, name == "before"
	}
	return s, ""
}

// link returns the query of the same search after a change.
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

// authorities returns one page of the list. It finds the rows in one walk and then
// describes only these.
func (k *handler) authorities(ctx context.Context, q url.Values) reply {
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
	return reply{view: "authorities", title: "Sites", body: v}
}

// neighbours adds the links to the previous and the next page.
func (v *authoritiesView) neighbours(s search, f searchResult) {
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

// controls adds the links that sort and filter the list. Each leads to a first page,
// because a position in one order means nothing in another. States without any
// authority are left out.
func (v *authoritiesView) controls(s search) {
	for _, h := range []struct{ name, order, class string }{
		{"Site", "authority", ""}, {"Copy", "age", ""}, {"Next fetch", "next", ""},
		{"Down since", "down", ""}, {"Size", "size", "num wide"},
	} {
		sorted := s.order == h.order
		link := s.link(func(s *search, _ url.Values) { s.order, s.down = h.order, sorted && !s.down })
		v.Heads = append(v.Heads, head{h.name, link, h.class, sorted})
	}
	for _, state := range states {
		c := chip{state.name, s.link(func(s *search, _ url.Values) { s.state = state.name }), v.Census[state.name], s.state == state.name}
		if c.Count > 0 || c.Chosen || state.name == everything {
			v.Chips = append(v.Chips, c)
		}
	}
}

// authorityView is one authority.
type authorityView struct {
	row
	Robots     string      `json:"robots"`
	Origin     string      `json:"origin"` // URL that served the copy
	Profile    string      `json:"profile"`
	As         string      `json:"as,omitempty"` // token of another crawler, "" for this one
	Agent      string      `json:"agent"`        // name of the group that the crawler obeys
	Delay      float64     `json:"crawl_delay_seconds,omitempty"`
	Ruled      bool        `json:"ruled"` // the copy may be used, so Agent is valid
	Sitemaps   []string    `json:"sitemaps,omitempty"`
	Validators http.Header `json:"validators,omitempty"`
	Source     *source     `json:"source,omitempty"`
	Top        string      `json:"-"` // query for the first lines, "" if they are shown
	More       string      `json:"-"` // query for the lines after these
	Confirm    bool        `json:"-"` // ask whether to forget the authority
	Retrievals []retrieval `json:"retrievals,omitempty"`
	Pacing     *hostRow    `json:"pacing,omitempty"` // nil if the next request may start now and none is in flight
}

// shownSitemaps is how many sitemaps of one file are shown.
const shownSitemaps = 20

// authority shows a record in memory. It reads neither the site nor the store.
func (k *handler) authority(q url.Values) reply {
	name := q.Get("authority")
	rec := k.cached(name)
	if rec == nil {
		return failed(http.StatusNotFound, text(name)+" is not in memory.")
	}
	as, problem := readTokens(q.Get("as"))
	if problem != "" {
		return failed(http.StatusBadRequest, problem)
	}
	d := rec.State(time.Now())
	v := authorityView{
		row: newRow(name, rec, time.Now()), Robots: text(rec.Robots()), Origin: text(rec.ServedFrom()), Profile: d.Profile, As: as,
		Retrievals: k.history.retrievalsOf(clean.Cut(rec.Robots(), keptURL)),
	}
	v.Confirm = q.Get("confirm") == "forget"
	v.Validators, v.Pacing = rec.Validators(), k.paceOf(name)
	if rec.File() != nil {
		first, _ := strconv.Atoi(q.Get("line"))
		v.rules(k.t, copyFile(rec.File()), first)
	}
	return reply{view: "authority", title: name, body: v}
}

// cached returns the record of an authority in memory, or nil. Unlike Transport.Record it
// reads neither the site nor the store.
func (k *handler) cached(authority string) *policy.Record {
	target, err := url.Parse(authority)
	if err != nil {
		return nil
	}
	if key, err := fetcher.Authority(target); err != nil || key != authority {
		return nil
	}
	return k.t.Cached(target)
}

// rules adds the lines of the copy and marks the group that the crawler obeys. Peek says
// whether a group is obeyed: none is if the copy has expired or Options.Override decided.
func (v *authorityView) rules(t *fetcher.Transport, f *matcher.File, first int) {
	target, err := url.Parse(v.Authority + "/") // for robots.txt itself no group decides
	if err != nil {
		return
	}
	d, ok := t.Peek(target)
	g := groupByAgent(f, d.Match.Agent)
	if v.As != "" && d.Digest != "" {
		if g = f.Group(v.As); g.Agent() == "" {
			g = nil
		}
	}
	v.Ruled = ok && d.Override == ""
	if g != nil {
		v.Agent = text(g.Agent())
		delay, _ := g.CrawlDelay()
		v.Delay = delay.Seconds()
	}
	v.Source = readLines(f, g, first)
	if first > 1 {
		v.Top = linesLink(v.Authority, v.As, 0)
	}
	if v.Source.Next > 0 {
		v.More = linesLink(v.Authority, v.As, v.Source.Next)
	}
	for _, s := range f.Sitemaps() {
		if len(v.Sitemaps) == shownSitemaps {
			break
		}
		v.Sitemaps = append(v.Sitemaps, text(s))
	}
}

// linesLink returns the query for the lines of an authority from first on, or for all
// lines if first is 0.
func linesLink(authority, as string, first int) string {
	q := url.Values{"authority": {authority}}
	if as != "" {
		q.Set("as", as)
	}
	if first > 0 {
		q.Set("line", strconv.Itoa(first))
	}
	return "?" + q.Encode()
}
