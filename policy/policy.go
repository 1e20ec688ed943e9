// Package policy decides, from what a fetch of robots.txt produced, what a
// crawler may do: the access results of RFC 9309, section 2.3.1, the caching of
// section 2.4 and the limits of section 2.5. It is pure: it opens no connection,
// reads no clock, starts no goroutine and holds no lock.
//
// Most programs want package fetcher, which does the fetching. This package
// alone is for a crawler that has its own HTTP stack and wants the same
// decisions:
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
// A [Record] is all that is remembered of one authority: one scheme, host and port. It is
// immutable: [Profile.Learn] returns the next one. Keep one Record for each authority, for
// instance under the key that fetcher.Authority returns, and use it for the URLs of this
// authority alone.
//
// There are three verdicts, not two. [Disallow] is the site's answer and final. [Defer]
// means that there is no decision yet, because robots.txt could not be fetched: try again
// at RetryAt. A frontier may drop a disallowed URL and must keep a deferred one. RetryAt
// applies to the whole host: reschedule the host, not only this URL.
//
// Times are by the wall clock, so that they mean the same after a restart. If the
// clock was set back, a record from the future counts as expired.
//
// # Filling an Attempt
//
// An [Attempt] is one retrieval as it ended, after redirects and retries. Missing
// fields are read as failures. Exception: a successful status without a body is an
// empty file.
//
//   - Follow at most Profile.Hops redirects, each to [Attempt.Location], and list
//     them in Hops. A redirect that is not followed is the final answer.
//   - Whatever ends the retrieval before the answer is complete goes into Err: a
//     file cut by the network must not pass for a whole one.
//   - A retrieval that its caller gave up is no attempt; do not learn from it.
//   - Fill in Probe if [Profile.WantsProbe] says so, after everything else.
//   - Send [Record.Validators] to the URL [Record.ServedFrom], and to no other.
//   - Fetch once more, at once, if the new record is due when the attempt ended: the
//     server has refused the validators, and the record has dropped them.
//   - Do not write a record to a store if [Record.NoStore] says so. If a store has
//     another record than you, use [Record.Merge].
//
// # Profiles
//
// A [Profile] is plain data: numbers and tables. [RFC9309] is the default, [Strict] takes
// the careful choice wherever the text leaves one, and [Google], [Google2019], [Draft2019]
// and [Koster1996] follow those texts. [Profile.Validate] says whether a profile that you
// have changed still makes sense.
//
// # Bad input and limits
//
// Nothing that a server sends is an error here: any status, header and body leads to a
// record. Text from a server is quoted and bounded wherever a [Decision] prints it. If a
// body without a declared length ends with its connection, nobody can tell whether it is
// whole. Times are kept to the nanosecond between 1970 and 2200.
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
func (a Access) String() string { return nameOf(accessNames[:], int(a), "access") }

// MarshalText returns the same word as String.
func (a Access) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Verdict is the decision on one URL. The zero value is the careful one.
type Verdict uint8

const (
	Disallow Verdict = iota // the site's rules forbid it
	Defer                   // no decision yet; ask again later
	Allow
)

var verdictNames = [...]string{"disallow", "defer", "allow"}

// String returns the verdict in lower case.
func (v Verdict) String() string { return nameOf(verdictNames[:], int(v), "verdict") }

// MarshalText returns the same word as String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// nameOf is the i-th of names, or something readable for a value out of range.
func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}
