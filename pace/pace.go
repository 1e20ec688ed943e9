// Package pace keeps a crawler from hurting the servers it visits: one polite
// queue per authority.
//
// # Use
//
// A [Pacer] hands out turns. Wait for one before each request, report the answer
// to the request, and end the turn with Fail or, when the body has been read or closed, with Done:
//
//	p, err := pace.New(&pace.Limits{Gap: time.Second, Parallel: 2}, nil)
//	...
//	turn, err := p.Wait(ctx, "https://example.com", crawlDelay)
//	if err != nil {
//		return err // *pace.RefusedError: come back at its RetryAt
//	}
//	defer turn.Done()
//	resp, err := client.Do(req)
//	if err != nil {
//		turn.Fail(err) // unless the program itself gave up
//		return err
//	}
//	turn.Answer(resp.StatusCode, resp.Header)
//
// The package knows nothing of robots.txt and sends nothing. Package fetcher uses it
// through fetcher.Options.Pace.
//
// # What to think about
//
// An authority is any string. All who use one string share one queue, so write it the
// same way every time: "https://example.com" and "https://example.com:443" are two.
//
// Turns are given in order of arrival. Between two request starts lies at
// least the longest of [Limits.Gap] and the Crawl-delay that either of the two
// callers passed. The gap counts from the start of the turn, or from [Turn.Sent]. A caller that leaves gives its turn to the next. Nobody
// waits longer than its context, and a wait that is known to end too late is refused
// at once with a [RefusedError].
//
// A turn that is never ended keeps its place in [Limits.Parallel] for ever, and in a fleet it
// keeps all other processes from the host. If Parallel is 1, end a turn before you wait for the next one of the same authority.
//
// # Pauses
//
// After a 429, 503, 509 or 529 nobody visits the authority for the Retry-After of the answer,
// up to [Limits.Pause]. Without a Retry-After that can be read the pause is one second,
// doubled by each further such answer, with up to a quarter more drawn at random, so that
// several crawlers do not come back together. An answer with any other status from 400 on
// pauses the authority only if it has a Retry-After, such as the 403 of a rate limit. One success halves what the next pause
// starts from. No answer shortens a running pause, and only a success shortens the next
// one (house rules; RFC 9309 is silent on pacing).
//
// Any answer may say that no request is left of a quota, in the field RateLimit, or else
// in RateLimit-Remaining and RateLimit-Reset, or in X-RateLimit-Remaining and
// X-RateLimit-Reset. Then the authority rests until the reset, up to [Limits.Pause]. If an
// answer with a status from 400 on has a Retry-After, that counts instead. The fields never make a crawler faster.
// A RateLimit of more than 8 KiB is ignored.
//
// # Hosts that fail
//
// A request failed if [Turn.Fail] says so, or if the status of its answer says that the
// host is broken: 408, 425, 999, and 500 to 599 except 501, 505 and the statuses that pause. After three failures in a row the authority rests for
// ten seconds. Then one request tries, and all others wait for its outcome: a success
// ends the trouble, and a failure doubles the rest, up to 15 minutes. A dead host gets
// twelve requests in its first hour, even from a whole fleet.
//
// # Scopes and fleets
//
// A request can keep the limits of several scopes at the same time: all hosts of a
// domain, all hosts at one address, the crawler as a whole; see [Scope]. Its turn
// comes when its authority and all scopes have room. While it waits for one of them, it
// uses up nothing of the others.
//
// With [Options.Shared] one process of a fleet at a time works on a host, and keeps all limits
// there alone: it has the lease. The others wait in the store's queue in order of asking, as
// a request waits for a place. After a quantum, of a second or twenty times as long as a request
// takes, the holder ends its requests and returns the lease with all that is known of the
// host: the last start, the Crawl-delay, pauses, failures. The lease of a process that is killed or
// frozen ends after five seconds. Leases are renewed in the background, so a turn at a host that
// the process has makes no call of the store. Scopes are leased, too, unless [Scope.Divide] is set.
//
// While the store is away each process keeps its share of the limits, and every pause that it
// has heard of.
//
// # Limits
//
// An authority or a scope takes about 350 bytes while its limits can matter. A Pacer
// remembers about 262,144 of them that nobody uses; [Stats.Forgotten] counts those that were
// forgotten early. An authority that nobody waits for has no goroutine and no timer, but for a
// few seconds in a fleet. A free turn costs one allocation, and with scopes two. The clock is the
// monotonic one: steps of the wall clock do not matter.
package pace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Limits says how often one authority may be visited. It is plain data. The zero
// value sets no gap and no bound on parallel requests, honours Crawl-delay up to a
// minute, pauses after 429, 503, 509 and 529, and rests after three failures in a row.
type Limits struct {
	// Gap is the shortest time between the starts of two requests. Zero
	// sets no gap, which is not wise for a crawl of any length: most
	// robots.txt files state no Crawl-delay.
	Gap time.Duration

	// FreeLoopback lifts Gap from the hosts of this machine: localhost and its
	// subdomains, 127.0.0.0/8 and [::1]. A Crawl-delay of these hosts is obeyed.
	FreeLoopback bool

	// Delay says how much of a Crawl-delay is obeyed. Zero is Cap.
	Delay Mode

	// DelayCap is the longest Crawl-delay obeyed in mode Cap. Zero is 60
	// seconds.
	DelayCap time.Duration

	// Parallel is the number of requests in flight at once, counted from
	// the start of a turn to its Done. Zero is no bound, which is not wise
	// together with a short Gap and a slow server.
	Parallel int

	// Pause is the longest pause after an answer, and the longest rest for a quota,
	// whatever the answer asks for. Zero is 15 minutes.
	Pause time.Duration

	// MaxWait is the longest time that a caller waits. One that would wait
	// longer is refused at once. Zero leaves it to each caller's context,
	// which is not wise for a crawler that has other hosts to visit. Nor is a MaxWait as long
	// as Gap, which refuses no first page of a host. With
	// MaxWait, reschedule the host of a page that is refused, not just the
	// page: the other pages of the host would be refused as well.
	MaxWait time.Duration

	// Failures is the number of failed requests in a row after which an authority
	// rests. Zero is 3.
	Failures int

	// Rest is how long an authority rests that failed. Each further failure
	// doubles it. Zero is 10 seconds.
	Rest time.Duration

	// RestMax is the longest such rest. Zero is 15 minutes.
	RestMax time.Duration

	// Statuses says what single statuses show of a host, in place of what the package
	// comment says: 403 as Overloaded, for a host that turns crawlers away with it. A
	// Retry-After is obeyed in any case.
	Statuses map[int]Health

	// Off is no pacing at all: every turn is free, and no answer means anything. Every
	// other field must be zero.
	Off bool
}

