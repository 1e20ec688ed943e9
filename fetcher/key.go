package fetcher

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/policy"
)

// This file names authorities: RFC 9309, section 2.3.

// ErrURL is in the chain of every error about a URL that no robots.txt governs.
var ErrURL = origin.ErrURL

// Authority returns the scheme and authority whose robots.txt governs target, as
// in "https://example.com" or "http://[2001:db8::1]:8080" (RFC 9309, section
// 2.3): lower case, the host in ASCII without a trailing dot, without a default
// port and without userinfo. All URLs of one authority share a robots.txt, a
// pace and a record. The scheme is http, https or ftp, which a Transport
// fetches only if Options.Schemes says so. The error has [ErrURL] in its chain.
func Authority(target *url.URL) (string, error) {
	key, err := origin.Of(target)
	if err != nil {
		return "", fmt.Errorf("fetcher: %w", err)
	}
	return key, nil
}

// authority is Authority for a URL that a Transport may fetch.
func (e *engine) authority(target *url.URL) (string, error) {
	var buf [origin.Size]byte
	key, err := e.appendAuthority(buf[:0], target)
	if err != nil {
		return "", fmt.Errorf("fetcher: %w", err)
	}
	return string(key), nil
}

// appendAuthority appends the authority of a URL to b. An error has ErrURL in its
// chain: the URL has no authority, or Options.Schemes does not name its scheme.
func (e *engine) appendAuthority(b []byte, target *url.URL) ([]byte, error) {
	key, err := origin.Append(b, target)
	if err == nil && !bytes.HasPrefix(key, []byte("http")) && !slices.Contains(e.opts.Schemes, strings.ToLower(target.Scheme)) {
		err = fmt.Errorf("%s is not in Options.Schemes; %w", strings.ToLower(target.Scheme), ErrURL)
	}
	return key, err
}

// robotsPath follows the authority in the URL of its robots.txt.
const robotsPath = "/robots.txt"

// robotsURL returns the URL of the robots.txt of an authority.
func robotsURL(key string) *url.URL {
	scheme, host, _ := strings.Cut(key, "://")
	return &url.URL{Scheme: scheme, Host: host, Path: robotsPath}
}

// authorityOf returns the authority of a record.
func authorityOf(rec *policy.Record) string { return strings.TrimSuffix(rec.Robots(), robotsPath) }
