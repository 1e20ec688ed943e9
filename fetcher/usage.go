package fetcher

import (
	"net/http"
	"time"

	"github.com/rfc9309/polite/policy"
	"github.com/rfc9309/polite/usage"
)

// Usage returns what the site says about the use of a page that the Transport fetched:
// in its robots.txt and in the header of the answer. It is experimental; nothing is
// enforced. See package usage.
//
// The robots.txt is the cached copy that governed the request, if the request was paced
// and the Body of resp is as RoundTrip returned it: http.Client wraps the Body if its
// Timeout is set. Otherwise it is the copy in memory. If that replaced another one, the
// Set lists [usage.RobotsTxt] as skipped, with the time of the change, as long as it is
// among the last 1,800 changes or so. Without a copy, the header alone counts. Usage does
// no I/O and does not read the body.
func (t *Transport) Usage(resp *http.Response) usage.Set {
	said := usage.OfHeader(resp.Header, t.token)
	if resp.Request == nil {
		return said
	}
	target := targetOf(resp.Request)
	key, err := Authority(target)
	if err != nil {
		return said
	}
	rec, changed := t.engine.governing(resp, key)
	said = usage.Combine(usage.OfFile(rec.File(), t.token, target.RequestURI()), said)
	if changed.IsZero() {
		return said
	}
	return said.With(usage.Skip{
		Source: usage.Source{Kind: usage.RobotsTxt},
		Reason: "it changed at " + changed.UTC().Format(time.RFC3339) + "; a page requested before was governed by another copy",
	})
}

// governing returns the record that governed the request of an answer. Only the body of a
// paced answer holds its record. For any other answer governing returns the record in memory,
// and when its text last changed. For a response without a body, which no client returns, it
// reports no change: such a response is a question about the present.
func (e *engine) governing(resp *http.Response, key string) (rec *policy.Record, changed time.Time) {
	if b, ok := resp.Body.(*page); ok && b.rec != nil && b.caller == resp.Request {
		return b.rec, time.Time{}
	}
	rec, _ = e.memory.records.Get(key)
	if resp.Body != nil {
		changed, _ = e.memory.changes.Get(key)
	}
	return rec, changed
}
