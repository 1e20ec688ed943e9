package pace

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A quota with nothing left is a rest until its reset, whatever the status. It does
// not change what the next pause starts from.
func TestQuota(t *testing.T) {
	left := func(reset string) http.Header { return http.Header{"Ratelimit": {`"default";r=0;t=` + reset}} }
	both := func(after, reset string) http.Header {
		h := left(reset)
		h.Set("Retry-After", after)
		return h
	}
	aged := left("30")
	aged.Set("Age", "1")
	for _, test := range []struct {
		name   string
		status int
		header http.Header
		wait   time.Duration
		why    Reason
		level  time.Duration
	}{
		{"a_page", 200, left("30"), 30 * time.Second, ReasonQuota, 0},
		{"a_missing_page", 404, left("30"), 30 * time.Second, ReasonQuota, 0},
		{"an_error", 500, left("30"), 30 * time.Second, ReasonQuota, 0},
		{"older_fields", 200, http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"7"}}, 7 * time.Second, ReasonQuota, 0},
		{"capped_by_pause", 200, left("86400"), 15 * time.Minute, ReasonQuota, 0},
		{"overload", 429, left("30"), 30 * time.Second, ReasonQuota, time.Second},
		{"retry_after_wins", 429, both("5", "30"), 5 * time.Second, ReasonPause, 5 * time.Second},
		{"retry_after_of_a_page_is_none", 200, both("5", "30"), 30 * time.Second, ReasonQuota, 0},
		{"malformed_retry_after", 503, both("-5", "30"), 30 * time.Second, ReasonQuota, time.Second},
		{"malformed", 200, left("x"), 0, ReasonNone, 0},
		{"negative", 200, left("-30"), 0, ReasonNone, 0},
		{"aged", 200, aged, 0, ReasonNone, 0},
		{"some_left", 200, http.Header{"Ratelimit": {`"default";r=1;t=30`}}, 0, ReasonNone, 0},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pacer(t, Limits{}, nil)
				turn := take(t, p, host1, 0)
				turn.Answer(test.status, test.header)
				turn.Done()
				at, why := peek(p, host1, 0)
				if got := time.Until(at); got != test.wait || why != test.why {
					t.Errorf("the next request waits %v for %q; want %v for %q", got, why, test.wait, test.why)
				}
				if got := p.hosts.byName[host1].pause.level; got != test.level {
					t.Errorf("the next pause starts from %v, want %v", got, test.level)
				}
			})
		})
	}
}
