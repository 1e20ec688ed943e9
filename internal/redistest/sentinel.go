//go:build unix

package redistest

import (
	"fmt"
)

// Sentinels are a primary, its replica and the sentinels that watch them.
type Sentinels struct {
	Primary, Replica *Server
	Watchers         []*Server
}

// StartSentinels starts a primary, a replica and three sentinels, and waits until each sentinel
// knows the others and the replica.
func StartSentinels(t T) *Sentinels {
	t.Helper()
	s := &Sentinels{Primary: Start(t)}
	s.Replica = Start(t, "--replicaof", "127.0.0.1", fmt.Sprint(s.Primary.Port))
	Await(t, []*Server{s.Replica}, "INFO replication", "master_link_status:up")
	for range 3 {
		s.Watchers = append(s.Watchers, StartSentinel(t, s.Primary, 2))
	}
	Await(t, s.Watchers, "INFO sentinel", "slaves=1")
	Await(t, s.Watchers, "INFO sentinel", "sentinels=3")
	return s
}

// StartSentinel starts a sentinel, with options of a server. It watches a primary by the name
// crawl, and needs a number of sentinels that find it down.
func StartSentinel(t T, primary *Server, quorum int, args ...string) *Server {
	t.Helper()
	w := &Server{t: t, Port: FreePort(t), args: append(args, "--sentinel"), config: fmt.Sprintf("sentinel monitor crawl 127.0.0.1 %d %d\n"+
		"sentinel down-after-milliseconds crawl 4000\nsentinel failover-timeout crawl 1000\n", primary.Port, quorum)}
	w.Run()
	return w
}

// URL returns a URL with all sentinels.
func (s *Sentinels) URL() string { return urlOf(s.Watchers) + "&master_set=crawl" }

// FailOver kills the primary and waits until the replica has taken its place.
func (s *Sentinels) FailOver(t T) {
	t.Helper()
	s.Primary.Kill()
	Await(t, []*Server{s.Replica}, "ROLE", "master")
}
