// Package cache says what a store of robots.txt copies promises, and has one that keeps them in memory
// (RFC 9309, section 2.4).
//
// The fetcher keeps the authorities in use in a private memory of its own. A [Store] is the level behind
// it: one that outlives the process (package disk), or that a fleet of crawlers has in common (package
// redis), or yours:
//
//	store, err := disk.Open("robots.db", nil)
//	...
//	crawler, err := fetcher.New("ExampleBot/1.0 (+https://example.com/bot)", &fetcher.Options{Store: store})
//
// # Writing a store
//
// Three methods suffice, and the example shows one whole store. Package cachetest states every promise
// below as a test; run it on yours.
//
// # Keys
//
// A key is the scheme and authority of a site and the name of a profile, such as
// "https://example.com:8443 rfc9309" or "http://[2001:db8::1] strict". Hosts come from the links of
// strangers, so a store takes any key of up to 300 bytes, each of any value, as an exact string of bytes:
// no folding, no cutting, no special byte. A value is never returned for another key.
//
// # Values and who owns them
//
// A value is opaque, seldom over a few kilobytes and at most about 1.5 MB. It is returned whole as it was
// put, or not at all. A store need not look for bytes that changed on their way: the fetcher verifies the
// checksum of each record that it reads, its authority and its profile, and takes any other value for absence. Put has read its slice when it returns, and Get returns a slice that is the caller's
// alone: either side may write to its own afterwards.
//
// # Keeping
//
// A value is there for the time given as keep and no longer, by the store's own clock. A keep of zero or
// less has already passed: such a Put removes what is there. A store may forget any value at any time; it
// is a cache. It may not return one that was overwritten or deleted by the same process.
//
// # Errors, contexts, goroutines
//
// Absence is [io/fs.ErrNotExist]. Any other error means that the store cannot tell, and the fetcher goes on
// without it. A context that has ended is an error too, never absence. All methods may be called from any
// number of goroutines, and none waits longer than its context.
package cache

import (
	"context"
	"errors"
	"time"
)

// A Store keeps values under keys for a time. The package comment has its promises.
type Store interface {
	// Get returns the value under key, or an error that is [io/fs.ErrNotExist] if there is none.
	Get(ctx context.Context, key string) ([]byte, error)

	// Put keeps value under key for the time keep, in place of any value there.
	Put(ctx context.Context, key string, value []byte, keep time.Duration) error

	// Delete removes the value under key. That there is none is no error.
	Delete(ctx context.Context, key string) error
}

// A Leaser is a Store that several processes share, and that lets one of them at a time retrieve what is
// missing. The one that has the lease looks at the value once more, retrieves, puts and releases; the
// others wait for the value to appear, and try for the lease now and then, because its holder may die.
//
// A lease is about who works, not about who may: it guards no value. When it is lost under a holder that
// was frozen or cut off, two retrievals happen.
type Leaser interface {
	// Lease takes the lease on key, or fails with [ErrHeld] at once if another has it. The lease lasts until
	// release is called or the holder's process dies: the store renews it. ttl is the longest time that a
	// holder without a sign of life stands in the way of the others; the fetcher asks for a few seconds.
	// The context is for this call alone.
	//
	// Release ends the lease if it is still the caller's own, never another's; it may be called more
	// than once, and returns within the store's bound on delay. A Lease on a key has nothing to do
	// with the value under it.
	Lease(ctx context.Context, key string, ttl time.Duration) (release func(), err error)
}

// ErrHeld is the error of a Lease that another holder has.
var ErrHeld = errors.New("cache: lease is held by another")
