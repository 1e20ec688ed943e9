// Package disk has a [cache.Store] in one file. A crawler that is restarted uses its cached copies, and remembers
// outages for the 30 days of RFC 9309, section 2.3.1.4.
//
//	store, err := disk.Open("robots.db", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # When values are written
//
// Put keeps the value in memory, where Get finds it. A goroutine of the store writes all new values within a
// second, in one transaction. If more values arrive than the disk can write in that time, Put waits. Close writes
// the rest. A process that is killed loses at most the writes of its last second. If the disk is full, the store
// tries again, and every Put returns the error until a transaction succeeds. Each transaction also removes some
// expired values. The file does not shrink, but its free space is used again.
//
// # One process
//
// Only one process at a time can open the file: see [ErrInUse] and Options.Wait. A fleet needs package redis.
//
// # Damage
//
// Open reads the whole file once and checks its structure, which takes about a second for each gigabyte. Remove a
// file for which it returns [ErrDamaged]. The bytes of a value are not checked. The fetcher checks them; values of
// your own need a checksum. A program that changes the file while it is open can make the store fail, return wrong
// bytes, or end the process.
//
// # Systems
//
// The store locks and maps its file with the calls of the system: flock and mmap, or LockFileEx and MapViewOfFile on
// Windows. A network file system may not have them. WebAssembly has none of them: there Open returns
// [errors.ErrUnsupported].
package disk

import (
	"errors"
	"time"
)

// Options configures a [Store]. Nil means a zero Options.
type Options struct {
	// Wait is how long Open waits for another process to close the file. Zero means that it does not wait. Set
	// it to some seconds if a new process starts before the old one has ended.
	Wait time.Duration
}

var (
	// ErrInUse is returned by Open if another process or another Store has the file open.
	ErrInUse = errors.New("file is in use")
	// ErrDamaged is returned by Open if the file is damaged, has another version, or is not a store. It is also
	// returned by every call after a fault was found in the open file.
	ErrDamaged = errors.New("file is damaged or not a store")
)
