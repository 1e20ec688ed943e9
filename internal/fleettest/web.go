//go:build unix

package fleettest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rfc9309/polite/internal/redistest"
)

// A Visit is a request as the web sees it.
type Visit struct {
	Site    string // "http://host"
	Path    string
	Process string
	Sent    time.Time // when the process sent it, by the clock of the machine
	Arrived time.Time
	Done    time.Time // when it was answered; zero if it was not yet
}

// A Web is the server of all sites. It logs the requests for pages and those for robots.txt.
type Web struct {
	Robots string                               // each robots.txt, in which SITE stands for its host; empty is 404
	Hold   chan struct{}                        // the first request for a robots.txt waits for its end; nil is none
	Takes  time.Duration                        // the time to answer a page
	Answer func(w http.ResponseWriter, v Visit) // writes what is no empty page; nil is none
	T      redistest.T                          // the test or program that it is for

	server *httptest.Server
	mu     sync.Mutex
	visits []Visit
	files  []Visit
	count  int // of processes
}

// StartWeb starts a web. It ends with the test.
func StartWeb(t redistest.T) *Web {
	w := &Web{T: t}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

func (b *Web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := Visit{Site: "http://" + r.Host, Path: r.URL.Path, Process: r.Header.Get(byHeader), Arrived: time.Now()}
	v.Sent, _ = time.Parse(time.RFC3339Nano, r.Header.Get(sentHeader))
	if v.Path == "/robots.txt" {
		b.serveFile(w, v)
		return
	}
	b.mu.Lock()
	i := len(b.visits)
	b.visits = append(b.visits, v)
	b.mu.Unlock()
	if b.Takes > 0 {
		<-time.After(b.Takes)
	}
	if b.Answer != nil {
		b.Answer(w, v)
	}
	b.mu.Lock()
	b.visits[i].Done = time.Now()
	b.mu.Unlock()
}

// serveFile answers a request for a robots.txt.
func (b *Web) serveFile(w http.ResponseWriter, v Visit) {
	b.mu.Lock()
	b.files = append(b.files, v)
	first := len(b.files) == 1
	b.mu.Unlock()
	if first && b.Hold != nil {
		<-b.Hold
	}
	if b.Robots == "" {
		w.WriteHeader(http.StatusNotFound)
	}
	io.WriteString(w, strings.ReplaceAll(b.Robots, "SITE", strings.TrimPrefix(v.Site, "http://")))
}

// Files returns a copy of the log of robots.txt.
func (b *Web) Files() []Visit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.files)
}

// Visits returns a copy of the log of pages.
func (b *Web) Visits() []Visit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.visits)
}

// Await returns when ok does.
func (b *Web) Await(what string, ok func() bool) {
	b.T.Helper()
	for end := time.Now().Add(time.Minute); !ok(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.T.Fatalf("waited a minute until %s", what)
		}
	}
}

// A Process is one of a fleet.
type Process struct {
	Name string
	web  *Web
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	errs strings.Builder
}

// Start starts n processes. They end with the test.
func (b *Web) Start(j Job, n int) (fleet []*Process) {
	b.T.Helper()
	for range n {
		fleet = append(fleet, b.start(j))
	}
	return fleet
}

func (b *Web) start(j Job) *Process {
	b.T.Helper()
	p := &Process{Name: fmt.Sprint(b.count), web: b}
	b.count++
	j.Name, j.Web = p.Name, b.server.Listener.Addr().String()
	text, err := json.Marshal(j)
	if err != nil {
		b.T.Fatalf("%v", err)
	}
	self, err := os.Executable()
	if err != nil {
		b.T.Fatalf("%v", err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	p.cmd.Stderr = &p.errs
	in, err := p.cmd.StdinPipe()
	if err != nil {
		b.T.Fatalf("%v", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.T.Fatalf("%v", err)
	}
	p.in, p.out = in, json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		b.T.Fatalf("%v", err)
	}
	b.T.Cleanup(p.Kill)
	return p
}

// Begin tells a process to do a task.
func (p *Process) Begin(t Task) {
	p.web.T.Helper()
	if err := json.NewEncoder(p.in).Encode(t); err != nil {
		p.web.T.Fatalf("process %s does not take a task: %v", p.Name, err)
	}
}

// End waits for the end of a task.
func (p *Process) End() (r Report) {
	p.web.T.Helper()
	if err := p.out.Decode(&r); err != nil {
		p.Kill()
		p.web.T.Fatalf("process %s ends without a report: %v\n%.3000s", p.Name, err, p.errs.String())
	}
	return r
}

// Kill ends the process as kill -9 does. Stop freezes it until Continue.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}
func (p *Process) Stop()     { p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *Process) Continue() { p.cmd.Process.Signal(syscall.SIGCONT) }

// Begin tells all processes to do a task.
func Begin(fleet []*Process, t Task) {
	for _, p := range fleet {
		p.Begin(t)
	}
}

// End waits for the end of a task of all processes.
func End(fleet []*Process) (all []Report) {
	for _, p := range fleet {
		all = append(all, p.End())
	}
	return all
}
