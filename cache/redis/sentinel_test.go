//go:build unix

package redis

import (
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
	"github.com/rfc9309/polite/pace"
)

// With a rediss URL the sentinels are reached over TLS, as the servers are.
func TestSentinelTLS(t *testing.T) {
	cert, key, roots := written(t)
	secure := []string{"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no",
		"--tls-replication", "yes", "--port", "0", "--tls-port", "PORT"}
	w := redistest.StartSentinel(t, redistest.Start(t, secure...), 1, secure...)
	url := fmt.Sprintf("rediss://127.0.0.1:%d?master_set=crawl", w.Port)
	mustWork(t, opened(t, url, &Options{Timeout: 10 * time.Second, TLS: &tls.Config{RootCAs: roots}}))
}

// An operator makes primary and replica change places, which closes connections. The store goes
// on: its leases are renewed, and messages reach it.
func TestSentinelSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("a switch takes some seconds")
	}
	s := redistest.StartSentinels(t)
	store := opened(t, s.URL(), slow)
	const ttl = 8 * time.Second // a switch takes about two
	if _, err := store.Lease(t.Context(), "k", ttl); err != nil {
		t.Fatal(err)
	}
	leased := time.Now()
	defer store.Pace().Notify("process", func(pace.Claim, pace.Lease) {})()
	const channel = "PUBSUB NUMSUB polite:1:wake:process"
	old, now := []*redistest.Server{s.Primary}, []*redistest.Server{s.Replica}
	redistest.Await(t, old, channel, " 1]")
	redistest.Await(t, s.Watchers[:1], "SENTINEL FAILOVER crawl", "OK")
	redistest.Await(t, now, "ROLE", "master")
	// A sentinel does this after some seconds.
	redistest.Await(t, old, fmt.Sprint("REPLICAOF 127.0.0.1 ", s.Replica.Port), "OK")
	redistest.Await(t, old, "INFO replication", "master_link_status:up")
	redistest.Await(t, now, channel, " 1]")
	if took := time.Since(leased); took > 2*ttl/3 {
		t.Skipf("this machine is too busy: the switch took %v of the lease's %v", took, ttl)
	}
	<-time.After(ttl)
	if left := s.Replica.Do("PTTL", "polite:1:lease:k"); left == "-2" {
		t.Errorf("the lease has run out %v after the switch, want it renewed", ttl)
	}
}
