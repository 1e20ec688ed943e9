package fetcher

import (
	"slices"
	"sync"

	"github.com/rfc9309/polite/internal/lru"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// memory is the first level of the cache, private to one engine: the records of
// the authorities in use by key, bounded in bytes. A copy that several
// authorities serve is held once.
type memory struct {
	*lru.Cache[*policy.Record, *matcher.File]

	mu     sync.Mutex
	tokens []string // replaced, never changed
}

// maxTokens bounds the product tokens whose rules are made ready before a copy's
// size is taken. A program has one, or one for each of its crawlers.
const maxTokens = 8

func newMemory(maxBytes int64) *memory {
	return &memory{Cache: lru.New[*policy.Record, *matcher.File](maxBytes)}
}

// serve tells the memory of a product token that will ask.
func (m *memory) serve(token string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.tokens) < maxTokens && !slices.Contains(m.tokens, token) {
		m.tokens = append(slices.Clip(m.tokens), token)
	}
}

// served are the tokens told of.
func (m *memory) served() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tokens
}

// remember keeps the record and returns it; its copy is the one that other
// authorities with the same text already hold, if there are such.
func (m *memory) remember(key string, rec *policy.Record) *policy.Record {
	// The string that is put is kept: the record has these bytes already.
	if robots := rec.Robots(); robots == key+robotsPath {
		key = robots[:len(key)]
	}
	cost := int64(rec.Size())
	f := rec.File()
	if f == nil {
		m.Put(key, rec, cost, nil)
		return rec
	}
	size := m.size(f)
	part := m.share(f, size)
	if part == nil {
		m.Put(key, rec, cost+size, nil)
		return rec
	}
	rec = rec.Share(part.Value())
	m.Put(key, rec, cost, part)
	return rec
}

// share returns the part that is equal to f, f itself if there was none. It is
// nil if another text has the same hash.
func (m *memory) share(f *matcher.File, size int64) *lru.Part[*matcher.File] {
	text, _ := f.AppendText(nil)
	part := m.Share(m.Hash(text), f, size)
	if !part.Value().Equal(f) {
		m.Drop(part)
		return nil
	}
	return part
}

// size is what f retains when the tokens in use have asked it.
func (m *memory) size(f *matcher.File) int64 {
	for _, token := range m.served() {
		f.Group(token)
	}
	return int64(f.Size())
}
