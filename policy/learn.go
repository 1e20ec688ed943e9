package policy

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/matcher"
)

// maxValidator bounds the validators that are kept, in octets: they are sent
// back with every request.
const maxValidator = 1 << 10

// Learn returns what is known after one more retrieval (RFC 9309, section
// 2.3.1). It is the whole state machine and a pure function: the result depends
// on nothing but its arguments. Old may be nil; a record of another authority
// counts as nil, since the rules of one never govern another, and so does that
// of a profile of another name, which read the text in its own way.
//
// Retries are spread by a hash of the URL and the time, so that a fleet does
// not come back in step.
func (p *Profile) Learn(old *Record, a Attempt) *Record {
	if old.blank() || old.robots != a.Robots || old.profile.Name != p.Name {
		old = nil
	}
	a.Header = canonical(a.Header)
	s := step{p: p, old: old, a: &a, now: nanos(a.at())}
	switch {
	case a.Err != nil:
		return s.failure(class(a.Err))
	case a.exhausted(p.Hops):
		return s.settle(StatusRule{Access: p.Beyond, Clause: "2.3.1.2", Again: p.Retry.Beyond, Answers: true}, s.beyond())
	case a.Status == http.StatusNotModified && s.validated():
		return s.renew()
	}
	rule := p.covers(a.Status)
	if rule.Access == Successful {
		return s.success(rule)
	}
	return s.settle(rule, s.statusCause())
}

// step is one call of Learn.
type step struct {
	p   *Profile
	old *Record
	a   *Attempt
	now int64
}

// success follows a complete answer that carries a file (section 2.3.1.1). A
// stack that did not notice that the body broke off is told so here.
func (s *step) success(rule StatusRule) *Record {
	body := s.a.Body
	if rule.Empty {
		body = nil
	} else if n, short := s.a.short(s.p.Limit); short {
		s.a.Err = fmt.Errorf("the body is %d octets short of its length", n)
		return s.failure(Body)
	}
	if s.a.Cut || len(body) > s.p.Limit {
		body = wholeLines(body, s.p.Limit)
	}
	file := matcher.Parse(body, s.p.Dialect)
	if rule.NeedRules && file.Rules() == 0 {
		rule.Access = Unreachable
		return s.settle(rule, fmt.Sprintf("status %d without a rule", s.a.Status))
	}
	r := s.record(Successful)
	r.file = file
	if file.Rules() == 0 && html(s.a.Header, body) {
		r.flags |= page
	}
	s.live(r)
	r.describe(detail{served: s.elsewhere(), origin: s.elsewhere(), etag: etag(s.a.Header), lastModified: lastModified(s.a.Header)})
	return r
}

// live starts the lifetime of the record's copy.
func (s *step) live(r *Record) {
	ttl := s.p.Fresh.lifetime(s.a)
	if r.flags&page != 0 {
		ttl = min(ttl, max(s.p.Fresh.HTML, s.p.Fresh.Least))
	}
	r.fetched = s.now
	r.end = after(s.now, ttl)
	r.next = r.end
}

// settle follows an answer that is no file. What then holds is the rule's
// access, and the copy if the rule or an outage keeps it.
func (s *step) settle(rule StatusRule, cause string) *Record {
	if rule.Access == Unreachable {
		return s.unreachable(rule, cause)
	}
	r := s.record(rule.Access)
	d := detail{served: s.elsewhere(), cause: cause, clause: rule.Clause}
	again := rule.Again
	if end := s.keeps(rule.Keep); end > s.now {
		s.keepCopy(r, &d)
		r.end = end
		again = min(again, time.Duration(end-s.now))
	}
	r.next = after(s.now, max(again, s.p.Fresh.Least))
	r.describe(d)
	return r
}

// keeps is until when the old copy governs by a rule's Keep.
func (s *step) keeps(keep time.Duration) int64 {
	switch {
	case s.old == nil || s.old.file == nil || keep == 0 || s.fromFuture():
		return 0
	case keep == Lifetime:
		return s.old.end
	}
	return max(s.old.end, after(s.old.fetched, keep))
}

// fromFuture reports that the old copy was received by a clock that has been
// set back since. Its lifetime, counted by that clock, means nothing now.
func (s *step) fromFuture() bool { return s.old.fetched > s.now+int64(s.p.Fresh.Least) }

