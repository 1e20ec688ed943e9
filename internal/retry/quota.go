package retry

import (
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// Quota returns how long the answer with header h asks its client to rest because no
// request of a quota is left, counted from now(). The result is more than 0 and at most
// most. It is false if a request is left, if the answer does not say until when none
// is left, or if it says so in a way that cannot be read.
//
// Quota reads RateLimit (draft-ietf-httpapi-ratelimit-headers). If it is absent, Quota
// reads the older fields RateLimit-Remaining and RateLimit-Reset, with and without "X-".
// An older reset is a number of seconds or, from 1,000,000,000 on, a Unix time, which is
// compared with the Date of the answer. If several quotas have nothing left, the longest
// rest counts.
//
// An answer with an Age comes from a cache. Its quotas are out of date and are ignored.
func Quota(h http.Header, now func() time.Time, most time.Duration) (time.Duration, bool) {
	reset, found := int64(0), false
	if lines := h["Ratelimit"]; lines != nil {
		reset, found = rateLimitReset(lines)
	} else {
		for _, names := range olderNames {
			if r, ok := olderReset(h, names[0], names[1], now); ok {
				reset, found = max(reset, r), true
			}
		}
	}
	if !found || reset <= 0 || most <= 0 || h["Age"] != nil {
		return 0, false
	}
	if reset > int64(most/time.Second) {
		return most, true
	}
	return time.Duration(reset) * time.Second, true
}

// maxRateLimit bounds the RateLimit field that is read, in bytes. net/http accepts 10 MB of
// header, and a parsed list takes forty times its length.
const maxRateLimit = 8 << 10

// rateLimitReset returns the longest reset, in seconds, of the quotas of a RateLimit
// field that have nothing left. If one quota is malformed, or the field is longer than
// maxRateLimit, the whole field is ignored.
func rateLimitReset(lines []string) (reset int64, ok bool) {
	size := -1 // a comma comes before every line but the first
	for _, line := range lines {
		size += len(line) + 1
	}
	if size > maxRateLimit {
		return 0, false
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		return 0, false
	}
	for _, member := range list {
		quota, _ := member.(httpsfv.Item)
		if _, named := quota.Value.(string); !named {
			return 0, false
		}
		left, valid := integer(quota.Params, "r")
		if !valid {
			return 0, false
		}
		if _, hasReset := quota.Params.Get("t"); !hasReset {
			continue
		}
		after, valid := integer(quota.Params, "t")
		if !valid {
			return 0, false
		}
		if left == 0 {
			reset, ok = max(reset, after), true
		}
	}
	return reset, ok
}

// integer returns a parameter of a quota. It must be an integer of at least 0.
func integer(p *httpsfv.Params, name string) (int64, bool) {
	v, _ := p.Get(name)
	n, ok := v.(int64)
	return n, ok && n >= 0
}

// olderNames are the names of two pairs of older fields: how much is left, and until when.
var olderNames = [][2]string{{"Ratelimit-Remaining", "Ratelimit-Reset"}, {"X-Ratelimit-Remaining", "X-Ratelimit-Reset"}}

// olderReset returns the reset, in seconds, of the quota in a pair of older fields of h.
// It reports false if the quota has something left.
func olderReset(h http.Header, remaining, until string, now func() time.Time) (reset int64, ok bool) {
	left, ok := digits(h[remaining])
	if !ok || left != 0 {
		return 0, false
	}
	reset, ok = digits(h[until])
	if ok && reset >= firstUnix {
		sent, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			sent = now()
		}
		reset -= sent.Unix()
	}
	return reset, ok
}

// firstUnix is the smallest reset that is read as a Unix time: 9 September 2001. As a
// number of seconds it would be 31 years.
const firstUnix = 1_000_000_000

// digits reads a field that must be one line of digits. A number of seconds that no
// Duration can hold is read as the longest Duration.
func digits(lines []string) (int64, bool) {
	if len(lines) != 1 {
		return 0, false
	}
	d, ok := seconds(strings.Trim(lines[0], " \t"), math.MaxInt64)
	return int64(d / time.Second), ok
}
