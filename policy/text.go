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
	"unsafe"

	"github.com/rfc9309/polite/matcher"
)

// This file keeps the text of a robots.txt in little memory.

// Text is the text of a robots.txt file as records keep it: deflated to about a
// fifth, and beside it the compiled groups of the crawlers that asked. It is safe
// for concurrent use, and records may share it: see [Record.Share].
type Text struct {
	profile  *Profile
	digest   [sha256.Size]byte // of the text in use, after the cut at the limit
	deflated string            // RFC 1951
	file     *matcher.File     // inflates it for each new crawler, and keeps the groups
}

// newText returns the text of a body under a profile.
func newText(p *Profile, body []byte, deflated string) *Text {
	return &Text{p, sha256.Sum256(body), deflated, matcher.ParsePacked(deflated, inflateValid, p.Dialect)}
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
	return t != nil && o != nil && t.digest == o.digest && t.profile.Dialect == o.profile.Dialect
}

// Size returns how many bytes of memory the text retains, once the crawlers with
// the given tokens have asked: it compiles their groups.
func (t *Text) Size(tokens ...string) int {
	if t == nil {
		return 0
	}
	for _, token := range tokens {
		t.file.Group(token)
	}
	return int(unsafe.Sizeof(*t)) + t.file.Size()
}

// writers keeps writers for the next text: a new one takes 1.2 MB, and as long to make
// as to deflate a usual file, 0.1 ms.
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

// inflate returns the text that deflated holds and nothing more. A text of more than
// limit bytes is an error.
func inflate(deflated string, limit int64) ([]byte, error) {
	r := strings.NewReader(deflated)
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(r), limit+1))
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
