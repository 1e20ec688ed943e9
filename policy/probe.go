package policy

import "time"

// This file finds the servers that answer 5xx for whatever they do not have: an exception
// to RFC 9309, section 2.3.1.4, from Google's documentation.

// Probe is what a server answered to two more requests, after a 5xx for robots.txt. See
// [Profile.WantsProbe].
type Probe struct {
	// Root is the status of a HEAD of "/", a redirect not followed. Zero means no
	// answer, or the answer of a cache, which may outlive its server.
	Root int
	// Missing is the status of a GET of a path that cannot exist. Zero means no
	// answer, or no request, because Root was not a 2xx.
	Missing int
}

// probeInterval is how long a 5xx counts as a 404. After that the file is fetched, and the
// server probed, again: if the server has gone down, that is noticed within the hour.
const probeInterval = time.Hour

// WantsProbe reports whether the crawler should request "/" and a path that cannot exist,
// and fill in Attempt.Probe, before Learn gets the attempt. It is false unless
// Profile.ProbeMissing is set and the authority itself, not the target of a redirect, answered
// 5xx, no copy is known, and there was no Probe in the last 24 hours of this outage. An
// answer that counts as a 404 ends the outage.
func (p *Profile) WantsProbe(old *Record, a Attempt) bool {
	s := p.newStep(old, a)
	if s.old == nil || s.old.outage == nil {
		return s.mayProbe()
	}
	last := s.old.outage.probed
	return s.mayProbe() && (s.now >= addSpan(last, day) || p.future(last, s.now))
}

// mayProbe reports whether a Probe could show that there is no file.
func (s *step) mayProbe() bool {
	return s.p.ProbeMissing && s.a.Err == nil && s.a.Status >= 500 && s.a.Status <= 599 &&
		s.elsewhere() == "" && (s.old == nil || s.old.copy == nil)
}

// insteadOf404 reports whether the 5xx stands for a 404: the server has a page for "/", and
// fails in the same way for what it does not have. A server that is down fails for "/", too.
// A redirect shows no server: an edge in front of it may redirect whatever it is asked for.
func (s *step) insteadOf404() bool {
	p := s.a.Probe
	return p != nil && s.mayProbe() && p.Root >= 200 && p.Root <= 299 && p.Missing == s.a.Status
}
