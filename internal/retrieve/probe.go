package retrieve

import (
	"crypto/rand"
	"net/http"
	"net/url"

	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/policy"
)

// This file finds out whether a server answers 5xx for whatever it does not have; see
// policy.Profile.ProbeMissing.

// missingPath begins the path that cannot exist. Random letters follow, so that no cache
// has an answer.
const missingPath = "/no-such-page-"

// probe fills in a.Probe if the profile wants it. The two requests are made at the host's
// turn and only once. If the first has no turn in time, a.Probe stays nil, and the next
// fetch tries again. The second is not made if the first shows that the server does not
// work.
func (f *Fetch) probe() {
	a := &f.attempt
	if !f.Profile.WantsProbe(f.old, *a) {
		return
	}
	root, made := f.status(http.MethodHead, f.authority()+"/")
	if !made {
		return
	}
	a.Probe = &policy.Probe{Root: root}
	if root >= 200 && root <= 299 {
		a.Probe.Missing, _ = f.status(http.MethodGet, f.authority()+missingPath+rand.Text())
	}
}

// status makes one request and returns the status of the answer. It is 0 without an
// answer, or if a cache answered: the server may be down. made is false if the request
// had no turn in time.
func (f *Fetch) status(method, target string) (status int, made bool) {
	u, err := url.Parse(target)
	if err != nil {
		return 0, false
	}
	t := &tries{fetch: f, request: f.request(method, u, target), answer: &policy.Attempt{Served: target}, statusOnly: true}
	t.request.Header.Set("Cache-Control", "no-cache")
	t.request.Close = true // an odd server may not have ended this answer when the next request comes
	if err = t.next(); err != nil || field.Age(t.answer.Header) > 0 {
		return 0, !t.late
	}
	return t.answer.Status, true
}
