// Package conformance writes docs/conformance.md: the texts that the profiles
// follow, sentence by sentence, what each profile does about it, and the tests
// that prove it.
//
// The answers are not written by hand. Each requirement carries a probe, which
// tries a profile with a case and returns what it did. It also names its proofs:
// test vectors, or subtests whose name begins with a clause, in any package.
//
// Write the page with
//
//	go test ./internal/conformance -update
//
// Without the flag the tests fail if an answer differs from the page, if a proof
// does not exist, or if a profile departs from its text and docs/deviations.md
// has no reason. With POLITE_SPEC set to a folder that has the texts, they also
// compare each quotation word for word, and fail if a MUST, SHOULD or MAY of RFC
// 9309 is not quoted.
package conformance
