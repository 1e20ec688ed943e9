package policy

import (
	"math"
	"net/http"
	"time"
	"unsafe"

	"github.com/rfc9309/polite/matcher"
)

// This file has what is remembered of an authority: RFC 9309, section 2.4.

// Record is all that is remembered of one authority (scheme, host and port):
// the cached copy of its robots.txt if there is one, how the last fetch ended,
// and when the next fetch is due. A Record is immutable and safe for concurrent
// use. A nil or zero Record knows nothing.
type Record struct {
	// A crawler keeps a million records, so the parts that many records lack are
	// behind pointers: a plain 404 takes 64 bytes and its URL. Times are
	// nanoseconds since 1970; 0 is no time.

	profile *Profile
	robots  string      // the URL fetched, at the initial authority
	answer  *answer     // how the last fetch ended
	copy    *cachedCopy // nil without a copy
	outage  *outage     // nil unless the last fetch failed
	learnt  int64       // when the last fetch ended
	next    int64       // when the next fetch is due
}

// answer is how a fetch ended.
type answer struct {
	status  int32 // 0 if there was no answer
	access  Access
	noStore bool   // a client error that must not be stored; copies have their own mark
	served  string // the URL that answered, "" if it is Record.robots
	cause   string // why there is no file, in words; "" if there is one
	clause  string // the clause that a decision without a copy rests on
}

// Most records have one of these answers. To share them saves 64 bytes each.
var (
	fileFound = &answer{status: 200, access: Successful}
	notFound  = &answer{status: 404, access: Unavailable, cause: "status 404 Not Found", clause: "2.3.1.3"}
)

// shared returns the shared answer that equals a, or a copy of a.
func (a answer) shared() *answer {
	switch a {
	case *fileFound:
		return fileFound
	case *notFound:
		return notFound
	}
	own := a
	return &own
}

// cachedCopy is a file with its lifetime (RFC 9309, section 2.4).
type cachedCopy struct {
	text      *Text
	source    source
	fetched   int64         // when the file was received or last confirmed
	expires   int64         // the end of its lifetime; 0 for a copy that counts as expired
	declared  time.Duration // the lifetime that its server declared, or undeclared
	notRobots bool          // an HTML page or binary data without one rule
	noStore   bool          // Cache-Control: no-store came with it
}

// source is where a copy came from and what confirms it.
type source struct {
	origin   string // the URL that served it, "" if it is Record.robots
	etag     string
	modified int64 // the Last-Modified date in seconds since 1970
}

// blank reports whether nothing is known.
func (r *Record) blank() bool { return r == nil || r.profile == nil }

// Due reports whether robots.txt must be fetched before the record is used:
// nothing is known, the copy or the last answer has expired, or the record is
// from the future because the clock was set back. Differences of less than
// Fresh.Min between the clocks of a fleet are ignored.
func (r *Record) Due(now time.Time) bool {
	at := nanos(now)
	return at >= r.dueAt(at)
}

// dueAt returns when the next fetch is due, as known at now: at now if nothing is known,
// and at now at the latest if the record is from the future.
func (r *Record) dueAt(now int64) int64 {
	switch {
	case r.blank():
		return now
	case r.fromFuture(now):
		return min(r.next, now)
	}
	return r.next
}

// fromFuture reports whether the clock was set back since the record was made,
// by more than clocks differ.
func (r *Record) fromFuture(now int64) bool { return r.profile.future(r.learnt, now) }

// future reports whether at lies so far after now that the clock must have been
// set back.
func (p *Profile) future(at, now int64) bool { return at > addSpan(now, p.Fresh.Min) }

// NextTry returns when the next fetch is due, unless the clock is set back: see Due.
// It is zero for a nil Record.
func (r *Record) NextTry() time.Time {
	if r.blank() {
		return time.Time{}
	}
	return unix(r.next)
}

// NoStore reports whether the record rests on an answer with Cache-Control:
// no-store (RFC 9111, section 5.2.2.5). It must not be written to a store.
func (r *Record) NoStore() bool {
	return !r.blank() && (r.answer.noStore || r.copy != nil && r.copy.noStore)
}

// Validators returns the header fields that make the next request conditional,
// If-None-Match and If-Modified-Since, or nil if there are none. They belong to
// the URL Origin and must be sent to no other. The caller owns the result.
func (r *Record) Validators() http.Header {
	if r.blank() || r.copy == nil || !r.profile.Conditional {
		return nil
	}
	src, h := r.copy.source, http.Header{}
	if src.etag != "" {
		h.Set("If-None-Match", src.etag)
	}
	if src.modified != 0 {
		h.Set("If-Modified-Since", time.Unix(src.modified, 0).UTC().Format(http.TimeFormat))
	}
	if len(h) == 0 {
		return nil
	}
	return h
}

// File returns the cached copy, nil if there is none. It compiles the group of a token
// once. Its methods that read lines inflate the text, which takes about 30 microseconds.
func (r *Record) File() *matcher.File {
	if t := r.Text(); t != nil {
		return t.file
	}
	return nil
}

// Text returns the text of the cached copy, nil if there is none.
func (r *Record) Text() *Text {
	if r == nil || r.copy == nil {
		return nil
	}
	return r.copy.text
}

// Robots returns the URL of robots.txt at the initial authority, "" for a nil
// Record.
func (r *Record) Robots() string {
	if r == nil {
		return ""
	}
	return r.robots
}

// Origin returns the URL that served the copy, after redirects.
func (r *Record) ServedFrom() string {
	if r != nil && r.copy != nil && r.copy.source.origin != "" {
		return r.copy.source.origin
	}
	return r.Robots()
}

// Size returns how many bytes of memory the record retains, without the text of
// its copy, which records may share: see [Text.Size].
func (r *Record) Size() int {
	if r == nil {
		return 0
	}
	size := int(unsafe.Sizeof(*r)) + len(r.robots)
	if a := r.answer; a != nil && a != fileFound && a != notFound {
		size += int(unsafe.Sizeof(*a)) + len(a.served) + len(a.cause) + len(a.clause)
	}
	if r.outage != nil {
		size += int(unsafe.Sizeof(*r.outage))
	}
	if c := r.copy; c != nil {
		size += int(unsafe.Sizeof(*c)) + len(c.source.origin) + len(c.source.etag)
	}
	return size
}

// Share returns the record with the text t in place of its own, if they are the
// same, so that authorities that serve one text keep it once. Otherwise it
// returns r itself.
func (r *Record) Share(t *Text) *Record {
	if own := r.Text(); own == t || own == nil || !t.is(own.file.Dialect(), own.digest) {
		return r
	}
	shared, c := *r, *r.copy
	c.text = t
	shared.copy = &c
	return &shared
}

// maxTime is the last moment that a record can have, in the year 2200.
const maxTime = int64(230 * 365 * day)

// addSpan returns the moment when span has passed since at, or the last one that an int64 can
// count: a profile may have spans of any length.
func addSpan(at int64, span time.Duration) int64 { return at + min(int64(span), math.MaxInt64-at) }

// nanos returns t in nanoseconds since 1970, never 0, which stands for no time.
// Moments before 1970 count as 1970 and those after maxTime as maxTime.
func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case s < 0:
		return 1
	case s >= maxTime/int64(time.Second):
		return maxTime
	}
	return max(t.UnixNano(), 1)
}

// unix returns the time of ns nanoseconds since 1970; 0 is the zero time.
func unix(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
