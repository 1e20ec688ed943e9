package explain

import (
	"net/url"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/token"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

const (
	// neighbours is how many rules before and after the deciding one are shown.
	neighbours = 3
	// maxOthers is for how many other crawlers the decision is shown.
	maxOthers = 12
	// maxUsage is how many lines about the use of the page are shown.
	maxUsage = 12
)

// lifetimeFields are the header fields that set the time of the next fetch or make
// it conditional.
var lifetimeFields = [...]string{"Cache-Control", "Expires", "Age", "Pragma", "Vary", "Date", "Retry-After", "Etag", "Last-Modified"}

// Explanation is everything that is printed about one decision, and its JSON form.
// All text is clean.
type Explanation struct {
	Requests []Request `json:"requests"`           // empty if the copy was cached
	Header   []string  `json:"header"`             // the fields that set the lifetime
	NotText  string    `json:"not_text,omitempty"` // what the file is if it is no text, such as an HTML page
	Agent    string    `json:"agent"`              // name of the group obeyed
	Delay    string    `json:"crawl_delay,omitempty"`
	Before   int       `json:"rules_before"` // number of rules left out before Rules
	Rules    []Rule    `json:"rules"`        // the deciding rule and its neighbours
	After    int       `json:"rules_after"`  // number of rules left out after Rules
	Others   []Other   `json:"others"`
	More     int       `json:"others_more"`    // number of named crawlers left out of Others
	Usage    usage.Set `json:"usage,omitzero"` // what the file says about the use of the page

	hasFile bool // there is a file with rules
}

// Request is one request for robots.txt. Each redirect and each try is a request.
type Request struct {
	URL    string  `json:"url"`
	Status int     `json:"status"` // 0 if there was no answer
	Millis float64 `json:"ms"`
	Error  string  `json:"error,omitempty"`
}

// Rule is a rule of the group obeyed.
type Rule struct {
	Line    int    `json:"line"`
	Rule    string `json:"rule"`
	Decides bool   `json:"decides"`
}

// Other is the decision for another crawler. Agent "*" means any crawler that the
// file does not name.
type Other struct {
	Agent   string         `json:"agent"`
	Verdict policy.Verdict `json:"verdict"`
	Line    int            `json:"line"`
	Rule    string         `json:"rule,omitempty"`
}

// addRetrieval adds the requests and the header.
func (s *Explanation) addRetrieval(r *retrieval) {
	for _, h := range r.hops {
		q := Request{URL: clean.Text(h.URL, 300), Status: h.Status, Millis: float64(h.Took.Microseconds()) / 1000}
		if h.Err != nil {
			q.Error = clean.Text(h.Err.Error(), 300)
		}
		s.Requests = append(s.Requests, q)
	}
	for _, name := range lifetimeFields {
		if name == "Date" && r.header.Get("Expires") == "" {
			continue // Date matters only for Expires
		}
		for _, v := range r.header[name] {
			if len(s.Header) < 20 {
				s.Header = append(s.Header, name+": "+clean.Text(v, 200))
			}
		}
	}
}

// addGroup adds the deciding rule and its neighbours, or the first rules if no rule
// decided.
func (s *Explanation) addGroup(d policy.Decision, g *matcher.Group) {
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

// addOthers adds the decisions for the other crawlers that the file names, and for
// crawlers that it does not name.
func (s *Explanation) addOthers(f *matcher.File, mine string, target *url.URL) {
	seen := map[string]bool{"": true, "*": true, strings.ToLower(mine): true}
	for _, agent := range f.Agents() {
		name := agent
		if t := token.Prefix(agent); t != "" {
			name = t
		}
		switch low := strings.ToLower(name); {
		case seen[low] || strings.HasPrefix(name, "*"):
			continue
		default:
			seen[low] = true
		}
		if len(s.Others) == maxOthers {
			s.More++
			continue
		}
		s.Others = append(s.Others, newOther(name, f.MatchURL(name, target)))
	}
	if mine != "*" && mine != "" {
		s.Others = append(s.Others, newOther("*", f.MatchURL("*", target)))
	}
}

func newOther(name string, m matcher.Match) Other {
	o := Other{Agent: clean.Text(name, 60), Line: m.Rule.Line, Rule: display.Rule(policy.Decision{Match: m})}
	if m.Allowed {
		o.Verdict = policy.Allow
	}
	return o
}
