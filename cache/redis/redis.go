// Package redis is a [cache.Store] on a Redis or Valkey server, for a fleet of crawlers. A robots.txt that one
// crawler has fetched is not fetched by the others, and of several crawlers that need it at once one fetches it.
//
//	store, err := redis.Open("rediss://crawler:secret@redis.example:6380/0", nil)
//	if err != nil {
//		return err // the URL is wrong; it is not an error that the server is down
//	}
//	defer store.Close()
//
// It works with Redis 6 and later and with Valkey, alone, in a cluster or behind sentinels.
//
// # URLs
//
// The schemes are redis:// and rediss:// (over TLS), valkey:// and valkeys://, and unix:// with the path of a
// socket. User and password come before the host, and the number of the database is the path.
//
//	redis://crawler:secret@redis.example:6379/0
//	redis://crawler:secret@node1:6379?addr=node2:6379&addr=node3:6379
//	redis://crawler:secret@sentinel1:26379?addr=sentinel2:26379&addr=sentinel3:26379&master_set=name
//
// The second URL names some nodes of a cluster, which name the others. The third names sentinels and the primary
// that they watch. User and password are sent to the primary alone, so the sentinels must not need any. The
// sentinels are reached over TLS if the scheme is rediss.
//
// # When the server is down or slow
//
// No call takes longer than Options.Timeout. After a call that fails or takes longer, all calls fail at once with
// [ErrDown], for a tenth of a second at first and up to two seconds later. Then one call tries whether the
// server is back. In a cluster each call is made, since other servers may be well. The fetcher treats each such
// error as a miss, and package pace keeps a share of the limits.
//
// # What is stored
//
// A key, which names an authority and a profile, has a string with a time to live under PREFIX:1:copy:KEY, and
// while a crawler fetches, a string under PREFIX:1:lease:KEY. For package pace, PREFIX:1:host:KEY says who works
// on an authority or in a scope, and what is known of it, and PREFIX:1:processes: is a sorted set. Messages to a
// process come on the channel PREFIX:1:wake:PROCESS. The number is the version of the format: crawlers
// of two versions can use one server, but do not share copies or hosts. A string that is far too long, and a value
// of another type, reads as absent and is overwritten. The store does not find other bytes that somebody
// else wrote: the fetcher verifies each record, and values of your own need a checksum. The server needs no
// persistence. Give it a maxmemory with a volatile policy.
package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Options adjust a [Store]. Nil means the zero Options.
type Options struct {
	// Prefix begins every key on the server. Empty means "polite". Fleets that do not share their copies
	// need different ones.
	Prefix string

	// Timeout is the longest time that a call takes. Zero means 300 ms; that is too little for a
	// server on another continent.
	Timeout time.Duration

	// TLS is used for rediss and valkeys URLs, with the host's name filled in if ServerName is empty. Nil
	// means the system's roots.
	TLS *tls.Config
}

const (
	defaultPrefix  = "polite"
	defaultTimeout = 300 * time.Millisecond
	// maxKeep is the longest time to live that is sent: the server refuses one that overflows its clock.
	maxKeep = 100 * 365 * 24 * time.Hour
	// mark begins every string, so that an empty value differs from no value.
	mark = "\x02"
	// maxRead bounds what is read of one string, in bytes. A longer one is not ours.
	maxRead = 2 << 20
)

// Store is a cache.Store and cache.Leaser on a server. Pace returns a store of package pace on the same server. Its
// methods may be called from any number of goroutines.
type Store struct {
	link   *link
	prefix string
}

// Open returns a store on the server that the URL names. It does not wait for the server and does not fail if
// there is none; the first call connects. An error says what is wrong with the URL, without the password.
func Open(rawURL string, o *Options) (*Store, error) {
	o = cmp.Or(o, &Options{})
	option, err := parseURL(rawURL, o.TLS)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	return &Store{newLink(option, timeout), cmp.Or(o.Prefix, defaultPrefix)}, nil
}

