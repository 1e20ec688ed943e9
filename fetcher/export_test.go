package fetcher

import (
	"context"
	"net"
	"net/http"
	"net/netip"
)

// SetLookup makes the Transport resolve the names it looks at itself in another
// way than by the name servers of this machine.
func (t *Transport) SetLookup(f func(ctx context.Context, network, host string) ([]netip.Addr, error)) {
	t.ways.lookup = f
}

// GuardedDial is the dialer for redirects of robots.txt.
func (t *Transport) GuardedDial(ctx context.Context, address string) (net.Conn, error) {
	return t.ways.guarded.(*http.Transport).DialContext(ctx, "tcp", address)
}
