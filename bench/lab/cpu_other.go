//go:build !unix

package main

import "time"

var began = time.Now()

// cpuTime returns the time since the start of the process: the processor time is not
// known here.
func cpuTime() time.Duration { return time.Since(began) }
