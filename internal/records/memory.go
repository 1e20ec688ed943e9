package records

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/lru"
	"github.com/rfc9309/polite/policy"
)

// This file keeps records in memory.

// maxTokens bounds the product tokens whose groups are compiled before the size of
// a text is taken. A program has one, or one for each of its crawlers.
const maxTokens = 8

// changesBytes bounds the memory for changes, in bytes. About 1,800 fit, enough for Usage of
// an answer that arrived not long ago.
const changesBytes = 256 << 10

// Register adds a product token whose groups will be needed: their size counts as memory.
func (c *Cache) Register(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) < maxTokens && !slices.Contains(c.tokens, token) {
		c.tokens = append(slices.Clip(c.tokens), token)
	}
}

// size returns how many bytes a text retains, with the groups of all tokens given to
// Register.
func (c *Cache) size(text *policy.Text) int64 {
	c.mu.Lock()
	tokens := c.tokens
	c.mu.Unlock()
	return int64(text.Size(tokens...))
}

// authorityOf returns the authority of a record.
func authorityOf(rec *policy.Record) string { return strings.TrimSuffix(rec.Robots(), RobotsPath) }

// usualAuthority is longer than nearly every authority, in bytes.
const usualAuthority = 128

// Find returns the record in memory that governs a URL, and its authority, if the URL writes the
// authority in canonical form, as nearly all do: an authority in memory is its own canonical form.
// Otherwise, and if there is no such record, it returns nil.
func (c *Cache) Find(target *url.URL) (authority string, rec *policy.Record) {
	if target == nil || target.Opaque != "" {
		return "", nil
	}
	var buf [usualAuthority]byte
	rec, ok := c.records.GetBytes(append(append(append(buf[:0], target.Scheme...), "://"...), target.Host...))
	if ok {
		authority = authorityOf(rec)
	}
	return authority, rec
}

// remember keeps the record and returns it. If another authority has the same text,
// the record returned shares it.
func (c *Cache) remember(rec *policy.Record) *policy.Record {
	key := authorityOf(rec) // a part of the record's own URL, which takes no further memory
	var part *lru.Part[*policy.Text]
	if text := rec.Text(); text != nil {
		own := rec
		part = c.records.Share(text.Digest(), text, func(kept *policy.Text) bool { rec = own.Share(kept); return rec.Text() == kept }, c.size)
	}
	if old := c.records.Put(key, rec, int64(rec.Size()), part); old != nil && old.Text() != rec.Text() {
		c.changes.Put(key, time.Now(), int64(len(key)), nil)
	}
	return rec
}
