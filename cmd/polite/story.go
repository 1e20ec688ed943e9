package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

const (
	// keptStories bounds the retrievals remembered for --explain.
	keptStories = 1 << 10
	// neighbours is how many rules before and after the deciding one are shown.
	neighbours = 3
	// shownTokens is how many other crawlers of a file are shown.
	shownTokens = 12
)

// lifetimeFields are the header fields that set when the file is asked for
// again, or make the next request conditional.
var lifetimeFields = [...]string{"Cache-Control", "Expires", "Age", "Pragma", "Vary", "Date", "Retry-After", "Etag", "Last-Modified"}

// retrieval is what the site was asked and what it said.
type retrieval struct {
	hops   []fetcher.Hop
	header http.Header
}

// stories collects retrievals by the URL of robots.txt. One retrieval at a time
// is expected.
type stories struct {
	mu      sync.Mutex
	pending []fetcher.Hop
	by      map[string]*retrieval
}

func newStories() *stories { return &stories{by: map[string]*retrieval{}} }

// trace returns the hooks that collect.
func (s *stories) trace() *fetcher.Trace {
	return &fetcher.Trace{
		Hop: func(h fetcher.Hop) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pending = append(s.pending, h)
		},
		Fetched: func(a policy.Attempt, _ *policy.Record) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.by) >= keptStories {
				clear(s.by)
			}
			r := s.by[a.Robots]
			if r == nil {
				r = &retrieval{}
				s.by[a.Robots] = r
			}
			r.hops, r.header = append(r.hops, s.pending...), a.Header
			s.pending = nil
		},
	}
}

// story is all there is to tell of one ruling, and its JSON form.
type story struct {
	Requests []storyRequest `json:"requests"` // none: the copy was at hand
	Header   []string       `json:"header"`   // the fields that set the lifetime
	Agent    string         `json:"agent"`    // of the group obeyed
	Delay    string         `json:"crawl_delay,omitempty"`
	Before   int            `json:"rules_before"` // rules of the group not shown
	Rules    []storyRule    `json:"rules"`        // the deciding one and its neighbours
	After    int            `json:"rules_after"`
	Others   []storyOther   `json:"others"`
	More     int            `json:"others_more"` // crawlers named in the file and not shown
}

type storyRequest struct {
	URL    string  `json:"url"`
	Status int     `json:"status"`
	Millis float64 `json:"ms"`
	Error  string  `json:"error,omitempty"`
}

type storyRule struct {
	Line    int    `json:"line"`
	Rule    string `json:"rule"`
	Decides bool   `json:"decides"`
}

// storyOther is the ruling for another crawler; Agent "*" is anyone not named.
type storyOther struct {
	Agent   string         `json:"agent"`
	Verdict policy.Verdict `json:"verdict"`
	Line    int            `json:"line"`
	Rule    string         `json:"rule,omitempty"`
}

// of tells the story of a ruling from its record, which may be nil.
func (s *stories) of(d policy.Decision, rec *policy.Record, target *url.URL, token string) *story {
	t := &story{Requests: []storyRequest{}, Header: []string{}, Rules: []storyRule{}, Others: []storyOther{}}
	s.mu.Lock()
	r := s.by[d.Robots]
	s.mu.Unlock()
	if r != nil {
		t.retrieved(r)
	}
	if f := rec.File(); f != nil && d.Robots != "" {
		t.group(d, f.Group(token))
		t.others(f, d.Match.Agent, target)
	}
	return t
}

func (t *story) retrieved(r *retrieval) {
	for _, h := range r.hops {
		q := storyRequest{URL: shown(h.URL, 300), Status: h.Status, Millis: float64(h.Took.Microseconds()) / 1000}
		if h.Err != nil {
			q.Error = shown(h.Err.Error(), 300)
		}
		t.Requests = append(t.Requests, q)
	}
	for _, name := range lifetimeFields {
		if name == "Date" && r.header.Get("Expires") == "" {
			continue // only Expires is counted from it
		}
		for _, v := range r.header[name] {
			if len(t.Header) < 20 {
				t.Header = append(t.Header, name+": "+shown(v, 200))
			}
		}
	}
}

// group shows the deciding rule among its neighbours, or the first rules.
func (t *story) group(d policy.Decision, g *matcher.Group) {
	t.Agent = shown(g.Agent(), 120)
	if delay, ok := g.CrawlDelay(); ok {
		t.Delay = delay.String()
	}
	var all []matcher.Rule
	at := 0
	for r := range g.Rules() {
		if r.Line == d.Match.Rule.Line {
			at = len(all)
		}
		all = append(all, r)
	}
	t.Before = max(at-neighbours, 0)
	end := min(max(at+neighbours, 2*neighbours)+1, len(all))
	t.After = len(all) - end
	for _, r := range all[min(t.Before, end):end] {
		kind := "Disallow: "
		if r.Allow {
			kind = "Allow: "
		}
		t.Rules = append(t.Rules, storyRule{r.Line, shown(kind+r.Pattern, 120), r.Line == d.Match.Rule.Line})
	}
}

