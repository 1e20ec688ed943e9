package policy

import (
	"net/url"
	"time"
)

// Decide decides on one URL for one product token: by the rules of the copy if a
// copy is in use, and otherwise by the access result. The target must be of the
// record's own scheme and authority; Decide does not check that.
//
// If the record is Due, its copy has expired and there is no outage, the file must
// be fetched first: the verdict is Defer, and RetryAt is now. A nil Record gives
// the same. The URL /robots.txt is always allowed (RFC 9309, section 2.2.2).
func (r *Record) Decide(token string, target *url.URL, now time.Time) Decision {
	d := Decision{URL: target.Redacted()}
	if !r.blank() {
		r.state(&d)
	}
	switch {
	case robotsTxt(target):
		d.Verdict, d.Clause, d.Match.Allowed = Allow, "2.2.2", true
	case r.blank():
		d.Verdict, d.Clause, d.RetryAt = Defer, "2.3", now
	default:
		r.rule(&d, token, target, nanos(now))
	}
	return d
}

// rule fills in the decision and what it rests on.
func (r *Record) rule(d *Decision, token string, target *url.URL, now int64) {
	h := r.holds(now)
	d.Verdict, d.Clause, d.Stale = h.verdict, h.clause, h.stale
	if h.copy {
		d.Fetched, d.Digest = unix(r.copy.fetched), r.copy.text.Digest()
		d.Match = r.copy.text.file.MatchURL(token, target)
		d.Verdict = Disallow
		if d.Match.Allowed {
			d.Verdict = Allow
		}
		if d.Clause == "" {
			d.Clause = ruleClause(d)
		}
	}
	if d.Verdict == Defer {
		d.RetryAt = unix(max(r.next, now))
	}
}

// Allows is Decide(token, target, now).Allowed() without the explanation. It
// allocates nothing once the crawler has asked. Most requests need no more.
func (r *Record) Allows(token string, target *url.URL, now time.Time) bool {
	if robotsTxt(target) {
		return true
	}
	if r.blank() {
		return false
	}
	h := r.holds(nanos(now))
	if h.copy {
		return r.copy.text.file.MatchURL(token, target).Allowed
	}
	return h.verdict == Allow
}

// ruleClause is the clause that a decision by the rules of a copy rests on.
func ruleClause(d *Decision) string {
	if d.Match.Agent == "" {
		return "2.2.1" // no group applies
	}
	return "2.2.2"
}

// robotsTxt reports whether u is the URL of robots.txt itself, without a query.
func robotsTxt(u *url.URL) bool {
	return u.Path == "/robots.txt" && u.RawQuery == "" && !u.ForceQuery && u.Opaque == ""
}

// holding is what decides at one moment on all URLs of an authority.
type holding struct {
	copy    bool    // the rules of the copy decide
	stale   bool    // the copy is past its lifetime
	verdict Verdict // if no copy decides
	clause  string  // "" if the matching rule gives it
}

// holds returns what decides at now: the copy until it expires, the phase of the
// outage, or the access result of the last answer.
func (r *Record) holds(now int64) holding {
	switch {
	case r.copy != nil && now < r.copy.expires && !r.fromFuture(now):
		return holding{copy: true}
	case r.outage != nil:
		return r.inOutage(r.profile.phase(r.lastedAt(now)))
	case r.due(now):
		return holding{verdict: Defer, clause: "2.4"}
	case r.answer.access == Unavailable:
		return holding{verdict: Allow, clause: r.answer.clause}
	}
	return holding{verdict: Disallow, clause: r.answer.clause}
}

// inOutage returns what decides in a phase of the outage.
func (r *Record) inOutage(ph Phase) holding {
	if ph.UseCopy && r.copy != nil {
		return holding{copy: true, stale: true, clause: ph.CopyClause}
	}
	h := holding{verdict: ph.Otherwise, clause: ph.Clause}
	if h.verdict == Allow && (r.outage.hold || ph.Answering && !r.outage.answered) {
		h.verdict = Defer
	}
	if h.verdict == Defer {
		h.clause = r.answer.clause
	}
	return h
}

// state fills in what the record knows of the last fetch.
func (r *Record) state(d *Decision) {
	d.Access, d.Profile = r.answer.access, r.profile.Name
	d.Robots, d.Served, d.Status = r.robots, r.answer.served, int(r.answer.status)
	if d.Served == "" {
		d.Served = r.robots
	}
	d.Expires, d.Cause = unix(r.next), r.answer.cause
	if r.outage != nil {
		d.DownSince = unix(r.outage.first)
	}
}
