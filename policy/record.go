package policy

import (
	"math"
	"net/http"
	"time"
	"unsafe"

	"github.com/rfc9309/polite/matcher"
)

// Record is all that is remembered of one scheme and authority: the copy of its
// robots.txt, if there is one, what the last retrieval came to, and when to ask
// again. It is immutable and safe for concurrent use. A nil *Record is that of
// an authority nothing is known of, and so is the zero Record.
//
// It is kept small, because a crawler holds a million of them: times are
// nanoseconds since 1970 with 0 for none, and what few records need is in
// detail.
type Record struct {
	profile *Profile
	file    *matcher.File // the copy, nil if there is none
	robots  string        // the URL asked
	more    *packed       // the detail, nil if all of it is zero
	at      int64         // when the last retrieval ended
	fetched int64         // when the copy was received or last confirmed
	end     int64         // until when the copy governs by itself
	next    int64         // when to ask again
	status  int32         // of the last retrieval, 0 if there was no answer
	access  Access        // of the last retrieval
	fails   uint8         // failures in a row, for the spacing of tries
	flags   flags
}

type flags uint8

const (
	answered flags = 1 << iota // a server error was seen in this outage
	hold                       // the last answer asks for patience
	page                       // the copy is an HTML page without a rule
	allFlags = answered | hold | page
)

// blank reports that nothing is known.
func (r *Record) blank() bool { return r == nil || r.profile == nil }

// Due reports whether robots.txt must be asked for again before the record is
// used: nothing is known, the copy or the last answer has had its time, or the
// record is from the future because the clock was set back. Clocks of a fleet
// that differ by less than the profile's shortest lifetime do not count as that.
func (r *Record) Due(now time.Time) bool {
	return r.blank() || r.due(nanos(now))
}

func (r *Record) due(now int64) bool { return now >= r.next || r.fromFuture(now) }

// fromFuture reports that the clock was set back since the record was made, by
// more than clocks differ.
func (r *Record) fromFuture(now int64) bool {
	return now < r.at-int64(r.profile.Fresh.Least)
}

// NextTry is when the file is asked for again. It is zero for a nil Record.
func (r *Record) NextTry() time.Time {
	if r.blank() {
		return time.Time{}
	}
	return unix(r.next)
}

// Validators returns the header lines that make the next request conditional,
// If-None-Match and If-Modified-Since, or nil if there are none. They belong to
// the URL Origin and must be sent to no other. The caller owns the result.
func (r *Record) Validators() http.Header {
	if r.blank() || r.file == nil || r.more == nil || !r.profile.Conditional {
		return nil
	}
	h, m := http.Header{}, r.detail()
	if m.etag != "" {
		h.Set("If-None-Match", m.etag)
	}
	if m.lastModified != "" {
		h.Set("If-Modified-Since", m.lastModified)
	}
	if len(h) == 0 {
		return nil
	}
	return h
}

// File returns the copy in use, nil if there is none.
func (r *Record) File() *matcher.File {
	if r == nil {
		return nil
	}
	return r.file
}

// Robots is the URL of robots.txt at the initial authority, "" for a nil Record.
func (r *Record) Robots() string {
	if r == nil {
		return ""
	}
	return r.robots
}

// Origin is the URL the copy came from, after redirects.
func (r *Record) Origin() string {
	if r == nil {
		return ""
	}
	if o := r.detail().origin; o != "" {
		return o
	}
	return r.robots
}

// served is the URL of the last answer.
func (r *Record) served() string {
	if s := r.detail().served; s != "" {
		return s
	}
	return r.robots
}

// Size is how many octets of memory the record retains, its copy not counted:
// see File().Size. Records may share one copy.
func (r *Record) Size() int {
	if r == nil {
		return 0
	}
	return int(unsafe.Sizeof(*r)) + len(r.robots) + r.detailSize()
}

// Share returns the record with its copy replaced by f, so that authorities
// that serve the same text hold it once. It returns r itself unless f says the
// same as the copy, octet for octet of every rule.
func (r *Record) Share(f *matcher.File) *Record {
	if r == nil || r.file == nil || r.file == f || !r.file.Equal(f) {
		return r
	}
	shared := *r
	shared.file = f
	return &shared
}

// latest is the last moment that is told apart, in the year 2200.
const latest = int64(230 * 365 * day)

// after is the moment when span has passed since at. A span may be as long as a
// profile says; the sum ends with the count of nanoseconds.
func after(at int64, span time.Duration) int64 { return at + min(int64(span), math.MaxInt64-at) }

// nanos is t in nanoseconds since 1970, never 0, which stands for no time.
// Moments before 1970 count as 1970 and those after latest as latest.
func nanos(t time.Time) int64 {
	switch s := t.Unix(); {
	case s < 0:
		return 1
	case s >= latest/int64(time.Second):
		return latest
	}
	return max(t.UnixNano(), 1)
}

// unix is the time of ns nanoseconds since 1970; 0 is the zero time.
func unix(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
