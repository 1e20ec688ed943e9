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
	// TooManyRedirects is what one redirect more than Hops means, or a redirect
	// that ends in a loop.
	TooManyRedirects Access
	// Status says what a final status means. The first rule that covers the
	// status is used. A status that no rule covers is Unreachable.
	Status []StatusRule
	// Failures says what each class of failure means. A class that is missing
	// is Unreachable, which is the only safe reading of section 2.3.1.4.
	Failures map[Class]Access
	// Fresh bounds how long a copy is used before the next fetch.
	Fresh Fresh
	// Retry says when the next fetch is due after an answer that is not a file.
	Retry Retry
	// Outage says what holds while the file is unreachable, phase by phase.
	// The last phase has no end. Empty means: defer for ever.
	Outage []Phase
	// ProbeMissing takes a 5xx for robots.txt for a 404 if "/" is answered with a
	// 2xx and a path that cannot exist with the same 5xx. That takes two more
	// requests: see WantsProbe. They go out while RFC 9309, section 2.3.1.4, forbids
	// all access, so false is the default.
	ProbeMissing bool
	// Conditional sends the validators of the copy with the next fetch.
	Conditional bool
}

// StatusRule says what a range of final statuses means.
type StatusRule struct {
	// From and To are the first and the last status of the range.
	From, To int
	// Access is the result. Successful is only for statuses from 200 to 299.
	Access Access
	// Clause is the clause that a decision without a copy rests on.
	Clause string
	// Interval is the time to the next fetch, unless Access is Successful. It is at
	// least Fresh.Min if Access is Unavailable or Restricted. If Access is Unreachable,
	// zero means the backoff of Profile.Retry.
	Interval time.Duration
	// Keep is how long after its receipt a copy is used in spite of this answer, if
	// Access is Unavailable or Restricted. Zero drops the copy. UntilExpiry keeps it
	// until it expires.
	Keep time.Duration
	// NeedRules makes an answer without one rule Unreachable, if Access is Successful.
	NeedRules bool
	// Empty takes the file for empty, whatever the body says, if Access is Successful.
	Empty bool
	// Answers takes the answer as proof that there is a server, if Access is
	// Unreachable. A Phase with NeedsAnswer asks for that proof.
	Answers bool
	// Patience marks an answer that asks for patience, if Access is Unreachable. An
	// outage of any length does not end in Allow while this is the last answer.
	Patience bool
}

// UntilExpiry is the value of StatusRule.Keep that keeps a copy until it expires.
const UntilExpiry time.Duration = -1

// Fresh bounds the lifetime of a copy (section 2.4).
type Fresh struct {
	// Default is the lifetime if the server declares none.
	Default time.Duration
	// Max is the longest lifetime.
	Max time.Duration
	// Min is the shortest lifetime, whatever the server declares. It is also how far
	// the clocks of a fleet may differ: a record from further in the future has expired.
	Min time.Duration
	// MaxHTML is the longest lifetime of an HTML page, or of binary data, without one
	// rule.
	MaxHTML time.Duration
	// MinStale is the shortest lifetime of an answer that is stale by its Age alone, and
	// of an answer without a declared lifetime.
	MinStale time.Duration
}

// Retry bounds the time to the next fetch while the file is unreachable. This time is the
// backoff: it is Min after the first failed fetch and doubles with each further one. From
// the second on it is drawn at random from the upper half of the doubled time: with a Min of
// one minute it is 1m, 1m to 2m, 2m to 4m, and so on. A longer Retry-After of the server
// is obeyed. A shorter one, of a second or more, is obeyed by the first three failed fetches
// of an outage, and these do not double the time.
type Retry struct {
	// Min is the shortest backoff, at least a second.
	Min time.Duration
	// MaxFirstDay is the longest backoff within the first day of an outage.
	MaxFirstDay time.Duration
	// MaxLater is the longest backoff after the first day of an outage.
	MaxLater time.Duration
	// MaxRetryAfter is the longest Retry-After that is obeyed. A longer one counts as this.
	MaxRetryAfter time.Duration
	// AfterTooManyRedirects is the time to the next fetch after too many redirects.
	AfterTooManyRedirects time.Duration
	// AfterRefusedRedirect is the time to the next fetch after a redirect to an address
	// or a host that is refused.
	AfterRefusedRedirect time.Duration
}

