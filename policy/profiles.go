package policy

import (
	"math"
	"slices"
	"time"

	"github.com/rfc9309/polite/internal/status"
	"github.com/rfc9309/polite/matcher"
)

// This file has the profiles.

const (
	day = 24 * time.Hour
	// reasonablyLong is the "reasonably long period of time (for example, 30 days)"
	// of RFC 9309, section 2.3.1.4.
	reasonablyLong = 30 * day
	// minLimit is 500 KiB, the smallest limit that section 2.5 permits.
	minLimit = 500 << 10
)

// baseProfile returns what most profiles share. It defers for as long as an outage lasts.
func baseProfile(name string, d matcher.Dialect) *Profile {
	return &Profile{
		Name: name, Dialect: d, Limit: minLimit, Hops: 5, TooManyRedirects: Unavailable, Conditional: true,
		Fresh: Fresh{Default: day, Max: day, Min: time.Minute, MaxHTML: time.Hour, MinStale: time.Hour},
		Retry: Retry{
			Min: time.Minute, MaxFirstDay: time.Hour, MaxLater: 6 * time.Hour, MaxRetryAfter: day,
			AfterTooManyRedirects: time.Hour, AfterRefusedRedirect: time.Hour,
		},
		Outage: []Phase{deferring(reasonablyLong, 0), deferring(0, time.Hour)},
	}
}

// statusTable returns a table with the given rules for 4xx. The last of them must cover
// all 4xx. All profiles have the other rules: part of a file (206) counts as a broken
// connection; a final 1xx, and a redirect that cannot be followed, as a server error.
func statusTable(clientErrors ...[]StatusRule) []StatusRule {
	return slices.Concat([]StatusRule{
		{From: 202, To: 202, Access: Successful, NeedRules: true, Answers: true, Clause: "2.3.1.4"},
		{From: 204, To: 204, Access: Successful, Empty: true},
		{From: 206, To: 206, Clause: "2.3.1.4"},
		{From: 200, To: 299, Access: Successful},
	}, slices.Concat(clientErrors...), []StatusRule{
		{From: 100, To: math.MaxInt, Answers: true, Clause: "2.3.1.4"},
	})
}

// absentRules say that a client error means no file, or none for us. The arguments are the
// Keep of 404 and 410, and the Keep of the other statuses.
func absentRules(gone, denied time.Duration) []StatusRule {
	return []StatusRule{
		{From: 404, To: 404, Access: Unavailable, Clause: "2.3.1.3", Interval: day, Keep: gone},
		{From: 410, To: 410, Access: Unavailable, Clause: "2.3.1.3", Interval: day, Keep: gone},
		{From: 400, To: 499, Access: Unavailable, Clause: "2.3.1.3", Interval: time.Hour, Keep: denied},
	}
}

// notNowRules are a house rule: an answer that speaks of this request, or of this moment,
// and not of the file is taken for an outage, where section 2.3.1.3 would permit
// access. A 407 comes from our own proxy and does not prove that there is a server.
func notNowRules() (rules []StatusRule) {
	for _, m := range status.List {
		if m.Robots != status.Unreachable {
			rules = append(rules, StatusRule{From: m.From, To: m.To, Clause: "house", Answers: m.Robots == status.NotNow, Patience: m.Robots == status.Patience})
		}
	}
	return rules
}

// asksPatience is the rule of a status that is taken to ask for patience: a house rule.
func asksPatience(status int) StatusRule {
	return StatusRule{From: status, To: status, Clause: "house", Patience: true}
}

// deferring is a phase in which nothing may be accessed, with or without a copy.
func deferring(until, every time.Duration) Phase {
	return Phase{Until: until, Interval: every, WithoutCopy: Defer}
}

// RFC9309 returns the default profile. Where the RFC says MAY it takes what
// crawlers are known to need: a copy governs while the file is unreachable,
// more than five redirects make the file unavailable, and after 30 days without
// a copy a server that answers is taken to have no file. 429 is read as an
// outage although it is a 4xx: a house rule.
func RFC9309() *Profile {
	p := baseProfile("rfc9309", matcher.Dialect{})
	p.Status = statusTable(notNowRules(), absentRules(0, UntilExpiry))
	p.Outage = []Phase{
		{Until: reasonablyLong, UseCopy: true, CopyClause: "2.4", WithoutCopy: Defer},
		{UseCopy: true, CopyClause: "2.3.1.4", WithoutCopy: Allow, NeedsAnswer: true, Clause: "2.3.1.4", IntervalWithCopy: day, Interval: time.Hour},
	}
	return p
}

