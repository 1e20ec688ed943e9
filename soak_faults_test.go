package polite_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// soakRules is the robots.txt of every site of the soak that has rules.
const soakRules = "User-agent: *\nDisallow: /closed\nAllow: /open\n"

// A meaning is what a crawler must make of a fault.
type meaning uint8

const (
	hasRules  meaning = iota // soakRules
	hasNone                  // a file without rules, or no file: everything is allowed
	isUnclear                // everything is allowed or deferred, as the profile says
	isDown                   // no answer that says anything: all is deferred, or a cached copy is used
)

// A soakFault is one way in which a site answers, or does not.
type soakFault struct {
	name  string
	means meaning
	where func(*soakSite) bool // the sites that can have it; nil means all
	set   func(*soakSite)
}

func secure(s *soakSite) bool    { return strings.HasPrefix(s.Origin(), "https:") }
func framedAs1(s *soakSite) bool { return !s.http2 } // steps that break the framing of HTTP/1.1

// soakFaults returns everything that can be wrong with a site, and ways to be in order.
// TestSoakKnowsEveryFault checks that nothing is missing.
func soakFaults() []soakFault {
	var all []soakFault
	add := func(means meaning, where func(*soakSite) bool, steps map[string]httptest.Step) {
		for name, step := range steps {
			all = append(all, soakFault{name, means, where, func(s *soakSite) { s.Robots(step) }})
		}
	}
	text := httptest.Text(soakRules)
	add(hasRules, nil, map[string]httptest.Step{
		"text": text, "chunked": text.Chunked(), "gzip": text.Gzip(), "trailer": text.Trailer("X-After", "late"),
		"drip": text.Drip(16, 10*time.Millisecond), "slow": text.After(50 * time.Millisecond), "early_hints": text.Early(103, 3),
		"etag": text.ETag(`"1"`), "modified": text.LastModified(time.Unix(1e9, 0)), "shared_cache": text.SharedCache(time.Hour),
		"expired": text.DateHeader("Expires", -time.Hour), "no_store": text.Header("Cache-Control", "no-store"),
		"no_date": text.Without("Date"), "large_header": text.HeaderFlood(16 << 10), "status_202": text.Status(202),
		"flood": httptest.Flood(soakRules), "redirect": httptest.Redirect(301, soakHub+"/rules"),
		"handler": httptest.Handler(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, soakRules) }),
	})
	add(hasRules, framedAs1, map[string]httptest.Step{
		"http10": text.HTTP10(), "raw": httptest.Raw("HTTP/1.1 200 OK\r\n\r\n" + soakRules),
	})
	add(hasNone, nil, map[string]httptest.Step{
		"empty": httptest.Text(""), "gzip_bomb": httptest.GzipBomb(1 << 30), "status_204": httptest.Status(204), "status_404": httptest.Status(404),
		"html": httptest.Text("<!doctype html><p>Hello").Header("Content-Type", "text/html"),
	})
	add(isUnclear, nil, map[string]httptest.Step{
		"loop": httptest.Redirect(302, "/robots.txt"), "status_410": httptest.Status(410),
		"status_429": httptest.Status(429).DateHeader("Retry-After", time.Minute),
	})
	add(isDown, nil, map[string]httptest.Step{
		"hang": httptest.Hang(), "reset": httptest.Reset(), "close": httptest.Close(), "too_slow": text.Drip(1, time.Second), "never": text.After(time.Hour),
		"cut": text.Cut(30), "reset_in_body": text.ResetAfter(30), "hang_in_body": text.HangAfter(30), "early_without_end": text.Early(103, -1),
		"header_flood": text.HeaderFlood(1 << 20), "status_206": text.Status(206), "status_304": httptest.Status(304), "status_503": httptest.Status(503),
		"status_999": text.Status(999), "false_gzip": text.Header("Content-Encoding", "gzip"), "no_location": httptest.Status(301),
		"private": httptest.Redirect(307, "http://10.0.0.1/rules"),
	})
	add(isDown, framedAs1, map[string]httptest.Step{
		"too_short": text.Length("1000"), "broken_chunk": text.BrokenChunk(), "http10_reset": text.HTTP10().ResetAfter(30), "status_101": httptest.Status(101),
		"endless_header": httptest.EndlessHeader(), "garbage": httptest.Raw("220 mail.example ESMTP\r\n"), "nothing": httptest.Raw(""),
	})
	all = append(all, connectionFaults()...)
	slices.SortFunc(all, func(a, b soakFault) int { return strings.Compare(a.name, b.name) })
	return all
}

