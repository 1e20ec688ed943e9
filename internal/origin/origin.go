// Package origin returns the scheme and authority of a URL in canonical form. URLs
// with the same origin share a robots.txt (RFC 9309, section 2.3).
package origin

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/rfc9309/polite/internal/clean"
)

// errURL is in the chain of every error of Of.
var errURL = errors.New("want an absolute http or https URL with a host")

const (
	maxHost = 255 // longest host name in ASCII, in bytes
	maxURL  = 200 // longest URL in an error, in bytes
)

// Of returns the origin of u: scheme://host[:port] in lower-case ASCII. A
// trailing dot of the host, a default or empty port and the userinfo are dropped. The
// scheme is http, https or ftp. The origin of an origin is itself.
//
// An opaque URL is read as net/http writes it in a request. If the opaque part
// begins with "//", it has an authority, which servers prefer to the Host field
// (RFC 9112, section 3.2.2).
func Of(u *url.URL) (string, error) {
	switch {
	case u == nil:
		return "", fmt.Errorf("no URL; %w", errURL)
	case isPlain(u):
		return u.Scheme + "://" + u.Host, nil
	}
	o, err := canonical(u)
	if err != nil {
		return "", fmt.Errorf("%s: %w", clean.Quote(u.Redacted(), maxURL), err)
	}
	return o, nil
}

// canonical is Of for any URL.
func canonical(u *url.URL) (string, error) {
	scheme, authority := strings.ToLower(u.Scheme), u
	switch {
	case strings.HasPrefix(u.Opaque, "//"):
		written, err := url.Parse(scheme + ":" + u.Opaque)
		if err != nil {
			return "", errURL
		}
		authority = written
	case u.Opaque != "" && u.Opaque[0] != '/':
		return "", errURL
	}
	if DefaultPort(scheme) == 0 || u.Host == "" { // net/http needs u.Host for an opaque URL, too
		return "", errURL
	}
	host, err := Host(authority.Hostname())
	if err != nil {
		return "", fmt.Errorf("%w; %w", err, errURL)
	}
	o, port := scheme+"://"+host, authority.Port()
	if port == "" {
		return o, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("the port is not between 1 and 65535; %w", errURL)
	}
	if n == DefaultPort(scheme) {
		return o, nil
	}
	return o + ":" + strconv.FormatUint(n, 10), nil
}

// isPlain reports whether the scheme and the host of a URL are certainly canonical already, as in
// most URLs.
func isPlain(u *url.URL) bool {
	if u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" {
		return false
	}
	host, port, ported := strings.Cut(u.Host, ":")
	return plainHost(host) && (!ported || plainPort(u.Scheme, port))
}

// plainHost reports whether a host is certainly canonical. It reports false for a
// double hyphen, because the label may be an IDN that must be checked.
func plainHost(h string) bool {
	if h == "" || len(h) > maxHost {
		return false
	}
	letters := false
	for i := range len(h) {
		switch c := h[i]; {
		case 'a' <= c && c <= 'z':
			letters = true
		case '0' <= c && c <= '9':
		case c != '.' && c != '-', i == 0, c == h[i-1]:
			return false
		}
	}
	if !letters {
		addr, err := netip.ParseAddr(h)
		return err == nil && addr.Is4()
	}
	return h[len(h)-1] != '.'
}

// plainPort reports whether a port is canonical, and not the scheme's own.
func plainPort(scheme, port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && port[0] != '0' && n != DefaultPort(scheme)
}

// DefaultPort returns the port of URLs that name none. It is 0 for a scheme that has no
// origin here.
func DefaultPort(scheme string) uint64 {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	case "ftp":
		return 21
	}
	return 0
}

// hosts maps names as browsers do (UTS 46). It permits underscores, because real
// hosts have them.
var hosts = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

// Host returns the canonical form of a host name or address literal, IPv6 in
// brackets.
func Host(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Is4() {
			return addr.String(), nil
		}
		if addr.Zone() != "" {
			return "", errors.New("the address has a zone, which is valid on one machine only")
		}
		return "[" + addr.String() + "]", nil
	}
	// The time of the mapping is quadratic in the length of a label.
	if len(host) > 4*maxHost {
		return "", errors.New("the host is too long")
	}
	name, err := hosts.ToASCII(host)
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	// Each label has at least one byte. ToASCII may accept text that is not UTF-8.
	if err != nil || !utf8.ValidString(host) || len(name) > maxHost || strings.Contains("."+name+".", "..") {
		return "", errors.New("the host is not a domain name")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#%/:<>?@[\\]^`{|}", c) >= 0 {
			return "", fmt.Errorf("the byte %#02x is not allowed in a host", c)
		}
	}
	return name, nil
}