// Strict returns the profile that reads every MAY and SHOULD in the careful
// direction: no copy past its lifetime, no access while anything is unclear,
// for as long as it takes.
func Strict() *Profile {
	p := baseProfile("strict", matcher.Dialect{})
	p.TooManyRedirects = Unreachable
	p.Status = statusTable(notNowRules(), []StatusRule{asksPatience(400), asksPatience(401), asksPatience(403)}, absentRules(0, UntilExpiry))
	return p
}

// Google returns the profile of Google's documentation as of 2026: twelve hours
// of standstill, then the copy or no restriction for 30 days, then no
// restriction if the server answers. 429 is a server error, requests are not
// conditional, and a server that answers 5xx in place of a 404 is found out.
func Google() *Profile {
	p := baseProfile("google", matcher.Google())
	p.Conditional, p.ProbeMissing = false, true
	p.Fresh.Max = 7 * day // "increase or decrease" by max-age
	busy := []StatusRule{{From: 429, To: 429, Clause: "house", Answers: true}}
	p.Status = statusTable(busy, absentRules(0, UntilExpiry))
	p.Outage = []Phase{
		deferring(12*time.Hour, 0),
		{Until: reasonablyLong, UseCopy: true, CopyClause: "house", WithoutCopy: Allow, Clause: "house"},
		{WithoutCopy: Allow, NeedsAnswer: true, Clause: "2.3.1.4", Interval: time.Hour},
	}
	return p
}

// Google2019 returns the profile of Google's documentation from July 2019: every
// 4xx is full allow, and after 30 days of standstill the copy is used, or
// without one there is no restriction. A server that answers 5xx in place of a 404 is
// found out.
func Google2019() *Profile {
	p := Google()
	p.Name, p.Status = "google2019", statusTable(absentRules(0, 0))
	p.Outage = []Phase{
		deferring(reasonablyLong, 0),
		{UseCopy: true, CopyClause: "2.3.1.4", WithoutCopy: Allow, Clause: "2.3.1.4", IntervalWithCopy: day, Interval: time.Hour},
	}
	return p
}

// Draft2019 returns the profile of draft-koster-rep-00. It differs from RFC9309
// in its dialect and in that any 4xx leaves a copy in use for up to 24 hours
// (section 2.3.1.3 there).
func Draft2019() *Profile {
	p := RFC9309()
	p.Name, p.Dialect = "draft2019", matcher.Draft2019()
	p.Status = statusTable(notNowRules(), absentRules(day, day))
	return p
}

// Koster1996 returns the profile of the 1996 draft: 404 is no restriction, 401
// and 403 close the site, any other failure defers until the file can be fetched,
// and a copy lives for seven days or until Expires.
func Koster1996() *Profile {
	p := baseProfile("koster1996", matcher.Koster1996())
	p.Hops, p.TooManyRedirects = 10, Unreachable
	p.Status = statusTable([]StatusRule{
		{From: 404, To: 404, Access: Unavailable, Clause: "2.3.1.3", Interval: day},
		{From: 401, To: 401, Access: Restricted, Clause: "house", Interval: day},
		{From: 403, To: 403, Access: Restricted, Clause: "house", Interval: day},
		{From: 400, To: 499, Clause: "house", Patience: true},
	})
	p.Fresh.Default, p.Fresh.Max = 7*day, 365*day
	return p
}

// ByName returns a fresh profile by its name: "rfc9309", "strict", "google",
// "google2019", "draft2019" or "koster1996".
func ByName(name string) (*Profile, bool) {
	for _, f := range []func() *Profile{RFC9309, Strict, Google, Google2019, Draft2019, Koster1996} {
		if p := f(); p.Name == name {
			return p, true
		}
	}
	return nil, false
}
