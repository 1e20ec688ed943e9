package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file replays a crawl.

// A crawl is a replay. Its events are visits to hosts and ends of pages. One goroutine,
// the driver, takes them in order and lets the time pass in between. When a visit needs
// robots.txt, its goroutine waits for the fetch and another one becomes the driver. A
// goroutine whose visit has ended becomes a driver again later. So there are as many
// goroutines as fetches under way at one time.
type crawl struct {
	settings
	world   *world
	crawler *fetcher.Transport
	began   time.Time
	rate    float64 // of visits to the first host, per nanosecond
	drivers sync.WaitGroup
	wake    chan struct{} // an event was added
	idle    chan struct{} // a receiver becomes the driver; closed at the end

	mu        sync.Mutex // not held while time passes
	hosts     []host
	queues    map[name]*queue // of the names with requests in the last hour
	swept     moment          // when queues was last cleaned
	visits    events[visit]
	ends      events[pageEnd]
	current   *visitor            // the visit of the driver
	fetches   map[uint32]*visitor // visits that wait for robots.txt
	days      []counts
	evicts    bool     // records may have been dropped because the memory was full
	paced     int      // the most authorities that package pace remembered
	forgotten uint64   // authorities that it forgot early
	wrongs    []string // the first wrong decisions and gaps
}

// settings are the flags of the command.
type settings struct {
	hosts   int           // number of hosts
	days    int           // that are replayed
	pages   float64       // mean number of visits to a host
	seed    uint64        // decides the web and the visits
	bytes   int64         // of memory; 0: 3 KiB for each host
	least   time.Duration // shortest lifetime of a copy
	restart int           // number of hosts of the restart

	progress io.Writer // gets the row of each day when it is over; nil: nothing

	// spoil makes the crawler do wrong, so that tests see the oracle object. Nil does
	// nothing.
	spoil func(*policy.Profile, *pace.Limits)
}

// A visitor is a visit that is under way.
type visitor struct {
	host     uint32
	began    moment
	replaced bool // another goroutine is the driver
	requests int  // for robots.txt, to both names
	outcome  outcome
	next     moment // when the library will fetch again, by its new record
	learnt   bool   // next is set
}

// A pageEnd is the end of a page.
type pageEnd struct {
	at        moment
	began     moment
	host      uint32
	fault     fault
	admission *fetcher.Admission
}

func (p pageEnd) when() moment { return p.at }

// counts are the results of a day.
type counts struct {
	visits        int
	pages         int // that were admitted
	disallowed    int
	deferred      int         // because robots.txt is unreachable
	late          int         // allowed, but the turn comes later
	hits          int         // visits without a fetch
	fetches       int         // of robots.txt
	causes        [causes]int // of these fetches
	requests      int         // of all fetches
	hostDays      int         // hosts that were visited, each once
	steadyFetches int         // of hosts where nothing expires within a day, or fails
	steadyDays    int         // such hosts that were visited
	downFetches   int         // of hosts that always fail
	downDays      int         // such hosts that were visited
	gaps          int         // requests before their turn
	wrong         int         // decisions that the oracle does not share
	bytes         int64       // the most memory in use
}

// replay runs a crawl in virtual time.
func replay(t *testing.T, w *world, s settings) (c *crawl) {
	synctest.Test(t, func(t *testing.T) {
		c = newCrawl(t, w, s)
		c.startDriver()
		c.drivers.Wait()
		for _, end := range c.ends {
			end.admission.Done()
		}
	})
	return c
}

