package policy

import (
	"cmp"
	"net/url"
	"time"
)

// This file decides on URLs: RFC 9309, sections 2.2.2 and 2.3.1.

// Decide decides on one URL for one product token: by the rules of the copy if a
// copy is in use, and otherwise by the access result. The target must be of the
// record's own scheme and authority; Decide does not check that.
//
// If the record is Due and has neither an outage nor a copy that has not expired, the
// file must be fetched first: the verdict is Defer. A nil Record gives the same. The
// URL /robots.txt is always allowed (RFC 9309, section 2.2.2).
func (r *Record) Decide(token string, target *url.URL, now time.Time) Decision {
	at := nanos(now)
	d, b := r.State(now), r.basisAt(at)
	d.URL, d.Verdict, d.Clause = target.Redacted(), b.verdict, b.clause
	if !r.blank() {
		d.At = unix(at)
	}
	switch {
	case robotsTxt(target):
		d.Verdict, d.Clause, d.Match.Allowed = Allow, "2.2.2", true
		d.Fetched, d.Stale = time.Time{}, false // no copy decides
	case b.copy:
		r.applyRules(&d, token, target)
	}
	if d.Verdict == Defer {
		d.RetryAt = unix(max(r.dueAt(at), at))
	}
	return d
}

// applyRules decides by the rules of the copy, which is in use.
func (r *Record) applyRules(d *Decision, token string, target *url.URL) {
	d.Digest = r.copy.text.Digest()
	group := r.copy.text.file.Group(token)
	d.Match = group.MatchURL(target)
	d.CrawlDelay, _ = group.CrawlDelay()
	if d.Match.Allowed {
		d.Verdict = Allow
	}
	switch {
	case d.Clause != "":
	case d.Match.Agent == "":
		d.Clause = "2.2.1" // no group applies
	default:
		d.Clause = "2.2.2"
	}
}

// State is what the decisions on all URLs of the authority say at now: the access
// result and its cause, the copy in use and the times. The URL, the verdict, the match, the
// digest and the Crawl-delay are missing, so that String prints no verdict. A fetch by a clock that was ahead counts as one at now. State
// allocates nothing and reads no rules.
func (r *Record) State(now time.Time) Decision {
	if r.blank() {
		return Decision{}
	}
	at, a := nanos(now), r.answer
	b := r.basisAt(at)
	d := Decision{
		Profile: r.profile.Name, Robots: r.robots, Served: cmp.Or(a.served, r.robots), Expires: unix(r.dueAt(at)),
		Access: a.access, Status: int(a.status), Cause: a.cause, Stale: b.stale,
	}
	if r.outage != nil {
		d.DownSince = unix(min(r.outage.first, at))
	}
	if b.copy {
		d.Fetched = unix(min(r.copy.fetched, at))
	}
	return d
}

// Allows is Decide(token, target, now).Allowed() without the explanation. It
// allocates nothing once the group of the token is compiled: see [Record.File].
func (r *Record) Allows(token string, target *url.URL, now time.Time) bool {
	switch b := r.basisAt(nanos(now)); {
	case robotsTxt(target):
		return true
	case b.copy:
		return r.copy.text.file.Group(token).AllowsURL(target)
	default:
		return b.verdict == Allow
	}
}

// robotsTxt reports whether u is the URL of robots.txt itself, without a query.
func robotsTxt(u *url.URL) bool {
	return u.Path == "/robots.txt" && u.RawQuery == "" && !u.ForceQuery && u.Opaque == ""
}

// basis is what the decisions on all URLs of an authority rest on at one moment.
type basis struct {
	copy    bool    // the rules of the copy decide
	stale   bool    // the copy is past its lifetime
	verdict Verdict // the verdict unless the rules of the copy allow
	clause  string  // "" if it depends on the match of the URL
}

// basisAt returns the basis at now: the copy until it expires, then the phase of the outage
// or, until the next fetch is due, the access result of the last answer. After that the
// file must be fetched first.
func (r *Record) basisAt(now int64) basis {
	switch {
	case r.blank():
		return basis{verdict: Defer, clause: "2.3"}
	case r.copy != nil && now < r.copy.expires && !r.fromFuture(now):
		return basis{copy: true}
	case r.outage != nil:
		return r.outageBasis(r.profile.phase(r.lastedAt(now, r.next-r.learnt)))
	case r.dueAt(now) <= now:
		return basis{verdict: Defer, clause: "2.4"}
	case r.answer.access == Unavailable:
		return basis{verdict: Allow, clause: r.answer.clause}
	}
	return basis{verdict: Disallow, clause: r.answer.clause}
}

// outageBasis returns the basis in a phase of the outage.
func (r *Record) outageBasis(ph Phase) basis {
	switch {
	case ph.UseCopy && r.copy != nil:
		return basis{copy: true, stale: true, clause: ph.CopyClause}
	case ph.WithoutCopy == Defer, ph.WithoutCopy == Allow && (r.outage.patience || ph.NeedsAnswer && !r.outage.answered):
		return basis{verdict: Defer, clause: r.answer.clause}
	}
	return basis{verdict: ph.WithoutCopy, clause: ph.Clause}
}
