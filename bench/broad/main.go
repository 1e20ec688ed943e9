// Command broad measures what a new host costs a crawler: it visits many hosts for a few
// pages each, with Polite and with other clients, and prints what each client used.
//
//	go run ./broad [-hosts N] [-rounds N] [-only REGEXP] [-json] [-quick]
//
// The server and each client are processes of their own, which are this program again. The
// clients of a scenario take turns, and the least processor time of all rounds counts. The
// hosts have names, certificates and a name server, on loopback.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/rfc9309/polite/bench/internal/child"
	"github.com/rfc9309/polite/bench/internal/redisd"
)

// A scenario is a crawl that clients are compared in.
type scenario struct {
	name    string
	server  serverJob
	scheme  string // of the pages
	pages   int    // of each host
	clients []string
	beside  string // the client that the others are compared with
	memory  bool   // the base is in memory: there is no server
	hosts   int    // 0: as many as the flag says
	workers int    // hosts visited at once; 0: 32
	rounds  int    // most rounds; 0: as many as the flag says
}

const slow = 50 * time.Millisecond // a long round trip

var (
	usual     = []string{bare, temoto, withColly, polite, otherBase}
	scenarios = []scenario{
		{name: "https, 1 page", scheme: "https", pages: 1, clients: usual, beside: temoto},
		{name: "https, 3 pages", scheme: "https", pages: 3, clients: usual, beside: temoto},
		{name: "https, 20 pages", scheme: "https", pages: 20, clients: usual, beside: temoto},
		{name: "HTTP/2, 1 page", scheme: "https", pages: 1, clients: usual, beside: temoto, server: serverJob{HTTP2: true}},
		{name: "http, 1 page", scheme: "http", pages: 1, clients: usual, beside: temoto},
		{name: "http to https, 1 page", scheme: "http", pages: 1, clients: usual, beside: temoto, server: serverJob{Redirects: true}},
		{name: "https, 1 page, 50 ms", scheme: "https", pages: 1, clients: usual, beside: temoto, hosts: 96, server: serverJob{RTT: slow}, rounds: 2},
		{name: "http to https, 1 page, 50 ms", scheme: "http", pages: 1, clients: usual, beside: temoto, hosts: 96, server: serverJob{RTT: slow, Redirects: true}, rounds: 2},
		{name: "https, 10 pages, default pace", scheme: "https", pages: 10, clients: []string{gapped, politePaced, allIdle}, beside: gapped, hosts: 300, workers: 300, rounds: 2},
		{name: "https, 1 page, options", scheme: "https", pages: 1, clients: []string{polite, pageEgress, diskStore, redisStore}, beside: polite},
		{name: "in memory, 1 page", scheme: "https", pages: 1, clients: []string{bare, temoto, polite}, beside: temoto, memory: true, hosts: 10_000},
		{name: "in memory, 100,000 hosts", scheme: "https", pages: 1, clients: []string{bare, polite}, beside: bare, memory: true, hosts: 100_000, rounds: 1},
	}
)

// job is the job of any process. One field is set.
type job struct {
	Server *serverJob
	Visit  *visitJob
}

// settings are the flags.
type settings struct {
	hosts, rounds int
	only          *regexp.Regexp
	json, quick   bool
	redis         string // program
}

func main() {
	if isChild() {
		return
	}
	s := settings{only: new(regexp.Regexp)}
	flag.IntVar(&s.hosts, "hosts", 400, "number of `hosts` of most scenarios")
	flag.IntVar(&s.rounds, "rounds", 3, "most `rounds` of a scenario")
	flag.BoolVar(&s.json, "json", false, "print the results as lines of JSON")
	flag.BoolVar(&s.quick, "quick", false, "only show that the command works: few hosts, one round")
	flag.TextVar(s.only, "only", regexp.MustCompile(""), "run only the scenarios whose name matches the `regexp`")
	flag.StringVar(&s.redis, "redis-server", cmp.Or(os.Getenv("POLITE_REDIS_SERVER"), "redis-server"), "`program` of the server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // so that the folders are removed
	defer stop()
	_, err := s.run(ctx, os.Stdout)
	exitOn(err)
}

// isChild reports whether this is the process of the server or of a client. It has then
// done its job.
func isChild() bool {
	var j job
	is, err := child.Job(&j)
	exitOn(err)
	switch {
	case j.Server != nil:
		exitOn(j.Server.work())
	case j.Visit != nil:
		exitOn(j.Visit.work())
	}
	return is
}

// exitOn ends the program if there is an error.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "broad:", err)
		os.Exit(1)
	}
}

