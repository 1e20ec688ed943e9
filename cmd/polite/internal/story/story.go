package story

import (
	"net/url"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

const (
	// neighbours is how many rules before and after the deciding one are told.
	neighbours = 3
	// toldTokens is how many other crawlers of a file are told of.
	toldTokens = 12
)

// lifetimeFields are the header fields that set when the file is asked for
// again, or make the next request conditional.
var lifetimeFields = [...]string{"Cache-Control", "Expires", "Age", "Pragma", "Vary", "Date", "Retry-After", "Etag", "Last-Modified"}

// Story is all there is to tell of one ruling, and its JSON form. Its text is
// clean.
type Story struct {
	Requests []Request `json:"requests"` // none: the copy was at hand
	Header   []string  `json:"header"`   // the fields that set the lifetime
	Agent    string    `json:"agent"`    // of the group obeyed
	Delay    string    `json:"crawl_delay,omitempty"`
	Before   int       `json:"rules_before"` // rules of the group that are left out
	Rules    []Rule    `json:"rules"`        // the deciding one and its neighbours
	After    int       `json:"rules_after"`
	Others   []Other   `json:"others"`
	More     int       `json:"others_more"` // crawlers named in the file and left out

	file bool // rules were looked at
}

// Request is one request for robots.txt, each redirect and each try by itself.
type Request struct {
	URL    string  `json:"url"`
	Status int     `json:"status"` // 0 without an answer
	Millis float64 `json:"ms"`
	Error  string  `json:"error,omitempty"`
}

// Rule is a rule of the group obeyed.
type Rule struct {
	Line    int    `json:"line"`
	Rule    string `json:"rule"`
	Decides bool   `json:"decides"`
}

// Other is the ruling for another crawler; Agent "*" is anyone not named.
type Other struct {
	Agent   string         `json:"agent"`
	Verdict policy.Verdict `json:"verdict"`
	Line    int            `json:"line"`
	Rule    string         `json:"rule,omitempty"`
}

// retrieved tells of the requests and the header.
func (s *Story) retrieved(r *retrieval) {
	for _, h := range r.hops {
		q := Request{URL: clean.Text(h.URL, 300), Status: h.Status, Millis: float64(h.Took.Microseconds()) / 1000}
		if h.Err != nil {
			q.Error = clean.Text(h.Err.Error(), 300)
		}
		s.Requests = append(s.Requests, q)
	}
	for _, name := range lifetimeFields {
		if name == "Date" && r.header.Get("Expires") == "" {
			continue // only Expires is counted from it
		}
		for _, v := range r.header[name] {
			if len(s.Header) < 20 {
				s.Header = append(s.Header, name+": "+clean.Text(v, 200))
			}
		}
	}
}

// group shows the deciding rule among its neighbours, or the first rules.
func (s *Story) group(d policy.Decision, g *matcher.Group) {
	s.Agent = clean.Text(g.Agent(), 120)
	if delay, ok := g.CrawlDelay(); ok {
		s.Delay = delay.String()
	}
	var all []matcher.Rule
	at := 0
	for r := range g.Rules() {
		if r.Line == d.Match.Rule.Line {
			at = len(all)
		}
		all = append(all, r)
	}
	s.Before = max(at-neighbours, 0)
	end := min(max(at+neighbours, 2*neighbours)+1, len(all))
	s.After = len(all) - end
	for _, r := range all[min(s.Before, end):end] {
		kind := "Disallow: "
		if r.Allow {
			kind = "Allow: "
		}
		s.Rules = append(s.Rules, Rule{r.Line, clean.Text(kind+r.Pattern, 120), r.Line == d.Match.Rule.Line})
	}
}

// others are the rulings for the other crawlers that the file names, and for
// those it does not.
func (s *Story) others(f *matcher.File, mine string, target *url.URL) {
	seen := map[string]bool{"": true, "*": true, strings.ToLower(mine): true}
	for _, agent := range f.Agents() {
		name := agent
		if i := strings.IndexFunc(agent, paper.NotToken); i > 0 {
			name = agent[:i]
		}
		switch low := strings.ToLower(name); {
		case seen[low] || strings.HasPrefix(name, "*"):
			continue
		default:
			seen[low] = true
		}
		if len(s.Others) == toldTokens {
			s.More++
			continue
		}
		s.Others = append(s.Others, other(name, f.MatchURL(name, target)))
	}
	if mine != "*" && mine != "" {
		s.Others = append(s.Others, other("*", f.MatchURL("*", target)))
	}
}

func other(name string, m matcher.Match) Other {
	o := Other{Agent: clean.Text(name, 60), Line: m.Rule.Line, Rule: paper.Rule(policy.Decision{Match: m})}
	if m.Allowed {
		o.Verdict = policy.Allow
	}
	return o
}
