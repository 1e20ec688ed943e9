package fetcher

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
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
	engine  *engine
	route   *route
	ctx     context.Context // ends with the time for all hops and tries
	key     string          // the initial authority
	url     *url.URL        // of its robots.txt
	old     *policy.Record  // gives the validators; may be nil
	turn    pace.Turn       // for the next request; zero if it must wait for its turn
	trip    *egress.Trip    // sends the requests, and applies the address rule to redirects
	sent    time.Time       // when the last request was made
	attempt policy.Attempt  // the result
}

// retrieve requests the file, follows its redirects, and fills in the attempt (RFC 9309, section 2.3.1.2). A redirect to a URL seen before is followed like any other, to
// the same limit: the loop may end in a file. The rules apply to the initial authority,
// wherever they were found. Profile.Learn says what the answer means.
func (r *retrieval) retrieve() {
	a, u := &r.attempt, r.url
	a.Served = a.Robots
	for {
		r.hop(u)
		if a.Err != nil || a.Status/100 != 3 || len(a.Hops) >= r.engine.opts.Profile.Hops {
			return
		}
		from := u
		to, err := location(a)
		if err != nil {
			return // Learn finds the same error
		}
		if err := callBounded(r.ctx, r.engine.watch.log, func() error { return r.follow(from, to) }); err != nil {
			a.Err = classify(r.ctx, err)
			return
		}
		hop := policy.Hop{From: a.Served, To: to.String(), Status: a.Status, Header: a.Header}
		a.Hops, a.Served, u = append(a.Hops, hop), hop.To, to
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

// request returns a request for robots.txt, or for a URL of the probe, whose text is target.
// Every hop gets a new header, without cookies, credentials and Referer. Validators are sent only
// to the URL that they belong to.
func (r *retrieval) request(method string, u *url.URL, target string) http.Request {
	h := r.engine.header.Clone()
	if target == r.old.ServedFrom() {
		maps.Copy(h, r.old.Validators())
	}
	return http.Request{Method: method, URL: u, Host: u.Host, Header: h}
}

// missingPath begins the path that cannot exist. Random letters follow, so that no cache
// has an answer.
const missingPath = "/no-such-page-"

// probe fills in a.Probe if the profile wants it. The two requests are made at the host's
// turn and only once. If the first has no turn in time, a.Probe stays nil, and the next
// fetch tries again. The second is not made if the first shows that the server does not
// work.
func (r *retrieval) probe() {
	a := &r.attempt
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
	u, err := url.Parse(target)
	if err != nil {
		return 0, false
	}
	t := &tries{retrieval: r, request: r.request(method, u, target), attempt: &policy.Attempt{Served: target}, statusOnly: true}
	t.request.Header.Set("Cache-Control", "no-cache")
	t.request.Close = true // an odd server may not have ended this answer when the next request comes
	if err = t.next(); err != nil || field.Age(t.attempt.Header) > 0 {
		return 0, !t.late
	}
	return t.attempt.Status, true
}
