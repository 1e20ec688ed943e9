package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/token"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

// askView answers "may I fetch this URL?".
type askView struct {
	URL      string           `json:"url"`
	As       string           `json:"as,omitempty"`
	Known    bool             `json:"known"` // memory has a decision
	Decision *policy.Decision `json:"decision,omitempty"`
	Why      string           `json:"why,omitempty"` // the Decision as one line
	Lines    []line           `json:"lines,omitempty"`
	Usage    usage.Set        `json:"usage,omitzero"` // what robots.txt says about the use of the page
	Last     *row             `json:"last,omitempty"` // the last answer, if robots.txt is due
	Problem  string           `json:"error,omitempty"`

	Authority string   `json:"-"`
	Said      []string `json:"-"` // the first lines of Usage
	Unsaid    int      `json:"-"` // number of lines of Usage that are not shown
}

// longestURL is the longest accepted URL in bytes.
const longestURL = 8 << 10

// question is the URL and the crawler that a query or a form names.
type question struct {
	target *url.URL
	as     string // product tokens of another crawler, "" for this one
	view   askView
}

// readQuestion reads a query or a form. The view has a Problem if the URL is invalid. A
// URL without a scheme gets https, but only if its first part looks like a host. A
// URL with characters that do not print is refused, because the page could not show
// it as it is.
func (k *handler) readQuestion(q url.Values) question {
	written := strings.TrimSpace(q.Get("url"))
	asked := question{view: askView{URL: text(written), As: text(q.Get("as"))}}
	switch {
	case len(written) > longestURL:
		asked.view.Problem = "The URL is longer than 8 KiB."
		return asked
	case clean.Escape(written, longestURL) != written:
		asked.view.Problem = "The URL has characters that do not print. Write them percent-encoded."
		return asked
	}
	if !strings.Contains(written, "://") {
		if host, _, _ := strings.Cut(written, "/"); !strings.ContainsAny(host, ".:") {
			asked.view.Problem = "This is not a URL. Write it in full, such as https://example.com/page."
			return asked
		}
		written = "https://" + written
	}
	u, err := url.Parse(written)
	if err == nil {
		_, err = fetcher.Authority(u)
	}
	if err != nil {
		asked.view.Problem = "No robots.txt applies to this URL: " + text(err.Error()) + "."
		return asked
	}
	as, problem := readTokens(q.Get("as"))
	if problem != "" {
		asked.view.Problem = problem
		return asked
	}
	asked.target, asked.as, asked.view.URL = u, as, written
	return asked
}

// readTokens reads the product tokens of another crawler, "" for none. It returns a
// problem if a token is invalid.
func readTokens(list string) (tokens, problem string) {
	if list == "" {
		return "", ""
	}
	for name := range strings.SplitSeq(clean.Cut(list, keptText), ",") {
		if name = strings.TrimSpace(name); name == "" || name != token.Prefix(name) {
			return "", fmt.Sprintf(`"%s" is no product token. It may have letters, digits, "-" and "_".`, text(name))
		}
	}
	return list, ""
}

// ask answers from memory alone. It never fetches, because anybody can make a link
// to this page.
func (k *handler) ask(q url.Values) reply {
	asked := k.readQuestion(q)
	if asked.view.Problem == "" {
		if d, ok := k.t.Peek(asked.target); ok {
			k.explain(&asked, d)
		} else if rec := k.t.Cached(asked.target); rec != nil {
			last := newRow(strings.TrimSuffix(rec.Robots(), robotsPath), rec, time.Now())
			asked.view.Last = &last
		}
	}
	return asked.view.reply()
}

// reply returns the view as a page.
func (v askView) reply() reply {
	a := reply{view: "ask", title: "May I fetch this URL?", body: v}
	if v.Problem != "" && v.URL != "" {
		a.status = http.StatusBadRequest
	}
	return a
}

// shownUsage is how many lines about the use of a page are shown.
const shownUsage = 50

