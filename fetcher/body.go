package fetcher

import (
	"bufio"
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
	"github.com/rfc9309/polite/policy"
)

// This file reads the body of a robots.txt: RFC 9309, section 2.5, and RFC 9110, section
// 8.4.

// content is the body of an answer, decoded.
type content struct {
	body []byte
	cut  bool // there was more than the limit
}

// readBody reads at most limit bytes of decoded content (RFC 9309, section 2.5).
// Content that ends before its announced length, in the middle of a chunk or of
// its encoding is an error: a file cut by the network must not pass for a whole
// one. The length is checked here as well as in net/http, for other bases.
//
// The work is bounded: no more raw bytes are read than twice the limit, so an
// encoded body cannot keep the decoder busy without giving anything. The reader ends
// soon after ctx, also if the body does not.
func readBody(ctx context.Context, resp *http.Response, header http.Header, limit int) (content, error) {
	raw := &rawBody{ctx: ctx, r: resp.Body, left: 2*int64(limit) + 64<<10}
	r, err := decodedReader(raw, header, resp.Uncompressed)
	if err != nil {
		return content{}, err
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if len(body) > limit {
		return content{body: body[:limit], cut: true}, nil
	}
	if err == nil {
		err = raw.checkLength(announcedLength(resp, header))
	}
	if err != nil {
		return content{}, bodyFailure(err)
	}
	return content{body: body}, nil
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
		return nil, undecodable(fmt.Errorf("%d content codings; at most 2 are undone", len(codings)))
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
		return nil, undecodable(fmt.Errorf("content coding %.40q is not known", coding))
	}
	if err != nil {
		return nil, bodyFailure(err)
	}
	return d, nil
}

// undecodable returns the failure of a body that no second try makes better.
func undecodable(err error) error { return &policy.Failure{Class: policy.Body, Err: err} }

// bodyFailure returns the failure for an error while reading a body: an error of the
// coding is final, an error of the connection may pass.
func bodyFailure(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrHeader),
		errors.Is(err, zlib.ErrChecksum), errors.As(err, &corrupt), errors.Is(err, errTooMuch):
		return undecodable(err)
	}
	return &policy.Failure{Class: policy.Body, Err: &cutShort{err}}
}

// cutShort is the error of a body that the connection broke off.
type cutShort struct{ err error }

func (c *cutShort) Error() string { return "the body broke off: " + c.err.Error() }
func (c *cutShort) Unwrap() error { return c.err }

var errTooMuch = errors.New("too many bytes for the content they decode to")

// maxEmpty is the number of reads in a row without a byte that end a body.
const maxEmpty = 100

// rawBody reads a body as it was sent, and fails if it is longer than permitted. The body
// stays its caller's, who closes it.
type rawBody struct {
	ctx   context.Context
	r     io.Reader
	left  int64 // bytes that may still be read
	read  int64 // bytes that were read
	empty int   // reads in a row without a byte
}

func (b *rawBody) Read(p []byte) (int, error) {
	switch {
	case b.ctx.Err() != nil:
		return 0, b.ctx.Err()
	case b.left <= 0:
		return 0, errTooMuch
	case b.empty >= maxEmpty:
		return 0, io.ErrNoProgress
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	b.read += int64(n)
	if b.empty++; n > 0 {
		b.empty = 0
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
