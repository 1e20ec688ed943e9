// Play builds the playground: a static page that tries a robots.txt and explains decisions,
// with the matcher and the policy as WebAssembly. Browsers load it from a server for files.
//
//	go run ./docs/play -o DIR -serve localhost:8080
//
// The command writes the page to DIR and serves it. Without -serve it only writes it. A server
// for files may send play.wasm.gz in place of play.wasm.
package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed index.html play.css play.js
var files embed.FS

func main() {
	log.SetFlags(0)
	out := flag.String("o", "", "folder to write the page to; it is made if it is missing")
	serve := flag.String("serve", "", "loopback address to serve the page at, such as localhost:8080")
	flag.Parse()
	if *out == "" {
		log.Fatal("play: -o is missing: the folder to write the page to")
	}
	if *serve != "" && !loopback(*serve) {
		log.Fatalf("play: -serve is %q; want an address of this machine alone, such as localhost:8080", *serve)
	}
	if err := build(*out); err != nil {
		log.Fatal("play: ", err)
	}
	if *serve != "" {
		fmt.Printf("the page is at http://%s/\n", *serve)
		log.Fatal(http.ListenAndServe(*serve, handler(*out)))
	}
}

// loopback reports whether an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, _ := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || ip.IsLoopback())
}

// handler serves the page, and the compressed program to those who accept it.
func handler(dir string) http.Handler {
	files := http.FileServer(http.Dir(dir))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/play.wasm" && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Type", "application/wasm")
			w.Header().Set("Content-Encoding", "gzip")
			r.URL.Path = "/play.wasm.gz"
		}
		files.ServeHTTP(w, r)
	})
}

// build writes the page to a folder. It must run inside the module.
func build(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	root, err := goCommand("list", "-m", "-f", "{{.Dir}}", "github.com/rfc9309/polite")
	if err != nil {
		return err
	}
	goroot, err := goCommand("env", "GOROOT")
	if err != nil {
		return err
	}
	for from, to := range map[string]string{
		filepath.Join(root, "docs", "blocked.md"):            "blocked.md",
		filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"): "wasm_exec.js", // belongs to this version of Go
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, to), text, 0o644); err != nil {
			return err
		}
	}
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(out, name), text, 0o644)
	})
	if err != nil {
		return err
	}
	wasm, err := filepath.Abs(filepath.Join(out, "play.wasm"))
	if err != nil {
		return err
	}
	_, err = goCommand("build", "-trimpath", "-ldflags=-s -w", "-o", wasm, "github.com/rfc9309/polite/cmd/polite/internal/play")
	if err != nil {
		return err
	}
	return compress(wasm)
}

// compress writes a file beside the program that is a quarter of its size.
func compress(program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	w.Write(text)
	w.Close()
	return os.WriteFile(program+".gz", b.Bytes(), 0o644)
}

// goCommand runs the go command for WebAssembly and returns what it prints.
func goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
