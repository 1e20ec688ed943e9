package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// askView answers "may I fetch this URL?".
type askView struct {
	URL      string           `json:"url"`
	As       string           `json:"as,omitempty"`
	Known    bool             `json:"known"` // there is a ruling
	Decision *policy.Decision `json:"decision,omitempty"`
	Why      string           `json:"why,omitempty"` // the Decision in one line
	Lines    []line           `json:"lines,omitempty"`
	Problem  string           `json:"error,omitempty"`

	Authority string `json:"-"`
}

// longestURL is the longest URL that is asked about.
const longestURL = 8 << 10

// question is what a query or a form asks about.
type question struct {
	target *url.URL
	t      *fetcher.Transport
	view   askView
}

// question reads what is asked. Its view has a Problem if that cannot be meant. A
// URL without a scheme is taken for https, as people leave it out. One that does not
// print is refused, because what the page showed would not be what was asked.
func (k *desk) question(q url.Values) question {
	written := strings.TrimSpace(q.Get("url"))
	asked := question{view: askView{URL: text(written), As: text(q.Get("as"))}}
	switch {
	case len(written) > longestURL:
		asked.view.Problem = "The URL is longer than 8 KiB."
		return asked
	case clean.Escape(written, longestURL) != written:
		asked.view.Problem = "The URL has characters that do not print; write them percent-encoded."
		return asked
	}
	if !strings.Contains(written, "://") {
		written = "https://" + written
	}
	u, err := url.Parse(written)
	if err == nil {
		_, err = fetcher.Authority(u)
	}
	if err != nil {
		asked.view.Problem = "Not a URL that a robots.txt governs: " + text(err.Error()) + "."
		return asked
	}
	t, err := k.as(q.Get("as"))
	if err != nil {
		asked.view.Problem = text(err.Error())
		return asked
	}
	asked.target, asked.t, asked.view.URL = u, t, written
	return asked
}

// ask answers from memory alone: a link to the page, which anybody may have made,
// cannot have the crawler send a request. Nothing known is an answer too.
func (k *desk) ask(ctx context.Context, q url.Values) answer {
	asked := k.question(q)
	if asked.view.Problem == "" {
		if d, ok := asked.t.Peek(asked.target); ok {
			k.explain(ctx, &asked.view, d)
		}
	}
	return asked.view.answer()
}

// answer is the view as a page; what cannot be answered is not an error of ours.
func (v askView) answer() answer {
	a := answer{view: "ask", title: "May I fetch this URL?", body: v}
	if v.Problem != "" && v.URL != "" {
		a.status = http.StatusBadRequest
	}
	return a
}

// explain fills in a ruling, with the lines around the rule that decided.
func (k *desk) explain(ctx context.Context, v *askView, d policy.Decision) {
	v.Known, v.Decision, v.Why = true, &d, text(d.String())
	v.Authority = strings.TrimSuffix(d.Robots, "/robots.txt")
	if d.Match.Rule.Line == 0 {
		return
	}
	rec, err := k.find(ctx, v.Authority)
	if err != nil || rec.File() == nil {
		return // gone since, or not worth waiting for: the ruling stands without
	}
	f := rec.File()
	v.Lines = around(f, group(f, d.Match.Agent), d.Match.Rule.Line)
}

// Bounds of one action.
const (
	maxForm = 64 << 10
	maxWait = time.Minute
)

// act does what a form asks for, if it comes from this origin. The check comes
// before anything is read. Only the body counts: the query is what a link can set.
func (k *desk) act(w http.ResponseWriter, r *http.Request) answer {
	if err := k.guard.Check(r); err != nil {
		return failed(http.StatusForbidden, "Refused: this request comes from another site.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return failed(http.StatusBadRequest, "The form cannot be read.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	asked := k.question(r.PostForm)
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

// askSite rules on a URL, asking its site if that is due. The ruling is shown
// without a detour over memory, which may not have kept it.
func (k *desk) askSite(ctx context.Context, asked question) answer {
	d, err := asked.t.Check(ctx, asked.target)
	if err != nil {
		return unanswered(err)
	}
	k.explain(ctx, &asked.view, d)
	return asked.view.answer()
}

// refresh asks for a robots.txt now and then shows the authority by a redirect, so
// that loading that page again sends nothing again. Where something else ruled, the operator's
// word or a turn that comes too late, that is what there is to show.
func (k *desk) refresh(ctx context.Context, asked question) answer {
	d, err := asked.t.Refresh(ctx, asked.target)
	switch {
	case err != nil:
		return unanswered(err)
	case d.Robots == "":
		k.explain(ctx, &asked.view, d)
		return asked.view.answer()
	}
	q := url.Values{"authority": {strings.TrimSuffix(d.Robots, "/robots.txt")}, "did": {"refreshed"}}
	return answer{to: q}
}

// forget drops an authority from memory and store.
func (k *desk) forget(ctx context.Context, asked question) answer {
	if err := k.t.Invalidate(ctx, asked.target); err != nil {
		return unanswered(err)
	}
	return answer{to: url.Values{"view": {"authorities"}, "did": {"forgotten"}}}
}

// unanswered is the page for an action that came to nothing.
func unanswered(err error) answer {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return failed(http.StatusGatewayTimeout, "There was no answer in time.")
	case errors.Is(err, fetcher.ErrURL):
		return failed(http.StatusBadRequest, text(err.Error()))
	}
	return failed(http.StatusBadGateway, text(err.Error()))
}
