package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rfc9309/polite/matcher"
)

// This file says what a profile is.

// Profile is one reading of the protocol as data. A function such as [RFC9309]
// returns a fresh value, which may be changed before its first use and must not
// be changed after: records point to it.
type Profile struct {
	// Name is printed in every Decision and stored with every Record. A Record
	// is loaded only by a profile of the name that stored it.
	Name string
	// Dialect is how the file's text is read. Zero is RFC 9309.
	Dialect matcher.Dialect
	// Limit is how many bytes of decoded content are read; the rest is cut
	// off at the last line end (RFC 9309, section 2.5: at least 500 KiB).
	Limit int
	// Hops is how many consecutive redirects are followed (section 2.3.1.2: at
	// least five).
	Hops int
	// Beyond is what a further redirect, or a loop, means.
	Beyond Access
	// Status says what a final status means. The first rule that covers the
	// status holds; a status that none covers is Unreachable.
	Status []StatusRule
	// Failures says what each class of failure means. A class that is missing
	// is Unreachable, which is the only safe reading of section 2.3.1.4.
	Failures map[Class]Access
	// Fresh bounds how long a copy is used before the next fetch.
	Fresh Fresh
	// Retry says when the next fetch is after an answer that is not a file.
	Retry Retry
	// Outage says what holds while the file is unreachable, phase by phase.
	// The last phase has no end. Empty means: defer for ever.
	Outage []Phase
	// Probe takes a 5xx for robots.txt for a 404 if the server has an answer for "/"
	// and gives the same 5xx for a path that cannot exist. That takes two more
	// requests, at most once in 24 hours of an outage: see WantsProbe. They go out
	// while RFC 9309, section 2.3.1.4, forbids all access, so false is the default.
	Probe bool
	// Conditional sends the validators of the copy with the next fetch.
	Conditional bool
}

// StatusRule says what the final statuses From to To, both included, mean. The fields
// after Again matter only if the result is as their comments say.
type StatusRule struct {
	From, To int
	Access   Access
	Clause   string        // the clause that a decision without a copy rests on
	Again    time.Duration // the time to the next fetch, unless Successful; Unreachable and 0: Profile.Retry doubles
	// Keep, if Unavailable or Restricted, is how long after its receipt a copy
	// governs in spite of this answer. Zero drops the copy; Lifetime keeps it
	// until it expires.
	Keep time.Duration
	// NeedRules, if Successful, makes an answer without one rule Unreachable.
	NeedRules bool
	// Empty, if Successful, takes the file for empty, whatever the body says.
	Empty bool
	// Answers, if Unreachable, takes the answer as proof that there is a server,
	// which some phases of an outage ask for.
	Answers bool
	// Hold, if Unreachable, marks an answer that asks for patience: however long
	// the outage lasts, it does not end in Allow while this is the last answer.
	Hold bool
}

// Lifetime, as StatusRule.Keep, keeps a copy until it expires.
const Lifetime time.Duration = -1

// Fresh bounds the lifetime of a copy (section 2.4).
type Fresh struct {
	Default time.Duration // the lifetime if the server declares none
	Most    time.Duration // no lifetime is longer
	Least   time.Duration // no lifetime is shorter, whatever the server declares
	HTML    time.Duration // at most this for an HTML page, or binary data, without one rule
	Aged    time.Duration // the least lifetime if the server declares none, or if the Age alone makes the answer stale
}

// Retry bounds the time to the next fetch after an answer that is not a file.
type Retry struct {
	First   time.Duration // after the first failure; doubles with each further one
	Day     time.Duration // the longest time that doubling reaches within the first day of an outage
	Later   time.Duration // the longest time that doubling reaches after that day
	After   time.Duration // the longest Retry-After that is obeyed
	Beyond  time.Duration // after too many redirects
	Refused time.Duration // after a redirect to an address or host that is refused
}

// Phase is a part of an outage.
type Phase struct {
	Until      time.Duration // its end, by the observed length of the outage; 0: none
	UseCopy    bool          // a copy past its lifetime governs, if there is one
	CopyClause string        // the clause such a copy rests on
	Otherwise  Verdict       // what holds without a copy
	Answering  bool          // Otherwise Allow holds only if a server answered in this outage; else Defer
	Clause     string        // the clause Otherwise rests on; Defer rests on the clause of the last answer
	Every      time.Duration // the time between fetches while a copy governs; 0: Profile.Retry doubles
	EveryBare  time.Duration // the time between fetches while no copy governs; 0: Profile.Retry doubles
}

// Clone returns a copy that shares nothing with p. Package fetcher keeps a clone. A
// program that calls Learn must not change the profile between calls.
func (p *Profile) Clone() *Profile {
	c := *p
	c.Status, c.Failures, c.Outage = slices.Clone(p.Status), maps.Clone(p.Failures), slices.Clone(p.Outage)
	return &c
}

// Check reports what does not make sense in a profile that was changed by hand.
func (p *Profile) Check() error {
	switch {
	case p.Name == "":
		return errors.New("policy: Name is empty; want a name, which the keys of stored records contain")
	case p.Limit < leastLimit:
		return fmt.Errorf("policy: Limit is %d bytes; RFC 9309, section 2.5, asks for at least %d", p.Limit, leastLimit)
	case p.Hops < 1:
		return fmt.Errorf("policy: Hops is %d; want 1 or more", p.Hops)
	case p.Fresh.Least < time.Second || p.Fresh.Most < p.Fresh.Least || p.Fresh.Default < p.Fresh.Least:
		return fmt.Errorf("policy: Fresh is %+v; want 1s <= Least <= Default and Most", p.Fresh)
	case p.Beyond == Successful || slices.Contains(slices.Collect(maps.Values(p.Failures)), Successful):
		return errors.New("policy: Beyond or Failures says Successful; want another Access, because there is no file")
	case !p.phasesOrdered():
		return fmt.Errorf("policy: Outage is %+v; want each phase to end after the one before, and one without an end last", p.Outage)
	case p.Retry.First < time.Second || p.Retry.Day < p.Retry.First || p.Retry.Later < p.Retry.First:
		return fmt.Errorf("policy: Retry is %v; want 1s <= First <= Day and Later", p.Retry)
	}
	return nil
}

// phasesOrdered reports whether each phase of an outage ends after the one before, and only
// the last one has no end.
func (p *Profile) phasesOrdered() bool {
	for i := 1; i < len(p.Outage); i++ {
		before, until := p.Outage[i-1].Until, p.Outage[i].Until
		if before <= 0 || until != 0 && until <= before {
			return false
		}
	}
	return len(p.Outage) == 0 || p.Outage[len(p.Outage)-1].Until == 0
}

// statusRule returns the first rule for a status, or one that says Unreachable. A number
// under 100 is no status: nothing was answered, whatever the table says.
func (p *Profile) statusRule(status int) StatusRule {
	for _, r := range p.Status {
		if status >= 100 && r.From <= status && status <= r.To {
			return r
		}
	}
	return StatusRule{Clause: "2.3.1.4"}
}

// phase returns the phase of an outage whose observed length is lasted.
func (p *Profile) phase(lasted time.Duration) Phase {
	for _, ph := range p.Outage {
		if ph.Until == 0 || lasted < ph.Until {
			return ph
		}
	}
	return Phase{Otherwise: Defer}
}
