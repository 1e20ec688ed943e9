package policy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/internal/origin"
)

// This file describes a fetch and its redirects: RFC 9309, sections 2.3.1 and 2.3.1.2.

// Attempt is what one fetch of robots.txt produced, after redirects. An attempt that
// stopped at a redirect has the Status and the Header of that redirect; Hops are
// the redirects followed before it. Learn keeps no reference to Header or Body.
type Attempt struct {
	Robots string      // the URL asked: the initial authority's /robots.txt
	Served string      // the URL that gave the final answer; "" means the last hop's To, or Robots
	Hops   []Hop       // each redirect followed, in order
	Status int         // the final status; 0 if there was no answer
	Header http.Header // the final header, in any spelling; nil if there was no answer
	// Body is the decoded content. At most Profile.Limit+1 bytes are needed: the extra
	// byte shows whether the last line is complete.
	Body []byte
	Cut  bool // the content was longer than the limit
	// Sent is when the fetch began. The time until Received counts as age of the
	// answer, and a failed fetch that began before the last answer was learnt
	// changes nothing. Zero means Received.
	Sent time.Time
	// Received is when the final answer, or the failure, was complete. All
	// lifetimes count from it. Zero means Sent.
	Received time.Time
	// Err is the transport or protocol failure, nil for a complete answer. A
	// *Failure in its chain gives the class; without one the class is Other.
	// Profile.Failures says what the class means. Body counts only if Err is nil.
	Err error
	// Probe is what two more requests showed. Nil means that they were not made.
	Probe *Probe
}

// Hop is one redirect that was followed.
type Hop struct {
	From, To string
	Status   int
	Header   http.Header // of the redirect; not needed by Learn
}

// normalize spells the header as net/http does and fills in a time that is missing. The
// fetch began at the latest when it ended.
func (a *Attempt) normalize() {
	a.Header = field.Canonical(a.Header)
	if a.Received.IsZero() {
		a.Received = a.Sent
	}
	if a.Sent.IsZero() || a.Sent.After(a.Received) {
		a.Sent = a.Received
	}
}

// served returns the URL of the final answer.
func (a *Attempt) served() string {
	switch {
	case a.Served != "":
		return a.Served
	case len(a.Hops) > 0:
		return a.Hops[len(a.Hops)-1].To
	}
	return a.Robots
}

// Class says which part of a fetch failed. Profile.Failures maps each class
// to its Access.
type Class uint8

const (
	Other    Class = iota // none of the below
	DNS                   // the name did not resolve
	Connect               // no connection, or it was reset before an answer
	TLS                   // handshake or certificate
	Timeout               // no complete answer in the time that the fetch was given
	Protocol              // the answer is not HTTP, or its header is over the limit
	Body                  // the body broke off or cannot be decoded
	Egress                // a redirect led where the crawler must not go
	Sign                  // the request could not be signed, so it was not sent
)

var classNames = [...]string{"other", "dns", "connect", "tls", "timeout", "protocol", "body", "egress", "sign"}

// String returns a stable lower-case name, fit for a metric's label.
func (c Class) String() string { return nameOf(classNames[:], int(c), "class") }

// Failure is the error of a fetch that ended without a complete answer.
type Failure struct {
	Class Class
	Err   error // the cause; may be nil
}

// Error returns the class and the cause, which may hold words of a server, in
// one line of at most 500 bytes. Unwrap returns the whole cause.
func (f *Failure) Error() string {
	switch {
	case f == nil:
		return "a nil *policy.Failure"
	case f.Err == nil:
		return f.Class.String()
	}
	return clean.Text(fmt.Sprintf("%s: %v", f.Class, f.Err), 500)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error {
	if f == nil {
		return nil
	}
	return f.Err
}

// class returns the class of a failure in the chain of err. A nil *Failure that became
// an error by mistake has the class Other.
func class(err error) Class {
	var f *Failure
	if errors.As(err, &f) && f != nil {
		return f.Class
	}
	return Other
}

// redirects reports whether the status is one of the five that lead to another URL.
// 300 offers a choice, and 305 and 306 are obsolete (RFC 9110, section 15.4).
func (a *Attempt) redirects() bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, a.Status)
}

// maxLocation bounds a redirect's Location, in bytes.
const maxLocation = 8 << 10

// Location returns the URL that the final redirect leads to, resolved against the URL
// that sent it, without fragment and userinfo. The error says why there is none: the
// status is not 301, 302, 303, 307 or 308, the Location is missing, longer than 8 KiB
// or no URL, several Locations differ, or the URL has no host or another scheme than
// http, https or the scheme of Robots.
func (a *Attempt) Location() (*url.URL, error) {
	if !a.redirects() {
		return nil, fmt.Errorf("status %d does not redirect", a.Status)
	}
	lines := field.Canonical(a.Header)["Location"]
	switch {
	case len(lines) == 0 || lines[0] == "":
		return nil, errors.New("no Location")
	case len(lines[0]) > maxLocation:
		return nil, fmt.Errorf("a Location of %d bytes; at most %d are read", len(lines[0]), maxLocation)
	case slices.ContainsFunc(lines, func(l string) bool { return l != lines[0] }):
		return nil, fmt.Errorf("%d Locations that differ", len(lines))
	}
	from, err := url.Parse(a.served())
	if err != nil {
		return nil, fmt.Errorf("the redirect came from %s, which is not a URL", clean.Quote(a.served(), maxQuote))
	}
	to, err := from.Parse(lines[0])
	asked, _, _ := strings.Cut(a.Robots, ":")
	schemes := []string{"http", "https", strings.ToLower(asked)}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the Location is not a URL: %s", clean.Quote(lines[0], maxQuote))
	case to.Host == "" || !slices.Contains(schemes, to.Scheme):
		return nil, fmt.Errorf("a Location with scheme %s and host %s", clean.Quote(to.Scheme, maxQuote), clean.Quote(to.Host, maxQuote))
	}
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	to.RawQuery = strings.ReplaceAll(to.RawQuery, " ", "%20") // net/http would send the space, which ends a target
	return to, nil
}

// missingBytes returns by how many bytes the body is shorter than its Content-Length. It is
// 0 for a body that was decoded or cut, which has another length, and for a 204, which has
// no content whatever it declares (RFC 9110, section 15.3.5).
func (a *Attempt) missingBytes(limit int) int64 {
	h := a.Header
	if a.Status == http.StatusNoContent || a.Cut || len(a.Body) >= limit || h["Content-Encoding"] != nil || h["Transfer-Encoding"] != nil {
		return 0
	}
	return max(field.Length(h)-int64(len(a.Body)), 0)
}

// exhausted reports whether the redirects are used up (RFC 9309, section
// 2.3.1.2): the attempt stopped at a redirect after that many hops, or at a redirect
// to a URL already seen.
func (a *Attempt) exhausted(hops int) bool {
	return a.redirects() && (len(a.Hops) >= hops || a.isLoop())
}

// isLoop reports whether the final redirect leads to a URL already seen.
func (a *Attempt) isLoop() bool {
	to, err := a.Location()
	if err != nil {
		return false
	}
	seen := []string{a.Robots, a.served()}
	for _, h := range a.Hops {
		seen = append(seen, h.From, h.To)
	}
	next := canonicalURL(to.String())
	return slices.ContainsFunc(seen, func(u string) bool { return canonicalURL(u) == next })
}

// canonicalURL returns a URL on its canonical origin, without fragment and userinfo,
// so that two spellings of one URL are equal.
func canonicalURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	at, err := origin.Of(u)
	if err != nil {
		return raw
	}
	return at + u.RequestURI()
}
