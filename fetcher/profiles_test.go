package fetcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// The ages of an outage at which profiles may differ: within the first hours, at
// both sides of Google's twelve hours and at both sides of the 30 days.
var ages = []time.Duration{0, 12*time.Hour - time.Minute, 12*time.Hour + time.Minute, 30*day - time.Hour, 30*day + time.Hour}

// TestProfiles asks every profile about the events that profiles read
// differently. What comes out is given for the private page at each of the ages,
// which count from the first answer that is not the rules.
func TestProfiles(t *testing.T) {
	refused := func(_ *httptest.Web, s *httptest.Site) { s.Connect(httptest.Refused) }
	for _, tt := range []struct {
		name   string
		robots []httptest.Step // the last step is the event
		also   func(*httptest.Web, *httptest.Site)
		asks   int               // requests for each retrieval of the event
		want   map[string]string // by profile; one ruling for all ages, or one for each
	}{
		{"2.3.1.4/500_without_a_copy", steps(httptest.Status(500)), nil, 1, map[string]string{
			"rfc9309":    "defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, allow 2.3.1.4",
			"strict":     "defer 2.3.1.4",
			"google":     "defer 2.3.1.4, defer 2.3.1.4, allow house, allow house, allow 2.3.1.4",
			"google2019": "defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, allow 2.3.1.4",
			"draft2019":  "defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, allow 2.3.1.4",
			"koster1996": "defer 2.3.1.4",
		}},
		{"2.3.1.4/500_after_a_copy", steps(text, httptest.Status(500)), nil, 1, map[string]string{
			"rfc9309":    "disallow 2.4 stale, disallow 2.4 stale, disallow 2.4 stale, disallow 2.4 stale, disallow 2.3.1.4 stale",
			"strict":     "defer 2.3.1.4",
			"google":     "defer 2.3.1.4, defer 2.3.1.4, disallow house stale, disallow house stale, allow 2.3.1.4",
			"google2019": "defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, disallow 2.3.1.4 stale",
			"draft2019":  "disallow 2.4 stale, disallow 2.4 stale, disallow 2.4 stale, disallow 2.4 stale, disallow 2.3.1.4 stale",
			"koster1996": "defer 2.3.1.4",
		}},
		{"2.3.1.4/no_server", nil, refused, 0, map[string]string{
			"rfc9309":    "defer 2.3.1.4",
			"strict":     "defer 2.3.1.4",
			"google":     "defer 2.3.1.4, defer 2.3.1.4, allow house, allow house, defer 2.3.1.4",
			"google2019": "defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, defer 2.3.1.4, allow 2.3.1.4",
			"draft2019":  "defer 2.3.1.4",
			"koster1996": "defer 2.3.1.4",
		}},
		{"2.3.1.3/403", steps(text, httptest.Status(403)), nil, 1, map[string]string{
			"rfc9309": "allow 2.3.1.3", "strict": "defer house", "google": "allow 2.3.1.3", "google2019": "allow 2.3.1.3",
			"draft2019": "allow 2.3.1.3", "koster1996": "disallow house",
		}},
		{"2.3.1.3/451", steps(httptest.Status(451)), nil, 1, map[string]string{
			"rfc9309": "allow 2.3.1.3", "strict": "allow 2.3.1.3", "google": "allow 2.3.1.3", "google2019": "allow 2.3.1.3",
			"draft2019": "allow 2.3.1.3", "koster1996": "defer house",
		}},
		{"2.3.1.3/404", steps(httptest.Status(404)), nil, 1, map[string]string{
			"rfc9309": "allow 2.3.1.3", "strict": "allow 2.3.1.3", "google": "allow 2.3.1.3", "google2019": "allow 2.3.1.3",
			"draft2019": "allow 2.3.1.3", "koster1996": "allow 2.3.1.3",
		}},
		{"house/429", steps(httptest.Status(429)), nil, 1, map[string]string{
			"rfc9309": "defer house", "strict": "defer house",
			"google":     "defer house, defer house, allow house, allow house, allow 2.3.1.4",
			"google2019": "allow 2.3.1.3", "draft2019": "defer house", "koster1996": "defer house",
		}},
		{"2.3.1.2/six_redirects", steps(httptest.Redirect(301, "http://b.test/0")), chain(5), 6, map[string]string{
			"rfc9309": "allow 2.3.1.2", "strict": "defer 2.3.1.2", "google": "allow 2.3.1.2", "google2019": "allow 2.3.1.2",
			"draft2019": "allow 2.3.1.2",
		}},
	} {
		for profile, want := range tt.want {
			r := row{robots: tt.robots, also: tt.also, profile: profile}
			asks, start := 0, time.Duration(0)
			if len(tt.robots) > 1 {
				life := day
				if profile == "koster1996" {
					life = 7 * day
				}
				r.asked = append(r.asked, question{at: 0, url: private, want: "disallow 2.2.2", asks: 1})
				asks, start = 1, life
			}
			rulings := strings.Split(want, ", ")
			for i, age := range ages {
				asks += tt.asks
				r.asked = append(r.asked, question{at: start + age, url: private, want: rulings[min(i, len(rulings)-1)], asks: asks})
			}
			// One ruling that is no outage: not every age asks again.
			if len(rulings) == 1 && !strings.HasPrefix(tt.name, "2.3.1.4") {
				r.asked = r.asked[:len(r.asked)-len(ages)+1]
			}
			t.Run(tt.name+"/"+profile, r.run)
		}
	}
}

// TestProfileNumbers are the rows in which profiles differ by a number.
func TestProfileNumbers(t *testing.T) {
	for _, r := range []row{
		{name: "house/koster1996_follows_ten_redirects", profile: "koster1996", robots: steps(httptest.Redirect(301, "http://b.test/0")), also: chain(9), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", asks: 11, next: exactly(7 * day)},
		}},
		{name: "house/koster1996_and_no_eleventh", profile: "koster1996", robots: steps(httptest.Redirect(301, "http://b.test/0")), also: chain(10), asked: []question{
			{at: 0, url: private, want: "defer 2.3.1.2", asks: 11},
		}},
		{name: "house/koster1996_keeps_a_copy_for_a_week", profile: "koster1996", robots: steps(text), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", asks: 1, next: exactly(7 * day)},
			{at: 7*day - 1, url: private, want: "disallow 2.2.2", asks: 1},
			{at: 7 * day, url: private, want: "disallow 2.2.2", asks: 2},
		}},
		{name: "house/koster1996_keeps_a_copy_until_expires", profile: "koster1996", robots: steps(text.DateHeader("Expires", 100*day)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", asks: 1, next: exactly(100 * day)},
		}},
		{name: "2.3.1.3/draft2019_keeps_a_copy_for_a_day_over_404", profile: "draft2019", robots: steps(text, httptest.Status(404)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", asks: 1},
			{at: time.Hour, url: private, want: "disallow 2.2.2", asks: 2, do: refresh},
			{at: day, url: private, want: "allow 2.3.1.3", asks: 3},
		}},
		{name: "2.3.1.3/google2019_drops_the_copy_at_401", profile: "google2019", robots: steps(text, httptest.Status(401)), asked: []question{
			{at: 0, url: private, want: "disallow 2.2.2", asks: 1},
			{at: time.Hour, url: private, want: "allow 2.3.1.3", asks: 2, do: refresh},
		}},
	} {
		t.Run(r.name, r.run)
	}
}
