package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/rfc9309/polite/bench/internal/vectors"
	"github.com/rfc9309/polite/internal/reference"
)

// agent and token name the crawler.
const (
	agent = "ExampleBot/0.1 (+https://example.com/bot)"
	token = "ExampleBot"
)

// A file is a robots.txt of the web, with URLs to ask it for.
type file struct {
	body    []byte
	sitemap bool // it names a sitemap, so each host has a file of its own
	plain   *reference.Rules
	page    bool // an HTML page or binary data, without one rule
	targets []target
}

// A target is a URL without its authority, and what the file says about it.
type target struct {
	url     url.URL
	text    string // as requested
	allowed bool
}

// targetsMost is the number of URLs that each file is asked for.
const targetsMost = 8

// newFile returns a file with the answers of the second reading.
func newFile(body []byte, urls []string) *file {
	whole := body
	if limit := 500 << 10; len(body) > limit {
		whole = body[:bytes.LastIndexAny(body[:limit], "\r\n")+1]
	}
	plain := reference.Parse(reference.RFC9309, string(whole))
	f := &file{body: body, plain: plain.Group(token), page: !plain.HasRule() && looksBinary(body)}
	f.sitemap = bytes.Contains(bytes.ToLower(body), []byte("sitemap:"))
	for _, raw := range append(urls, "https://example.com/") {
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || len(f.targets) == targetsMost {
			continue
		}
		u.Scheme, u.Fragment, u.RawFragment = "https", "", ""
		text := u.RequestURI()
		if u.Path == "/robots.txt" {
			continue // needs no robots.txt
		}
		f.targets = append(f.targets, target{*u, text, f.plain.Match(text).Allow})
	}
	return f
}

// looksBinary reports whether a file looks like an HTML page or like binary data.
func looksBinary(body []byte) bool {
	head := strings.TrimLeft(strings.TrimPrefix(string(body), "\uFEFF"), " \t\r\n\f\v\x00")
	return strings.HasPrefix(head, "<") || !strings.HasPrefix(http.DetectContentType(body), "text/plain")
}

// readFiles returns the real files of the folder that POLITE_CORPUS names. Without it
// they are the files of the project's own vectors, and the note says so.
func readFiles() (files []*file, note string, err error) {
	if folder := os.Getenv("POLITE_CORPUS"); folder != "" {
		files, err = realFiles(folder)
		return files, fmt.Sprintf("%d real robots.txt files of POLITE_CORPUS", len(files)), err
	}
	list, err := readVectors()
	urls, bodies := map[string][]string{}, []string{}
	for _, v := range list {
		body := string(v.File())
		if urls[body] == nil {
			bodies = append(bodies, body)
		}
		urls[body] = append(urls[body], v.URL)
	}
	for _, body := range bodies {
		files = append(files, newFile([]byte(body), urls[body]))
	}
	return files, fmt.Sprintf("%d small files of vectors/: POLITE_CORPUS does not name a folder with real ones", len(files)), err
}

// realFiles reads the real files and their URLs.
func realFiles(folder string) (files []*file, err error) {
	urls := map[string][]string{}
	type urlLine struct {
		ID   string
		URLs []string
	}
	err = eachLine(filepath.Join(folder, "urls.jsonl.gz"), func(l urlLine) { urls[l.ID] = l.URLs })
	type fileLine struct {
		ID  string
		B64 []byte
	}
	return files, cmp.Or(err, eachLine(filepath.Join(folder, "robots-real.jsonl.gz"), func(l fileLine) {
		files = append(files, newFile(l.B64, urls[l.ID]))
	}))
}

// readVectors reads the project's own vectors. The folder bench, or one in it, is the
// current one.
func readVectors() (list []vectors.Vector, err error) {
	for _, up := range []string{"..", "../.."} {
		if list, err = vectors.Read(filepath.Join(up, "vectors", "ours.jsonl")); err == nil {
			return list, nil
		}
	}
	return nil, err
}

// eachLine calls do with every line of a file of JSON values, which may be compressed.
func eachLine[T any](name string, do func(T)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var text io.Reader = bufio.NewReader(f)
	if strings.HasSuffix(name, ".gz") {
		if text, err = gzip.NewReader(text); err != nil {
			return err
		}
	}
	for lines := json.NewDecoder(text); lines.More(); {
		var line T
		if err := lines.Decode(&line); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		do(line)
	}
	return nil
}
