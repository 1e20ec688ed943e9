//go:build race

package policy_test

// raceDetector says that the race detector is on, with which code takes about ten times as long.
const raceDetector = true
