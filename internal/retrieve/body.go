package retrieve

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/rfc9309/polite/internal/field"
)

// This file reads the body of a robots.txt: RFC 9309, section 2.5, and RFC 9110, section
// 8.4.

// maxBuffer bounds the memory that a declared length takes before the body arrives, in bytes.
const maxBuffer = 64 << 10

// readBody returns the decoded content of an answer (RFC 9309, section 2.5), or the first
// limit + 1 bytes of it. Content that ends before its announced length, in the middle of a
// chunk or of its encoding is an error: a file cut by the network must not pass for a
// whole one. The length is checked here as well as in net/http, for other bases.
//
// The work is bounded: no more raw bytes are read than twice the limit and 64 KiB, so
// an encoded body cannot keep the decoder busy without giving anything. The reader
// ends soon after ctx, also if the body does not.
func readBody(ctx context.Context, resp *http.Response, header http.Header, limit int) ([]byte, error) {
	raw := &rawBody{ctx: ctx, r: resp.Body, left: 2*int64(limit) + 64<<10}
	r, err := decodedReader(raw, header, resp.Uncompressed)
	if err != nil {
		return nil, err
	}
	length := announcedLength(resp, header)
	body := bytes.NewBuffer(make([]byte, 0, min(length, maxBuffer)+bytes.MinRead))
	_, err = body.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if body.Len() > limit {
		return body.Bytes(), nil
	}
	if err == nil {
		err = raw.checkLength(length)
	}
	return body.Bytes(), err
}

// announcedLength returns the length of the raw body that an answer declares, 0 if none.
// Of several lengths it is the longest: a body that falls short of one of them may
// have been cut.
func announcedLength(resp *http.Response, header http.Header) int64 {
	if resp.Uncompressed || len(resp.TransferEncoding) > 0 || header["Transfer-Encoding"] != nil {
		return 0
	}
	return max(resp.ContentLength, field.Length(header))
}

// decodedReader undoes the content codings of a body, two at most. With done it returns r
// itself: the base has undone them.
func decodedReader(r io.Reader, header http.Header, done bool) (io.Reader, error) {
	if done {
		return r, nil
	}
	var codings []string
	for c := range field.Members(header["Content-Encoding"]) {
		if c = strings.ToLower(c); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	if len(codings) > 2 {
		return nil, fmt.Errorf("%d content codings; at most 2 are undone", len(codings))
	}
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if r, err = newDecoder(r, codings[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// newDecoder undoes one coding. An empty body is empty in any coding.
func newDecoder(r io.Reader, coding string) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(2)
	if err == io.EOF && len(head) == 0 {
		return b, nil
	}
	var d io.Reader
	switch coding {
	case "gzip", "x-gzip":
		d, err = gzip.NewReader(b)
	case "deflate":
		// Meant to be zlib's format; some servers send the bare stream.
		if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			d, err = zlib.NewReader(b)
		} else {
			d, err = flate.NewReader(b), nil
		}
	default:
		return nil, fmt.Errorf("content coding %.40q is not known", coding)
	}
	return d, err
}

// cutShort is the error of a body that the connection broke off.
type cutShort struct{ err error }

func (c *cutShort) Error() string { return "the body broke off: " + c.err.Error() }
func (c *cutShort) Unwrap() error { return c.err }

var errTooMuch = errors.New("too many bytes for the content they decode to")

// maxEmptyReads is how many reads in a row may return nothing, as in package bufio.
const maxEmptyReads = 100

// rawBody reads a body as it was sent, and fails if it is longer than permitted. An error of the
// connection is a *cutShort. The body stays its caller's, who closes it.
type rawBody struct {
	ctx   context.Context
	r     io.Reader
	left  int64 // bytes that may still be read
	read  int64 // bytes that were read
	empty int   // number of reads in a row that returned nothing
}

func (b *rawBody) Read(p []byte) (int, error) {
	switch {
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case b.left <= 0:
		return 0, errTooMuch
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.read += int64(n)
	if b.empty++; n > 0 {
		b.empty = 0
	}
	if err == nil && b.empty >= maxEmptyReads {
		err = io.ErrNoProgress
	}
	if err != nil && err != io.EOF {
		err = &cutShort{err}
	}
	return n, err
}

// checkLength returns an error if the body has fewer than want bytes. A decoder stops at the
// end of its own format, so checkLength reads the rest first.
func (b *rawBody) checkLength(want int64) error {
	if b.read < want {
		if _, err := io.Copy(io.Discard, b); err != nil {
			return err
		}
	}
	if b.read < want {
		return fmt.Errorf("%d of %d bytes: %w", b.read, want, io.ErrUnexpectedEOF)
	}
	return nil
}
