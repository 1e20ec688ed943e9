//go:build unix

package redistest

import (
	"fmt"
	"strings"
	"time"
)

// A Cluster is three masters, each with a replica.
type Cluster struct {
	Masters  []*Server
	Replicas []*Server
	ids      []string // of the masters
}

// StartCluster starts a cluster and waits until it works.
func StartCluster(t T) *Cluster {
	t.Helper()
	c := &Cluster{}
	for range 3 {
		c.Masters, c.Replicas = append(c.Masters, startNode(t)), append(c.Replicas, startNode(t))
	}
	all := append(c.Masters[:3:3], c.Replicas...)
	for i, n := range all {
		n.Do("CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
	}
	for i, m := range c.Masters {
		c.ids = append(c.ids, m.Do("CLUSTER", "MYID"))
		m.Do("CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(i*16384/3), fmt.Sprint((i+1)*16384/3-1))
		for _, other := range all {
			m.Do("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(other.Port), other.args[len(other.args)-1])
		}
	}
	Await(t, all, "CLUSTER INFO", fmt.Sprintf("cluster_known_nodes:%d\r", len(all)))
	for i := range c.Replicas {
		Await(t, all[3+i:4+i], "CLUSTER REPLICATE "+c.ids[i], "OK")
	}
	Await(t, c.Replicas, "INFO replication", "master_link_status:up")
	Await(t, all, "CLUSTER INFO", "cluster_state:ok")
	return c
}

// startNode starts a server that can be a node of a cluster.
func startNode(t T) *Server {
	t.Helper()
	// A node that a busy machine stops for less than the timeout does not lose its slots.
	return Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "4000", "--repl-diskless-sync-delay", "0",
		"--cluster-port", fmt.Sprint(FreePort(t)))
}

// URL returns a URL with all masters.
func (c *Cluster) URL() string { return urlOf(c.Masters) }

// urlOf returns the URL of the first server with the addresses of the others.
func urlOf(all []*Server) string {
	url := all[0].URL() + "?"
	for _, s := range all[1:] {
		url += "addr=" + s.Addr() + "&"
	}
	return strings.TrimSuffix(url, "&")
}

// Master is the index of the master that has a key at the start.
func (c *Cluster) Master(key string) int {
	var slot int
	fmt.Sscan(c.Masters[0].Do("CLUSTER", "KEYSLOT", key), &slot)
	return min(slot*3/16384, 2)
}

// Migrate moves the slot of a key as an operator's tool does, with rests in which a part of its
// keys has moved.
func (c *Cluster) Migrate(key string, from, to int) {
	const rest = 10 * time.Millisecond
	source, target := c.Masters[from], c.Masters[to]
	slot := source.Do("CLUSTER", "KEYSLOT", key)
	target.Do("CLUSTER", "SETSLOT", slot, "IMPORTING", c.ids[from])
	source.Do("CLUSTER", "SETSLOT", slot, "MIGRATING", c.ids[to])
	for {
		<-time.After(rest)
		keys := strings.Fields(strings.Trim(source.Do("CLUSTER", "GETKEYSINSLOT", slot, "1"), "[]"))
		if len(keys) == 0 {
			break
		}
		source.Do("MIGRATE", "127.0.0.1", fmt.Sprint(target.Port), keys[0], "0", "30000", "REPLACE")
	}
	for _, n := range []*Server{target, source, c.Masters[3-from-to]} {
		n.Do("CLUSTER", "SETSLOT", slot, "NODE", c.ids[to])
	}
}

// FailOver kills a master and waits until its replica has taken its place.
func (c *Cluster) FailOver(t T, master int) {
	t.Helper()
	c.Masters[master].Kill()
	Await(t, c.Replicas[master:master+1], "ROLE", "master")
	for i, m := range c.Masters {
		if i != master {
			Await(t, []*Server{m}, "CLUSTER INFO", "cluster_state:ok")
		}
	}
}
