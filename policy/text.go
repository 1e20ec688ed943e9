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
	profile *Profile                     // its Dialect is how the text was read
	digest  [sha256.Size]byte            // of the text in use, after the cut at the limit
	file    atomic.Pointer[matcher.File] // keeps the groups; packed once
}

// newText returns the text of a body under a profile.
func newText(p *Profile, body []byte) *Text {
	t := &Text{profile: p, digest: sha256.Sum256(body)}
	t.file.Store(matcher.Parse(body, p.Dialect))
	return t
}

// packed deflates the text, unless that was done before, and returns the file. A text that
// records share is deflated once, and a group that was compiled before is still there.
func (t *Text) packed() *matcher.File {
	if f := t.file.Load(); f.Packed() == "" {
		t.pack(deflate(f.Text()))
	}
	return t.file.Load()
}

// pack replaces the text by its deflated form. The compiled groups stay.
func (t *Text) pack(deflated string) {
	f := t.file.Load()
	t.file.CompareAndSwap(f, f.Pack(deflated, inflateValid))
}

// group returns the group of a token.
func (t *Text) group(token string) *matcher.Group {
	g := t.file.Load().Group(token)
	t.packed()
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
func (t *Text) hasRules() bool { return t.file.Load().CountRules() > 0 }

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
		t.file.Load().Group(token)
	}
	return int(unsafe.Sizeof(*t)) + t.packed().Size()
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
