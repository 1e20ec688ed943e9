package policy

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/rfc9309/polite/matcher"
)

// Text is the text of a robots.txt file as records keep it: deflated to about a
// fifth, and beside it the compiled groups of the crawlers that asked. It is safe
// for concurrent use, and records may share it: see [Record.Share].
type Text struct {
	profile  *Profile
	digest   [sha256.Size]byte // of the text in use, after the cut at the limit
	deflated string            // RFC 1951
	asked    atomic.Pointer[compiled]
}

// compiled is the group that one crawler obeys.
type compiled struct {
	token string
	group *matcher.Group
	older *compiled // nil for the oldest
}

// maxTokens bounds the crawlers whose groups a Text keeps. After so many it begins
// anew. A program has one, or a few.
const maxTokens = 8

// newText returns the text of a body under a profile.
func newText(p *Profile, body []byte) *Text {
	return &Text{profile: p, digest: sha256.Sum256(body), deflated: deflate(body)}
}

// loadText returns the text that a store has kept deflated.
func loadText(p *Profile, deflated []byte) (*Text, error) {
	t := &Text{profile: p, deflated: string(deflated)}
	text, err := inflate(t.deflated, int64(p.Limit))
	t.digest = sha256.Sum256(text)
	return t, err
}

// Digest returns the SHA-256 of the text in use, after the cut at the limit, in
// hex; "" for a nil Text.
func (t *Text) Digest() string {
	if t == nil {
		return ""
	}
	var b [2 * sha256.Size]byte
	hex.Encode(b[:], t.digest[:])
	return string(b[:])
}

// same reports whether t and o are one text, read in one dialect.
func (t *Text) same(o *Text) bool {
	return t == o || t != nil && o != nil && t.digest == o.digest && t.profile.Dialect == o.profile.Dialect
}

// file inflates the text.
func (t *Text) file() *matcher.File {
	text, _ := inflate(t.deflated, math.MaxInt64-1) // no error: newText wrote it, or loadText has read it
	return matcher.Parse(text, t.profile.Dialect)
}

// group returns the group that the crawler with the token obeys, and keeps it.
func (t *Text) group(token string) *matcher.Group {
	for c := t.asked.Load(); c != nil; c = c.older {
		if c.token == token {
			return c.group
		}
	}
	return t.keep(&compiled{token: token, group: t.file().Group(token)}).group
}

// keep adds a group. Crawlers that obey the lines of one user-agent value share
// their group.
func (t *Text) keep(c *compiled) *compiled {
	for {
		newest, count := t.asked.Load(), 0
		for o := newest; o != nil; o = o.older {
			if count++; o.group.Agent() == c.group.Agent() && c.group.Agent() != "" {
				c.group = o.group
			}
		}
		if c.older = newest; count >= maxTokens {
			c.older = nil
		}
		if t.asked.CompareAndSwap(newest, c) {
			return c
		}
	}
}

// Size returns how many bytes of memory the text retains, once the crawlers with
// the given tokens have asked: it compiles their groups.
func (t *Text) Size(tokens ...string) int {
	if t == nil {
		return 0
	}
	for _, token := range tokens {
		t.group(token)
	}
	size := int(unsafe.Sizeof(*t)) + len(t.deflated)
	counted := map[*matcher.Group]bool{}
	for c := t.asked.Load(); c != nil; c = c.older {
		size += int(unsafe.Sizeof(*c))
		if !counted[c.group] {
			size += c.group.Size()
		}
		counted[c.group] = true
	}
	return size
}

// writers are used again: a new one takes 1.2 MB, and as long to make as to
// deflate a usual file, 0.1 ms.
var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // no error: the level exists
	return w
}}

// deflate returns the text deflated.
func deflate(text []byte) string {
	var b bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	w.Write(text) // a bytes.Buffer returns no error
	w.Close()
	return b.String()
}

// inflate returns the text of which deflated is the whole. A text of more than
// limit bytes is an error.
func inflate(deflated string, limit int64) ([]byte, error) {
	r := strings.NewReader(deflated)
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(r), limit+1))
	if err == nil && (int64(len(text)) > limit || r.Len() > 0) {
		err = errors.New("policy: the stored text is too long")
	}
	return text, err
}
