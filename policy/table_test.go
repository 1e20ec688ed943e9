package policy_test

import (
	"testing"

	"github.com/rfc9309/polite/internal/table"
)

// TestTable plays each row of the decision table.
func TestTable(t *testing.T) {
	for _, r := range table.Rows() {
		t.Run(r.Profile, func(t *testing.T) { play(t, profile(t, r.Profile), story{r.Name, r.Steps}) })
	}
}
