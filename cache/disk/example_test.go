//go:build !wasm

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/rfc9309/polite/cache/disk"
	"github.com/rfc9309/polite/fetcher"
)

// Values are still there when the file is opened again.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "polite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, ctx := filepath.Join(dir, "robots.db"), context.Background()

	store, err := disk.Open(path, nil)
	if err != nil {
		log.Fatal(err) // ErrInUse, ErrDamaged, or an error of the file system
	}
	if err := store.Put(ctx, "https://example.com", []byte("a record"), time.Hour); err != nil {
		log.Fatal(err)
	}
	if err := store.Close(); err != nil { // writes the pending values
		log.Fatal(err)
	}

	// Wait for a process that still has the file open.
	store, err = disk.Open(path, &disk.Options{Wait: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	value, err := store.Get(ctx, "https://example.com")
	fmt.Println(string(value), err)
	// Output:
	// a record <nil>
}

// With a store, a crawler that is restarted fetches no robots.txt twice.
func ExampleOpen_restart() {
	dir, err := os.MkdirTemp("", "polite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		store, err := disk.Open(filepath.Join(dir, "robots.db"), nil)
		if err != nil {
			log.Fatal(err)
		}
		t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Store: store, Base: noPages{}})
		if err != nil {
			log.Fatal(err)
		}
		t.Check(context.Background(), &url.URL{Scheme: "https", Host: "example.com", Path: "/"})
		s := t.Stats()
		fmt.Println(s.Requests, "requests,", s.StoreHits, "from the store")
		store.Close() // after its last use by the Transport
	}
	// Output:
	// 1 requests, 0 from the store
	// 0 requests, 1 from the store
}

// noPages is a web for the example: every answer is 404.
type noPages struct{}

func (noPages) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

// Only one process at a time can open the file.
func ExampleOpen_inUse() {
	folder, err := os.MkdirTemp("", "polite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "robots.db")
	first, err := disk.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	_, err = disk.Open(path, nil)
	fmt.Println(errors.Is(err, disk.ErrInUse))
	// Output: true
}
