// Package conformance writes docs/conformance.md: RFC 9309 clause by clause,
// what each profile does about it, and the tests that prove it.
//
// The answers are not written by hand. Each requirement carries a probe, which
// puts a profile to the case and reports what came of it. It also names its
// proofs: test vectors, or subtests whose name begins with a clause, in
// whatever package they stand.
//
// The page is written anew by
//
//	go test ./internal/conformance -update
//
// Without the flag the tests fail if an answer differs from the page, if a
// requirement names a proof that there is no more, or if the default profile
// fails a MUST. New tests elsewhere are no concern of this package.
package conformance