// newCrawl returns a crawl before its first visit.
func newCrawl(t *testing.T, w *world, s settings) *crawl {
	c := &crawl{settings: s, world: w, began: time.Now(), fetches: map[uint32]*visitor{}, queues: map[name]*queue{}}
	c.wake, c.idle = make(chan struct{}, 1), make(chan struct{})
	if c.bytes == 0 {
		c.bytes = max(3<<10*int64(s.hosts), 64<<20)
	}
	limits := pace.Default()
	limits.MaxWait = 1 // nobody waits: a host that is not ready is visited again at RetryAt
	profile := policy.RFC9309()
	profile.Fresh.Min = s.least
	if s.spoil != nil {
		s.spoil(profile, limits)
	}
	var err error
	c.crawler, err = fetcher.New(agent, &fetcher.Options{
		Base: c, Profile: profile, Pace: limits, MaxBytes: c.bytes, Trace: &fetcher.Trace{Fetched: c.fetched},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.days = make([]counts, s.days)
	c.hosts = make([]host, s.hosts)
	// The n-th host gets 1/n of the visits of the first one: Zipf's law.
	sum := math.Log(float64(s.hosts)) + 0.5772
	c.rate = s.pages * float64(s.hosts) / sum / float64(w.span)
	c.visits = make(events[visit], 0, s.hosts)
	for i := range c.hosts {
		c.hosts[i].file = -1
		// Each host is visited at least once.
		first := min(float64(w.span), 1/c.rateOf(uint32(i))) * w.random(uint32(i), forFirstVisit, 0)
		c.visits.push(visit{moment(first), uint32(i)})
	}
	return c
}

// rateOf is how often a host is visited, per nanosecond.
func (c *crawl) rateOf(host uint32) float64 { return c.rate / float64(host+1) }

// now is the time since the start of the crawl.
func (c *crawl) now() moment { return time.Since(c.began) }

// startDriver makes another goroutine the driver: an idle one, or else a new one.
func (c *crawl) startDriver() {
	select {
	case c.idle <- struct{}{}:
	default:
		c.drivers.Go(func() {
			for more := true; more; _, more = <-c.idle {
				c.drive()
			}
		})
	}
}

// drive takes the events in order until the end, or until another goroutine does.
func (c *crawl) drive() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.mu.Lock()
		now, at := c.now(), min(c.visits.first(), c.ends.first())
		switch {
		case at > c.world.span && len(c.fetches) == 0:
			c.mu.Unlock()
			close(c.idle)
			return
		case now-c.swept > time.Hour:
			c.sweep(now)
			c.mu.Unlock()
		case at > now:
			c.mu.Unlock()
			timer.Reset(min(at, c.world.span+time.Hour) - now)
			select {
			case <-timer.C:
			case <-c.wake:
			}
		case at == c.ends.first():
			end := c.ends.pop()
			c.mu.Unlock()
			c.endPage(end, now)
		default:
			v := c.visits.pop()
			c.mu.Unlock()
			if c.visit(v.host, now) {
				return
			}
		}
	}
}

// queue returns what the limits of a name depend on.
func (c *crawl) queue(n name) *queue {
	q := c.queues[n]
	if q == nil {
		q = newQueue()
		c.queues[n] = q
	}
	return q
}

// sweep forgets the queues that no limit depends on any more, and prints the day that is over.
func (c *crawl) sweep(now moment) {
	if n := int(c.swept / day); c.progress != nil && n != int(now/day) {
		c.days[n].print(c.progress, fmt.Sprint(n+1))
	}
	c.swept = now
	for n, q := range c.queues {
		if q.lapsed(now) {
			delete(c.queues, n)
		}
	}
}

