package policy

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/field"
)

// This file learns from a fetch: RFC 9309, section 2.3.1.

// maxValidator bounds the validators that are kept, in bytes: they are sent
// back with every request.
const maxValidator = 1 << 10

// Learn returns what is known after one more fetch. It is the whole state machine and a
// pure function. old is the record that the fetch began with; it may be nil. A record of
// another authority, or of a profile of another name, counts as nil: the rules of one
// authority never govern another.
//
// A complete answer replaces old, even if old was learnt by a clock that is ahead by up to
// Fresh.Min. A failed fetch that seems to have begun before old was learnt changes nothing,
// and Learn returns old. A record that was learnt during the fetch, by another goroutine or
// process, is not old: use [Record.Merge] for it.
//
// The times of later fetches are spread by a hash of the URL and the time, so that the
// crawlers of a fleet do not fetch in step: see [Retry].
func (p *Profile) Learn(old *Record, a Attempt) *Record {
	s := p.newStep(old, a)
	return s.old.Merge(s.nextRecord(), a.Received)
}

// step is one call of Learn.
type step struct {
	p      *Profile
	old    *Record
	a      Attempt
	began  int64 // when the fetch began
	now    int64 // when it ended
	learnt int64 // now, but at least one nanosecond after the old record
}

// clockGrain is the step of the coarsest clock. A fetch that takes less than that can seem to
// begin and end when the old record was learnt: then it began a nanosecond later.
const clockGrain = time.Microsecond

// newStep returns the step from old, which may be of another authority or profile.
func (p *Profile) newStep(old *Record, a Attempt) step {
	if old.blank() || old.robots != a.Robots || old.profile.Name != p.Name {
		old = nil
	}
	a.normalize()
	now := nanos(a.Received)
	s := step{p: p, old: old, a: a, began: nanos(a.Sent), now: now, learnt: now}
	if old != nil && old.learnt >= now && !old.fromFuture(now) {
		s.learnt = old.learnt + 1
		if s.began == now && old.learnt < now+int64(clockGrain) {
			s.began = s.learnt
		}
	}
	return s
}

// nextRecord returns the record after the attempt. It assumes that old is older than the
// attempt; Merge finds out whether that is true.
func (s *step) nextRecord() *Record {
	switch {
	case s.a.Err != nil:
		return s.failure(class(s.a.Err))
	case s.a.exhausted(s.p.Hops):
		return s.noFile(StatusRule{Access: s.p.TooManyRedirects, Clause: "2.3.1.2", Interval: s.p.Retry.AfterTooManyRedirects, Answers: true}, s.cause())
	case s.conditional() && s.a.Status == http.StatusNotModified:
		return s.notModified()
	case s.conditional() && (s.a.Status == http.StatusBadRequest || s.a.Status == http.StatusPreconditionFailed):
		return s.withoutValidators(s.keptCopy()) // the answer says nothing about the file
	case s.insteadOf404():
		cause := fmt.Sprintf("%s, as for a path that cannot exist; / answers %d", s.cause(), s.a.Probe.Root)
		s.a.Header = nil // as in an outage, its no-store does not count
		return s.noFile(StatusRule{Access: Unavailable, Clause: "house", Interval: probeInterval}, cause)
	}
	rule := s.p.statusRule(s.a.Status)
	if rule.Access == Successful {
		return s.success(rule)
	}
	return s.noFile(rule, s.cause())
}

// success returns the record after a complete answer with a file (section 2.3.1.1). A
// body that is shorter than its Content-Length is a failure.
func (s *step) success(rule StatusRule) *Record {
	body := s.a.Body
	if rule.Empty {
		body = nil
	} else if n := s.a.missingBytes(s.p.Limit); n > 0 {
		s.a.Err = fmt.Errorf("the body is %d bytes short of its length", n)
		return s.failure(Body)
	}
	if s.a.Cut || len(body) > s.p.Limit {
		body = wholeLines(body, s.p.Limit)
	}
	text, digest := s.old.Text(), sha256.Sum256(body)
	if !text.is(s.p.Dialect, digest) { // otherwise its groups are compiled
		text = newText(body, s.p.Dialect, digest, deflate(body))
	}
	if rule.NeedRules && text.file.CountRules() == 0 {
		rule.Access = Unreachable
		return s.noFile(rule, fmt.Sprintf("status %d without a rule", s.a.Status))
	}
	return s.confirmed(&cachedCopy{
		text: text, source: s.newSource(), declared: undeclared, notRobots: notText(s.a.Header, body) && text.file.CountRules() == 0,
	})
}

// notModified returns the record after a 304 to our validators (RFC 9111, section
// 4.3.4): the copy starts another lifetime, with the validators of the 304 if it has
// some. If they are of another file, the copy has expired.
func (s *step) notModified() *Record {
	c, src := s.keptCopy(), s.newSource()
	if c.source.differs(src) {
		c.expires = 0
		return s.withoutValidators(c)
	}
	src.etag, src.modified = cmp.Or(src.etag, c.source.etag), cmp.Or(src.modified, c.source.modified)
	c.source = src
	return s.confirmed(c)
}

// differs reports whether the validators are of two files. The first kind that
// both have decides.
func (s source) differs(o source) bool {
	if s.etag != "" && o.etag != "" {
		return field.OpaqueTag(s.etag) != field.OpaqueTag(o.etag)
	}
	return s.modified != 0 && o.modified != 0 && s.modified != o.modified
}

