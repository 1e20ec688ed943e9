package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/bench/internal/child"
	"github.com/rfc9309/polite/bench/internal/cputime"
)

// This file is the process of a client: it visits hosts and measures itself.

// visitJob is the job of a client.
type visitJob struct {
	Client  string        // a name in clients
	Scheme  string        // of the pages
	Server  addresses     // empty: a base in memory
	RTT     time.Duration // round trip time
	Folder  string        // empty; its maker removes it
	Redis   string        // URL of a Redis server, if there is one
	Hosts   int           // visited
	Pages   int           // of each host, fetched one after another
	Workers int           // hosts visited at once
}

// report is what a client measured. Its figures are for all hosts together.
type report struct {
	CPU        time.Duration // processor time
	Allocs     uint64        // allocations
	Kept       uint64        // bytes of the heap that are in use at the end
	Goroutines int           // at the peak
	Memory     uint64        // of the process at the peak, from the system, in bytes
	Dials      int64         // by name: each is a look-up
	First      time.Duration // median time from a host's first request to the end of its first page
	Failed     int64         // pages
	Failure    string        // why one of them failed

	counts // by the server
}

// work visits a few hosts, says that it is ready, and then visits the hosts that are
// measured. So what is set up at the first use is not measured.
func (j visitJob) work() error {
	var dials atomic.Int64
	var err error
	e := &env{redis: j.Redis, folder: j.Folder}
	if j.Server.CA == nil {
		e.base = inMemory{}
	} else if e.transport, err = j.connect(&dials); err != nil {
		return err
	}
	fetch, err := clients[j.Client](e)
	if err != nil {
		return err
	}
	setup := j
	setup.Hosts, setup.Pages = min(j.Workers, 32), 1
	if r := setup.visit(fetch, "setup"); r.Failed > 0 {
		return errors.New(r.Failure)
	}
	if e.transport != nil {
		e.transport.CloseIdleConnections()
	}
	if err := child.Report(struct{}{}); err != nil {
		return err
	}
	if err := child.Wait(); err != nil {
		return err
	}
	dials.Store(0)
	r := j.measure(fetch)
	r.Dials = dials.Load()
	return child.Report(r)
}

// connect makes http.DefaultTransport trust the server and dial it under any name, and the
// default resolver ask its name server.
func (j visitJob) connect(dials *atomic.Int64) (*http.Transport, error) {
	ca, err := x509.ParseCertificate(j.Server.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", j.Server.DNS)
	}}
	t := http.DefaultTransport.(*http.Transport)
	t.Proxy = nil
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if net.ParseIP(host) == nil {
			dials.Add(1)
		}
		address = j.Server.HTTP
		if port == "443" {
			address = j.Server.HTTPS
		}
		time.Sleep(j.RTT)
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// Else the ports of closed connections stay in use for a minute.
		return c, c.(*net.TCPConn).SetLinger(0)
	}
	return t, nil
}

// measure visits the hosts and measures that.
func (j visitJob) measure(fetch get) report {
	var before, after, end runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	stop := make(chan struct{})
	peak := peakGoroutines(stop)
	began := cputime.Used()
	r := j.visit(fetch, "host")
	r.CPU = cputime.Used() - began
	close(stop)
	r.Goroutines = <-peak
	runtime.ReadMemStats(&after)
	r.Allocs, r.Memory = after.Mallocs-before.Mallocs, after.Sys
	runtime.GC()
	runtime.ReadMemStats(&end)
	if end.HeapAlloc > before.HeapAlloc {
		r.Kept = end.HeapAlloc - before.HeapAlloc
	}
	runtime.KeepAlive(fetch)
	return r
}

// peakGoroutines counts the goroutines until stop is closed, and then sends the largest
// number.
func peakGoroutines(stop <-chan struct{}) <-chan int {
	peak := make(chan int, 1)
	go func() { // ends with stop
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; {
			select {
			case <-tick.C:
				n = max(n, runtime.NumGoroutine()-1)
			case <-stop:
				peak <- n
				return
			}
		}
	}()
	return peak
}

// visit fetches the pages of hosts whose names begin with name. The report has the times
// and the failures.
func (j visitJob) visit(fetch get, name string) (r report) {
	var next, failed atomic.Int64
	var failure atomic.Value
	first := make([]time.Duration, j.Hosts)
	var wg sync.WaitGroup
	for range j.Workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < j.Hosts; i = int(next.Add(1)) - 1 {
				began := time.Now()
				for page := range j.Pages {
					if err := fetch(fmt.Sprintf("%s://%s%d.example/page%d", j.Scheme, name, i, page)); err != nil {
						failed.Add(1)
						failure.Store(err.Error())
					}
					if page == 0 {
						first[i] = time.Since(began)
					}
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(first)
	r.First, r.Failed = first[j.Hosts/2], failed.Load()
	r.Failure, _ = failure.Load().(string)
	return r
}