// run measures the scenarios and prints the results.
func (s settings) run(ctx context.Context, w io.Writer) (results []result, err error) {
	if s.hosts < 1 || s.rounds < 1 {
		return nil, errors.New("-hosts and -rounds must be positive")
	}
	for _, sc := range scenarios {
		if !s.only.MatchString(sc.name) {
			continue
		}
		r, err := s.adapt(sc).measure(ctx, s.redis)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
		results = append(results, r)
		if s.json {
			err = json.NewEncoder(w).Encode(r)
		} else {
			r.print(w)
		}
		if err != nil {
			return nil, err
		}
	}
	if !s.json {
		summarize(w, results)
	}
	return results, nil
}

// adapt fills in what the flags say.
func (s settings) adapt(sc scenario) scenario {
	sc.hosts, sc.workers = cmp.Or(sc.hosts, s.hosts), cmp.Or(sc.workers, 32)
	sc.rounds = min(cmp.Or(sc.rounds, s.rounds), s.rounds)
	if s.quick {
		sc.hosts, sc.workers, sc.rounds, sc.pages = 4, 4, 1, min(sc.pages, 2)
	}
	return sc
}

// result is what was measured in a scenario.
type result struct {
	Scenario               string
	Hosts, Workers, Rounds int
	Rows                   []row
	beside                 int // index of the row that the others are compared with
	rtt                    time.Duration
}

// row is what was measured of one client.
type row struct {
	Client  string
	Skipped string // why there is no report; usually empty
	Report  report
}

// longest bounds how long a client may take.
const longest = 5 * time.Minute

// measure starts the server and runs the clients, one after another, several times.
func (sc scenario) measure(ctx context.Context, program string) (result, error) {
	r := result{Scenario: sc.name, Hosts: sc.hosts, Workers: sc.workers, Rounds: sc.rounds, beside: slices.Index(sc.clients, sc.beside), rtt: sc.server.RTT}
	var redis redisd.Servers
	if slices.Contains(sc.clients, redisStore) && exists(program) {
		var err error
		if redis, err = redisd.Start(program, 1); err != nil {
			return r, err
		}
		defer redis.Stop()
	}
	var web *child.Process
	j := visitJob{Scheme: sc.scheme, RTT: sc.server.RTT, Redis: redis.URL(), Hosts: sc.hosts, Pages: sc.pages, Workers: sc.workers}
	if !sc.memory {
		var err error
		if web, err = child.Start(ctx, job{Server: &sc.server}); err != nil {
			return r, err
		}
		defer web.Stop()
		if err := web.Receive(&j.Server); err != nil {
			return r, err
		}
	}
	for round := range sc.rounds {
		for i, name := range sc.clients {
			if round == 0 {
				r.Rows = append(r.Rows, row{Client: name})
			}
			if name == redisStore && redis == nil {
				r.Rows[i].Skipped = fmt.Sprintf("there is no %s on this machine", program)
				continue
			}
			j.Client = name
			rep, err := j.run(ctx, web)
			if err != nil {
				return r, fmt.Errorf("%s: %w", name, err)
			}
			if round > 0 {
				rep = better(r.Rows[i].Report, rep)
			}
			r.Rows[i].Report = rep
		}
	}
	return r, nil
}

// better returns the report with fewer failures, or else with less processor time, and the
// shorter time to the first page of both.
func better(a, b report) report {
	first := min(a.First, b.First)
	if cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.CPU, a.CPU)) < 0 {
		a = b
	}
	a.First = first
	return a
}

func exists(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// run runs a client. The server is nil if the base is in memory.
func (j visitJob) run(ctx context.Context, web *child.Process) (r report, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if j.Folder, err = os.MkdirTemp("", "polite-broad"); err != nil {
		return r, err
	}
	defer os.RemoveAll(j.Folder)
	client, err := child.Start(ctx, job{Visit: &j})
	if err != nil {
		return r, err
	}
	defer client.Stop()
	if err := client.Receive(&struct{}{}); err != nil {
		return r, err
	}
	before, err := countsOf(web)
	if err != nil {
		return r, err
	}
	if err := client.Continue(); err != nil {
		return r, err
	}
	if err := client.Receive(&r); err != nil {
		return r, err
	}
	r.counts, err = countsOf(web)
	r.subtract(before)
	return r, err
}

// countsOf asks the server for its counts.
func countsOf(web *child.Process) (c counts, err error) {
	if web == nil {
		return c, nil
	}
	if err := web.Continue(); err != nil {
		return c, err
	}
	return c, web.Receive(&c)
}

func (c *counts) subtract(before counts) {
	c.Connections -= before.Connections
	c.Handshakes -= before.Handshakes
	c.Lookups -= before.Lookups
	c.Requests -= before.Requests
	c.Bytes -= before.Bytes
}