// Default returns the limits of a crawler that says nothing else: half a second between
// requests, none of it for hosts of this machine, two requests in flight, Crawl-delay up
// to a minute, and pauses of up to 15 minutes.
func Default() *Limits {
	return &Limits{Gap: 500 * time.Millisecond, FreeLoopback: true, Parallel: 2, DelayCap: time.Minute, Pause: 15 * time.Minute}
}

// Unlimited returns limits that are Off.
func Unlimited() *Limits { return &Limits{Off: true} }

// Mode says how much of a Crawl-delay is obeyed. RFC 9309 has no Crawl-delay, but
// many files do. One that is not obeyed in full is reported to Options.OnDelay.
type Mode uint8

const (
	Cap    Mode = iota // obey it up to Limits.DelayCap
	Ignore             // do not obey it
	Honour             // obey it however long: a day means one request a day
)

var modeNames = [...]string{"cap", "ignore", "honour"}

// String returns the name of m in lower case.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// Options are the parts of a Pacer that are not plain data. Hooks are called with no
// lock held, on the goroutine of the caller they concern, and may call the Pacer;
// several may run at once. A nil hook costs nothing.
type Options struct {
	// OnWait is called after each wait, however the wait ended: how long it took and what
	// the caller waited for last. Free turns and refusals at once are not waits.
	OnWait func(authority string, wait time.Duration, why Reason)

	// OnDelay is called once per authority when its Crawl-delay is not obeyed in
	// full: what was asked and what is obeyed. It may be called again after 65,536
	// other authorities.
	OnDelay func(authority string, asked, obeyed time.Duration)

	// Shared is the store by which the processes of a fleet share hosts: the Pace of a
	// *redis.Store of package cache/redis. Nil is this process alone, which is not wise
	// for a fleet that visits the same hosts. The Pacer calls it until the Pacer is garbage, and
	// never from a goroutine of its callers.
	Shared Store

	// OnShared is called with the error when Shared fails, and with nil when it is
	// back, in this order, on a goroutine of its own: no turn waits for it. In between,
	// once its leases have ended, each process keeps its share of the limits: of eight
	// processes at the last count, each has an eighth of Parallel in flight and keeps eight
	// times the gap. If its share of Parallel is less than one, it sends one request at a
	// time, with a longer gap. A process that has never reached Shared keeps all the limits
	// alone.
	OnShared func(err error)
}

