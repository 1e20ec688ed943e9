package retrieve_test

import (
	"cmp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestTries checks how often a hop is tried and how long a fetch takes. A failure
// of the connection is tried again, an answer is not, and all tries share one
// budget.
func TestTries(t *testing.T) {
	reset, hang := httptest.Reset(), httptest.Hang()
	to := httptest.Redirect(302, "/r")
	for _, tt := range []struct {
		name     string
		attempts int
		timeout  time.Duration
		robots   []httptest.Step
		then     []httptest.Step // of http://example.com/r
		want     string
		requests int
		took     time.Duration
	}{
		{"one_is_one", 1, 0, steps(reset, text), nil, down, 1, 0},
		{"two_by_default", 0, 0, steps(reset, text), nil, obeyed, 2, 500 * time.Millisecond},
		{"and_no_third", 0, 0, steps(reset, reset, text), nil, down, 2, 500 * time.Millisecond},
		{"three", 3, 0, steps(reset, reset, text), nil, obeyed, 3, time.Second},
		{"a_hundred_fit_into_the_budget_no_more", 100, 0, steps(reset), nil, down, 60, 29500 * time.Millisecond},
		{"a_body_that_breaks_off", 3, 0, steps(text.Cut(9), text.ResetAfter(20), text), nil, obeyed, 3, time.Second},
		{"every_hop_has_its_own", 2, 0, steps(reset, to), steps(reset, text), obeyed, 4, time.Second},
		{"503_is_final", 5, 0, steps(httptest.Status(503), text), nil, down, 1, 0},
		{"429_is_final", 5, 0, steps(httptest.Status(429).Header("Retry-After", "1"), text), nil, down, 1, 0},
		{"404_is_final", 5, 0, steps(httptest.Status(404), text), nil, nothing, 1, 0},
		{"an_unknown_coding_is_final", 5, 0, steps(text.Header("Content-Encoding", "br"), text), nil, down, 1, 0},
		{"a_malformed_answer_is_final", 5, 0, steps(httptest.Raw("rubbish\r\n\r\n"), text), nil, down, 1, 0},
		{"a_hang_uses_up_the_budget", 5, 0, steps(hang, text), nil, down, 1, 30 * time.Second},
		{"one_budget_for_all_tries", 5, 0, steps(reset.After(20*time.Second), text.After(9*time.Second)), nil, obeyed, 2, 29500 * time.Millisecond},
		{"not_one_for_each", 5, 0, steps(reset.After(20*time.Second), text.After(10*time.Second)), nil, down, 2, 30 * time.Second},
		{"one_budget_for_all_hops", 1, 0, steps(to.After(20 * time.Second)), steps(text.After(11 * time.Second)), down, 2, 30 * time.Second},
		{"body_and_head_share_it", 1, 0, steps(text.After(20*time.Second).Drip(1, time.Second)), nil, down, 1, 30 * time.Second},
		{"a_budget_of_five_seconds", 1, 5 * time.Second, steps(text.After(4 * time.Second)), nil, obeyed, 1, 4 * time.Second},
		{"and_no_longer", 1, 5 * time.Second, steps(text.After(6 * time.Second)), nil, down, 1, 5 * time.Second},
		{"a_budget_of_a_minute", 1, time.Minute, steps(text.After(50 * time.Second)), nil, obeyed, 1, 50 * time.Second},
	} {
		t.Run("4.1/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				s := web.Site(site).Robots(tt.robots...)
				if tt.then != nil {
					s.Path("/r", tt.then...)
				}
				c := over(web.Transport())
				c.Attempts, c.Timeout = cmp.Or(tt.attempts, c.Attempts), cmp.Or(tt.timeout, c.Timeout)
				began := time.Now()
				a := c.get(t, site)
				if s, n, took := decided(t, a, "/private", "/public"), len(web.Requests()), time.Since(began); s != tt.want || n != tt.requests || took != tt.took {
					t.Errorf("got  %s, %d requests, after %v\nwant %s, %d requests, after %v", s, n, took, tt.want, tt.requests, tt.took)
				}
			})
		})
	}
}
