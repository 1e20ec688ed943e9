package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/pace"
)

// A router knows the workers and sends them one page of each host at a time. So a host
// is handed over between two of its pages, when its owner has nothing left to do for it.
type router struct {
	ctx    context.Context
	store  *httptest.Server
	client http.Client

	mu         sync.Mutex
	workers    map[string]*worker
	changed    chan struct{} // closed at the next answer
	answers    int
	fetched    int
	disallowed int
}

// A worker is one process.
type worker struct {
	cmd  *exec.Cmd
	addr string
}

func newRouter(ctx context.Context) *router {
	return &router{
		ctx: ctx, store: httptest.NewServer(storeHandler(cache.NewMemory(64 << 20))),
		workers: map[string]*worker{}, changed: make(chan struct{}),
	}
}

// join starts a worker, which owns hosts from then on.
func (r *router) join(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := &worker{cmd: exec.CommandContext(r.ctx, self)}
	w.cmd.Env = append(os.Environ(), "ROUTING_ROUTER="+r.store.URL)
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("worker %s: %w", name, err)
	}
	w.addr = strings.TrimSpace(addr)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workers[name] = w
	return nil
}

// kill kills a worker as a failing machine would.
func (r *router) kill(name string) error {
	r.mu.Lock()
	w := r.workers[name]
	delete(r.workers, name)
	r.mu.Unlock()
	err := w.cmd.Process.Kill()
	w.cmd.Wait()
	return err
}

func (r *router) close() {
	for name := range r.workers {
		r.kill(name)
	}
	r.store.Close()
}

// owner returns the name of the worker that owns a host: the one with the highest hash
// of both names (rendezvous hashing, Thaler and Ravishankar 1998). If a worker joins, it
// takes an equal share from each of the others. If one leaves, the others share its
// hosts. No other host moves.
func (r *router) owner(host string) (name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var most string
	for candidate := range r.workers {
		if sum := sha256.Sum256([]byte(candidate + " " + host)); string(sum[:]) > most {
			most, name = string(sum[:]), candidate
		}
	}
	return name
}

func (r *router) owners(hosts []string) (names []string) {
	for _, h := range hosts {
		names = append(names, r.owner(h))
	}
	return names
}

// crawl fetches the pages of a host one after the other, each through the owner that the
// host has at that moment. The owner says how long to wait before the next request, and the
// router does, so a gap and a pause outlive their owner. A real router has a queue of
// hosts instead of a goroutine for each.
func (r *router) crawl(host string, pages []string) {
	for len(pages) > 0 && r.ctx.Err() == nil {
		a, err := r.fetch(r.owner(host), pages[0])
		switch {
		case err != nil: // the owner is gone, perhaps just after it sent the request
			a.Wait = pace.Default().Gap
		case a.done():
			pages = pages[1:]
		}
		r.count(a)
		select {
		case <-time.After(a.Wait):
		case <-r.ctx.Done():
		}
	}
}

// fetch asks a worker for a page.
func (r *router) fetch(name, page string) (a answer, err error) {
	r.mu.Lock()
	w := r.workers[name]
	r.mu.Unlock()
	if w == nil {
		return a, fmt.Errorf("worker %s is gone", name)
	}
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, "http://"+w.addr+"/?page="+url.QueryEscape(page), nil)
	if err != nil {
		return a, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	return a, json.NewDecoder(resp.Body).Decode(&a)
}

// count counts an answer and wakes await.
func (r *router) count(a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers++
	switch {
	case a.Verdict == "disallow":
		r.disallowed++
	case a.done():
		r.fetched++
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// await waits until workers have given so many answers.
func (r *router) await(answers int) {
	for {
		r.mu.Lock()
		enough, changed := r.answers >= answers, r.changed
		r.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-changed:
		case <-r.ctx.Done():
			return
		}
	}
}
