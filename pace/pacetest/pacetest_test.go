package pacetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
)

// The reference is tested in virtual time, which no busy machine delays.
func TestReferenceKeepsThePromises(t *testing.T) {
	for _, p := range promises() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { p.test(&desk{t, newReference(), host}) })
		})
	}
}

// breaches are ways to break a promise, and the test that must notice.
var breaches = []struct{ breaks, test string }{
	{"serves the last first", "order"},
	{"looks at one gap", "gap"},
	{"does not wait for the sending", "sent"},
	{"takes a renewal for the sending", "sent"},
	{"has places without end", "parallel"},
	{"decides in two steps", "at_once"},
	{"keeps the dead", "life"},
	{"brings back the dead", "life"},
	{"keeps a place for a next start", "life"},
	{"keeps the dead in the queue", "life_in_the_queue"},
	{"gives each question a start", "lost_answer"},
	{"puts the late last", "late"},
	{"forgets After", "next_start"},
	{"puts a next start last", "next_start"},
	{"keeps a start that is given back", "next_start"},
	{"keeps a start that is given back", "given_back"},
	{"believes in the future", "clock"},
	{"moves the last start back", "clock"},
	{"sends no message", "watch"},
	{"loses a start with its message", "lost_message"},
	{"ends a pause sooner", "pause"},
	{"lowers the level with a pause", "pause"},
	{"takes a quota for a pause", "pause"},
	{"takes no news for news", "pause"},
	{"waits for long answers", "failures"},
	{"waits for the body of the probe", "probe_answered"},
	{"counts old requests", "failures"},
	{"lets all requests fail", "failures"},
	{"forgets the cause", "failures"},
	{"grants many probes", "probe"},
	{"waits for a dead probe", "probe"},
	{"doubles the rest without end", "probe"},
	{"counts registrations", "count"},
	{"counts the gone", "count"},
	{"folds authorities", "authorities"},
	{"overflows", "any_size"},
	{"takes a place before all have room", "scopes"},
	{"forgets scopes", "scopes"},
	{"forgets to end scopes", "scopes"},
	{"looks at one gap", "gap_of_a_scope"},
	{"does not look at who waited", "order_in_a_scope"},
	{"keeps a start that is given back", "start_given_back_in_scopes"},
	{"keeps authorities and scopes apart", "scope_of_an_authority"},
	{"keeps the dead", "scope_of_the_dead"},
	{"keeps the dead in the queue", "scope_of_the_dead"},
	{"sends no message", "message_of_a_scope"},
	{"keeps nothing free", "kept_scope"},
}

// inChild is set in the environment of a child process, which runs the tests that must fail.
const inChild = "POLITE_PACETEST_BREACHES"

func TestBreach(t *testing.T) {
	if os.Getenv(inChild) == "" {
		t.Skip("run by TestEveryBreachIsNoticed")
	}
	for _, b := range breaches {
		for _, p := range promises() {
			if p.name == b.test {
				t.Run(strings.ReplaceAll(b.breaks, " ", "_")+"/"+p.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						store := newReference()
						store.breaks = b.breaks
						p.test(&desk{t, store, host})
					})
				})
			}
		}
	}
}

func TestEveryBreachIsNoticed(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestBreach$", "-test.v")
	child.Env = append(os.Environ(), inChild+"=1")
	out, err := child.CombinedOutput()
	if err == nil {
		t.Fatalf("all promises held of stores that break them:\n%s", out)
	}
	for _, b := range breaches {
		line := fmt.Sprintf("--- FAIL: TestBreach/%s/%s ", strings.ReplaceAll(b.breaks, " ", "_"), b.test)
		if !strings.Contains(string(out), line) {
			t.Errorf("a store that %s passes the test %q", b.breaks, b.test)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
