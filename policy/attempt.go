package policy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Attempt is what one retrieval of robots.txt produced, after redirects. The
// fetcher fills it; so may any other HTTP stack.
//
// A retrieval that stopped at a redirect carries that redirect's Status and
// Header (with its Location), and Hops are those followed before it.
//
// Learn keeps no reference to Header or Body.
type Attempt struct {
	Robots string      // the URL asked: the initial authority's /robots.txt
	Served string      // the URL that gave the final answer; "" means Robots
	Hops   []Hop       // each redirect followed, in order
	Status int         // the final status; 0 if there was no answer
	Header http.Header // the final header; nil if there was no answer
	Body   []byte      // decoded content, at most Profile.Limit octets
	Cut    bool        // the content was longer than the limit
	Sent   time.Time   // when the retrieval began
	// Received is when the final answer, or the failure, was complete. All
	// lifetimes count from it. Zero means Sent.
	Received time.Time
	// Err is the transport or protocol failure, nil for a complete answer. A
	// *Failure in its chain gives the class; without one it is Other.
	Err error
}

// Hop is one redirect that was followed.
type Hop struct {
	From, To string
	Status   int
}

// at is the time all spans count from.
func (a *Attempt) at() time.Time {
	if a.Received.IsZero() {
		return a.Sent
	}
	return a.Received
}

// served is the URL of the final answer.
func (a *Attempt) served() string {
	if a.Served == "" {
		return a.Robots
	}
	return a.Served
}

// Class says which part of a retrieval failed. Profile.Failures maps each class
// to its Access.
type Class uint8

const (
	Other    Class = iota // none of the below
	DNS                   // the name did not resolve
	Connect               // no connection, or it was reset before an answer
	TLS                   // handshake or certificate
	Timeout               // the retrieval's own budget ended
	Protocol              // the answer is not HTTP, or its header is over the limit
	Body                  // the body broke off or cannot be decoded
	Egress                // a redirect led where the crawler must not go
)

var classNames = [...]string{"network", "dns", "connect", "tls", "timeout", "protocol", "body", "redirect_refused"}

// String returns a stable lower-case name, fit for a metric's label.
func (c Class) String() string { return name(classNames[:], int(c), "class") }

// Failure is a retrieval that ended without a complete answer.
type Failure struct {
	Class Class
	Err   error // the cause; may be nil
}

// Error returns the class and the cause.
func (f *Failure) Error() string {
	if f.Err == nil {
		return f.Class.String()
	}
	return fmt.Sprintf("%s: %v", f.Class, f.Err)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Redirect reports whether status is one of the five that name another place to
// look. 300, 305 and 306 are not: the first offers a choice, the others are
// obsolete (RFC 9110, section 15.4).
func Redirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// maxLocation bounds a redirect's Location, in octets.
const maxLocation = 8 << 10

// Location is where the final redirect leads, resolved against the URL that
// sent it, without fragment and userinfo. The error says why it cannot be used:
// the status is not one of the five that redirect, there is no Location or one
// over 8 KiB, several differ, or it does not name an http or https host or one
// of the scheme that was asked.
func (a *Attempt) Location() (*url.URL, error) {
	lines := a.Header["Location"]
	switch {
	case !Redirect(a.Status):
		return nil, fmt.Errorf("status %d does not redirect", a.Status)
	case len(lines) == 0 || lines[0] == "":
		return nil, errors.New("no Location")
	case len(lines[0]) > maxLocation:
		return nil, fmt.Errorf("a Location of %d octets; at most %d are read", len(lines[0]), maxLocation)
	}
	for _, l := range lines[1:] {
		if l != lines[0] {
			return nil, fmt.Errorf("%d Locations that differ", len(lines))
		}
	}
	base, err := url.Parse(a.served())
	if err != nil {
		return nil, err
	}
	to, err := base.Parse(lines[0])
	if err != nil {
		return nil, err
	}
	if to.Host == "" || to.Scheme != "http" && to.Scheme != "https" && to.Scheme != base.Scheme {
		return nil, fmt.Errorf("a Location with scheme %q and host %q", clean(to.Scheme), clean(to.Host))
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	return to, nil
}

// exhausted reports whether the redirects are used up (RFC 9309, section
// 2.3.1.2): the attempt stopped at a redirect after as many hops as the profile
// follows, or at one that leads back to where the retrieval has already been.
func (a *Attempt) exhausted(hops int) bool {
	return Redirect(a.Status) && (len(a.Hops) >= hops || a.loops())
}

// loops reports whether the final redirect leads to a URL already seen.
func (a *Attempt) loops() bool {
	to, err := a.Location()
	if err != nil {
		return false
	}
	next := to.String()
	seen := next == a.served() || next == a.Robots
	for _, h := range a.Hops {
		seen = seen || next == h.From || next == h.To
	}
	return seen
}