// explain adds a decision to the view, with the lines around the deciding rule and what
// robots.txt says about the use of the page. d is the decision for this crawler. If the
// question names another one, the view gets the decision for that, or none if the file
// is not in memory.
func (k *handler) explain(q *question, d policy.Decision) {
	v := &q.view
	authority := strings.TrimSuffix(d.Robots, robotsPath)
	f := copyFile(k.cached(authority).File())
	if q.as != "" && d.Digest != "" {
		if f == nil {
			return
		}
		d = decideAs(d, f.Group(q.as), q.target)
	}
	v.Known, v.Decision, v.Why, v.Authority = true, &d, text(d.String()), authority
	v.Usage = usage.OfFile(f, cmp.Or(q.as, k.t.Token()), q.target.RequestURI())
	if said := v.Usage.String(); said != "" {
		v.Said = strings.Split(said, "\n")
		v.Unsaid = max(len(v.Said)-shownUsage, 0)
		v.Said = v.Said[:len(v.Said)-v.Unsaid]
	}
	if f != nil && d.Match.Rule.Line != 0 {
		v.Lines = linesAround(f, groupByAgent(f, d.Match.Agent), d.Match.Rule.Line)
	}
}

// decideAs returns the decision that d, which rests on rules, would be for the crawler
// that obeys the group g. It says nothing about that crawler's pace.
func decideAs(d policy.Decision, g *matcher.Group, target *url.URL) policy.Decision {
	d.Match, d.Verdict = g.MatchURL(target), policy.Disallow
	d.Turn, d.Pacing = time.Time{}, ""
	if d.Match.Allowed {
		d.Verdict = policy.Allow
	}
	switch {
	case d.Clause != "2.2.1" && d.Clause != "2.2.2": // a stale copy: the outage decides that it is used
	case d.Match.Agent == "":
		d.Clause = "2.2.1"
	default:
		d.Clause = "2.2.2"
	}
	return d
}

const (
	maxForm = 64 << 10    // longest form in bytes
	maxWait = time.Minute // longest time for one action
)

// act performs the action of a form. It first checks that the form comes from this
// origin. It reads the body and not the query, because a link can set the query.
func (k *handler) act(w http.ResponseWriter, r *http.Request) reply {
	if err := k.guard.Check(r); err != nil {
		return failed(http.StatusForbidden, "Refused: this request comes from another site.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return failed(http.StatusBadRequest, "The form cannot be read.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	asked := k.readQuestion(r.PostForm)
	if asked.view.Problem != "" {
		return failed(http.StatusBadRequest, asked.view.Problem)
	}
	switch r.PostForm.Get("act") {
	case "ask":
		return k.askSite(ctx, asked)
	case "refresh":
		return k.refresh(ctx, asked)
	case "forget":
		return k.forget(ctx, asked)
	}
	return failed(http.StatusBadRequest, "There is no such action.")
}

// askSite makes a decision, and fetches robots.txt if that is due. It shows the
// decision directly, because memory may not have kept the record.
func (k *handler) askSite(ctx context.Context, asked question) reply {
	d, err := k.t.Check(ctx, asked.target)
	if err != nil {
		return unanswered(err)
	}
	k.explain(&asked, d)
	return asked.view.reply()
}

// refresh fetches a robots.txt now and redirects to the page of its authority, so
// that reloading that page fetches nothing. If no robots.txt was used, because of
// Options.Override or the pace, it shows the decision.
func (k *handler) refresh(ctx context.Context, asked question) reply {
	d, err := k.t.Refresh(ctx, asked.target)
	switch {
	case err != nil:
		return unanswered(err)
	case d.Robots == "":
		k.explain(&asked, d)
		return asked.view.reply()
	}
	q := url.Values{"authority": {strings.TrimSuffix(d.Robots, robotsPath)}, "did": {"refreshed"}}
	return reply{to: q}
}

// forget drops an authority from memory and store.
func (k *handler) forget(ctx context.Context, asked question) reply {
	if err := k.t.Invalidate(ctx, asked.target); err != nil {
		return unanswered(err)
	}
	return reply{to: url.Values{"view": {"authorities"}, "did": {"forgotten"}}}
}

// unanswered returns the page for an action that failed.
func unanswered(err error) reply {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failed(http.StatusGatewayTimeout, "There was no answer in time.")
	case errors.Is(err, fetcher.ErrURL):
		return failed(http.StatusBadRequest, text(err.Error()))
	}
	return failed(http.StatusBadGateway, text(err.Error()))
}
