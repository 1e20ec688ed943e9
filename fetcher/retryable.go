package fetcher

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// This file repeats a request that failed. It is the only one that knows
// go-retryablehttp.

// retryWait is the time between two tries of a hop. Longer waits are left to the
// record, which says when the next fetch is.
const retryWait = 500 * time.Millisecond

// retry makes the tries of one hop. It is one call of go-retryablehttp, which is set to
// follow no redirect, to log nothing, and to return the last answer whatever its status.
func (t *tries) retry() error {
	req, err := retryablehttp.NewRequestWithContext(t.ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return err
	}
	req.Header = t.engine.header(t.url, t.old)
	followNone := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: statusTripper{t}, CheckRedirect: followNone},
		RetryMax:     t.engine.opts.Attempts - 1,
		CheckRetry:   t.mayRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return retryWait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	_, err = client.Do(req) //nolint:bodyclose // a statusTripper returns no body
	return err
}

// mayRetry reports whether there is another try: only after a failure of the network,
// and only if there is time to wait for it.
func (t *tries) mayRetry(ctx context.Context, _ *http.Response, err error) (bool, error) {
	if err == nil || t.late || ctx.Err() != nil {
		return false, nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= retryWait {
		return false, nil
	}
	return isTransient(classify(ctx, err)), nil
}

// A statusTripper is the http.RoundTripper below go-retryablehttp. It makes one try, and
// returns the status without body or Location, so that http.Client does not follow a
// redirect and go-retryablehttp does not read a body. It has no CloseIdleConnections,
// which go-retryablehttp would call after each failure, so that the connections for pages
// stay open.
type statusTripper struct{ tries *tries }

func (s statusTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := s.tries.next(req); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: s.tries.last.status, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// checkBase refuses a base that is known to follow redirects by itself: it would
// fetch pages that no robots.txt was checked for, and skip the address rule.
func checkBase(base http.RoundTripper) error {
	rt, ok := base.(*retryablehttp.RoundTripper)
	if !ok || rt.Client != nil && rt.Client.HTTPClient != nil && rt.Client.HTTPClient.CheckRedirect != nil {
		return nil
	}
	return errors.New("fetcher: Base is a go-retryablehttp RoundTripper that follows redirects; want one whose " +
		"Client.HTTPClient has a CheckRedirect that returns http.ErrUseLastResponse")
}