// add adds a visit.
func (c *crawl) add(v visit) {
	c.visits.push(v)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// visit asks for a page of a host. It reports whether another goroutine became the
// driver meanwhile.
func (c *crawl) visit(n uint32, now moment) (replaced bool) {
	h := &c.hosts[n]
	v := &visitor{host: n, began: now}
	c.mu.Lock()
	asked := int(h.file)
	if asked < 0 {
		s := c.world.site(n)
		asked = s.serves(now)
	}
	c.current = v
	c.mu.Unlock()

	all := c.world.files[asked].targets
	target := &all[int(c.world.random(n, forTarget, uint64(h.visits))*float64(len(all)))]
	u := target.url
	u.Host = nameOf(n)
	admission, d, err := c.admit(&u, h.due(now))

	c.mu.Lock()
	defer c.mu.Unlock()
	if !v.replaced {
		c.current = nil
	}
	delete(c.fetches, n)
	now = c.now()
	if err != nil {
		c.report(now, &c.day(now).wrong, "%s: %v", u.Host, err)
	} else {
		c.judge(v, h, asked, target, &d, now)
	}
	h.visits++
	if admission != nil {
		c.beginPage(n, h, admission, now)
	}
	c.add(visit{c.nextVisit(n, h, &d, now), n})
	return v.replaced
}

// admit calls Admit. The profile tells a call for a host whose robots.txt is due from
// any other one by the name of the caller.
func (c *crawl) admit(u *url.URL, due bool) (*fetcher.Admission, policy.Decision, error) {
	if due {
		return c.crawler.Admit(context.Background(), u)
	}
	return c.admitKnown(u)
}

// admitKnown calls Admit for a host whose robots.txt is not due.
//
//go:noinline
func (c *crawl) admitKnown(u *url.URL) (*fetcher.Admission, policy.Decision, error) {
	return c.crawler.Admit(context.Background(), u)
}

// nextVisit returns when a host is visited next: at random, but not before the library
// permits it.
func (c *crawl) nextVisit(n uint32, h *host, d *policy.Decision, now moment) moment {
	at := now + max(1, moment(-math.Log(1-c.world.random(n, forVisit, uint64(h.visits)))/c.rateOf(n)))
	if d.Verdict != policy.Defer {
		return at
	}
	retry := d.RetryAt.Sub(c.began)
	if d.Pacing != "" {
		return retry // the page is still wanted
	}
	return max(at, retry)
}

// beginPage counts a page that may be requested, and decides on its answer.
func (c *crawl) beginPage(n uint32, h *host, a *fetcher.Admission, now moment) {
	s := c.world.site(n)
	f := pick(pages, c.world.random(n, forPage, uint64(h.visits)))
	if s.down != none && now >= s.downFrom && now < s.downTo {
		f = s.down
	}
	took := s.latency
	if f == silent {
		took = 20 * time.Second
	}
	c.startRequest(c.queue(name{host: n}), h.delay(c.world.files), now)
	c.ends.push(pageEnd{now + took, now, n, f, a})
}

// endPage reports the answer to a page.
func (c *crawl) endPage(p pageEnd, now moment) {
	if status, ok := statuses[p.fault]; ok {
		header := http.Header{}
		if d := retryAfter[p.fault]; d > 0 {
			header.Set("Retry-After", fmt.Sprint(int(d.Seconds())))
		}
		p.admission.Answer(status, header)
		p.admission.Done()
	} else {
		p.admission.Fail(faultErrors[p.fault])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue(name{host: p.host}).end(p.began, now, p.fault)
}

// startRequest counts a request and checks its time.
func (c *crawl) startRequest(q *queue, delay, now moment) {
	if wrong := q.start(now, delay); wrong != "" {
		c.report(now, &c.day(now).gaps, "a request came too early: %s", wrong)
	}
}

// report counts something that is wrong. The first few are described.
func (c *crawl) report(now moment, count *int, format string, args ...any) {
	*count++
	if len(c.wrongs) < 10 {
		c.wrongs = append(c.wrongs, fmt.Sprintf("%v: %s", now, fmt.Sprintf(format, args...)))
	}
}

// day returns the counts of the day.
func (c *crawl) day(now moment) *counts { return &c.days[min(int(now/day), len(c.days)-1)] }

// RoundTrip answers requests for robots.txt.
func (c *crawl) RoundTrip(req *http.Request) (*http.Response, error) {
	n, other := hostOf(req.URL.Host)
	s, now := c.world.site(n), c.now()
	c.mu.Lock()
	q := c.queue(name{n, other})
	v := c.fetches[n]
	if v == nil {
		v = c.current
		v.replaced, c.current = true, nil
		v.outcome.began, v.outcome.least = now, c.least
		c.fetches[n] = v
		c.startDriver()
	}
	v.requests++
	c.startRequest(q, 0, now)
	c.mu.Unlock()

	answers := s.wait(req.Context(), s.meets(now))
	resp, f, err := c.world.robots(&s, n, other, req, now)
	if !answers {
		resp, f, err = nil, silent, faultErrors[silent]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q.end(now, c.now(), f)
	o := &v.outcome
	if f == looping {
		o.redirects++
	}
	o.fault, o.done, o.file, o.lifetime = f, c.now(), s.serves(now), s.lifetime
	o.page = c.world.files[o.file].page
	if o.lifetime.expires > 0 {
		o.date = time.Until(time.Now().Add(o.lifetime.expires).Truncate(time.Second))
	}
	return resp, err
}

// fetched is told of each record that the library makes.
func (c *crawl) fetched(a policy.Attempt, r *policy.Record) {
	u, err := url.Parse(a.Robots)
	if err != nil {
		return
	}
	n, other := hostOf(u.Host)
	if other {
		return // a redirect led to the other name, whose file this is, too
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.fetches[n]; v != nil {
		v.next, v.learnt = r.NextTry().Sub(c.began), true
		v.outcome.done = a.Received.Sub(c.began)
	}
}

// judge compares a decision with the oracle's, which learns what the visit has fetched.
func (c *crawl) judge(v *visitor, h *host, asked int, t *target, d *policy.Decision, now moment) {
	today, n := c.day(now), v.host
	c.count(v, h, d, now)
	late := d.Pacing != "" && d.Verdict == policy.Defer
	due := h.due(v.began)
	bad := func(what string) {
		c.report(now, &today.wrong, "host %d, %s: %s; knew %+v, fetched %+v with the next fetch at %v, asked for %q", n, what, d, *h, v.outcome, v.next, t.text)
	}
	switch {
	case v.requests == 0 && due:
		if !late {
			bad("a record that is due was used")
		} else if !c.queue(name{host: n}).waits(now, 0) {
			bad("refused for no reason")
		}
		return
	case v.requests > 0 && !v.learnt:
		bad("nothing was learnt from a fetch")
		return
	case v.requests > 0 && !due && !c.evicts:
		bad("fetched before it was due")
	}
	candidates := []host{*h}
	if v.requests > 0 && c.evicts {
		forgotten := *h
		forgotten.known, forgotten.file, forgotten.down = false, -1, false
		candidates = append(candidates, forgotten)
	}
	if v.requests > 0 && !due {
		candidates = candidates[len(candidates)-1:]
	}
	got := d.Verdict
	if late {
		got = policy.Allow // by the rules; only the turn comes later
	}
	for _, known := range candidates {
		ok := true
		if v.requests > 0 {
			known, ok = known.learn(v.outcome, v.next)
		}
		if ok && known.verdict(c.world.files, asked, t) == got && (late || known.shows(d, c.began)) {
			*h = known
			if late && !c.queue(name{host: n}).waits(now, h.delay(c.world.files)) {
				bad("refused for no reason")
			}
			return
		}
	}
	bad("another decision")
	if v.requests > 0 {
		*h, _ = h.learn(v.outcome, v.next)
	}
}

// count counts a visit.
func (c *crawl) count(v *visitor, h *host, d *policy.Decision, now moment) {
	today := c.day(now)
	today.visits++
	switch {
	case d.Verdict == policy.Allow:
		today.pages++
	case d.Verdict == policy.Disallow:
		today.disallowed++
	case d.Pacing != "":
		today.late++
	default:
		today.deferred++
	}
	s := c.world.site(v.host)
	steady, dead := c.world.steady(s), s.fault != none && s.fault != gone && s.fault != removed
	bit := uint8(1) << min(int(now/day), len(c.days)-1)
	fetches, days := 0, 0
	if v.requests > 0 {
		fetches = 1
		today.requests += v.requests
		today.causes[h.cause(v.began, bit, &s)]++
		h.fetched |= bit
	} else {
		today.hits++
	}
	if h.visited&bit == 0 {
		h.visited |= bit
		days = 1
	}
	today.fetches += fetches
	today.hostDays += days
	switch {
	case steady:
		today.steadyFetches += fetches
		today.steadyDays += days
	case dead:
		today.downFetches += fetches
		today.downDays += days
	}
	stats := c.crawler.Stats()
	today.bytes = max(today.bytes, stats.Bytes)
	c.evicts = c.evicts || stats.Bytes > c.bytes-c.bytes/16
	c.paced, c.forgotten = max(c.paced, stats.Pace.Authorities), stats.Pace.Forgotten
}

// A cause is why robots.txt is fetched.
type cause int

const (
	firstToday cause = iota // nothing is known, or it has expired, and this is the first fetch on the day
	dropped                 // the record was current, but the memory has dropped it
	failed                  // the fetch before failed
	declared                // the answer declared less than a day
	isPage                  // it is an HTML page, which is used for an hour
	refusal                 // the answer was a refusal or a circle of redirects, which is used for an hour
	causes                  // the number of causes
)

// cause returns why the host is fetched now, on the day of the bit, before the fetch is learnt.
func (h *host) cause(now moment, bit uint8, s *site) cause {
	switch {
	case !h.due(now):
		return dropped
	case h.fetched&bit == 0:
		return firstToday
	case h.down:
		return failed
	case h.file < 0:
		return refusal
	case s.lifetime.short():
		return declared
	}
	return isPage
}
