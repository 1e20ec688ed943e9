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

// This file keeps the text of a robots.txt in little memory.

// Text is the text of a robots.txt file as records keep it: from the first decision on it is
// deflated, to about a fifth, and beside it are the compiled groups of the crawlers that
// asked. It is safe for concurrent use, and records may share it: see [Record.Share].
type Text struct {
	profile *Profile
	digest  [sha256.Size]byte       // of the text in use, after the cut at the limit
	content atomic.Pointer[content] // pack replaces it once
}

// content is a text in one of two forms.
type content struct {
	file     *matcher.File // keeps the groups
	deflated string        // RFC 1951, which file inflates for each new crawler; "": file has the text itself
}

// newText returns the text of a body under a profile. Deflated is the same text, or "".
func newText(p *Profile, body []byte, deflated string) *Text {
	t := &Text{profile: p, digest: sha256.Sum256(body)}
	c := &content{file: matcher.Parse(body, p.Dialect)}
	if deflated != "" {
		c = c.pack(deflated)
	}
	t.content.Store(c)
	return t
}

// pack returns c with its groups in the other form.
func (c *content) pack(deflated string) *content {
	return &content{c.file.Pack(deflated, inflateValid), deflated}
}

// pack deflates the text, unless that was done before, and returns the content. Nobody
// deflates a text that another record has already, and nobody inflates it for a group that
// was compiled before pack.
func (t *Text) pack() *content {
	if c := t.content.Load(); c.deflated == "" {
		t.content.CompareAndSwap(c, c.pack(deflate(c.file.Text())))
	}
	return t.content.Load()
}

// group returns the group of a token.
func (t *Text) group(token string) *matcher.Group {
	c := t.content.Load()
	g := c.file.Group(token)
	if c.deflated == "" {
		t.pack()
	}
	return g
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

// hasRules reports whether the text has a rule.
func (t *Text) hasRules() bool { return t.content.Load().file.CountRules() > 0 }

// same reports whether t and o are one text, read in one dialect.
func (t *Text) same(o *Text) bool {
	return t != nil && o != nil && t.digest == o.digest && t.profile.Dialect == o.profile.Dialect
}

// Size returns how many bytes of memory the text retains, once the crawlers with
// the given tokens have asked: it compiles their groups.
func (t *Text) Size(tokens ...string) int {
	if t == nil {
		return 0
	}
	for _, token := range tokens {
		t.content.Load().file.Group(token)
	}
	c := t.pack()
	return int(unsafe.Sizeof(*t)+unsafe.Sizeof(*c)) + c.file.Size()
}

// writers keeps writers for the next text: a new one takes 1.2 MB, and as long to make
// as to deflate a usual file, 0.1 ms.
var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // no error: the level exists
	return w
}}

// deflate returns the text deflated.
func deflate(text string) string {
	var b bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	io.WriteString(w, text) // a bytes.Buffer returns no error
	w.Close()
	return b.String()
}

// readers keeps readers for the next text: a new one takes 45 KB, and as long to make as to
// inflate a usual file.
var readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// inflate returns the text that deflated holds and nothing more. A text of more than
// limit bytes is an error.
func inflate(deflated string, limit int64) ([]byte, error) {
	inflater := readers.Get().(io.Reader)
	defer readers.Put(inflater)
	r := strings.NewReader(deflated)
	inflater.(flate.Resetter).Reset(r, nil) // no error
	text, err := io.ReadAll(io.LimitReader(inflater, limit+1))
	if err == nil && (int64(len(text)) > limit || r.Len() > 0) {
		err = errors.New("policy: the stored text is too long")
	}
	return text, err
}

// inflateValid is inflate for what deflate has returned or inflate has read before.
func inflateValid(deflated string) string {
	text, _ := inflate(deflated, math.MaxInt64-1)
	return string(text)
}