// Reason names what a request waits for.
type Reason string

const (
	ReasonNone       Reason = ""            // nothing: the turn is free
	ReasonGap        Reason = "gap"         // Limits.Gap
	ReasonCrawlDelay Reason = "crawl_delay" // the Crawl-delay of this request or of the one before
	ReasonPause      Reason = "pause"       // an answer asked for fewer requests: 429, 503, 509, 529, or a Retry-After
	ReasonBreaker    Reason = "breaker"     // too many failures in a row: a rest, or the probe after it
	ReasonQuota      Reason = "quota"       // an answer said that no request is left
	ReasonParallel   Reason = "parallel"    // Limits.Parallel
	ReasonFleet      Reason = "fleet"       // another process of the fleet works on the host
	ReasonScope      Reason = "scope"       // the limits of a Scope
)

const (
	// firstPause is the level that doubling starts from. A level that is halved to less is 0.
	firstPause = time.Second

	// maxSpan is the longest span in use, 36 years. Longer spans are cut to it, so that
	// no sum overflows.
	maxSpan = time.Duration(1) << 60
)

// New returns a Pacer for a copy of the limits l. Nil limits are Default, and nil options are
// zero Options. The error names a field without a valid value and says what was expected.
func New(l *Limits, o *Options) (*Pacer, error) {
	l = cmp.Or(l, Default())
	if err := l.check(); err != nil {
		return nil, err
	}
	return &Pacer{
		limits: l.filled(), opts: *cmp.Or(o, &Options{}), base: time.Now(), hosts: memory{byName: make(map[string]*host)},
		classes: make(map[className]*class), fleet: newFleet(),
	}, nil
}

// check refuses values that have no meaning.
func (l Limits) check() error {
	filled := l.filled()
	for _, f := range []struct {
		name  string
		value any
		wrong bool
		want  string
	}{
		{"Gap", l.Gap, l.Gap < 0, "a positive duration, or 0 for none"},
		{"Delay", l.Delay, l.Delay > Honour, "Cap, Ignore or Honour"},
		{"DelayCap", l.DelayCap, l.DelayCap < 0, "a positive duration, or 0 for 60s"},
		{"Parallel", l.Parallel, l.Parallel < 0, "a positive number, or 0 for no bound"},
		{"Pause", l.Pause, l.Pause < 0, "a positive duration, or 0 for 15m"},
		{"MaxWait", l.MaxWait, l.MaxWait < 0, "a positive duration, or 0 for the caller's context alone"},
		{"Failures", l.Failures, l.Failures < 0, "a positive number, or 0 for 3"},
		{"Rest", l.Rest, l.Rest < 0, "a positive duration, or 0 for 10s"},
		{"RestMax", l.RestMax, l.RestMax < 0, "a positive duration, or 0 for 15m"},
		{"Rest", filled.Rest, filled.Rest > filled.RestMax, "at most RestMax, " + filled.RestMax.String()},
	} {
		if f.wrong {
			return fmt.Errorf("pace: Limits.%s is %v; want %s", f.name, f.value, f.want)
		}
	}
	if l.Off && !l.equal(Unlimited()) {
		return errors.New("pace: Limits.Off is set together with other fields; want every other field zero")
	}
	for status, h := range l.Statuses {
		if status < 100 || status > 999 || h > Overloaded {
			return fmt.Errorf("pace: Limits.Statuses maps %d to %v; want a status and one of Neutral, Healthy, Failing and Overloaded", status, h)
		}
	}
	return nil
}

// filled returns l with each zero replaced by what it stands for, and each
// span cut to one that sums cannot overflow with.
func (l Limits) filled() Limits {
	l.Gap = min(l.Gap, maxSpan)
	l.DelayCap = min(cmp.Or(l.DelayCap, time.Minute), maxSpan)
	l.Pause = min(cmp.Or(l.Pause, 15*time.Minute), maxSpan)
	l.MaxWait = min(cmp.Or(l.MaxWait, maxSpan), maxSpan)
	l.Failures = cmp.Or(l.Failures, 3)
	l.Rest = min(cmp.Or(l.Rest, 10*time.Second), maxSpan/2)
	l.RestMax = min(cmp.Or(l.RestMax, 15*time.Minute), maxSpan/2)
	l.Statuses = maps.Clone(l.Statuses)
	return l
}
