package pacetest

import (
	"testing"
	"testing/synctest"
)

// The store in memory is tested in virtual time, which no busy machine delays.
func TestMemory(t *testing.T) {
	for _, p := range leasePromises {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { p.test(&fleetTest{t, &Memory{}, "https://example.com"}) })
		})
	}
}
