//go:build unix

// Package fleettest runs crawlers as a fleet of real processes that share a store, on a web that
// logs what arrives.
package fleettest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// This file is a process of a fleet.

// jobVariable is the variable of the environment in which a process finds its Job.
const jobVariable = "POLITE_FLEET_JOB"

// A Job is what a process is: a fetcher.Transport with a store and limits.
type Job struct {
	Name    string        // set by Web.Start
	Web     string        // address of the web, which answers for all sites; set by Web.Start
	Store   string        // URL of the Redis server; empty is none
	Timeout time.Duration // longest time of a call of the store; 0 is ten seconds
	Fetch   time.Duration // longest time of a fetch of robots.txt; 0 is the default
	Limits  pace.Limits
	Scope   *pace.Scope // a scope of all sites; nil is none
}

// A Task is what a process does when it is told: it visits pages, one after another and from
// the first again.
type Task struct {
	Pages   []string      // URLs
	Shuffle bool          // visits them in an order of its own
	Apart   bool          // each caller keeps to one of them, so that none waits for all
	Callers int           // requests at once; 0 is one
	Count   int           // requests in all; 0 is no bound
	For     time.Duration // no request is made later; 0 is an hour
}

// A Report is what became of a Task.
type Report struct {
	Pages      int           // fetched
	Failed     int           // requests without a page
	Failure    string        // why one of them failed
	First      time.Duration // until the first page was there
	Longest    time.Duration // of any request
	Took       time.Duration // until the last was
	CPU        time.Duration // processor time
	Goroutines int           // started, by all of the process
	Stats      fetcher.Stats // since the start of the process
	Fleet      []string      // reports that the pace of the fleet is lost or found again, from then on
}

// RunWorker does the job of a process if this process is one of a fleet, and then exits. main and
// TestMain call it first.
func RunWorker() {
	text := os.Getenv(jobVariable)
	if text == "" {
		return
	}
	var j Job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A worker is the process at work.
type worker struct {
	client *http.Client
	t      *fetcher.Transport

	mu    sync.Mutex
	fleet []string
}

// run makes the transport and does tasks until its input ends.
func (j *Job) run() error {
	w := &worker{}
	o := &fetcher.Options{Base: &toWeb{j: j}, Pace: &j.Limits, Timeout: j.Fetch, Trace: &fetcher.Trace{Fleet: w.report}}
	if j.Store != "" {
		s, err := redis.Open(j.Store, &redis.Options{Timeout: cmp.Or(j.Timeout, 10*time.Second)})
		if err != nil {
			return err
		}
		defer s.Close()
		o.Store = s
	}
	if j.Scope != nil {
		o.Scopes = func(*url.URL) []pace.Scope { return []pace.Scope{*j.Scope} }
	}
	t, err := fetcher.New("ExampleBot/1.0 (+https://example.com/bot)", o)
	if err != nil {
		return err
	}
	w.t, w.client = t, &http.Client{Transport: t}
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for {
		var task Task
		if err := in.Decode(&task); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(w.do(task)); err != nil {
			return err
		}
	}
}

// report records a report of the pace.
func (w *worker) report(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fleet = append(w.fleet, fmt.Sprint(err))
}

// do does a task.
func (w *worker) do(task Task) (r Report) {
	// The end of a task is no deadline, so that no request is refused because it would come later.
	ctx, cancel := context.WithCancel(context.Background())
	defer time.AfterFunc(cmp.Or(task.For, time.Hour), cancel).Stop()
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	if task.Shuffle {
		rand.Shuffle(len(task.Pages), func(i, j int) { task.Pages[i], task.Pages[j] = task.Pages[j], task.Pages[i] })
	}
	before := goroutines()
	began, cpu := time.Now(), cpuTime()
	for caller := range max(task.Callers, 1) {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if task.Count > 0 && n >= task.Count {
					return
				}
				if task.Apart {
					n = caller
				}
				asked := time.Now()
				err := w.visit(ctx, task.Pages[n%len(task.Pages)])
				mu.Lock()
				r.Longest = max(r.Longest, time.Since(asked))
				switch {
				case err == nil:
					if r.Pages++; r.Pages == 1 {
						r.First = time.Since(began)
					}
				case ctx.Err() == nil:
					r.Failed++
					r.Failure = err.Error()
				}
				mu.Unlock()
				if err != nil && ctx.Err() == nil {
					<-time.After(5 * time.Millisecond) // it was refused
				}
			}
		})
	}
	wg.Wait()
	r.Took, r.CPU, r.Goroutines, r.Stats = time.Since(began), cpuTime()-cpu, goroutines()-before, w.t.Stats()
	w.mu.Lock()
	r.Fleet = append(r.Fleet, w.fleet...)
	w.mu.Unlock()
	return r
}

// visit fetches a page.
func (w *worker) visit(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

const (
	byHeader   = "Fleet-Process"
	sentHeader = "Fleet-Sent"
)

// toWeb is the base of a process. It sends each request to the web, whatever its host, and says
// in it who sent it, and when.
type toWeb struct {
	j    *Job
	once sync.Once
	base http.Transport
}

func (b *toWeb) RoundTrip(req *http.Request) (*http.Response, error) {
	b.once.Do(func() {
		b.base.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", b.j.Web)
		}
		b.base.MaxIdleConnsPerHost = 64
	})
	out := req.Clone(req.Context())
	out.Header.Set(byHeader, b.j.Name)
	out.Header.Set(sentHeader, time.Now().Format(time.RFC3339Nano))
	return b.base.RoundTrip(out)
}

// goroutines is the number of goroutines that this process has started, 0 before Go 1.26.
func goroutines() int {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int(sample[0].Value.Uint64())
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
