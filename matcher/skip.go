package matcher

import "iter"

// Skipped returns the line and, in words, the reason for every line that had
// no effect or that was taken for more than what is written. Comments and blank
// lines are not listed.
func (f *File) Skipped() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		grouped := false
		for e := range f.entries() {
			switch e.kind {
			case agent:
				grouped = true
			case ended:
				grouped = false
			}
			if why := f.why(e, grouped); why != "" && !yield(e.line, why) {
				return
			}
		}
	}
}

// why returns what is to be said of e, or "".
func (f *File) why(e entry, grouped bool) string {
	switch {
	case e.kind == junk && e.value == cutMark:
		return "past the limit: what follows here is not read"
	case e.kind == junk:
		return "not a record: no name before a colon"
	case e.kind == other:
		return "unknown record"
	case e.kind == allow || e.kind == disallow:
		if why := f.dialect.idleWhy(e.value, grouped); why != "" {
			return why
		}
	case e.kind == agent && f.dialect.token(e.value) == "":
		return "user-agent line that names no crawler"
	}
	if e.name != "" && e.kind != other {
		return "misspelling accepted"
	}
	return ""
}

// idleWhy returns why a rule has no effect, or "".
func (d *Dialect) idleWhy(pattern string, grouped bool) string {
	switch {
	case !grouped:
		return "rule outside any group"
	case pattern == "":
		return "empty pattern"
	case !d.loose && hasControl(pattern):
		return "control octets in the pattern"
	case d.idle(pattern):
		return "rule that can never match: its pattern begins with neither / nor *"
	}
	return ""
}
