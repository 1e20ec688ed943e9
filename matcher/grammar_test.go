package matcher

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/rfc9309/polite/internal/grammar"
)

// TestGrammar compares with the reference on random files of the grammar of RFC 9309.
// POLITE_QUESTIONS is the number of questions, if it is set.
func TestGrammar(t *testing.T) {
	questions := 20_000
	if n, err := strconv.Atoi(os.Getenv("POLITE_QUESTIONS")); err == nil {
		questions = n
	}
	g := grammar.Files()
	r := rand.New(rand.NewPCG(9309, 1))
	applied, decided := 0, 0
	for i := 0; i < questions && !t.Failed(); {
		for _, q := range g.Ask(r, 10) {
			for _, d := range dialects {
				compare(t, d.dialect, q.File, q.Token, q.Target)
			}
			m := Parse([]byte(q.File), Dialect{}).Match(q.Token, q.Target)
			if m.Agent != "" {
				applied++
			}
			if m.Rule.Line > 0 {
				decided++
			}
			i++
		}
	}
	if applied < questions/4 || decided < questions/20 {
		t.Errorf("of %d questions a group applied to %d, and a rule decided %d", questions, applied, decided)
	}
	t.Logf("%d questions: a group applied to %d, and a rule decided %d", questions, applied, decided)
}
