//go:build !wasm

package disk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/rfc9309/polite/cache/disk"
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
