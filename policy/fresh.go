package policy

import (
	"math"
	"time"

	"github.com/rfc9309/polite/internal/field"
)

// This file says how long a copy is used: RFC 9309, section 2.4.

// undeclared is the declared lifetime of a copy whose server has declared none.
const undeclared time.Duration = -1

// lifetime is how long a copy is used before the next fetch (RFC 9309, section
// 2.4, with the words of RFC 9111): what its server has declared, at most Max,
// less the age of the answer and the time that its fetch took. It is at least Min. It
// is at least MinStale if the server has declared none, or if the age alone makes the answer
// stale.
//
// There is no heuristic on Last-Modified: Default is the lifetime of an answer that
// declares none.
func (f Fresh) lifetime(declared, age, took time.Duration) time.Duration {
	ttl, shortest := declared, f.Min
	if declared == undeclared {
		ttl = f.Default
	}
	left := min(ttl, f.Max) - age
	if declared == undeclared || declared != 0 && left <= 0 {
		shortest = max(shortest, f.MinStale)
	}
	return max(max(left, 0)-took, shortest)
}

// declaredLifetime returns the lifetime that an answer declares: 0 if it must be
// revalidated before each use, undeclared if it says nothing. Max-age overrides
// Expires (RFC 9111, section 5.3).
func (a *Attempt) declaredLifetime() time.Duration {
	h, c := a.Header, field.ReadCacheControl(a.Header)
	switch {
	case c.NoStore || c.NoCache || field.Lists(h["Pragma"], "no-cache") || field.Lists(h["Vary"], "*"):
		return 0
	case c.MaxAge >= 0:
		return c.MaxAge
	}
	return a.expiresLifetime()
}

// expiresLifetime returns the lifetime that the Expires lines give. It counts from the
// answer's own Date or from now, whichever is later, since either clock may be wrong. If
// there are several lines the earliest counts. A line that cannot be read, such as the
// frequent "0" or "-1", means the past (RFC 9111, section 5.3).
func (a *Attempt) expiresLifetime() time.Duration {
	lines := a.Header["Expires"]
	if len(lines) == 0 {
		return undeclared
	}
	from := a.Received
	if date := field.Date(a.Header.Get("Date")); date.After(from) {
		from = date
	}
	shortest := time.Duration(math.MaxInt64)
	for _, line := range lines {
		shortest = min(shortest, max(field.Date(line).Sub(from), 0))
	}
	return shortest
}
