package matcher

import "unsafe"

// AppendText appends a robots.txt file from which [Parse] in the same dialect
// makes a File that answers everything as f does, line numbers and patterns
// included. It has neither the comments nor the white space of the original.
// The error is always nil. It implements encoding.TextAppender.
func (f *File) AppendText(b []byte) ([]byte, error) {
	line, start := 1, len(b)
	from := start  // of the present line
	blank := false // it has to stay so
	for e := range f.entries() {
		for ; line < e.line; line++ {
			if f.dialect.blankEnds && !blank {
				b = append(b, '#')
			}
			b = append(b, '\n')
			from, blank = len(b), false
		}
		if len(b) == start {
			b = append(b, byteOrderMark...)
			from = len(b)
		}
		if e.kind == junk && e.value == cutMark {
			b = f.appendCut(b, len(b)-from)
		} else {
			b = f.appendEntry(b, e)
		}
		blank = e.kind == ended
	}
	if blank {
		b = append(b, '\n')
	}
	return b, nil
}

// appendCut fills up a line that has size octets until it is too long. Where
// only the whole file is bounded, there is nothing to say.
func (f *File) appendCut(b []byte, size int) []byte {
	for ; size < int(f.dialect.lineMax); size++ {
		b = append(b, ' ')
	}
	if f.dialect.lineMax > 0 {
		b = append(b, cutMark...)
	}
	return b
}

// appendEntry appends the line of e, without its end.
func (f *File) appendEntry(b []byte, e entry) []byte {
	switch {
	case e.kind == ended:
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
	h := f.head(e.start)
	return f.text[h.off:h.end]
}

// Equal reports whether f and o answer everything alike.
func (f *File) Equal(o *File) bool {
	if f == nil || o == nil {
		return f == o
	}
	return f.dialect == o.dialect && f.text == o.text
}

// Size returns the number of octets of memory that f retains, about: the
// records, and the groups that were asked for so far, with the index that those
// of many rules get.
func (f *File) Size() int {
	if f == nil {
		return 0
	}
	n := int(unsafe.Sizeof(*f)) + len(f.text)
	first := f.first.Load()
	if first != nil {
		n += first.size()
	}
	if list := f.kept.Load(); list != nil {
		for _, g := range *list {
			n += g.size()
		}
	}
	return n
}

// size is what g adds to its file. A group of many rules is reckoned with the
// index that it gets when it is asked again.
func (g *Group) size() int {
	const (
		place   = 16 // in the list of the file, and the token
		indexed = 32 // for each rule, as measured on real files
	)
	n := int(unsafe.Sizeof(*g)) + place
	if x := g.index.Load(); x != nil {
		return n + x.size()
	}
	if g.tried() {
		return n
	}
	return n + int(unsafe.Sizeof(index{})) + len(g.all())*indexed
}

// size is the number of octets that x retains, but for what one question needs.
func (x *index) size() int {
	n := int(unsafe.Sizeof(*x)) + x.heads.size() + x.pieces.size() + octets(x.stars) + octets(x.edges) +
		octets(x.first) + octets(x.ends) + octets(x.apart) + octets(x.after) + octets(x.beyond)
	if s := x.steps; s != nil {
		n += int(unsafe.Sizeof(*s)) + octets(s.list) + octets(s.first) + octets(s.rank) + octets(s.end)
	}
	return n
}

func (l *list) size() int { return octets(l.parts) + octets(l.up) + octets(l.jump) }

// octets is the memory of a list.
func octets[T any](list []T) int {
	var one T
	return cap(list) * int(unsafe.Sizeof(one))
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
		case ended:
			grouped = false
		case allow, disallow:
			if grouped && !f.dialect.idle(e.value) {
				n++
			}
		}
	}
	return n
}
