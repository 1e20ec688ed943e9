package fetcher

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rfc9309/polite/internal/lru"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/policy"
)

// This file names authorities, and keeps their records in memory: RFC 9309, sections 2.3 and
// 2.4.

// ErrURL is in the chain of every error about a URL that no robots.txt governs.
var ErrURL = errors.New("want an absolute http or https URL with a host")

// A urlError says what is wrong with a URL. It is ErrURL.
type urlError struct{ why error }

func (e *urlError) Error() string        { return "fetcher: " + e.why.Error() }
func (e *urlError) Is(target error) bool { return target == ErrURL }

// Authority returns the scheme and authority whose robots.txt governs target, as
// in "https://example.com" or "http://[2001:db8::1]:8080" (RFC 9309, section
// 2.3): lower case, the host in ASCII without a trailing dot, without a default
// port and without userinfo. All URLs of one authority share a robots.txt, a
// pace and a record. The scheme is http, https or ftp, which a Transport
// fetches only if Options.Schemes says so. The error has [ErrURL] in its chain.
func Authority(target *url.URL) (string, error) {
	key, err := origin.Of(target)
	if err != nil {
		return "", &urlError{err}
	}
	return key, nil
}

// authority is Authority for a URL that a Transport may fetch: an error also says that
// Options.Schemes does not name the scheme.
func (e *engine) authority(target *url.URL) (string, error) {
	key, err := Authority(target)
	if err == nil && !strings.HasPrefix(key, "http") && !slices.Contains(e.opts.Schemes, strings.ToLower(target.Scheme)) {
		err = fmt.Errorf("fetcher: %s is not in Options.Schemes; %w", strings.ToLower(target.Scheme), ErrURL)
	}
	return key, err
}

// robotsPath follows the authority in the URL of its robots.txt.
const robotsPath = "/robots.txt"

// robotsURL returns the URL of the robots.txt of an authority.
func robotsURL(key string) url.URL {
	scheme, host, _ := strings.Cut(key, "://")
	return url.URL{Scheme: scheme, Host: host, Path: robotsPath}
}

// authorityOf returns the authority of a record.
func authorityOf(rec *policy.Record) string { return strings.TrimSuffix(rec.Robots(), robotsPath) }

// memory is the first level of the cache, private to one engine: the records of
// the authorities in use, bounded in bytes. A text that several authorities serve is
// kept once.
type memory struct {
	records *lru.Cache[*policy.Record, *policy.Text]
	changes *lru.Cache[time.Time, struct{}] // when the robots.txt of an authority last changed, for Usage

	mu     sync.Mutex
	tokens []string // given to registerToken; a list is replaced and never changed
}

// maxTokens bounds the product tokens whose groups are compiled before the size of
// a text is taken. A program has one, or one for each of its crawlers.
const maxTokens = 8

// changesBytes bounds the memory for changes, in bytes. About 1,800 fit, enough for Usage of
// an answer that arrived not long ago.
const changesBytes = 256 << 10

// newMemory returns an empty memory of at most maxBytes bytes.
func newMemory(maxBytes int64) *memory {
	return &memory{records: lru.New[*policy.Record, *policy.Text](maxBytes), changes: lru.New[time.Time, struct{}](changesBytes)}
}

// registerToken adds a product token whose groups will be needed.
func (m *memory) registerToken(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.tokens) < maxTokens && !slices.Contains(m.tokens, token) {
		m.tokens = append(slices.Clip(m.tokens), token)
	}
}

// size returns how many bytes a text retains, with the groups of all tokens given to
// registerToken.
func (m *memory) size(text *policy.Text) int64 {
	m.mu.Lock()
	tokens := m.tokens
	m.mu.Unlock()
	return int64(text.Size(tokens...))
}

// usualAuthority is longer than nearly every authority, in bytes.
const usualAuthority = 128

// find returns the record of a URL whose authority is written in canonical form, as nearly all
// are: an authority in memory is its own canonical form. Otherwise it returns nil.
func (m *memory) find(target *url.URL) *policy.Record {
	if target == nil || target.Opaque != "" {
		return nil
	}
	var buf [usualAuthority]byte
	rec, _ := m.records.GetBytes(append(append(append(buf[:0], target.Scheme...), "://"...), target.Host...))
	return rec
}

// remember keeps the record and returns it. If another authority has the same text,
// the record returned shares it.
func (m *memory) remember(rec *policy.Record) *policy.Record {
	key := authorityOf(rec) // a part of the record's own URL, which takes no further memory
	cost, part := int64(rec.Size()), (*lru.Part[*policy.Text])(nil)
	if text := rec.Text(); text != nil {
		hash := m.records.Hash(text.Digest())
		if part = m.records.Find(hash); part == nil {
			part = m.records.Share(hash, text, m.size(text)) // size deflates the text
		}
		if rec = rec.Share(part.Value()); rec.Text() != part.Value() { // another text with the same hash
			m.records.Drop(part)
			part, cost = nil, cost+m.size(text)
		}
	}
	if old := m.records.Put(key, rec, cost, part); old != nil && old.Text() != rec.Text() {
		m.changes.Put(key, time.Now(), int64(len(key)), nil)
	}
	return rec
}
