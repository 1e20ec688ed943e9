package fetcher

import (
	"context"
	"net/netip"
)

// SetLookup makes the Transport resolve the names it looks at itself in another
// way than by the name servers of this machine.
func (t *Transport) SetLookup(f func(ctx context.Context, network, host string) ([]netip.Addr, error)) {
	t.route.network.Lookup = f
}
