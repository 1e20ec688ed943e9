// Package conformance generates docs/conformance.md. The page lists, sentence by
// sentence, the texts that the profiles follow, what each profile does, and the
// tests that prove it.
//
// The answers are not written by hand. Each requirement has a probe, which tries a
// profile with a case and returns what it did. A requirement also names its proofs:
// test vectors, or subtests of any package whose name begins with a clause.
//
// To write the page, run
//
//	go test ./internal/conformance -update
//
// Without the flag the tests fail if an answer differs from the page, if no test source
// has the name of a proof, or if a profile departs from its text and docs/deviations.md has
// no reason. If POLITE_SPEC names a folder with the texts, the tests also compare
// each quotation word for word, and fail if a MUST, SHOULD or MAY of RFC 9309 is not
// quoted. If POLITE_RAN names a file with the output of "go test -v ./...", they fail if a
// proof did not run and pass.
//
// The tests also check docs/proof.md and docs/best-practices.md, which are written by hand: the
// tests and the quotations that the two pages name exist.
package conformance
