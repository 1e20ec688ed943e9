package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// netHTTPReasons say why tests of net/http fail over Polite.
var netHTTPReasons = map[string]string{
	"TestTransportUserAgent":                   "RFC 9309, section 2.2.1: a page request without a User-Agent carries the agent",
	"TestTransportCONNECTBidi":                 "RFC 9309, section 2.3: a CONNECT has no URL with a robots.txt",
	"TestTransportClosesBodyOnInvalidRequests": "RFC 9309, section 2.3: the error for another scheme is Polite's",
}

// TestNetHTTP runs the tests of net/http for its client, from the sources of the Go
// version in use, over a Transport that lets every request through. A test that needs
// what only net/http itself can import is left out.
func TestNetHTTP(t *testing.T) {
	if os.Getenv("POLITE_NIGHTLY") == "" {
		t.Skip("builds and runs the tests of net/http: POLITE_NIGHTLY is not set")
	}
	binary := buildNetHTTP(t)
	plain, over := runTests(t, binary, ".", "POLITE_OFF=1"), runTests(t, binary, ".")
	compared, differ := 0, 0
	for name, passed := range plain {
		if !passed {
			continue // fails by itself outside of net/http
		}
		compared++
		// A test that needs time may fail on a busy machine.
		same := over[name] || runTests(t, binary, "^"+name+"$")[name]
		if !same {
			differ++
		}
		if reason := netHTTPReasons[name]; same != (reason == "") {
			t.Errorf("%s passes over Polite: %t; reason why it should not: %q", name, same, reason)
		}
	}
	if t.Logf("%d tests, %d differ", compared, differ); compared < 100 || differ == 0 {
		t.Error("the tests, or some of them, did not run over Polite")
	}
}

// runTests returns the tests that ran, and whether they passed.
func runTests(t *testing.T, binary, pattern string, env ...string) map[string]bool {
	t.Helper()
	cmd := exec.Command(binary, "-test.short", "-test.v", "-test.timeout=2m", "-test.run="+pattern)
	cmd.Env, cmd.Dir = append(os.Environ(), env...), filepath.Dir(binary)
	out, _ := cmd.CombinedOutput()
	ran := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\w+)`).FindAllStringSubmatch(string(out), -1) {
		ran[m[2]] = m[1] == "PASS"
	}
	if _, panicked, ok := strings.Cut(string(out), "\npanic: "); ok {
		t.Logf("panic: %.2000s", panicked)
	}
	return ran
}

// overPolite goes with the tests. It has what they need of net/http's own helpers.
const overPolite = `package http_test

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

type polite struct {
	*fetcher.Transport
	base *http.Transport
}

func overPolite(t testing.TB, base *http.Transport) http.RoundTripper {
	if os.Getenv("POLITE_OFF") != "" {
		return base
	}
	every := func(*url.URL) (policy.Verdict, string, bool) { return policy.Allow, "a test of net/http", true }
	tr, err := fetcher.New("ExampleBot/1.0", &fetcher.Options{Base: base, Pace: pace.Unlimited(), Override: every})
	if err != nil {
		t.Fatal(err)
	}
	return polite{tr, base}
}

func transportOf(r http.RoundTripper) *http.Transport {
	if p, ok := r.(polite); ok {
		return p.base
	}
	return r.(*http.Transport)
}

func CondSkipHTTP2(testing.TB) {}

func ExportHttp2ConfigureServer(s *http.Server, _ any) error {
	s.TLSConfig = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	return nil
}

func ExportHttp2ConfigureTransport(t *http.Transport) error {
	t.ForceAttemptHTTP2 = true
	return nil
}
`

// buildNetHTTP builds the tests that can be built outside of net/http. A declaration that
// does not compile is removed, and then those that use it.
func buildNetHTTP(t *testing.T) (binary string) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	dir := t.TempDir()
	binary = filepath.Join(dir, "nethttp.test")
	files := map[string]string{"polite_test.go": overPolite}
	for _, name := range []string{"client_test.go", "clientserver_test.go", "main_test.go", "netconn_test.go", "transport_test.go"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "src/net/http", name))
		if err != nil {
			t.Skip("no sources of the tests of net/http: ", err)
		}
		files[name] = adapt(string(text))
	}
	if !strings.Contains(files["clientserver_test.go"], "overPolite(t, cst.tr)") {
		t.Skip("the tests of this version of net/http make their clients in another way")
	}
	compiler := regexp.MustCompile(`(?m)(\w+_test\.go):(\d+):\d+: (.*)$`)
	for range 12 {
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay="+overlay(t, dir, files), "-o", binary, "./nethttp").CombinedOutput()
		if err == nil {
			return binary
		}
		lines := map[string][]int{}
		for _, m := range compiler.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[2])
			lines[m[1]] = append(lines[m[1]], line)
		}
		if len(lines) == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		for name, at := range lines {
			files[name] = without(t, files[name], at)
		}
	}
	t.Fatal("the tests of net/http still do not compile")
	return ""
}

// adapt makes the clients of a test file use Polite, and leaves out what only net/http
// can import.
func adapt(text string) string {
	text = strings.Replace(text, "\tt.Cleanup(func() {\n\t\tcst.close()", "\tcst.c.Transport = overPolite(t, cst.tr)\n\tt.Cleanup(func() {\n\t\tcst.close()", 1)
	text = strings.NewReplacer("http.CondSkipHTTP2", "CondSkipHTTP2", `"internal/synctest"`, `"testing/synctest"`, ".WithT(t)", "").Replace(text)
	text = regexp.MustCompile(`\b(\w[\w.()]*\.Transport)\.\(\*Transport\)`).ReplaceAllString(text, "transportOf($1)")
	return regexp.MustCompile(`(?m)^\t(\w+ |\. )?"(net/http/)?internal(/.*)?"$`).ReplaceAllString(text, "")
}

// overlay writes the files and the description that puts them into the package ./nethttp.
func overlay(t *testing.T, dir string, files map[string]string) string {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(here, "nethttp", name)] = write(t, filepath.Join(dir, name), text)
	}
	description, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, filepath.Join(dir, "overlay.json"), string(description))
}

func write(t *testing.T, file, text string) string {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// without blanks the declarations of a file that have one of the lines. Of an import
// declaration it blanks the line only.
func without(t *testing.T, text string, lines []int) string {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(text, "\n")
	for _, d := range f.Decls {
		first, last := files.Position(d.Pos()).Line, files.Position(d.End()).Line
		g, ok := d.(*ast.GenDecl)
		imports := ok && g.Tok == token.IMPORT
		for _, line := range lines {
			switch {
			case line < first || line > last:
			case imports:
				rows[line-1] = ""
			default:
				clear(rows[first-1 : last])
			}
		}
	}
	return strings.Join(rows, "\n")
}
