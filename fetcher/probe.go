package fetcher

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/internal/field"
	"github.com/rfc9309/polite/policy"
)

// This file asks a server whether it answers 5xx for whatever it does not have: see
// policy.Profile.Probe.

// missingPath begins the path that cannot exist. Random letters follow, so that no cache
// has an answer.
const missingPath = "/no-such-page-"

// probe fills in a.Probe if the profile wants it. The two requests are made within ctx,
// each at the host's turn and only once. If the first has no turn in time, a.Probe stays
// nil, and the next fetch tries again. The second is not made if the first shows that the
// server does not work.
func (e *engine) probe(ctx context.Context, a *policy.Attempt, old *policy.Record, trip *egress.Trip) {
	if !e.opts.Profile.WantsProbe(old, *a) {
		return
	}
	r := &retrieval{engine: e, ctx: ctx, robots: a.Robots, trip: trip}
	site := strings.TrimSuffix(a.Robots, robotsPath)
	root, made := r.status(http.MethodHead, site+"/")
	if !made {
		return
	}
	a.Probe = &policy.Probe{Root: root}
	if root >= 200 && root <= 399 {
		a.Probe.Missing, _ = r.status(http.MethodGet, site+missingPath+rand.Text())
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
	t := &tries{retrieval: r, url: req.URL, statusOnly: true}
	if err := t.next(req); err != nil {
		return 0, !t.late
	}
	if field.Age(field.Canonical(t.last.header)) > 0 {
		return 0, true
	}
	return t.last.status, true
}