// others are the rulings for the other crawlers that the file names, and for
// those it does not.
func (t *story) others(f *matcher.File, mine string, target *url.URL) {
	seen := map[string]bool{strings.ToLower(mine): true}
	for _, agent := range f.Agents() {
		name := agent
		if strings.HasPrefix(agent, "*") {
			continue // comes last
		}
		if i := strings.IndexFunc(agent, notToken); i > 0 {
			name = agent[:i]
		}
		if low := strings.ToLower(name); name == "" || seen[low] || seen[strings.ToLower(agent)] {
			continue
		} else {
			seen[low] = true
		}
		if len(t.Others) == shownTokens {
			t.More++
			continue
		}
		t.Others = append(t.Others, otherRuling(name, f.MatchURL(name, target)))
	}
	if mine != "*" && mine != "" {
		t.Others = append(t.Others, otherRuling("*", f.MatchURL("*", target)))
	}
}

// notToken reports whether a character ends a product token.
func notToken(r rune) bool {
	return r != '-' && r != '_' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
}

func otherRuling(name string, m matcher.Match) storyOther {
	o := storyOther{Agent: shown(name, 60), Line: m.Rule.Line}
	if m.Allowed {
		o.Verdict = policy.Allow
	}
	if m.Rule.Line != 0 {
		o.Rule = shown(policy.Decision{Match: m}.Rule(), 200)
	}
	return o
}

// write prints the story under its ruling.
func (t *story) write(p *paper, d policy.Decision, now time.Time) {
	fmt.Fprintf(p, "%s  %s\n\n", p.verdict(word(d)), p.paint(bold, shown(d.URL, 2000)))
	w := &chapters{p: p}
	w.begin("why")
	w.line("%s", cause(d))
	w.line("%s", citation(d))
	w.begin("asked")
	t.writeRequests(w, d)
	w.begin("lifetime")
	for _, h := range t.Header {
		w.line("%s", h)
	}
	w.line("%s", lifetime(d, now))
	if len(t.Rules) > 0 {
		w.begin("group")
		t.writeGroup(w)
	}
	if len(t.Others) > 0 {
		w.begin("others")
		t.writeOthers(w)
	}
	p.WriteString("\n")
}

// citation names the clause and the profile of a ruling.
func citation(d policy.Decision) string {
	if d.Clause == "house" {
		return "house rule; profile " + d.Profile
	}
	c := "RFC 9309, section " + d.Clause
	if d.Profile != "" {
		c += "; profile " + d.Profile
	}
	return c
}

// lifetime says how old the copy is and when it is asked for again.
func lifetime(d policy.Decision, now time.Time) string {
	_, rest, ok := strings.Cut(reason(policy.Decision{
		Fetched: d.Fetched, Expires: d.Expires, RetryAt: d.RetryAt, Stale: d.Stale, DownSince: d.DownSince,
	}, now), "; ")
	switch {
	case ok:
		return rest
	case again(d, now) == "":
		return "none: the file is not looked at"
	}
	return "asked again " + again(d, now)
}

func (t *story) writeRequests(w *chapters, d policy.Decision) {
	if len(t.Requests) == 0 {
		if d.Robots == "" {
			w.line("nobody: no robots.txt is needed for this")
			return
		}
		w.line("nobody: the copy was at hand")
		w.line("%s", shown(d.Robots, 300))
	}
	for _, q := range t.Requests {
		status := "---"
		if q.Status != 0 {
			status = fmt.Sprint(q.Status)
		}
		w.line("%s  %7s  %s", status, millis(q.Millis), q.URL)
		if q.Error != "" {
			w.line("%14s%s", "", q.Error)
		}
	}
}

// millis is a short time with about two digits.
func millis(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

func (t *story) writeGroup(w *chapters) {
	head := group(t.Agent)
	if t.Delay != "" {
		head += ", Crawl-delay " + t.Delay
	}
	w.line("%s", head)
	if t.Before > 0 {
		w.line("   %5s  %s", "", count(int64(t.Before), "rule", "rules")+" before")
	}
	for _, r := range t.Rules {
		if r.Decides {
			w.line("%s", w.p.paint(bold, fmt.Sprintf(" > %5d  %s", r.Line, r.Rule)))
		} else {
			w.line("   %5d  %s", r.Line, r.Rule)
		}
	}
	if t.After > 0 {
		w.line("   %5s  %s", "", count(int64(t.After), "rule", "rules")+" after")
	}
}

func (t *story) writeOthers(w *chapters) {
	column := 0
	for _, o := range t.Others {
		column = max(column, min(columns(o.Agent), 24))
	}
	for _, o := range t.Others {
		line := o.Rule
		if line == "" {
			line = "no rule matches"
		}
		pad := max(column-columns(o.Agent), 0)
		w.line("%s%*s  %s  %s", o.Agent, pad, "", w.p.verdict(strings.ToUpper(o.Verdict.String())), line)
	}
	if t.More > 0 {
		w.line("and %s", count(int64(t.More), "crawler more", "crawlers more"))
	}
}

// chapters writes lines under names in a margin.
type chapters struct {
	p    *paper
	name string
}

func (c *chapters) begin(name string) { c.name = name }

func (c *chapters) line(format string, args ...any) {
	fmt.Fprintf(c.p, "  %s  ", c.p.paint(faint, fmt.Sprintf("%-8s", c.name)))
	fmt.Fprintf(c.p, format+"\n", args...)
	c.name = ""
}
