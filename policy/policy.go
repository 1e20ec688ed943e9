// Package policy decides, from what a retrieval of robots.txt produced, what a
// crawler may do: the access results of RFC 9309, section 2.3.1, the caching of
// section 2.4 and the limits of section 2.5. It is pure. It opens no
// connection, reads no clock, starts no goroutine and holds no lock; time comes
// in as an argument.
//
// Most programs want package fetcher, which does the retrieving. This package
// alone is for a crawler that has its own HTTP stack and wants the same
// rulings:
//
//	p := policy.RFC9309()
//	if rec.Due(now) {                       // a nil Record is always due
//		rec = p.Learn(rec, retrieve(robots)) // retrieve fills an Attempt
//	}
//	if d := rec.Decide("ExampleBot", target, now); !d.Allowed() {
//		log.Print(d) // says why, and when to come back
//	}
//
// # What you need to think about
//
// A [Record] is all that is remembered of one scheme and authority. It is
// immutable: [Profile.Learn] returns the next one. Keep one Record per
// scheme+authority, and never ask it about a URL of another.
//
// Three verdicts, not two. [Disallow] is the site's word and final; [Defer]
// means that there is no ruling yet because robots.txt could not be had, and
// carries the time of the next try. A frontier may drop a disallowed URL and
// must keep a deferred one.
//
// An [Attempt] is filled from the final answer of one retrieval, after
// redirects. What makes an answer final is described there; a body that broke
// off goes into Err, because a file cut by the network must not pass for a
// whole one.
//
// # Profiles
//
// A [Profile] is plain data: numbers and tables, one documented field each.
// [RFC9309] is the default, [Strict] reads every liberty in the careful
// direction, and [Google], [Google2019], [Draft2019] and [Koster1996] follow
// those texts. Each function returns a fresh value that the caller may change
// before use; [Profile.Check] says whether the result still makes sense.
//
// # Bad input
//
// Nothing a server sends is an error here. Odd statuses, headers of any size
// and bodies of any content lead to the row of the decision table that covers
// them. Text from a server is quoted and bounded wherever a [Decision] prints
// it.
package policy

import "fmt"

// Access is the result of retrieving robots.txt, in the words of RFC 9309,
// section 2.3.1. The zero value is the careful one.
type Access uint8

const (
	Unreachable Access = iota // 2.3.1.4: the file is undefined, complete disallow
	Successful                // 2.3.1.1: the rules are followed
	Unavailable               // 2.3.1.3: there is no file, anything may be accessed
	Restricted                // the 1996 draft, section 3.1: the site is closed to robots
)

var accessNames = [...]string{"unreachable", "successful", "unavailable", "restricted"}

// String returns the word of the RFC in lower case.
func (a Access) String() string { return name(accessNames[:], int(a), "access") }

// MarshalText returns the same word as String.
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Verdict is the ruling on one URL. The zero value is the careful one.
type Verdict uint8

const (
	Disallow Verdict = iota // the site's rules forbid it
	Defer                   // no ruling can be had now; ask again later
	Allow
)

var verdictNames = [...]string{"disallow", "defer", "allow"}

// String returns the verdict in lower case.
func (v Verdict) String() string { return name(verdictNames[:], int(v), "verdict") }

// MarshalText returns the same word as String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// name is the i-th of names, or something readable for a value out of range.
func name(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
