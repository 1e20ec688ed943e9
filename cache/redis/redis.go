// Package redis is a [cache.Store] on a Redis or Valkey server, for a fleet of crawlers: what one of them
// has retrieved none of the others asks for, and of several that miss a copy at once one retrieves it.
//
//	store, err := redis.Open("rediss://crawler:secret@redis.example:6380/0", nil)
//	if err != nil {
//		return err // the URL is wrong; a server that is down is no error here
//	}
//	defer store.Close()
//
// It works with Redis 6 and later and with Valkey, alone, in a cluster or behind sentinels.
//
// # URLs
//
// redis:// and rediss:// (over TLS), valkey:// and valkeys://, unix:// with the path of a socket. User and
// password stand before the host, the number of the database is the path. Further nodes of a cluster are
// given as ?addr=host:port, the name of a master behind sentinels as ?master_set=name.
//
// # When the server is down or slow
//
// No call takes longer than Options.Delay. After one that fails or takes longer all others fail at once
// with [ErrDown], for a tenth of a second first and up to five seconds later; then one call is let through
// to see whether the server is back. The fetcher takes each such error for a miss. Open does not need the
// server, and nothing needs to be done when it comes back.
//
// # What is stored
//
// For an authority, one string with a time to live, under PREFIX:1:copy:AUTHORITY, and while someone
// retrieves it one under PREFIX:1:lease:AUTHORITY. The number is the version of the form: crawlers of two
// versions share a server, not their copies. A value names its key and carries a checksum; one that does
// not fit reads as absent. The server needs no persistence. Give it a maxmemory with a volatile policy.
//
// # Waiting for another's retrieval
//
// Whoever is told [cache.ErrHeld] asks again for the copy, and then for the lease, every few tens of
// milliseconds, until it has one of them. That is cheap: for a lease that another holds, the store asks the
// server once to be told of changes, and answers from memory until then.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rfc9309/polite/cache/internal/seal"
)

// Options adjust a [Store]. Nil means the zero Options.
type Options struct {
	// Prefix begins every key on the server. Empty means "polite". Fleets that do not share their copies
	// need two.
	Prefix string

	// Delay is the longest time that a call takes. Zero means 300 ms; that is too little for a
	// server on another continent.
	Delay time.Duration

	// TLS is used for rediss and valkeys URLs, with the host's name filled in if ServerName is empty. Nil
	// means the system's roots.
	TLS *tls.Config
}

const (
	defaultPrefix = "polite"
	defaultDelay  = 300 * time.Millisecond
	// maxKeep is the longest time to live that is sent: the server refuses one that overflows its clock.
	maxKeep = 100 * 365 * 24 * time.Hour
)

// Store is a cache.Store and cache.Leaser on a server. Its methods may be called from any number of
// goroutines.
type Store struct {
	link   *link
	prefix string
	watch  watch
}

// Open returns a store on the server that the URL names. It does not wait for the server, nor does it
// fail if there is none; the first call connects. The error is that of the URL, without the password.
func Open(rawURL string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	client, err := parse(rawURL, o.TLS)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	s := &Store{prefix: o.Prefix}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	delay := o.Delay
	if delay <= 0 {
		delay = defaultDelay
	}
	s.link = newLink(client, delay)
	return s, nil
}

// parse reads the URL. Its errors quote no part of it: it holds a password.
func parse(rawURL string, config *tls.Config) (rueidis.ClientOption, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rueidis.ClientOption{}, errors.New("URL is malformed")
	}
	if u.Path == "/" {
		u.Path = ""
	}
	o, err := rueidis.ParseURL(u.String())
	if err != nil {
		return rueidis.ClientOption{}, fmt.Errorf("URL with scheme %.20q: scheme, database or a parameter is not known", u.Scheme)
	}
	if o.TLSConfig != nil && config != nil {
		name := o.TLSConfig.ServerName
		o.TLSConfig = config.Clone()
		if o.TLSConfig.ServerName == "" {
			o.TLSConfig.ServerName = name
		}
	}
	return o, nil
}

// Get implements [cache.Store].
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	name := s.name("copy", key)
	sealed, err := s.read(ctx, name, s.watch.has(key))
	switch {
	case rueidis.IsRedisNil(err):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	}
	// The end that is sealed in is by the clock of whoever put it; the server's time to live holds.
	value, _, err := seal.Open(key, sealed)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return value, nil
}

// Put implements [cache.Store].
func (s *Store) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if keep <= 0 {
		return s.Delete(ctx, key)
	}
	keep = max(min(keep, maxKeep), time.Millisecond)
	sealed, err := seal.Seal(key, value, time.Now().Add(keep))
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	s.watch.drop(key)
	_, err = do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (struct{}, error) {
		set := c.B().Set().Key(s.name("copy", key)).Value(rueidis.BinaryString(sealed)).Px(keep).Build()
		return struct{}{}, c.Do(ctx, set).Error()
	})
	return err
}

// Delete implements [cache.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	s.watch.drop(key)
	_, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (struct{}, error) {
		return struct{}{}, c.Do(ctx, c.B().Del().Key(s.name("copy", key)).Build()).Error()
	})
	return err
}

// Close ends all connections and the goroutines that serve them. Other methods fail afterwards with
// [io/fs.ErrClosed].
func (s *Store) Close() error {
	s.link.close()
	return nil
}

// name is the key on the server.
func (s *Store) name(kind, key string) string {
	return strings.Join([]string{s.prefix, "1", kind, key}, ":")
}

// read returns the string under a name: from the server, or, if it is watched, from memory as long as the
// server has not said that it changed.
func (s *Store) read(ctx context.Context, name string, watched bool) ([]byte, error) {
	return do(ctx, s.link, func(ctx context.Context, c rueidis.Client) ([]byte, error) {
		get := c.B().Get().Key(name)
		if watched {
			kept, err := c.DoCache(ctx, get.Cache(), watchFor).ToString()
			return []byte(kept), err // a copy: what is kept in memory is not the caller's
		}
		return c.Do(ctx, get.Build()).AsBytes()
	})
}
