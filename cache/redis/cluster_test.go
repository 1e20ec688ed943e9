//go:build unix

package redis

import (
	"testing"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/pace/pacetest"
)

// A cluster of three masters keeps all promises.
func TestCluster(t *testing.T) {
	c := redistest.StartCluster(t)
	fresh := func(t *testing.T) *Store {
		for _, m := range c.Masters {
			m.Do("FLUSHALL")
		}
		return opened(t, c.URL(), slow)
	}
	t.Run("cache", func(t *testing.T) { cachetest.Run(t, func(t *testing.T) cache.Store { return fresh(t) }) })
	t.Run("pace", func(t *testing.T) {
		pacetest.Run(t, func(t *testing.T) pace.Store { return fresh(t).Pace() })
	})
}
