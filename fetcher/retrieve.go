package fetcher

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file fetches a robots.txt with its redirects: RFC 9309, section 2.3.1.2.

// retrieval is one fetch of a robots.txt, with all its hops.
type retrieval struct {
	engine *engine
	ctx    context.Context // ends with the time for all hops and tries
	robots string          // URL of the file, at the initial authority
	old    *policy.Record  // gives the validators; may be nil
	turn   pace.Turn       // for the next request; zero if it must wait for its turn
	trip   *egress.Trip    // sends the requests, and applies the address rule to redirects
}

// retrieve requests a.Robots, follows its redirects within ctx, and fills a with the
// result (RFC 9309, section 2.3.1.2). A redirect to a URL seen before is followed
// like any other, to the same limit: the loop may end in a file. The rules apply to
// the initial authority, wherever they were found. Profile.Learn says what the
// answer means. The turn is for the first request.
func (e *engine) retrieve(ctx context.Context, a *policy.Attempt, old *policy.Record, turn pace.Turn, trip *egress.Trip) {
	u := robotsURL(strings.TrimSuffix(a.Robots, robotsPath))
	r := &retrieval{engine: e, ctx: ctx, robots: a.Robots, old: old, turn: turn, trip: trip}
	for {
		a.Served = u.String()
		ans := r.hop(u)
		a.Status, a.Header, a.Body, a.Cut, a.Err = ans.status, ans.header, ans.content.body, ans.content.cut, ans.err
		if a.Err != nil || len(a.Hops) >= e.opts.Profile.Hops {
			return
		}
		to, err := location(a)
		if err != nil {
			return // Learn finds the same error
		}
		follow := func(context.Context) (none, error) { return none{}, r.follow(u, to) }
		if _, err := callBounded(ctx, e.watch.log, follow); err != nil {
			a.Err = classify(ctx, err)
			return
		}
		a.Hops = append(a.Hops, policy.Hop{From: a.Served, To: to.String(), Status: a.Status, Header: a.Header})
		u = to
	}
}

// location is the URL that a redirect leads to, on the host that its authority names:
// net/http would resolve an IDN by rules of its own.
func location(a *policy.Attempt) (*url.URL, error) {
	to, err := a.Location()
	if err != nil {
		return nil, err
	}
	key, err := Authority(to)
	if err != nil {
		return nil, err
	}
	to.Scheme, to.Host, _ = strings.Cut(key, "://")
	return to, nil
}

// follow checks that a redirect may be followed. An error is a *policy.Failure.
func (r *retrieval) follow(from, to *url.URL) error {
	var err error
	if rule := r.engine.opts.Redirect; rule != nil {
		err = rule(from, to)
	}
	if err == nil {
		err = r.trip.Follow(r.ctx, from, to)
	}
	if err != nil {
		return &policy.Failure{Class: policy.Egress, Err: err}
	}
	return nil
}

// header returns the header of a request for robots.txt. Every hop gets a new one,
// without cookies, credentials and Referer. Validators are sent only to the URL that
// they belong to.
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
