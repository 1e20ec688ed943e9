// Package lines reads text line by line and bounds each, so that a stream
// without line ends cannot take the memory.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrLong is the error of a line over the bound.
var ErrLong = errors.New("line is too long")

// Reader reads lines of a stream.
type Reader struct {
	N    int   // number of the line returned last, from 1
	Read int64 // octets read up to the end of that line

	r    *bufio.Reader
	most int
}

// New returns a Reader of r whose lines have at most most octets.
func New(r io.Reader, most int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// Next returns the next line without its end, in memory of its own. The error
// is io.EOF at the end, ErrLong for a line that was skipped, or the stream's.
func (l *Reader) Next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.Read += int64(len(part))
		if long = long || len(line)+len(part) > l.most; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (len(line) > 0 || long):
			// The last line may lack its end.
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

// Ready reports whether a further line can be had without waiting for input.
func (l *Reader) Ready() bool {
	b, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}
