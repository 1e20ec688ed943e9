package main

import "github.com/rfc9309/polite/policy"

// The exit codes.
const (
	exitAllowed    = 0
	exitDisallowed = 1
	exitFailed     = 2
	exitDeferred   = 3
)

// tally counts results.
type tally struct{ allowed, disallowed, deferred, none int64 }

// add counts a verdict, or an error if err is not nil.
func (t *tally) add(v policy.Verdict, err error) {
	switch {
	case err != nil:
		t.none++
	case v == policy.Allow:
		t.allowed++
	case v == policy.Defer:
		t.deferred++
	default:
		t.disallowed++
	}
}

func (t *tally) total() int64 { return t.allowed + t.disallowed + t.deferred + t.none }

// code returns the exit code.
func (t *tally) code() int {
	switch {
	case t.none > 0:
		return exitFailed
	case t.disallowed > 0:
		return exitDisallowed
	case t.deferred > 0:
		return exitDeferred
	}
	return exitAllowed
}
