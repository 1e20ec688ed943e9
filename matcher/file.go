package matcher

import (
	"iter"
	"sync/atomic"
	"time"
	"unsafe"
)

// A File is the text of a robots.txt file, with the groups that crawlers have asked
// for. It is immutable and safe for concurrent use. Most callers want [File.Match] or
// [File.MatchURL]; [File.Group] is for many targets of one crawler. A nil File has no
// lines.
type File struct {
	text    string                 // the file, or its packed form if unpack is not nil
	unpack  func(string) string    // returns the file from text; nil if text is the file
	plain   atomic.Pointer[string] // the file beside its packed form, until dropPlain
	dialect Dialect
	groups  atomic.Pointer[keptGroup] // the group kept last; each points to an older one
}

// A keptGroup is a group that a File keeps, with the token that Group was called with.
type keptGroup struct {
	token string
	group *Group
	older *keptGroup // nil for the oldest
}

// maxGroups bounds the tokens whose groups a File keeps. A program has one token, or one for
// each of its crawlers. With one token more, the File drops the oldest group.
const maxGroups = 16

// Parse reads a robots.txt file. It never fails: what is not understood is
// skipped, line by line (RFC 9309, section 2.3.1.5), and listed by
// [File.Skipped]. The result does not alias text.
//
// A crawler limits what it downloads, to 500 KiB at least (RFC 9309, section
// 2.5), and drops a line cut in two. Parse copies all of the text. The lines, of its
// first 512 MiB, are read for the first match of each token.
func Parse(text []byte, d Dialect) *File {
	return &File{text: string(text), dialect: d}
}

// ParsePacked is Parse for a text that is kept packed, for instance compressed. The File
// drops the text itself when [File.Group] or [File.Size] is called first. After that it calls
// unpack whenever it needs the lines: once for each token whose group it does not have. So
// unpack must return the text for packed each time, from any goroutine.
func ParsePacked(text []byte, d Dialect, packed string, unpack func(packed string) string) *File {
	f := &File{text: packed, unpack: unpack, dialect: d}
	plain := string(text)
	f.plain.Store(&plain)
	return f
}

// dropPlain drops the text that ParsePacked got beside its packed form.
func (f *File) dropPlain() {
	if f.plain.Load() != nil {
		f.plain.Store(nil)
	}
}

// Text returns the file as Parse got it, or as it was unpacked. It is "" for a nil
// File.
func (f *File) Text() string {
	if f == nil {
		return ""
	}
	if plain := f.plain.Load(); plain != nil {
		return *plain
	}
	if f.unpack != nil {
		return f.unpack(f.text)
	}
	return f.text
}

// Dialect returns the dialect in which f is read.
func (f *File) Dialect() Dialect {
	if f == nil {
		return Dialect{}
	}
	return f.dialect
}

// Size returns about how many bytes of memory f retains: the text as it is kept, and
// the groups that were asked for so far.
func (f *File) Size() int {
	if f == nil {
		return 0
	}
	f.dropPlain()
	n := int(unsafe.Sizeof(*f)) + len(f.text)
	counted := map[*Group]bool{}
	for k := f.groups.Load(); k != nil; k = k.older {
		n += int(unsafe.Sizeof(*k)) + len(k.token)
		if !counted[k.group] {
			n += k.group.Size()
		}
		counted[k.group] = true
	}
	return n
}

// Group returns the group that the crawler with the given product token, or
// several as in [File.Match], obeys. It is never nil: a Group without rules
// allows everything.
func (f *File) Group(token string) *Group {
	if f == nil {
		return noGroup
	}
	for k := f.groups.Load(); k != nil; k = k.older {
		if k.token == token {
			return k.group
		}
	}
	k := &keptGroup{token: token, group: f.choose(token)}
	f.dropPlain()
	return f.keepGroup(k)
}

// noGroup allows everything. Nothing changes it.
var noGroup = new(Group)