// wanted is a URL that parseURL takes.
const wanted = "one such as redis://user:password@host:6379/0"

// parseURL reads the URL. Its errors quote no part of it: it holds a password.
func parseURL(rawURL string, config *tls.Config) (rueidis.ClientOption, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rueidis.ClientOption{}, errors.New("URL is malformed; want " + wanted)
	}
	if u.Path == "/" { // rueidis wants a number after the slash
		u.Path = ""
	}
	o, err := rueidis.ParseURL(u.String())
	if err != nil {
		return rueidis.ClientOption{}, fmt.Errorf("URL with scheme %.20q: scheme, database or a parameter is not known; want %s", u.Scheme, wanted)
	}
	if o.TLSConfig != nil && config != nil {
		name := o.TLSConfig.ServerName
		o.TLSConfig = config.Clone()
		if o.TLSConfig.ServerName == "" {
			o.TLSConfig.ServerName = name
		}
	}
	o.Sentinel.TLSConfig = o.TLSConfig
	return o, nil
}

// Get implements [cache.Store].
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	b, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) ([]byte, error) {
		return c.Do(ctx, c.B().Getrange().Key(s.name("copy", key)).Start(0).End(maxRead).Build()).AsBytes()
	})
	switch {
	case wrongType(err) || err == nil && (len(b) == 0 || len(b) > maxRead || b[0] != mark[0]):
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	}
	return b[len(mark):], nil
}

// Put implements [cache.Store].
func (s *Store) Put(ctx context.Context, key string, value []byte, keep time.Duration) error {
	if keep <= 0 {
		return s.Delete(ctx, key)
	}
	_, err := do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (struct{}, error) {
		set := c.B().Set().Key(s.name("copy", key)).Value(mark + string(value)).Px(validTTL(keep)).Build()
		return struct{}{}, c.Do(ctx, set).Error()
	})
	return err
}

// validTTL is a time to live that the server accepts.
func validTTL(keep time.Duration) time.Duration { return max(min(keep, maxKeep), time.Millisecond) }

// swapScript replaces the string under KEYS[1] by ARGV[3], for ARGV[4] milliseconds, or deletes it if that is 0. It
// does so only if the string is ARGV[1]. A string that Get does not return, because it lacks the mark ARGV[2] or is
// longer than ARGV[5] bytes, counts as an empty one.
var swapScript = rueidis.NewLuaScript(`
local key, old = KEYS[1], ""
if redis.call("TYPE", key).ok == "string" then
	old = redis.call("GETRANGE", key, 0, ARGV[5])
end
if #old > tonumber(ARGV[5]) or old:sub(1, 1) ~= ARGV[2] then
	old = ""
end
if old ~= ARGV[1] then
	return 0
elseif ARGV[4] == "0" then
	redis.call("DEL", key)
else
	redis.call("SET", key, ARGV[3], "PX", ARGV[4])
end
return 1
`)

// Swap implements [cache.Swapper].
func (s *Store) Swap(ctx context.Context, key string, old, value []byte, keep time.Duration) (swapped bool, err error) {
	expected, ttl := "", "0"
	if old != nil {
		expected = mark + string(old)
	}
	if keep > 0 {
		ttl = strconv.FormatInt(validTTL(keep).Milliseconds(), 10)
	}
	return do(ctx, s.link, func(ctx context.Context, c rueidis.Client) (bool, error) {
		args := []string{expected, mark, mark + string(value), ttl, strconv.Itoa(maxRead)}
		return swapScript.Exec(ctx, c, []string{s.name("copy", key)}, args).AsBool()
	})
}

// Delete implements [cache.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
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
	return s.prefix + ":1:" + kind + ":" + key
}

// wrongType reports whether the server replied that a key has another type than the command needs. In the
// reply to a script this is not the first word.
func wrongType(err error) bool {
	reply, ok := rueidis.IsRedisErr(err)
	return ok && strings.Contains(reply.Error(), "WRONGTYPE")
}
