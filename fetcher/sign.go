package fetcher

import (
	"context"
	"net/http"

	"github.com/rfc9309/polite/policy"
)

// This file signs requests.

// signed returns a copy of a request with the header that Options.Sign has given it, or the
// request itself if Options.Sign is nil. It waits no longer than the context of the
// request. The error is a *policy.Failure.
func (e *engine) signed(req *http.Request) (*http.Request, error) {
	if e.opts.Sign == nil {
		return req, nil
	}
	mine := req.Clone(req.Context())
	if mine.Header == nil {
		mine.Header = http.Header{}
	}
	mine.Body, mine.GetBody = nil, nil // reading it would take it from the server
	_, err := callBounded(req.Context(), e.watch.log, func(context.Context) (none, error) { return none{}, e.opts.Sign(mine) })
	if err != nil {
		return nil, &policy.Failure{Class: policy.Sign, Err: err}
	}
	// A signature cannot lead the request elsewhere, past the robots.txt that was asked.
	out := *req
	out.Header = mine.Header
	return &out, nil
}
