//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/fleettest"
)

func TestMain(m *testing.M) {
	fleettest.RunWorker()
	os.Exit(m.Run())
}

// TestFigures measures some figures for a second.
func TestFigures(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("no redis-server on this machine")
	}
	var text strings.Builder
	for _, name := range []string{"alone", "warm", "cold"} {
		if err := run(&text, time.Second, name); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("\n" + text.String())
	if n := strings.Count(text.String(), " want "); n != 4 {
		t.Errorf("%d figures, want 4", n)
	}
}