// keepCopy carries the copy and what belongs to it over into r and d.
func (s *step) keepCopy(r *Record, d *detail) {
	if s.old == nil || s.old.file == nil {
		return
	}
	was := s.old.detail()
	r.file, r.fetched, r.end = s.old.file, s.old.fetched, s.old.end
	r.flags |= s.old.flags & page
	d.origin, d.etag, d.lastModified = was.origin, was.etag, was.lastModified
	if s.fromFuture() {
		r.fetched, r.end = s.now, s.now
	}
}

// validated reports whether a 304 answers the validators of the copy. Only the
// URL they belong to can do so; any other 304 was not asked for.
func (s *step) validated() bool {
	return s.old.Validators() != nil && s.a.served() == s.old.Origin()
}

// renew follows a 304 to our validators: the copy lives on. A 304 that names
// another entity than ours confirms nothing, so the file is asked for again at
// once and without validators; until then the copy counts as expired, by every
// clock that counts as this one.
func (s *step) renew() *Record {
	r := s.record(Successful)
	d := detail{served: s.elsewhere()}
	s.keepCopy(r, &d)
	if other := etag(s.a.Header); other != "" && d.etag != "" && weak(other) != weak(d.etag) {
		d.etag, d.lastModified = "", ""
		r.end, r.next = r.fetched, s.now-int64(s.p.Fresh.Least)
		r.describe(d)
		return r
	}
	s.live(r)
	r.describe(d)
	return r
}

// record starts the next record.
func (s *step) record(access Access) *Record {
	return &Record{
		profile: s.p, robots: s.a.Robots, at: s.now, next: s.now,
		status: int32(min(max(s.a.Status, 0), 1<<20)), access: access,
	}
}

// elsewhere is the URL that answered if it is not the one asked.
func (s *step) elsewhere() string {
	if served := s.a.served(); served != s.a.Robots {
		return served
	}
	return ""
}

// statusCause names the answer that was not a file.
func (s *step) statusCause() string {
	switch status := s.a.Status; {
	case status <= 0:
		return "no answer"
	case Redirect(status):
		if _, err := s.a.Location(); err != nil {
			return clean.Text(fmt.Sprintf("status %d: %v", status, err), maxWords)
		}
		return fmt.Sprintf("status %d that was not followed", status)
	case status == http.StatusNotModified:
		return "status 304 that was not asked for"
	case http.StatusText(status) != "":
		return fmt.Sprintf("status %d %s", status, http.StatusText(status))
	default:
		return fmt.Sprintf("status %d", status)
	}
}

func (s *step) beyond() string {
	if s.a.loops() {
		return "redirects in a loop"
	}
	return fmt.Sprintf("more than %d redirects", s.p.Hops)
}

// wholeLines shortens text that was cut off to the limit and to its last line
// end, if there is one (section 2.5): half a rule is another rule.
func wholeLines(text []byte, limit int) []byte {
	text = text[:min(len(text), limit)]
	if i := bytes.LastIndexAny(text, "\r\n"); i >= 0 {
		text = text[:i+1]
	}
	return text
}

// html reports whether the answer looks like a page rather than a robots.txt.
func html(h http.Header, body []byte) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml":
		return true
	}
	body = bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\f\v\x00"), []byte("<"))
}

// etag returns the entity tag if it may be kept: well-formed enough to send
// back, and short.
func etag(h http.Header) string {
	tag := h.Get("ETag")
	opaque := weak(tag)
	if len(tag) > maxValidator || len(opaque) < 2 || opaque[0] != '"' || opaque[len(opaque)-1] != '"' {
		return ""
	}
	for i := range len(opaque) {
		if c := opaque[i]; c < 0x21 || c == 0x7f || c == '"' && i > 0 && i < len(opaque)-1 {
			return ""
		}
	}
	return strings.Clone(tag)
}

// weak drops the mark of a weak entity tag: If-None-Match compares weakly (RFC
// 9110, section 13.1.2).
func weak(tag string) string { return strings.TrimPrefix(tag, "W/") }

// lastModified returns the date as sent, if it is one.
func lastModified(h http.Header) string {
	s := h.Get("Last-Modified")
	if _, err := http.ParseTime(s); err != nil || len(s) > maxValidator {
		return ""
	}
	return strings.Clone(s)
}
