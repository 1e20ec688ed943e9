package matcher

import "unsafe"

// AppendText appends a robots.txt file from which [Parse] in the same dialect
// makes a File that answers everything as f does, line numbers and patterns
// included. It has neither the comments nor the white space of the original.
// The error is always nil. It implements encoding.TextAppender.
func (f *File) AppendText(b []byte) ([]byte, error) {
	line, start := 1, len(b)
	for e := range f.entries() {
		for ; line < e.line; line++ {
			if f.dialect.blankEnds {
				b = append(b, '#')
			}
			b = append(b, '\n')
		}
		if len(b) == start {
			b = append(b, "\xEF\xBB\xBF"...)
		}
		b = f.appendEntry(b, e)
	}
	return b, nil
}

// appendEntry appends the line of e, without its end.
func (f *File) appendEntry(b []byte, e entry) []byte {
	switch {
	case e.kind == blank:
		return b
	case e.kind == junk:
		return append(b, '?')
	case e.name != "":
		return append(b, f.verbatim(e)...)
	}
	b = append(b, proper[e.kind]...)
	b = append(b, ':')
	return append(b, e.value...)
}

// verbatim returns the whole line of an entry of kind other.
func (f *File) verbatim(e entry) string {
	return f.text[e.start : e.off+len(e.value)]
}

// Equal reports whether f and o answer everything alike.
func (f *File) Equal(o *File) bool {
	return f.dialect == o.dialect && f.text == o.text
}

// Size returns the number of octets of memory that f retains, an estimate that
// is not exceeded by what its groups add when they are used.
func (f *File) Size() int {
	return int(unsafe.Sizeof(*f)) + len(f.text) + len(f.agents)*20
}

// Rules returns the number of rules of all groups that can match something.
// Zero means a file that allows everything to everyone.
func (f *File) Rules() int {
	n := 0
	grouped := false
	for e := range f.entries() {
		switch e.kind {
		case agent:
			grouped = true
		case blank:
			grouped = false
		case allow, disallow:
			if grouped && !f.dialect.idle(e.value) {
				n++
			}
		}
	}
	return n
}
