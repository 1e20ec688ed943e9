package fetcher

import (
	"slices"
	"sync"
	"time"

	"github.com/rfc9309/polite/internal/lru"
	"github.com/rfc9309/polite/policy"
)

// This file keeps records in memory: RFC 9309, section 2.4.

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

// changesBytes bounds the changes that are remembered: about 1,800, for Usage of an answer
// that arrived not long ago.
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

// registeredTokens returns the tokens given to registerToken.
func (m *memory) registeredTokens() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tokens
}

// remember keeps the record and returns it. If another authority has the same text,
// the record returned shares it.
func (m *memory) remember(key string, rec *policy.Record) *policy.Record {
	// The cache keeps the key. A part of the record's own URL takes no further memory.
	if own := authorityOf(rec); own == key {
		key = own
	}
	old, known := m.records.Get(key)
	cost, part := int64(rec.Size()), (*lru.Part[*policy.Text])(nil)
	if text := rec.Text(); text != nil {
		size := int64(text.Size(m.registeredTokens()...))
		part = m.records.Share(m.records.Hash(text.Digest()), text, size)
		if rec = rec.Share(part.Value()); rec.Text() != part.Value() { // another text with the same hash
			m.records.Drop(part)
			part, cost = nil, cost+size
		}
	}
	m.records.Put(key, rec, cost, part)
	if known && old.Text() != rec.Text() {
		m.changes.Put(key, time.Now(), int64(len(key)), nil)
	}
	return rec
}
