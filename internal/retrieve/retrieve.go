// Package retrieve gets one file, the robots.txt of one authority, over the network.
//
// A [Fetch] is one GET with all its redirects and tries (RFC 9309, section 2.3.1.2), within one
// time limit. It knows no cache, no rules and no other fetch: its caller gives it the host's turn
// and the record that is known, and learns from the [policy.Attempt] that [Fetch.Get] returns.
// Whatever a server, the base or a function of the [Settings] does, there is an Attempt.
//
// Redirects are followed here, one by one, as package egress permits. Each request, a redirect or
// a further try, waits for a turn of its host. go-retryablehttp decides how often one URL is
// tried, and is used by this package alone.
package retrieve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// Settings are what all fetches of a crawler have in common. A nil function is not called.
type Settings struct {
	Profile  *policy.Profile
	Header   http.Header   // of each request, which gets a copy
	Timeout  time.Duration // bounds a fetch from its first request on
	Attempts int           // the number of times one URL is tried, at least 1

	PageEgress bool // the address rule binds the first request, too

	// Turn waits for the turn to request a URL, but for the first turn of a fetch.
	Turn func(ctx context.Context, u *url.URL) (pace.Turn, error)
	// Redirect returns an error if a redirect must not be followed. It may panic or block.
	Redirect func(from, to *url.URL) error
	// Sign returns the request that is sent in place of another one.
	Sign func(*http.Request) (*http.Request, error)
	// Tried gets each request when it is over.
	Tried func(Try)

	Log *slog.Logger // gets panics
}

// A Try is one request of a fetch: one try of one URL.
type Try struct {
	Robots string // the robots.txt that is fetched
	URL    string // the URL requested
	Number int    // 1 for the first try of the URL
	Status int    // 0 without an answer
	Start  time.Time
	Took   time.Duration // until the body was read
	Err    error         // a *policy.Failure, nil for an answer
}

// A Fetch gets one robots.txt. It belongs to one goroutine.
type Fetch struct {
	*Settings
	network *egress.Network
	robots  *url.URL
	trip    egress.Trip     // sends the requests, and applies the address rule to redirects
	failed  error           // why there is no trip
	ctx     context.Context // ends with the time for all requests
	old     *policy.Record  // gives the validators; may be nil
	turn    pace.Turn       // of the first request; zero once that is made
	sent    time.Time       // when the last request was made
	attempt policy.Attempt
}

// Begin begins a fetch of the robots.txt of an authority, whose URL is in canonical form. It makes
// no request. The error is an *egress.RefusedError if the network refuses the address, so that
// nobody waits for a turn.
func (s *Settings) Begin(n *egress.Network, robots *url.URL) (*Fetch, error) {
	f := &Fetch{Settings: s, network: n, robots: robots}
	if !s.PageEgress {
		f.trip, f.failed = n.Trip(context.Background(), robots) // checks nothing
		return f, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout)
	defer cancel()
	f.trip, f.failed = bounded.Call(ctx, s.Log, func(ctx context.Context) (egress.Trip, error) { return n.Trip(ctx, robots) }, nil)
	var refused *egress.RefusedError
	if errors.As(f.failed, &refused) {
		return nil, refused
	}
	return f, nil
}

// Get makes the requests, the first one in the given turn, which it ends. The Attempt has an Err
// that is nil or a *policy.Failure.
//
// If a single redirect led to the robots.txt of another authority and that was answered, target is
// the same fetch as it would have been for that authority: its request would be the same.
// Otherwise target is the zero Attempt.
func (f *Fetch) Get(old *policy.Record, turn pace.Turn) (a, target policy.Attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), f.Timeout)
	defer cancel()
	f.ctx, f.old, f.turn = ctx, old, turn
	f.attempt.Robots, f.attempt.Sent = f.authority()+f.robots.Path, time.Now()
	err := f.failed
	if err == nil {
		err = bounded.Do(f.Log, func() error {
			f.follow()
			f.probe()
			return nil
		})
	}
	turn.Done() // has no effect unless there was no try, or a panic in one
	if err != nil {
		f.attempt.Err, f.attempt.Body = classify(ctx, err), nil
	}
	f.attempt.Received = time.Now()
	return f.attempt, f.target()
}

// authority returns the authority whose file is fetched.
func (f *Fetch) authority() string { return f.robots.Scheme + "://" + f.robots.Host }

// follow requests the file and follows its redirects (RFC 9309, section 2.3.1.2). A redirect to a
// URL seen before is followed like any other, to the same limit: the loop may end in a file. The
// rules apply to the initial authority, wherever they were found. Profile.Learn says what the
// answer means.
func (f *Fetch) follow() {
	a, u := &f.attempt, f.robots
	a.Served = a.Robots
	for {
		f.get(u)
		if a.Err != nil || a.Status/100 != 3 || len(a.Hops) >= f.Profile.Hops {
			return
		}
		to, err := location(a)
		if err != nil {
			return // Learn finds the same error
		}
		if err := f.checkRedirect(u, to); err != nil {
			a.Err = classify(f.ctx, err)
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
	authority, err := origin.Of(to)
	if err != nil {
		return nil, err
	}
	to.Scheme, to.Host, _ = strings.Cut(authority, "://")
	return to, nil
}

// checkRedirect returns an error if a redirect must not be followed.
func (f *Fetch) checkRedirect(from, to *url.URL) error {
	_, err := bounded.Call(f.ctx, f.Log, func(context.Context) (none struct{}, err error) {
		if f.Redirect != nil {
			err = f.Redirect(from, to)
		}
		if err == nil {
			err = f.trip.Follow(f.ctx, from, to)
		}
		if err != nil {
			err = &policy.Failure{Class: policy.Egress, Err: err}
		}
		return none, err
	}, nil)
	return err
}

// nextTurn waits for the turn to request a URL as long as the time of the fetch permits. The
// turn of the first request is there already.
func (f *Fetch) nextTurn(u *url.URL) (turn pace.Turn, err error) {
	if turn, f.turn = f.turn, (pace.Turn{}); turn != (pace.Turn{}) || f.Turn == nil {
		return turn, nil
	}
	if turn, err = f.Turn(f.ctx, u); err != nil {
		err = &policy.Failure{Class: policy.Timeout, Err: fmt.Errorf("waiting for a turn: %w", err)}
	}
	return turn, err
}

// request returns a request for robots.txt, or for a URL of the probe, whose text is target.
// Every request gets a new header, without cookies, credentials and Referer. Validators are sent
// only to the URL that they belong to.
func (f *Fetch) request(method string, u *url.URL, target string) http.Request {
	h := f.Header.Clone()
	if target == f.old.ServedFrom() {
		maps.Copy(h, f.old.Validators())
	}
	return http.Request{Method: method, URL: u, Host: u.Host, Header: h}
}

// target returns the fetch for the authority whose robots.txt a single redirect led to.
func (f *Fetch) target() (target policy.Attempt) {
	a := &f.attempt
	if len(a.Hops) != 1 || a.Err != nil || a.Status/100 != 2 && a.Status/100 != 4 || a.Robots == a.Served {
		return target
	}
	u, err := url.Parse(a.Served)
	if err != nil || a.Served != u.Scheme+"://"+u.Host+f.robots.Path {
		return target
	}
	target.Robots, target.Served, target.Status, target.Header = a.Served, a.Served, a.Status, a.Header.Clone()
	target.Body, target.Cut, target.Sent, target.Received = a.Body, a.Cut, f.sent, a.Received
	return target
}
