package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLong is the error of a line over the bound.
var errLong = errors.New("line is too long")

// lines reads a stream line by line and bounds each, so that a file without
// line ends cannot take the memory.
type lines struct {
	r    *bufio.Reader
	most int   // octets of a line
	n    int   // number of the line returned last, from 1
	read int64 // octets read up to the end of that line
}

func newLines(r io.Reader, most int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 256<<10), most: most}
}

// next returns the next line without its end, in memory of its own. The error is
// io.EOF at the end, errLong for a line that was skipped, or the reader's.
func (l *lines) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
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
		l.n++
		if long {
			return nil, errLong
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}

// ready reports whether a further line can be had without waiting for input.
func (l *lines) ready() bool {
	b, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(b, '\n') >= 0
}
