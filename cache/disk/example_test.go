package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rfc9309/polite/cache/disk"
)

// What was put is there again when the program starts anew.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "polite")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "robots.db")

	store, err := disk.Open(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	store.Put(context.Background(), "https://example.com", []byte("a record"), 24*time.Hour)
	if err := store.Close(); err != nil {
		fmt.Println(err) // what was put last may be lost
	}

	store, err = disk.Open(path, &disk.Options{Wait: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	value, err := store.Get(context.Background(), "https://example.com")
	fmt.Printf("%s, %v\n", value, err)
	// Output: a record, <nil>
}

// One process at a time has the file.
func ExampleOpen_inUse() {
	folder, err := os.MkdirTemp("", "polite")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "robots.db")
	first, err := disk.Open(path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer first.Close()
	_, err = disk.Open(path, nil)
	fmt.Println(errors.Is(err, disk.ErrInUse))
	// Output: true
}
