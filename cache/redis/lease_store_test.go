//go:build unix

package redis

import (
	"testing"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
)

func TestPace(t *testing.T) {
	srv := start(t)
	pacetest.RunLease(t, func(t *testing.T) pace.LeaseStore {
		srv.do("FLUSHALL")
		return opened(t, srv.url(), slow).Pace()
	})
}
