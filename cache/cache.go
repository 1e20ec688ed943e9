// Package cache defines the interface of a store for robots.txt records (RFC 9309, section 2.4), and has a store
// in memory.
//
// The fetcher keeps the records in use in a private memory. A [Store] is the second level. The store of package
// disk outlives the process, the store of package redis is shared by a fleet of crawlers, and you may write your
// own:
//
//	store, err := disk.Open("robots.db", nil)
//	...
//	crawler, err := fetcher.New("ExampleBot/1.0 (+https://example.com/bot)", &fetcher.Options{Store: store})
//
// # Writing a store
//
// A store has three methods; the example shows a whole one. Package cachetest has a test for every promise
// below. Run it on your store.
//
// # Keys
//
// A key is the authority of a site and the name of a profile, such as "https://example.com:8443 rfc9309" or
// "http://[2001:db8::1] strict". Hosts come from links on pages, so a store accepts any key of up to 300 bytes,
// with any bytes in it. It compares keys byte for byte, does not change or cut them, and never returns the value
// of another key.
//
// # Values
//
// A value is a string of any bytes, rarely more than a few kilobytes and at most about 1.5 MB. A store returns a
// value exactly as it was put, or not at all. It need not detect changed bytes: the fetcher checks the checksum,
// the authority and the profile of each record that it reads, and ignores any other value.
//
// Put does not use its slice after it has returned, and Get returns a slice that nobody else uses. So the caller
// may write to both.
//
// # Keeping
//
// A value is kept for the time keep and no longer, by the clock of the store. A Put with a keep of zero or less
// removes the value of its key. A store is a cache: it may lose any value at any time. It must not return a
// value that the same process has overwritten or deleted.
//
// # Errors, contexts, goroutines
//
// If there is no value, the error is [io/fs.ErrNotExist]. After any other error the fetcher goes on without the
// store. A context that has ended is an error, but not ErrNotExist. All methods may be called from any number of
// goroutines, and no method waits longer than its context.
package cache

import (
	"context"
	"errors"
	"time"
)

// A Store keeps values under keys for a time. The package comment lists its promises.
type Store interface {
	// Get returns the value under key, or an error that is [io/fs.ErrNotExist] if there is none.
	Get(ctx context.Context, key string) ([]byte, error)

	// Put keeps value under key for the time keep, and replaces any value there.
	Put(ctx context.Context, key string, value []byte, keep time.Duration) error

	// Delete removes the value under key. It is not an error if there is none.
	Delete(ctx context.Context, key string) error
}

// A Leaser is a Store that several processes share and that lets one of them at a time fetch a record. The
// process with the lease reads the value once more, fetches, puts and releases. The other processes wait for the
// value to appear. They also try to get the lease from time to time, because its holder may die.
//
// A lease saves fetches. It does not protect the value: if a holder is frozen or loses its connection, its lease
// expires and two processes fetch.
type Leaser interface {
	// Lease takes the lease on key. It fails at once with [ErrHeld] if another holder has the lease. The store
	// renews the lease until release is called or the process of the holder dies. It lasts at most ttl after the
	// last renewal; the fetcher's ttl is a few seconds. The context is for this call only.
	//
	// Release ends the lease if the caller still has it. It may be called more than once, and takes no longer
	// than any other call of the store. A lease on a key does not affect the value under the key.
	Lease(ctx context.Context, key string, ttl time.Duration) (release func(), err error)
}

// A Swapper is a Store that replaces a value only if it is still the one that the caller has read. Write one if
// several processes share the store. In any other shared store, a slow Put of one process can replace a newer
// record of another, which is then in force in its own process only.
type Swapper interface {
	// Swap is Put if the value under key is still old, in one atomic step, and reports whether it was. A nil old
	// stands for no value, which is not the same as an empty value. A keep of zero or less deletes the value.
	// If the value is not old, Swap changes nothing and returns no error.
	Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (swapped bool, err error)
}

// ErrHeld is the error of Lease while another holder has the lease.
var ErrHeld = errors.New("cache: lease is held by another")
