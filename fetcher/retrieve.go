package fetcher

import (
	"context"
	"net/http"
	"net/url"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// retrieve fills a with one retrieval: the request for robots.txt and the
// redirects it leads to, each followed by hand and within ctx (RFC 9309,
// section 2.3.1.2). The rules that come back are those of the initial
// authority, wherever they were found. Which answer means what is for
// policy.Learn to say. The turn is that of the first request.
func (e *engine) retrieve(ctx context.Context, a *policy.Attempt, old *policy.Record, turn pace.Turn) {
	u, err := url.Parse(a.Robots)
	if err != nil {
		a.Err = &policy.Failure{Class: policy.Protocol, Err: err}
		return
	}
	path := e.ways.start(a.Robots)
	path.turn = turn
	for {
		a.Served = u.String()
		ans := e.hop(ctx, u, old, path)
		a.Status, a.Header, a.Body, a.Cut, a.Err = ans.status, ans.header, ans.body, ans.cut, ans.err
		if a.Err != nil || !policy.Redirect(a.Status) || len(a.Hops) >= e.profile.Hops {
			return
		}
		to, err := e.follow(ctx, a, u, path)
		if to == nil {
			a.Err = err
			return
		}
		a.Hops = append(a.Hops, policy.Hop{From: a.Served, To: to.String(), Status: a.Status})
		u = to
	}
}

// follow is the URL the redirect leads to. It is nil if the redirect is not
// followed: it cannot be used or leads back, which Learn sees in the attempt,
// or it is refused, which the error says.
func (e *engine) follow(ctx context.Context, a *policy.Attempt, from *url.URL, path *path) (*url.URL, error) {
	to, err := a.Location()
	if err != nil {
		return nil, nil
	}
	if to, err = canonical(to); err != nil {
		return nil, nil
	}
	if next := to.String(); visited(a, next) {
		// Learn finds the loop too, also when the server wrote the URL otherwise.
		a.Header["Location"] = []string{next}
		return nil, nil
	}
	if e.opts.Redirect != nil {
		if err := e.opts.Redirect(from, to); err != nil {
			return nil, &policy.Failure{Class: policy.Egress, Err: err}
		}
	}
	if err := path.mayGo(ctx, to); err != nil {
		return nil, &policy.Failure{Class: policy.Egress, Err: err}
	}
	return to, nil
}

// visited reports whether the retrieval has been at a URL already.
func visited(a *policy.Attempt, next string) bool {
	seen := next == a.Served
	for _, h := range a.Hops {
		seen = seen || next == h.From || next == h.To
	}
	return seen
}

// answer is what one hop came to.
type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool
	err    error // a *policy.Failure
}

// header is what every request for robots.txt carries, made anew for each hop:
// no cookie, credential or Referer ever gets in. Validators go to the URL they
// belong to and to no other.
func (e *engine) header(u *url.URL, old *policy.Record) http.Header {
	h := http.Header{}
	if v := old.Validators(); v != nil && u.String() == old.Origin() {
		h = v
	}
	h.Set("User-Agent", e.agent)
	h.Set("Accept", "text/plain,*/*;q=0.5")
	h.Set("Accept-Encoding", "gzip")
	return h
}