// connectionFaults returns what can be wrong before a request is sent.
func connectionFaults() []soakFault {
	all := []soakFault{
		{"down", isDown, nil, func(s *soakSite) { s.Down() }},
		{"moved", hasRules, nil, func(s *soakSite) { s.At(s.second); s.Robots(httptest.Text(soakRules)) }},
		{"moved_away", isDown, nil, func(s *soakSite) { s.web.Names(s.host, httptest.Addrs(s.second)) }},
	}
	for name, line := range map[string]httptest.Line{
		"refused": httptest.Refused, "unreachable": httptest.Unreachable, "lost": httptest.Lost, "silent": httptest.Silent,
		"hung_up": httptest.HungUp, "torn": httptest.Torn,
	} {
		all = append(all, soakFault{name, isDown, nil, func(s *soakSite) { s.Connect(line) }})
	}
	all = append(all, soakFault{"plain", isDown, secure, func(s *soakSite) { s.Connect(httptest.Plain) }})
	for name, c := range map[string]httptest.Certificate{
		"expired_certificate": httptest.Expired, "wrong_name": httptest.WrongName, "unknown_issuer": httptest.UnknownIssuer, "no_certificate": httptest.NoCertificate,
	} {
		all = append(all, soakFault{name, isDown, secure, func(s *soakSite) { s.Cert(c) }})
	}
	for name, answer := range map[string]httptest.Name{"no_such_host": httptest.NoSuchHost(), "serv_fail": httptest.ServFail(), "no_answer": httptest.NoAnswer()} {
		all = append(all, soakFault{name, isDown, nil, func(s *soakSite) { s.web.Names(s.host, answer) }})
	}
	return all
}

// A soakSite is a site of the soak, whose fault changes from time to time.
type soakSite struct {
	*httptest.Site
	web           *httptest.Web
	host          string
	first, second string // its address, and another one
	http2         bool
	kind          siteKind
	fault         soakFault // the present one

	// A bubble of testing/synctest does not take a wait for a mutex as durable, so the lock of a
	// site is a condition.
	mu       sync.Mutex
	left     sync.Cond // a caller has left
	callers  int
	changing bool // no caller may enter
}

// enter reports whether a caller may use the site. If so, it must leave.
func (s *soakSite) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.changing {
		s.callers++
	}
	return !s.changing
}

func (s *soakSite) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers--
	s.left.Broadcast()
}

// close waits until all callers have left.
func (s *soakSite) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.changing = true; s.callers > 0; {
		s.left.Wait()
	}
}

func (s *soakSite) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changing = false
}

// newSoakSite returns site n, which is in order. Its pages are never requested where nobody may.
func newSoakSite(t *testing.T, web *httptest.Web, n int, kind siteKind) *soakSite {
	s := &soakSite{web: web, kind: kind, host: fmt.Sprintf("s%d.example", n), first: fmt.Sprintf("93.184.217.%d", n), second: fmt.Sprintf("93.184.218.%d", n)}
	s.left.L = &s.mu
	s.Site = web.Site([]string{"http://", "https://", "https://"}[n%3] + s.host).At(s.first).Robots(httptest.Status(503))
	if s.http2 = n%3 == 2 && !strings.HasPrefix(runtime.Version(), "go1.25"); s.http2 {
		s.HTTP2()
	}
	for _, path := range soakPaths {
		s.Path(path, httptest.Handler(func(w http.ResponseWriter, r *http.Request) {
			if !s.kind.may(path, policy.Allow) {
				t.Errorf("%s: got a request for %s, want none", s.Origin(), path)
			}
			io.WriteString(w, "page")
		}))
	}
	return s
}

// repair ends the fault of a site and its connections. Its robots.txt stays as it is.
func (s *soakSite) repair() {
	s.Down().Up().Connect(httptest.Open).Cert(httptest.Valid).At(s.first)
	s.web.Names(s.host)
}

// TestSoakKnowsEveryFault checks that this file uses each exported function of package
// httptest that makes or changes a fault, and each of its constants.
func TestSoakKnowsEveryFault(t *testing.T) {
	used := map[string]bool{"Proxy": true} // a proxy is a site, and not a fault of one
	ast.Inspect(parseFile(t, "soak_faults_test.go"), func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			used[s.Sel.Name] = true
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name+"."+s.Sel.Name] = true
			}
		}
		return true
	})
	files, err := filepath.Glob("internal/httptest/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v, want the files of package httptest", files, err)
	}
	known := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, name := range faultsOf(parseFile(t, file)) {
			known++
			if !used[name] {
				t.Errorf("%s has %s, want it among the faults of the soak", file, name)
			}
		}
	}
	if known < 50 {
		t.Errorf("got %d names in package httptest, want 50 or more", known)
	}
}

func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// faultsOf returns the exported functions of a file that return a Step, a Name or a *Site, and its
// constants of type Line and Certificate.
func faultsOf(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || d.Type.Results == nil || len(d.Type.Results.List) != 1 {
				continue
			}
			switch result := typeName(d.Type.Results.List[0].Type); {
			case d.Recv != nil && (result == "Step" || result == "Site") && typeName(d.Recv.List[0].Type) == result:
				names = append(names, d.Name.Name)
			case d.Recv == nil && (result == "Step" || result == "Name"):
				names = append(names, "httptest."+d.Name.Name)
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST {
				names = append(names, constantsOf(d)...)
			}
		}
	}
	return names
}

// constantsOf returns the names of a block of constants of type Line or Certificate.
func constantsOf(d *ast.GenDecl) (names []string) {
	kind := ""
	for _, spec := range d.Specs {
		v := spec.(*ast.ValueSpec)
		if v.Type != nil {
			kind = typeName(v.Type)
		}
		if kind == "Line" || kind == "Certificate" {
			names = append(names, "httptest."+v.Names[0].Name)
		}
	}
	return names
}

// typeName returns the name of a type or of what it points to.
func typeName(e ast.Expr) string {
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
