package fetcher

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file fetches a robots.txt with its redirects: RFC 9309, section 2.3.1.2. If the profile
// wants a probe, the fetch also finds out whether the server answers 5xx for whatever the
// server does not have; see policy.Profile.ProbeMissing.

// retrieval is one fetch of a robots.txt, with all its hops. It belongs to one flight.
type retrieval struct {
	engine *engine
	ctx    context.Context // ends with the time for all hops and tries
	key    string          // the initial authority
	url    *url.URL        // of its robots.txt
	old    *policy.Record  // gives the validators; may be nil
	turn   pace.Turn       // for the next request; zero if it must wait for its turn
	trip   *egress.Trip    // sends the requests, and applies the address rule to redirects
	sent   time.Time       // when the last request was made
}

// retrieve requests the file, follows its redirects, and fills a with the result (RFC
// 9309, section 2.3.1.2). A redirect to a URL seen before is followed like any other, to
// the same limit: the loop may end in a file. The rules apply to the initial authority,
// wherever they were found. Profile.Learn says what the answer means.
func (r *retrieval) retrieve(a *policy.Attempt) {
	u := r.url
	for {
		a.Served = u.String()
		r.hop(u, a)
		if a.Err != nil || len(a.Hops) >= r.engine.opts.Profile.Hops {
			return
		}
		to, err := location(a)
		if err != nil {
			return // Learn finds the same error
		}
		if err := callBounded(r.ctx, r.engine.watch.log, func() error { return r.follow(u, to) }); err != nil {
			a.Err = classify(r.ctx, err)
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

// nextTurn waits for the turn to request a URL as long as the time of the fetch permits. The
// turn of the first request is there already.
func (r *retrieval) nextTurn(u *url.URL) (pace.Turn, error) {
	if held := r.turn; held != (pace.Turn{}) {
		r.turn = pace.Turn{}
		return held, nil
	}
	authority := u.Scheme + "://" + u.Host // r.key, or the key that location has found
	turn, err := r.engine.pacer.Follow(r.ctx, authority, 0, r.engine.opts.Scopes(u)...)
	if err != nil {
		return pace.Turn{}, &policy.Failure{Class: policy.Timeout, Err: fmt.Errorf("waiting for a turn: %w", err)}
	}
	return turn, nil
}

// header returns the header of a request for robots.txt. Every hop gets a new one,
// without cookies, credentials and Referer. Validators are sent only to the URL that
// they belong to.
func (e *engine) header(u *url.URL, old *policy.Record) http.Header {
	h := http.Header{}
	if v := old.Validators(); v != nil && u.String() == old.ServedFrom() {
		h = v
	}
	h["User-Agent"] = e.agentLine
	h.Set("Accept", "text/plain,*/*;q=0.5")
	h.Set("Accept-Encoding", "gzip")
	return h
}

// missingPath begins the path that cannot exist. Random letters follow, so that no cache
// has an answer.
const missingPath = "/no-such-page-"

// probe fills in a.Probe if the profile wants it. The two requests are made at the host's
// turn and only once. If the first has no turn in time, a.Probe stays nil, and the next
// fetch tries again. The second is not made if the first shows that the server does not
// work.
func (r *retrieval) probe(a *policy.Attempt) {
	if !r.engine.opts.Profile.WantsProbe(r.old, *a) {
		return
	}
	root, made := r.status(http.MethodHead, r.key+"/")
	if !made {
		return
	}
	a.Probe = &policy.Probe{Root: root}
	if root >= 200 && root <= 299 {
		a.Probe.Missing, _ = r.status(http.MethodGet, r.key+missingPath+rand.Text())
	}
}

// status makes one request and returns the status of the answer. It is 0 without an
// answer, or if a cache answered: the server may be down. made is false if the request
// had no turn in time.
func (r *retrieval) status(method, target string) (status int, made bool) {
	req, err := http.NewRequestWithContext(r.ctx, method, target, nil)
	if err != nil {
		return 0, false
	}
	req.Header = r.engine.header(req.URL, nil)
	req.Header.Set("Cache-Control", "no-cache")
	req.Close = true // an odd server may not have ended this answer when the next request comes
	t := &tries{retrieval: r, url: req.URL, attempt: &policy.Attempt{}, statusOnly: true}
	_, err = t.RoundTrip(req) //nolint:bodyclose // tries return no body
	if err != nil || field.Age(t.attempt.Header) > 0 {
		return 0, !t.late
	}
	return t.attempt.Status, true
}
