package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/cases"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/policy"
)

// reading reads a robots.txt as it is now, from a file or a site.
type reading struct {
	siteFlags
	*cli
}

// text reads a robots.txt from a local file, from standard input if what is "-", or from
// the site of a URL. If the site has no file, it says why and returns nil.
func (r *reading) text(ctx context.Context, what string, profile *policy.Profile) ([]byte, error) {
	if strings.Contains(what, "://") {
		return r.download(ctx, what, profile)
	}
	return r.readFile(what, profile.Limit)
}

// download fetches a site's robots.txt as it is now, past the cached copy. If
// there is no file, it says why and returns nil.
func (r *reading) download(ctx context.Context, what string, profile *policy.Profile) ([]byte, error) {
	target, err := parseURL(what)
	if err != nil {
		return nil, err
	}
	crawler, stop, err := r.transport(r.cli, nil, nil)
	if err != nil {
		return nil, err
	}
	defer stop()
	limited, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	status, text, err := r.get(limited, crawler, target, profile)
	switch {
	case err == nil && status >= 200 && status <= 299:
		return text, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("no answer within %v", r.timeout)
	}
	// The profile says what the site's answer means.
	var d policy.Decision
	if err == nil {
		a := policy.Attempt{Robots: robotsURL(target).String(), Status: status, Received: r.now()}
		d = profile.Learn(nil, a).Decide("", target, a.Received)
	} else if d, err = crawler.Check(ctx, target); err != nil {
		return nil, err
	}
	r.warn("no file was read: %s", display.Cause(d))
	r.code = exitFailed
	return nil, nil
}

// robotsURL returns the URL of the robots.txt that governs a URL.
func robotsURL(target *url.URL) *url.URL {
	return &url.URL{Scheme: target.Scheme, Host: target.Host, Path: "/robots.txt"}
}

// get makes the request. The Transport always allows /robots.txt, and follows a
// redirect to another path only if the robots.txt there allows it.
func (r *reading) get(ctx context.Context, crawler *fetcher.Transport, target *url.URL, profile *policy.Profile) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, robotsURL(target).String(), nil)
	if err != nil {
		return 0, nil, err
	}
	client := &http.Client{Transport: crawler, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > profile.Hops {
			return fmt.Errorf("more than %d redirects", profile.Hops)
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, int64(profile.Limit)+1))
	if err != nil {
		return 0, nil, err
	}
	if len(text) > profile.Limit {
		r.warn("the file is cut after %s bytes, the profile's limit (RFC 9309, section 2.5)", display.Thousands(profile.Limit))
		text = cases.Cut(text, profile.Limit)
	}
	return resp.StatusCode, append([]byte{}, text...), nil
}