// keepGroup keeps the group of a token and returns it. If the File has the same group for
// another token already, keepGroup keeps and returns the group it has. Two groups of one File
// are the same if they have the same user-agent value; "" can mean a group or none.
func (f *File) keepGroup(k *keptGroup) *Group {
	for {
		newest, count := f.groups.Load(), 1
		for o := newest; o != nil; o = o.older {
			count++
			if o.group.agent == k.group.agent && k.group.agent != "" {
				k.group = o.group
			}
		}
		if k.older = newest; count > maxGroups {
			k.older = newest.copyNewest(maxGroups - 1)
		}
		if f.groups.CompareAndSwap(newest, k) {
			return k.group
		}
	}
}

// copyNewest returns a copy of the first n groups of a list.
func (k *keptGroup) copyNewest(n int) *keptGroup {
	if n == 0 {
		return nil
	}
	return &keptGroup{k.token, k.group, k.older.copyNewest(n - 1)}
}

// Match decides on a request target: "/path?query" as it is sent, or an absolute
// URL, whose scheme and authority are ignored. A fragment is cut off. Any other
// target without a leading slash gets one.
//
// The token is a product token, or several separated by commas, the most specific
// first: the first that has a group is obeyed, and "*" if none has.
func (f *File) Match(token, target string) Match { return f.Group(token).Match(target) }

// CrawlDelay returns the first crawl-delay of the group that the crawler with
// the given token obeys. ok is false if there is none that is a number of
// seconds, zero or more. Values past the range of a Duration are its maximum.
func (f *File) CrawlDelay(token string) (d time.Duration, ok bool) {
	return f.Group(token).CrawlDelay()
}

// Lines yields the lines of the file with their numbers, so that what the other
// methods say of a line can be shown below it. They are UTF-8 if the dialect
// decodes them, without a byte order mark and without their ends.
func (f *File) Lines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		if f == nil {
			return
		}
		s := f.scan()
		for {
			line, ok := s.nextLine()
			if !ok || !yield(int(s.line), line) {
				return
			}
		}
	}
}

// list yields the line number of each record for which show returns true, and the text that
// show returns.
func (f *File) list(show func(s *scanner, name, value string) (text string, ok bool)) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		if f == nil {
			return
		}
		s := f.scan()
		for name, value, ok := s.next(); ok; name, value, ok = s.next() {
			if text, ok := show(&s, name, value); ok && !yield(int(s.line), text) {
				return
			}
		}
	}
}

// Sitemaps returns the values of the sitemap records, in the order of the
// file, whatever group they are in.
func (f *File) Sitemaps() []string {
	var values []string
	for _, v := range f.list(func(s *scanner, name, value string) (string, bool) { return value, s.kind == sitemap && value != "" }) {
		values = append(values, v)
	}
	return values
}

// Other yields the line number and the value of each record with the given name, compared
// without case, that is neither a user-agent, allow nor disallow record. The
// value is as written, without white space around it and without a comment.
func (f *File) Other(field string) iter.Seq2[int, string] {
	return f.list(func(s *scanner, name, value string) (string, bool) {
		return value, s.kind.isOther() && equalFold(name, field)
	})
}

// Agents yields the line number and the value of every user-agent record, as written.
func (f *File) Agents() iter.Seq2[int, string] {
	return f.list(func(s *scanner, name, value string) (string, bool) { return value, s.kind == agent })
}

// Skipped yields the line number and, in words, the reason for every line that had
// no effect or whose misspelling was accepted. Comments and blank lines are not
// listed.
func (f *File) Skipped() iter.Seq2[int, string] {
	return f.list(func(s *scanner, name, value string) (string, bool) {
		why := s.reason(value)
		return why, why != ""
	})
}

// CountRules returns the number of rules of all groups that can match something.
// Zero means a file that allows everything to everyone.
func (f *File) CountRules() int {
	n := 0
	for range f.list(func(s *scanner, name, value string) (string, bool) {
		return "", s.kind.isRule() && s.idleReason(value) == ""
	}) {
		n++
	}
	return n
}
