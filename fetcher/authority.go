package fetcher

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/internal/records"
)

// This file names authorities: RFC 9309, section 2.3.

// ErrURL is in the chain of every error about a URL that no robots.txt governs.
var ErrURL = errors.New("want an absolute http or https URL with a host")

// A urlError says what is wrong with a URL. It is ErrURL.
type urlError struct{ why error }

func (e *urlError) Error() string        { return "fetcher: " + e.why.Error() }
func (e *urlError) Is(target error) bool { return target == ErrURL }

// Authority returns the scheme and authority whose robots.txt governs target, as
// in "https://example.com" or "http://[2001:db8::1]:8080" (RFC 9309, section
// 2.3): lower case, the host in ASCII without a trailing dot, without a default
// port and without userinfo. All URLs of one authority share a robots.txt, a
// pace and a record. The scheme is http, https or ftp, which a Transport
// fetches only if Options.Schemes says so. The error has [ErrURL] in its chain.
func Authority(target *url.URL) (string, error) {
	key, err := origin.Of(target)
	if err != nil {
		return "", &urlError{err}
	}
	return key, nil
}

// authority is Authority for a URL that a Transport may fetch: an error also says that
// Options.Schemes does not name the scheme.
func (e *engine) authority(target *url.URL) (string, error) {
	key, err := Authority(target)
	if err == nil && !strings.HasPrefix(key, "http") && !slices.Contains(e.opts.Schemes, strings.ToLower(target.Scheme)) {
		err = fmt.Errorf("fetcher: %s is not in Options.Schemes; %w", strings.ToLower(target.Scheme), ErrURL)
	}
	return key, err
}

// robotsURL returns the URL of the robots.txt of an authority.
func robotsURL(key string) url.URL {
	scheme, host, _ := strings.Cut(key, "://")
	return url.URL{Scheme: scheme, Host: host, Path: records.RobotsPath}
}
