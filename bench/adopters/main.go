// Adopters puts Polite into two crawlers, runs their own tests, and compares what they request
// of a small web before and after.
//
//	go run ./adopters
//
// The crawlers come from the Go module proxy, in the versions named in colly.go and fetchbot.go.
// Each is copied into a temporary folder and patched there; a patch is a list of edits, each of
// which replaces the text between two marks.
//
// It leaves out: what the crawlers' users do with a deferred page.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// An adopter is a crawler that gets Polite.
type adopter struct {
	module, version string
	edits           []edit
	program         string // a function crawl that visits pages with the crawler
}

// An edit replaces the text of a file by with: from the mark from up to the next mark to, or up to the
// end of the file if to is empty. If both marks are the same, with is inserted before it.
type edit struct{ file, from, to, with string }

// frame is the rest of each program.
const frame = `package main

import (
	"context"
	"net"
	"net/http"
	"os"
)

func main() {
	crawl(&http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, os.Args[1])
	}}, os.Args[2:])
}
`

// errNoModule says that the module of an adopter cannot be downloaded.
var errNoModule = errors.New("no such module here")

func main() {
	if err := run(os.Stdout, []adopter{colly, fetchbot}); err != nil {
		log.Fatal(err)
	}
}

// run prints a table of all adopters.
func run(out io.Writer, all []adopter) error {
	dir, err := os.MkdirTemp("", "adopters")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(out, "| crawler | forbidden pages requested | pages requested of a site that is down | smallest gap at a Crawl-delay of 0.3 s | allowed pages lost | time | binary | modules | its own tests |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|")
	for _, a := range all {
		for _, patched := range []bool{false, true} {
			name := filepath.Join(dir, fmt.Sprintf("%s-%v", filepath.Base(strings.TrimSuffix(a.module, "/v2")), patched))
			if err := a.measure(out, name, patched); err != nil {
				return fmt.Errorf("%s: %w", a.module, err)
			}
		}
	}
	return nil
}

// measure prints one line of the table.
func (a adopter) measure(out io.Writer, dir string, patched bool) error {
	if err := a.copy(dir, patched); err != nil {
		return err
	}
	name, tests := filepath.Base(strings.TrimSuffix(a.module, "/v2"))+" "+a.version, ""
	if patched {
		name, tests = name+" with Polite", "pass"
		if text, err := command(dir, "go", "test", "-count=1", "."); err != nil {
			return fmt.Errorf("its own tests: %w\n%s", err, text)
		}
	}
	program := filepath.Join(dir, "program.exe")
	if text, err := command(dir, "go", "build", "-o", program, "./politely"); err != nil {
		return fmt.Errorf("building: %w\n%s", err, text)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := os.Stat(program)
	if err != nil {
		return err
	}
	seen, err := crawl(program)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "| %s | %d | %d | %v | %d | %v | %.1f MB | %d | %s |\n", name, seen.forbidden, seen.down,
		seen.gap.Round(10*time.Millisecond), seen.lost, seen.took.Round(100*time.Millisecond), float64(file.Size())/1e6, len(info.Deps), tests)
	return nil
}

// A sight is what the small web saw of a crawl.
type sight struct {
	forbidden, down, lost int
	gap, took             time.Duration
}

// crawl runs a program over a small web of three sites. One has rules, and a page that redirects to
// a forbidden one. One has a Crawl-delay. The robots.txt of one is unreachable.
func crawl(program string) (s sight, err error) {
	local := startWeb()
	defer local.server.Close()
	allowed := []string{"rules.example/1", "rules.example/2", "slow.example/1", "slow.example/2", "slow.example/3", "slow.example/4"}
	args := []string{local.server.Listener.Addr().String()}
	for _, page := range append([]string{"rules.example/private/1", "rules.example/old", "down.example/1", "down.example/2"}, allowed...) {
		args = append(args, "http://"+page)
	}
	began := time.Now()
	if text, err := command("", program, args...); err != nil {
		return s, fmt.Errorf("the crawl: %w\n%s", err, text)
	}
	s.took, s.gap = time.Since(began), time.Hour
	seen := map[string]bool{}
	var slow time.Time // the last request to slow.example
	for _, r := range local.log {
		seen[r.page] = true
		host, path, _ := strings.Cut(r.page, "/")
		switch {
		case host == "rules.example" && strings.HasPrefix(path, "private"):
			s.forbidden++
		case host == "down.example" && path != "robots.txt":
			s.down++
		case host == "slow.example":
			if !slow.IsZero() {
				s.gap = min(s.gap, r.at.Sub(slow))
			}
			slow = r.at
		}
	}
	for _, page := range allowed {
		if !seen[page] {
			s.lost++
		}
	}
	return s, nil
}

// A smallWeb is three sites behind one port of loopback.
type smallWeb struct {
	server *httptest.Server

	mu  sync.Mutex
	log []request
}

// A request is a request that the server received.
type request struct {
	page string // host and path
	at   time.Time
}

func startWeb() *smallWeb {
	w := &smallWeb{}
	w.server = httptest.NewServer(w)
	return w
}

func (w *smallWeb) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	page := req.Host + req.URL.Path
	w.mu.Lock()
	w.log = append(w.log, request{page, time.Now()})
	w.mu.Unlock()
	switch page {
	case "rules.example/robots.txt":
		io.WriteString(rw, "User-agent: *\nDisallow: /private\n")
	case "slow.example/robots.txt":
		io.WriteString(rw, "User-agent: *\nCrawl-delay: 0.3\n")
	case "down.example/robots.txt":
		rw.WriteHeader(http.StatusServiceUnavailable)
	case "rules.example/old":
		http.Redirect(rw, req, "/private/moved", http.StatusFound)
	}
}

// copy copies the module into a folder, with the program, and patches it.
func (a adopter) copy(dir string, patched bool) error {
	text, err := command("", "go", "mod", "download", "-json", a.module+"@"+a.version)
	var found struct{ Dir string }
	if err != nil || json.Unmarshal(text, &found) != nil {
		return fmt.Errorf("%w: %s", errNoModule, text)
	}
	if err := os.CopyFS(dir, os.DirFS(found.Dir)); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "politely"), 0o777); err != nil {
		return err
	}
	for name, text := range map[string]string{"politely/main.go": frame, "politely/crawl.go": a.program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil { // older than modules
		if _, err := command(dir, "go", "mod", "init", a.module); err != nil {
			return err
		}
	}
	if !patched {
		return nil
	}
	root, err := command("", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/rfc9309/polite")
	if err != nil {
		return err
	}
	for _, e := range a.edits {
		if err := e.apply(dir); err != nil {
			return err
		}
	}
	_, err = command(dir, "go", "mod", "edit", "-require=github.com/rfc9309/polite@v0.0.0", "-replace=github.com/rfc9309/polite="+string(bytes.TrimSpace(root)))
	return err
}

// apply edits a file.
func (e edit) apply(dir string) error {
	name := filepath.Join(dir, e.file)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), e.from)
	end := 0
	switch {
	case e.to == "":
		end = len(rest)
	case e.to == e.from:
		rest = e.from + rest
	default:
		end = strings.Index(rest, e.to)
	}
	if !ok || end < 0 {
		return fmt.Errorf("%s has no %q before %q", e.file, e.from, e.to)
	}
	return os.WriteFile(name, []byte(before+e.with+rest[end:]), 0o666)
}

// command runs a program in a folder and returns what it printed.
func command(dir, name string, args ...string) ([]byte, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	if dir != "" {
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	}
	return c.CombinedOutput()
}
