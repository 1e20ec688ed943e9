//go:build !unix

// Package cputime measures processor time.
package cputime

import "time"

var began = time.Now()

// Used returns the time since the start of the process: the processor time is not
// known here.
func Used() time.Duration { return time.Since(began) }
