package fetcher

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rfc9309/polite/policy"
)

// This file has the answer to a request that is refused.

// ErrDisallowed and ErrDeferred tell apart the two ways a request is refused.
// A *DeniedError matches one of them with errors.Is.
var (
	ErrDisallowed = errors.New("disallowed by robots.txt")
	ErrDeferred   = errors.New("deferred: robots.txt could not be fetched, or the turn comes too late")
)

// DeniedError is the error of a request that was refused. http.Client wraps it
// in a *url.Error; errors.As finds it there.
type DeniedError struct {
	Decision policy.Decision
}

// Error returns the Decision as one line.
func (e *DeniedError) Error() string { return e.Decision.String() }

// Is reports whether target is ErrDisallowed or ErrDeferred and names this kind
// of refusal.
func (e *DeniedError) Is(target error) bool {
	if e.Decision.Verdict == policy.Disallow {
		return target == ErrDisallowed
	}
	return target == ErrDeferred
}

// refuse reports the decision on a request that does not go out, and answers it: with a
// *DeniedError, or with AsResponse a 403 with the Decision. A Defer is a 403, too: the
// clients that AsResponse is for would try again at once after a 503.
func (t *Transport) refuse(req *http.Request, d policy.Decision) (*http.Response, error) {
	closeBody(req)
	t.report(req.Context(), d)
	if !t.engine.opts.AsResponse {
		return nil, &DeniedError{Decision: d}
	}
	text := d.String() + "\n"
	h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Polite-Verdict": {d.Verdict.String()}}
	if !d.RetryAt.IsZero() {
		wait := max(time.Until(d.RetryAt), 0).Round(time.Second)
		h.Set("Retry-After", strconv.FormatInt(int64(wait/time.Second), 10))
	}
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: req,
	}, nil
}
