//go:build unix

package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
)

// A cluster is three masters, each with a replica.
type cluster struct {
	masters  []*server
	replicas []*server
	ids      []string // of the masters
}

// startCluster starts a cluster and waits until it works.
func startCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{}
	for range 3 {
		c.masters, c.replicas = append(c.masters, startNode(t)), append(c.replicas, startNode(t))
	}
	all := append(c.masters[:3:3], c.replicas...)
	for i, n := range all {
		n.do("CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
	}
	for i, m := range c.masters {
		c.ids = append(c.ids, m.do("CLUSTER", "MYID"))
		m.do("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(i*16384/3), fmt.Sprint((i+1)*16384/3-1))
		for _, other := range all {
			m.do("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(other.port), other.args[len(other.args)-1])
		}
	}
	await(t, all, "CLUSTER INFO", fmt.Sprintf("cluster_known_nodes:%d\r", len(all)))
	for i := range c.replicas {
		await(t, all[3+i:4+i], "CLUSTER REPLICATE "+c.ids[i], "OK")
	}
	await(t, c.replicas, "INFO replication", "master_link_status:up")
	await(t, all, "CLUSTER INFO", "cluster_state:ok")
	return c
}

// startNode starts a server that can be a node of a cluster.
func startNode(t testing.TB) *server {
	t.Helper()
	// A node that a busy machine stops for less than the timeout does not lose its slots.
	return start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "4000", "--repl-diskless-sync-delay", "0",
		"--cluster-port", fmt.Sprint(redistest.FreePort(t)))
}

// url returns a URL with all masters.
func (c *cluster) url() string {
	return fmt.Sprintf("%s?addr=127.0.0.1:%d&addr=127.0.0.1:%d", c.masters[0].url(), c.masters[1].port, c.masters[2].port)
}

// migrate moves a slot as an operator's tool does, with rests in which a part of its keys has moved.
func (c *cluster) migrate(slot string, from, to int) {
	const rest = 10 * time.Millisecond
	source, target := c.masters[from], c.masters[to]
	target.do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.ids[from])
	source.do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.ids[to])
	for {
		<-time.After(rest)
		keys := strings.Fields(strings.Trim(source.do("CLUSTER", "GETKEYSINSLOT", slot, "1"), "[]"))
		if len(keys) == 0 {
			break
		}
		source.do("MIGRATE", "127.0.0.1", fmt.Sprint(target.port), keys[0], "0", "30000", "REPLACE")
	}
	for _, n := range []*server{target, source, c.masters[3-from-to]} {
		n.do("CLUSTER", "SETSLOT", slot, "NODE", c.ids[to])
	}
}

// A fleet crawls while slots move whose keys are in use, and while a master is killed and its replica takes over.
func TestClusterFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("a failover takes some seconds")
	}
	c := startCluster(t)
	log := beginCrawl(t, c.url())
	for _, site := range openSites[:2] {
		slot := c.masters[0].do("CLUSTER", "KEYSLOT", "{"+site+"}")
		for range 3 {
			for i := range c.masters {
				c.migrate(slot, i, (i+1)%3)
			}
		}
		c.migrate(slot, 0, 1)
	}
	<-time.After(time.Second)
	failed := time.Now()
	c.masters[1].kill()
	await(t, c.replicas[1:2], "ROLE", "master")
	await(t, []*server{c.masters[0], c.masters[2]}, "CLUSTER INFO", "cluster_state:ok")
	log.finish(failover{failed: failed, healed: time.Now()})
}
