package egress

// This file says which addresses and names are special.

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/origin"
)

// special lists what is not a public unicast address, after IANA's registries of
// special-purpose addresses.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	unicast6  = netip.MustParsePrefix("2000::/3") // all that is public of IPv6
	sixToFour = netip.MustParsePrefix("2002::/16")
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
)

// prefixes parses a list of prefixes.
func prefixes(list ...string) []netip.Prefix {
	p := make([]netip.Prefix, len(list))
	for i, s := range list {
		p[i] = netip.MustParsePrefix(s)
	}
	return p
}

// publicOnly is the default rule: an error for a private, loopback, link-local,
// multicast or otherwise special address, also one inside a 6to4 or NAT64
// address.
func publicOnly(addr netip.Addr) error {
	addr = addr.Unmap()
	for _, p := range special {
		if p.Contains(addr) {
			return fmt.Errorf("not a public address (%s)", p)
		}
	}
	b := addr.As16()
	switch {
	case sixToFour.Contains(addr):
		return publicOnly(netip.AddrFrom4([4]byte(b[2:6])))
	case nat64.Contains(addr):
		return publicOnly(netip.AddrFrom4([4]byte(b[12:16])))
	case addr.Is6() && !unicast6.Contains(addr):
		return fmt.Errorf("not a public address (outside %s)", unicast6)
	}
	return nil
}

// public reports whether an address is public.
func public(addr netip.Addr) bool { return publicOnly(addr) == nil }

// literal returns the address that a canonical host is, or 127.0.0.1 for
// localhost, which needs no resolution.
func literal(host string) (netip.Addr, bool) {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

// canonical returns the form of a host in which it is compared: lower case, ASCII,
// no trailing dot, no brackets. What is no host name is only put in lower case.
func canonical(host string) string {
	if h, err := origin.Host(host); err == nil {
		return strings.Trim(h, "[]")
	}
	return strings.Trim(strings.ToLower(host), ".")
}

// specialUse reports whether a canonical name is one of a local network or of
// another name system (RFC 6761, 6762, 7686, 8375), or a number that some
// resolvers take for an address.
func specialUse(host string) bool {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	return len(labels) == 1 || strings.HasSuffix("."+host, ".home.arpa") ||
		slices.Contains([]string{"internal", "local", "localhost", "onion"}, last) ||
		last != "" && last[0] >= '0' && last[0] <= '9'
}
