package fetcher

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ErrURL is in the chain of every error about a URL that no robots.txt governs.
var ErrURL = errors.New("want an absolute http or https URL with a host")

// keySize holds the key of nearly every authority: a stack buffer of it keeps
// the warm path free of allocations.
const keySize = 128

// maxHost is the longest host name there is, in octets of its ASCII form.
const maxHost = 255

// appendKey appends the key of the authority that governs u, and is the only
// place that says which URLs share a robots.txt (RFC 9309, section 2.3):
// lower(scheme)://host[:port], with the host in lower-case ASCII without a
// trailing dot, a default or empty port dropped and userinfo ignored.
func appendKey(b []byte, u *url.URL) ([]byte, error) {
	if u == nil {
		return b, fmt.Errorf("fetcher: no URL; %w", ErrURL)
	}
	if key, ok := plainKey(b, u); ok {
		return key, nil
	}
	return fullKey(b, u)
}

// fullKey is appendKey for any URL.
func fullKey(b []byte, u *url.URL) ([]byte, error) {
	scheme := strings.ToLower(u.Scheme)
	if scheme != "http" && scheme != "https" || u.Host == "" || u.Opaque != "" {
		return b, fmt.Errorf("fetcher: %.200q; %w", u.Redacted(), ErrURL)
	}
	host, err := asciiHost(u.Hostname())
	if err != nil {
		return b, fmt.Errorf("fetcher: %.200q: %w; %w", u.Redacted(), err, ErrURL)
	}
	b = append(append(append(b, scheme...), "://"...), host...)
	port := u.Port()
	if port == "" {
		return b, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return b, fmt.Errorf("fetcher: %.200q has no port between 1 and 65535; %w", u.Redacted(), ErrURL)
	}
	if defaultPort(scheme, n) {
		return b, nil
	}
	return strconv.AppendUint(append(b, ':'), n, 10), nil
}

// plainKey does the common case without allocating: the URL's scheme and host are
// written as the key wants them.
func plainKey(b []byte, u *url.URL) ([]byte, bool) {
	if u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" {
		return b, false
	}
	host, port, ported := strings.Cut(u.Host, ":")
	if !plainHost(host) || ported && !plainPort(u.Scheme, port) {
		return b, false
	}
	return append(append(append(b, u.Scheme...), "://"...), u.Host...), true
}

// plainHost reports whether a host is canonical at first sight. A double hyphen
// may begin what must be a real label of an IDN, so it takes a second look.
func plainHost(h string) bool {
	if h == "" || len(h) > maxHost {
		return false
	}
	letters, last := false, byte('.')
	for i := range len(h) {
		c := h[i]
		switch {
		case 'a' <= c && c <= 'z':
			letters = true
		case '0' <= c && c <= '9':
		case c != '.' && c != '-', c == '-' && i == 0, c == last:
			return false
		}
		last = c
	}
	if !letters {
		addr, err := netip.ParseAddr(h)
		return err == nil && addr.Is4()
	}
	return last != '.'
}

// plainPort reports whether a port is canonical, and not the scheme's own.
func plainPort(scheme, port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && port[0] != '0' && !defaultPort(scheme, n)
}

// defaultPort reports whether n is the port of the scheme, which a key omits.
func defaultPort(scheme string, n uint64) bool {
	return scheme == "http" && n == 80 || scheme == "https" && n == 443
}

// hosts maps names as browsers do (UTS 46), leaves underscores alone, which real
// hosts have, and checks lengths.
var hosts = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

// asciiHost is the canonical form of a host name or address literal.
func asciiHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Is4() {
			return addr.String(), nil
		}
		if addr.Zone() != "" {
			return "", errors.New("an address with a zone means nothing to others")
		}
		return "[" + addr.String() + "]", nil
	}
	// The mapping takes time quadratic in the length of a label.
	if len(host) > 4*maxHost {
		return "", errors.New("the host is too long")
	}
	name, err := hosts.ToASCII(host)
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	// Each label has at least one octet. What is no UTF-8 has no ASCII form,
	// whatever the mapping makes of it.
	if err != nil || !utf8.ValidString(host) || len(name) > maxHost || strings.Contains("."+name+".", "..") {
		return "", errors.New("the host is no domain name")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#%/:<>?@[\\]^`{|}", c) >= 0 {
			return "", fmt.Errorf("the octet %#02x cannot stand in a host", c)
		}
	}
	return name, nil
}

// keyOf is appendKey as a string.
func keyOf(u *url.URL) (string, error) {
	var buf [keySize]byte
	b, err := appendKey(buf[:0], u)
	return string(b), err
}

// robotsPath follows the key in the URL of its robots.txt.
const robotsPath = "/robots.txt"

// canonical is u on the host that its key names, the form in which it is
// requested: net/http would resolve an IDN by rules of its own.
func canonical(u *url.URL) (*url.URL, error) {
	key, err := keyOf(u)
	if err != nil {
		return nil, err
	}
	c := *u
	c.Scheme, c.Host, _ = strings.Cut(key, "://")
	c.User, c.Fragment, c.RawFragment = nil, "", ""
	return &c, nil
}

// isRobots reports whether u is a robots.txt itself, which is always allowed
// (section 2.2.2).
func isRobots(u *url.URL) bool {
	return u.Path == robotsPath && u.RawQuery == "" && !u.ForceQuery
}
