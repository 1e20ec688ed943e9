// Package lines reads text line by line. Each line has a maximum length, so a
// stream without line ends takes no more memory than that.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrLong is returned for a line that is longer than the maximum.
var ErrLong = errors.New("line is too long")

// Reader reads lines of a stream.
type Reader struct {
	N    int   // number of the last line, counted from 1
	Read int64 // offset of the end of the last line, in bytes

	r   *bufio.Reader
	max int // longest line in bytes
}

// New returns a Reader of r whose lines have at most maxBytes bytes.
func New(r io.Reader, maxBytes int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 256<<10), max: maxBytes}
}

// Next returns a copy of the next line without its line end. The error is io.EOF at
// the end of the stream, ErrLong for a line that was skipped, or the stream's error.
func (l *Reader) Next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.Read += int64(len(part))
		if long = long || len(line)+len(part) > l.max; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (len(line) > 0 || long):
			// The last line may have no line end.
		case err != nil:
			return nil, err
		}
		l.N++
		if long {
			return nil, ErrLong
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// Ready reports whether Next can return a line without waiting for input.
func (l *Reader) Ready() bool {
	b, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}
