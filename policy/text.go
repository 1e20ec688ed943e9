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

// Text is the text of a robots.txt file as records keep it: deflated, to about a quarter, and
// beside it the compiled groups of the crawlers that asked. It is safe for concurrent use, and
// records may share it: see [Record.Share].
type Text struct {
	digest   [sha256.Size]byte // of the text in use, after the cut at the limit
	deflated string
	file     *matcher.File // unpacks deflated, and keeps the groups
}

// newText returns the text of a body, read in a dialect. The digest and the deflated text are
// of that body.
func newText(body []byte, d matcher.Dialect, digest [sha256.Size]byte, deflated string) *Text {
	return &Text{digest: digest, deflated: deflated, file: matcher.ParsePacked(body, d, deflated, inflateValid)}
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

// is reports whether t has the text with the digest, read in the dialect.
func (t *Text) is(d matcher.Dialect, digest [sha256.Size]byte) bool {
	return t != nil && t.digest == digest && t.file.Dialect() == d
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

// deflater is a writer with its buffer.
type deflater struct {
	buf    bytes.Buffer
	writer *flate.Writer
}

// deflaters keeps deflaters for the next text: a new one takes 1.2 MB, and ten times as long
// to make as to deflate a usual file. On real files BestSpeed takes less than half of the time
// of the default level, 10 microseconds for a usual file, for 9 % more bytes.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // no error: the level exists
	return &deflater{writer: w}
}}

// deflate returns the text deflated.
func deflate(text []byte) string {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.buf.Reset()
	d.writer.Reset(&d.buf)
	d.writer.Write(text) // a bytes.Buffer returns no error
	d.writer.Close()
	return d.buf.String()
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
