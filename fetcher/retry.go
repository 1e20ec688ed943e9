package fetcher

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// This file tries a hop again, by go-retryablehttp.

// retryWait is the time between two tries of a hop. Longer waits are left to the
// record, which says when the next fetch is.
const retryWait = 500 * time.Millisecond

// do makes the tries of one hop. It is one call of go-retryablehttp, which is
// told to follow no redirect, to log nothing, to return the last answer whatever
// its status, and to wait no longer than retryWait.
func (t *tries) do(ctx context.Context, url string, header http.Header, most int) error {
	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header = header
	client := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: t, CheckRedirect: useLastResponse},
		RetryMax:     most - 1,
		CheckRetry:   t.again,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return retryWait },
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	_, err = client.Do(req) //nolint:bodyclose // try closes the body; what is returned has none
	return err
}

// useLastResponse makes an http.Client follow no redirect.
func useLastResponse(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

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
