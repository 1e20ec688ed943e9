package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// reading reads a robots.txt as it is now, from a file or a site.
type reading struct {
	siteFlags
	*cli
	cut bool // the file was longer than the limit
}

// text reads a robots.txt from a local file, from standard input if what is "-", or from
// the site of a URL. A site without a robots.txt has an empty one. If none was read, it says
// why and returns nil.
func (r *reading) text(ctx context.Context, what string, profile *policy.Profile) ([]byte, error) {
	if strings.Contains(what, "://") {
		return r.download(ctx, what, profile)
	}
	text, cut, err := r.readFile(what, profile.Limit)
	r.cut = cut
	host, _, _ := strings.Cut(what, "/")
	if full, added := completeURL(what); added && !strings.HasSuffix(host, ".txt") && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; if it is a site, write %s", err, full)
	}
	return text, err
}

// download fetches a site's robots.txt as it is now, as a crawler does. The status 404 or 410
// means an empty file. If none was read, it says why and returns nil.
func (r *reading) download(ctx context.Context, what string, profile *policy.Profile) ([]byte, error) {
	target, err := parseURL(what)
	if err != nil {
		return nil, fmt.Errorf("%s is no site: %w", clean.Quote(what, longText), err)
	}
	var file *matcher.File
	trace := &fetcher.Trace{Fetched: func(a policy.Attempt, rec *policy.Record) { file, r.cut = rec.File(), a.Cut }}
	crawler, stop, err := r.transport(r.cli, trace, nil)
	if err != nil {
		return nil, err
	}
	defer stop()
	d, err := crawler.Check(ctx, &url.URL{Scheme: target.Scheme, Host: target.Host, Path: "/"})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case display.Missing(d):
		r.warn("%s: %s; it is taken as an empty file", d.Robots, display.Cause(d))
		return []byte{}, nil
	case file == nil:
		r.warn("no file was read from %s: %s", d.Robots, display.Cause(d))
		r.code = exitFailed
		return nil, nil
	case r.cut:
		r.warn("the file is cut after %s bytes, the profile's limit (RFC 9309, section 2.5)", display.Thousands(profile.Limit))
	}
	return append([]byte{}, file.Text()...), nil
}