// Phase is a part of an outage.
type Phase struct {
	// Until is the end of the phase, by the observed length of the outage. Zero means
	// that the phase has no end.
	Until time.Duration
	// UseCopy lets a copy that has expired decide, if there is one.
	UseCopy bool
	// CopyClause is the clause that a decision by an expired copy rests on.
	CopyClause string
	// WithoutCopy is the verdict if no copy decides.
	WithoutCopy Verdict
	// NeedsAnswer makes WithoutCopy Defer unless a server has answered in this outage, if
	// WithoutCopy is Allow.
	NeedsAnswer bool
	// Clause is the clause that WithoutCopy rests on. Defer rests on the clause of the
	// last answer instead.
	Clause string
	// IntervalWithCopy is the time between fetches if UseCopy is set and there is a copy. Zero
	// means the backoff of Profile.Retry.
	IntervalWithCopy time.Duration
	// Interval is the time between fetches otherwise. Zero means the
	// backoff of Profile.Retry.
	Interval time.Duration
}

// Clone returns a copy that shares nothing with p. Package fetcher keeps a clone. A
// program that calls Learn must not change the profile between calls.
func (p *Profile) Clone() *Profile {
	c := *p
	c.Status, c.Failures, c.Outage = slices.Clone(p.Status), maps.Clone(p.Failures), slices.Clone(p.Outage)
	return &c
}

// Validate reports what does not make sense in a profile that was changed by hand.
func (p *Profile) Validate() error {
	switch {
	case p.Name == "":
		return errors.New("policy: Name is empty; want a name, which the keys of stored records contain")
	case p.Limit < minLimit:
		return fmt.Errorf("policy: Limit is %d bytes; RFC 9309, section 2.5, asks for at least %d", p.Limit, minLimit)
	case p.Hops < 1:
		return fmt.Errorf("policy: Hops is %d; want 1 or more", p.Hops)
	case p.Fresh.Min < time.Second || p.Fresh.Max < p.Fresh.Min || p.Fresh.Default < p.Fresh.Min || min(p.Fresh.MaxHTML, p.Fresh.MinStale) < 0:
		return fmt.Errorf("policy: Fresh is %+v; want 1s <= Min <= Default and Max, and nothing negative", p.Fresh)
	case hasFile(p.TooManyRedirects) || slices.ContainsFunc(slices.Collect(maps.Values(p.Failures)), hasFile):
		return fmt.Errorf("policy: TooManyRedirects is %v and Failures is %v; want Unreachable, Unavailable or Restricted, because there is no file", p.TooManyRedirects, p.Failures)
	case !p.phasesOrdered():
		return fmt.Errorf("policy: Outage is %+v; want each phase to end after the one before, one without an end last, a known verdict, and nothing negative", p.Outage)
	case p.Retry.Min < time.Second || min(p.Retry.MaxFirstDay, p.Retry.MaxLater) < p.Retry.Min,
		min(p.Retry.MaxRetryAfter, p.Retry.AfterTooManyRedirects, p.Retry.AfterRefusedRedirect) < 0:
		return fmt.Errorf("policy: Retry is %+v; want 1s <= Min <= MaxFirstDay and MaxLater, and nothing negative", p.Retry)
	}
	for _, r := range p.Status {
		if err := r.validate(); err != nil {
			return err
		}
	}
	return nil
}

// hasFile reports whether a is none of the results without a file.
func hasFile(a Access) bool { return a == Successful || a > Restricted }

// validate reports what does not make sense in a rule.
func (r StatusRule) validate() error {
	switch {
	case r.From > r.To:
		return fmt.Errorf("policy: a rule of Status is from %d to %d; want From <= To", r.From, r.To)
	case r.Access > Restricted:
		return fmt.Errorf("policy: the rule of Status from %d to %d says %v; want Unreachable, Successful, Unavailable or Restricted", r.From, r.To, r.Access)
	case r.Access == Successful && (r.From < 200 || r.To > 299):
		return fmt.Errorf("policy: the rule of Status from %d to %d says Successful; want that for 200 to 299 only", r.From, r.To)
	case r.Interval < 0 || r.Keep < 0 && r.Keep != UntilExpiry:
		return fmt.Errorf("policy: the rule of Status from %d to %d has Interval %v and Keep %v; want nothing negative but UntilExpiry", r.From, r.To, r.Interval, r.Keep)
	}
	return nil
}

// phasesOrdered reports whether each phase of an outage ends after the one before, only the
// last one has no end, each has a verdict, and no interval is negative.
func (p *Profile) phasesOrdered() bool {
	var end time.Duration
	for i, ph := range p.Outage {
		last := i == len(p.Outage)-1
		if last != (ph.Until == 0) || !last && ph.Until <= end || ph.WithoutCopy > Allow || min(ph.Interval, ph.IntervalWithCopy) < 0 {
			return false
		}
		end = ph.Until
	}
	return true
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
	return Phase{WithoutCopy: Defer}
}
