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

// sentinels are a primary, its replica and three sentinels.
type sentinels struct {
	primary, replica *server
	watchers         []*server
}

// startSentinels starts the servers and waits until each sentinel knows the others and the replica.
func startSentinels(t testing.TB) *sentinels {
	t.Helper()
	s := &sentinels{primary: start(t)}
	s.replica = start(t, "--replicaof", "127.0.0.1", fmt.Sprint(s.primary.port))
	await(t, []*server{s.replica}, "INFO replication", "master_link_status:up")
	for range 3 {
		w := &server{t: t, port: redistest.FreePort(t), args: []string{"--sentinel"}, config: fmt.Sprintf("sentinel monitor crawl 127.0.0.1 %d 2\n"+
			"sentinel down-after-milliseconds crawl 4000\nsentinel failover-timeout crawl 1000\n", s.primary.port)}
		w.start()
		s.watchers = append(s.watchers, w)
	}
	await(t, s.watchers, "INFO sentinel", "slaves=1")
	await(t, s.watchers, "INFO sentinel", "sentinels=3")
	return s
}

// url returns a URL with all sentinels.
func (s *sentinels) url() string {
	w := s.watchers
	return fmt.Sprintf("%s?addr=127.0.0.1:%d&addr=127.0.0.1:%d&master_set=crawl", w[0].url(), w[1].port, w[2].port)
}

// With a rediss URL the sentinels are reached over TLS, as the servers are.
func TestSentinelTLS(t *testing.T) {
	cert, key, roots := written(t)
	secure := []string{"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no",
		"--tls-replication", "yes", "--port", "0", "--tls-port", "PORT"}
	primary := start(t, secure...)
	w := &server{t: t, port: redistest.FreePort(t), args: append(secure, "--sentinel"), config: fmt.Sprintf("sentinel monitor crawl 127.0.0.1 %d 1\n", primary.port)}
	w.start()
	url := fmt.Sprintf("rediss://127.0.0.1:%d?master_set=crawl", w.port)
	mustWork(t, opened(t, url, &Options{Delay: 10 * time.Second, TLS: &tls.Config{RootCAs: roots}}))
}

// A switch by an operator closes connections, and the store goes on: its leases are renewed and grants are sent.
// Then a fleet crawls while the primary is killed and the replica takes its place.
func TestSentinelFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes some seconds")
	}
	s := startSentinels(t)
	t.Run("6/switch", s.checkSwitch)
	log := beginCrawl(t, s.url())
	failed := time.Now()
	s.primary.kill()
	await(t, []*server{s.replica}, "ROLE", "master")
	log.finish(failover{failed: failed, healed: time.Now()})
}

// checkSwitch makes primary and replica change places.
func (s *sentinels) checkSwitch(t *testing.T) {
	store := opened(t, s.url(), slow)
	const ttl = 8 * time.Second // a switch takes about two
	if _, err := store.Lease(t.Context(), "k", ttl); err != nil {
		t.Fatal(err)
	}
	leased := time.Now()
	defer store.Watch("process.1", func(pace.Grant) {})()
	channel := "PUBSUB NUMSUB " + store.wakeChannel("process")
	await(t, []*server{s.primary}, channel, " 1]")
	await(t, s.watchers[:1], "SENTINEL FAILOVER crawl", "OK")
	await(t, []*server{s.replica}, "ROLE", "master")
	// A sentinel does this after some seconds.
	await(t, []*server{s.primary}, fmt.Sprint("REPLICAOF 127.0.0.1 ", s.replica.port), "OK")
	await(t, []*server{s.primary}, "INFO replication", "master_link_status:up")
	s.primary, s.replica = s.replica, s.primary
	await(t, []*server{s.primary}, channel, " 1]")
	if took := time.Since(leased); took > 2*ttl/3 {
		t.Skipf("this machine is too busy: the switch took %v of the lease's %v", took, ttl)
	}
	<-time.After(ttl)
	if left := s.primary.do("PTTL", "polite:1:lease:k"); left == "-2" {
		t.Errorf("the lease has run out %v after the switch, want it renewed", ttl)
	}
}
