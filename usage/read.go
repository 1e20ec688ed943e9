package usage

import (
	"iter"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

const (
	fieldMost   = 64 << 10 // bytes of a record, or of a header field, that are read
	textMost    = 1 << 10  // bytes of the text of a source
	valuesMost  = 1024     // preferences of a field
	recordsMost = 4096     // records of a group that may have a path
	labelMost   = 256      // bytes of a label
	skippedMost = 64       // skipped values that are listed
)

// A place is where a field is read.
type place uint8

const (
	inHeader place = 1 << iota // in the header of an answer
	inGroup                    // in a group of robots.txt, for all its paths
	onPath                     // in a group of robots.txt, behind a path pattern
	anywhere                   // in robots.txt, in a group or not
)

// A field is a record or a header field that says something about use.
type field struct {
	kind    Kind
	places  place
	joined  bool                                    // the lines of a header are one value (RFC 9651, section 4.2)
	list    bool                                    // if it is too long, the members before the limit count
	allowed string                                  // the word for Allowed
	denied  string                                  // the word for Denied
	read    func(r *reader, f *field, value string) // reads one value
}

// fields are the fields that are read, in the order of a Set.
var fields = [...]field{
	{kind: "Content-Usage", places: onPath | inHeader, joined: true, allowed: "y", denied: "n", read: (*reader).dictionary},
	{kind: "Content-Signal", places: inGroup | inHeader, joined: true, allowed: "yes", denied: "no", read: (*reader).dictionary},
	{kind: "Robots-Tag", places: inHeader, joined: true, list: true, read: (*reader).robotsTag},
	{kind: "X-Robots-Tag", places: inHeader, list: true, read: (*reader).xRobotsTag},
	{kind: "tdm-reservation", places: inHeader, allowed: "0", denied: "1", read: (*reader).word},
	{kind: "tdm-policy", places: inHeader, read: (*reader).terms},
	{kind: "License", places: inGroup | anywhere | inHeader, read: (*reader).terms},
	{kind: "Link", places: inHeader, list: true, read: (*reader).links},
}

// OfGroup returns what the records of a group say about a target, which is as in
// [matcher.Group.Match]. A License record outside any group is missing; see OfFile.
func OfGroup(g *matcher.Group, target string) Set {
	r := reader{}
	for i := range fields {
		switch f := &fields[i]; {
		case f.places&inGroup != 0:
			r.records(f, g.Other(string(f.kind)))
		case f.places&onPath != 0 && g.Match(target).Allowed:
			r.recordsOnPath(f, g, target)
		}
	}
	return r.set
}

// OfFile returns what a file says to a crawler about a target: OfGroup for the group of
// its token, which may be several as in [matcher.File.Match], and the License records of
// the whole file. Skipped lists the other records that are in no group. It reads the
// whole file.
func OfFile(f *matcher.File, token, target string) Set {
	r, before := reader{}, beforeGroups(f)
	for i := range fields {
		switch d := &fields[i]; {
		case d.places&anywhere != 0:
			r.records(d, f.Other(string(d.kind)))
		case d.places&(inGroup|onPath) != 0:
			for line, value := range before.Other(string(d.kind)) {
				r.source = newSource(d, line, value)
				r.skip("not in any group")
			}
		}
	}
	return Combine(OfGroup(f.Group(token), target), r.set)
}

// OfHeader returns what the header of an answer says to the crawler with the given
// product token, or several separated by commas. The names of the fields may be in any
// letter case.
func OfHeader(h http.Header, token string) Set {
	r := reader{tokens: token}
	names := slices.Sorted(maps.Keys(h))
	for i := range fields {
		f := &fields[i]
		if f.places&inHeader == 0 {
			continue
		}
		var lines []string
		for _, name := range names {
			if strings.EqualFold(name, string(f.kind)) {
				lines = append(lines, h[name]...)
			}
		}
		if f.joined && len(lines) > 1 {
			lines = []string{strings.Join(lines, ", ")}
		}
		r.left = valuesMost
		for _, line := range lines {
			r.value(f, 0, line, line)
		}
	}
	return r.set
}

// A reader reads fields into a Set.
type reader struct {
	set    Set
	tokens string // product tokens of the crawler, separated by commas
	source Source // of the value that is being read
	left   int    // preferences that the field may still yield
}

// records reads the records of a field.
func (r *reader) records(f *field, records iter.Seq2[int, string]) {
	r.left = valuesMost
	for line, value := range records {
		r.value(f, line, value, value)
	}
}

// beforeGroups returns the part of a file that stands before its first group.
func beforeGroups(f *matcher.File) *matcher.File {
	first := math.MaxInt
	for line := range f.Agents() {
		first = line
		break
	}
	var text []byte
	for line, written := range f.Lines() {
		if line >= first {
			break
		}
		text = append(append(text, written...), '\n')
	}
	return matcher.Parse(text, matcher.Dialect{})
}

// recordsOnPath reads the records of a field whose value may begin with a path pattern
// (draft-ietf-aipref-attach, section 3.1). Of the records that match the target, those
// with the longest pattern count, with equally long ones together.
func (r *reader) recordsOnPath(f *field, g *matcher.Group, target string) {
	var paths []string // the different patterns
	said := map[string][]Preference{}
	count := 0
	for line, value := range g.Other(string(f.kind)) {
		if count++; count > recordsMost {
			r.source = newSource(f, line, value)
			r.skip("more than 4,096 records: the rest is not read")
			break
		}
		path := ""
		if strings.HasPrefix(value, "/") {
			path = value[:indexOr(value, " \t")]
		}
		one := reader{left: valuesMost}
		one.value(f, line, value, strings.TrimLeft(value[len(path):], " \t"))
		for _, k := range one.set.skipped {
			r.addSkip(k)
		}
		if len(one.set.skipped) > 0 && len(one.set.preferences) == 0 {
			continue // absent
		}
		if _, known := said[path]; !known {
			paths = append(paths, path)
		}
		said[path] = append(said[path], one.set.preferences...)
	}
	r.left = valuesMost
	for _, path := range longest(paths, target) {
		for _, p := range said[path] {
			r.source = p.Source
			r.add(p.Label, p.Value)
		}
	}
}

// longest returns the longest of the path patterns that match a target, all of one length, or the
// empty pattern, which matches all, if no other does.
func longest(patterns []string, target string) []string {
	found, length := []string{""}, 0
	for _, p := range patterns {
		switch n, ok := (matcher.Dialect{}).MatchPattern(p, target); {
		case !ok || n < length:
		case n > length:
			found, length = []string{p}, n
		default:
			found = append(found, p)
		}
	}
	return found
}

// newSource returns the source of a value.
func newSource(f *field, line int, value string) Source {
	return Source{f.kind, line, strings.Clone(clean.Cut(strings.Trim(value, " \t"), textMost))}
}

// value reads one value of a field. written is the value with what stands before it.
func (r *reader) value(f *field, line int, written, value string) {
	r.source = newSource(f, line, written)
	if len(value) > fieldMost {
		if !f.list {
			r.skip("longer than 64 KiB")
			return
		}
		r.skip("longer than 64 KiB: the rest is not read")
		value = cutList(value, fieldMost)
	}
	f.read(r, f, value)
}

// add adds a preference.
func (r *reader) add(label string, v Value) {
	switch {
	case len(label) > labelMost:
		r.skip("a label is longer than 256 bytes")
	case r.left > 0:
		r.left--
		r.set.preferences = append(r.set.preferences, Preference{label, v, r.source})
	case r.left == 0:
		r.left = -1
		r.skip("more than 1,024 values: the rest is not read")
	}
}

// skip lists the value that is being read as skipped.
func (r *reader) skip(reason string) { r.addSkip(Skip{r.source, reason}) }

// addSkip lists a skipped value, once.
func (r *reader) addSkip(s Skip) {
	if n := len(r.set.skipped); n < skippedMost && !(n > 0 && r.set.skipped[n-1] == s) {
		r.set.skipped = append(r.set.skipped, s)
	}
}

// dictionary reads a dictionary of tokens (draft-ietf-aipref-vocab, section 6.5).
func (r *reader) dictionary(f *field, value string) {
	d, err := httpsfv.UnmarshalDictionary([]string{value})
	if err != nil {
		r.skip("not a dictionary (RFC 9651): " + err.Error())
		return
	}
	for _, label := range d.Names() {
		member, _ := d.Get(label)
		item, _ := member.(httpsfv.Item)
		token, isToken := item.Value.(httpsfv.Token)
		v := Unknown
		switch {
		case isToken && string(token) == f.allowed:
			v = Allowed
		case isToken && string(token) == f.denied:
			v = Denied
		}
		r.add(strings.Clone(label), v)
	}
}

// word reads a value that is one of two words. The label is the name of the field.
func (r *reader) word(f *field, value string) {
	switch strings.Trim(value, " \t") {
	case f.allowed:
		r.add(string(f.kind), Allowed)
	case f.denied:
		r.add(string(f.kind), Denied)
	default:
		r.skip("neither " + f.allowed + " nor " + f.denied)
	}
}

// terms reads a value that names terms of use. The label is the name of the field.
func (r *reader) terms(f *field, value string) {
	if strings.Trim(value, " \t") == "" {
		r.skip("empty")
		return
	}
	r.add(strings.ToLower(string(f.kind)), Unknown)
}

// indexOr returns where the first of some bytes is in s, or the length of s.
func indexOr(s, bytes string) int {
	if i := strings.IndexAny(s, bytes); i >= 0 {
		return i
	}
	return len(s)
}