// confirmed returns the record with a copy that is new or that a 304 has confirmed: its
// lifetime starts. A 304 without a directive keeps the declared lifetime (RFC 9111, section 4.3.4).
func (s *step) confirmed(c *cachedCopy) *Record {
	r := s.newRecord(answer{access: Successful})
	if d := s.a.declaredLifetime(); d != undeclared {
		c.declared = d
	}
	ttl := s.p.Fresh.lifetime(c.declared, field.Age(s.a.Header), time.Duration(max(s.now-s.began, 0)))
	if c.notRobots {
		ttl = min(ttl, max(s.p.Fresh.MaxHTML, s.p.Fresh.Min))
	}
	c.noStore = c.noStore || field.ReadCacheControl(s.a.Header).NoStore
	c.fetched, c.expires = s.now, addSpan(s.now, ttl)
	r.copy, r.next = c, c.expires
	return r
}

// withoutValidators returns the record of a copy that must be fetched again at once,
// without validators. Its time of the next fetch is so far in the past that it is due by the
// clock of each process of a fleet.
func (s *step) withoutValidators(c *cachedCopy) *Record {
	r := s.newRecord(answer{access: Successful})
	c.source = source{origin: c.source.origin}
	r.copy, r.next = c, max(s.now-int64(s.p.Fresh.Min), 1)
	return r
}

// noFile returns the record after an answer that is no file. The rule gives the access
// result, and says whether the copy is kept.
func (s *step) noFile(rule StatusRule, cause string) *Record {
	if rule.Access == Unreachable {
		return s.unreachable(rule, cause)
	}
	r := s.newRecord(answer{access: rule.Access, cause: cause, clause: rule.Clause, noStore: field.ReadCacheControl(s.a.Header).NoStore})
	again := rule.Interval
	if c := s.keptCopy(); c != nil && rule.Keep != 0 && !s.p.future(s.old.copy.fetched, s.now) {
		if rule.Keep != UntilExpiry {
			c.expires = max(c.expires, addSpan(c.fetched, rule.Keep))
		}
		if c.expires > s.now {
			r.copy, again = c, min(again, time.Duration(c.expires-s.now))
		}
	}
	r.next = addSpan(s.now, max(again, s.p.Fresh.Min))
	return r
}

// keptCopy returns a duplicate of the old copy, to be changed; nil if there is none. A
// copy from the future has expired: the clock was set back, and its lifetime was
// counted by that clock.
func (s *step) keptCopy() *cachedCopy {
	if s.old == nil || s.old.copy == nil {
		return nil
	}
	c := *s.old.copy
	if s.p.future(c.fetched, s.now) {
		c.fetched, c.expires = s.now, s.now
	}
	return &c
}

// conditional reports whether the attempt answers the validators of the copy:
// they were sent to the URL they belong to and to no other.
func (s *step) conditional() bool {
	return s.old.Validators() != nil && s.a.served() == s.old.ServedFrom()
}

// newRecord returns a record of the attempt with an answer. It has no copy and no
// outage, and is due now.
func (s *step) newRecord(a answer) *Record {
	a.status, a.served = int32(min(max(s.a.Status, 0), maxStatus)), s.elsewhere()
	return &Record{profile: s.p, robots: s.a.Robots, learnt: s.learnt, next: s.now, answer: a.shared()}
}

// maxStatus bounds the statuses that are kept: a larger one counts as this.
const maxStatus = 1 << 20

// newSource returns where the answer came from, with its validators.
func (s *step) newSource() source {
	modified := field.Date(s.a.Header.Get("Last-Modified")).Unix()
	return source{origin: s.elsewhere(), etag: field.ETag(s.a.Header, maxValidator), modified: max(modified, 0)}
}

// elsewhere returns the URL that answered, "" if it is Attempt.Robots.
func (s *step) elsewhere() string {
	if served := s.a.served(); served != s.a.Robots {
		return served
	}
	return ""
}

// cause returns in words why the answer is not a file.
func (s *step) cause() string {
	switch status := s.a.Status; {
	case status <= 0:
		return "no answer"
	case s.a.isLoop():
		return "redirects in a loop"
	case s.a.exhausted(s.p.Hops):
		return fmt.Sprintf("more than %d redirects", s.p.Hops)
	case s.a.redirects():
		if _, err := s.a.Location(); err != nil {
			return clean.Text(fmt.Sprintf("status %d: %v", status, err), maxWords)
		}
		return fmt.Sprintf("status %d, not followed", status)
	case status == http.StatusNotModified:
		return "status 304 to a request without validators"
	default:
		return strings.TrimSpace(fmt.Sprintf("status %d %s", status, http.StatusText(status)))
	}
}

// wholeLines shortens text that was cut off to the limit and to its last line
// end, if there is one (section 2.5): half a rule is another rule. A last line that
// ends right at the limit is whole, and the byte after the limit shows it.
func wholeLines(text []byte, limit int) []byte {
	text = text[:min(len(text), limit+1)]
	if i := bytes.LastIndexAny(text, "\r\n"); i >= 0 {
		text = text[:i+1]
	}
	return text[:min(len(text), limit)]
}

// notText reports whether the answer looks like an HTML page, or like binary or
// compressed data, rather than a robots.txt.
func notText(h http.Header, body []byte) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml":
		return true
	}
	head := bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF")), " \t\r\n\f\v\x00")
	return bytes.HasPrefix(head, []byte("<")) || !strings.HasPrefix(http.DetectContentType(body), "text/plain")
}
