package fetcher

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/internal/origin"
	"github.com/rfc9309/polite/internal/records"
	"github.com/rfc9309/polite/internal/retrieve"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file has the options.

// Options adjusts a Transport. The zero value of every field is a sound choice
// for one crawler process.
type Options struct {
	// Token is the product token that groups are looked up by (RFC 9309,
	// section 2.2.1), or several, separated by commas, the most specific first:
	// with "ExampleBot-Image, ExampleBot" the first that has a group is obeyed,
	// and "*" only if none has. Each must be part of the agent. Empty takes it
	// from the agent: the part before the first "/", "(" or space, as in
	// "ExampleBot/0.1 (+https://example.com/bot)". It must be set when the agent
	// begins with something else, such as "Mozilla/5.0".
	Token string

	// Profile is how the protocol is read. Nil is policy.RFC9309(). New keeps
	// a copy: a later change of the profile changes nothing.
	Profile *policy.Profile

	// Store keeps records beyond this process; see package cache. Nil keeps
	// them in memory alone, so that a restart forgets since when a site is down.
	// Nil is unwise for a crawler that restarts more often than every 30 days.
	// The caller closes the store, after the last use of the Transport.
	//
	// If it is also a cache.Leaser, the processes that share it fetch each
	// robots.txt once. When one dies during a fetch, another takes over within
	// six seconds. A failure without any HTTP answer is stored for the fleet only by
	// a process that had an answer from another site in the last five minutes.
	Store cache.Store

	// Base makes the requests, for pages and for robots.txt, which share their
	// connections. Only the redirects of a robots.txt, and with PageEgress all
	// requests, go through a clone of a Base that is an *http.Transport; see "Redirects
	// to private addresses", also for what another kind of RoundTripper costs.
	//
	// Nil is a clone of http.DefaultTransport, as New finds it, that keeps up to 2,048
	// idle connections for Pace.Gap and five seconds. A Base should keep as many idle
	// connections as there are hosts in flight: with the MaxIdleConns of
	// http.DefaultTransport, 100, a crawl of more hosts connects anew for each page. The
	// Logger reports that. Set MaxIdleConns to 0, or to what the limit of open files
	// permits, and IdleConnTimeout to a little more than Pace.Gap.
	//
	// A request for a page has the context of the caller, with its values. A request for
	// robots.txt is for all who wait for it, so its context has no values and ends with
	// Timeout. A Base that chooses a proxy by a value of the context finds none there:
	// [Transport.Over] gives pages and robots.txt another base.
	Base http.RoundTripper

	// Schemes are the schemes that are fetched beside http and https (RFC 9309,
	// section 2.3). Only "ftp" is possible, and Base must serve it, for instance by
	// package fetcher/ftp. Nil is none: URLs of other schemes are an error
	// ([ErrURL]).
	Schemes []string

	// MaxBytes bounds the private memory, in bytes. Zero is 64 MiB.
	MaxBytes int64

	// Timeout bounds one whole fetch of robots.txt, all redirects and tries
	// included. Each of them waits for its turn, so a time shorter than Pace.Gap, or than
	// the Gap of a scope, makes a file behind a redirect unreachable. Zero is 30 seconds, or
	// (Profile.Hops + 1) * Pace.Gap if that is longer: enough for each redirect. An answer to a
	// page whose body nobody reads for so long, and an Admission that does not end, give their
	// turns back.
	Timeout time.Duration

	// PageTimeout bounds a page, from the moment its turn comes to the end of its body. A page
	// that takes longer is a timeout of its host. The Timeout of an http.Client, and a deadline of
	// the context, count the wait for the turn as well, which a Crawl-delay makes a minute long:
	// give them room for that, and use PageTimeout for servers that are slow. It does not apply to
	// Admit. Zero bounds a page by its context alone, so a server that never answers keeps a
	// request without a deadline for ever.
	PageTimeout time.Duration

	// Patience is how long RoundTrip and Admit wait, in all, while robots.txt is unreachable, in
	// place of a Defer. They wait for the next fetch, once or several times, if it comes within
	// Patience and before the context ends; otherwise they return the Defer at once. The
	// default profile makes the second fetch of an outage after 30 to 60 seconds, and the third one to two
	// minutes later. All who wait for a host continue as soon as this process has fetched
	// robots.txt. If another process of a fleet has, they continue at RetryAt, by the record in
	// Store. Waits for a turn are not part of it; see pace.Limits.MaxWait. Zero does not wait,
	// which suits a crawler that keeps deferred URLs for later. A few minutes suit a program
	// with a goroutine for each page, which has no other place to wait.
	Patience time.Duration

	// Attempts is how often one hop is tried before it counts as failed. Only
	// failures of the connection are tried again; an answer, whatever its
	// status, is final. That an *http.Transport tries another connection if a
	// kept one has been closed does not count. Zero is 2.
	Attempts int

	// Pace spaces the requests to each authority: pages, robots.txt and each
	// of its redirects. Nil is pace.Default(): half a second between two requests,
	// two in flight, a Crawl-delay up to a minute, and pauses after 429, 503, 509 and 529;
	// hosts of this machine have no gap, but their Crawl-delay is obeyed. They are
	// known by the name in the URL, so a test server in memory under another name has
	// a gap. pace.Unlimited() does not pace, which is wise for such tests, and
	// otherwise only if something else does.
	//
	// If the Store has a method Pace() pace.Store, such as the Store of cache/redis, one
	// process at a time of those that share it works on a host: give all of them the same
	// limits. While Redis is away each process keeps its share of the limits; Trace.Fleet and
	// the Logger report it, and Stats.Pace.Unshared counts the requests.
	Pace *pace.Limits

	// Sign, if set, is called last for each request that goes out: each page, and each
	// hop and try of a robots.txt. It gets a copy without the body, and what it does to
	// the Header is sent; other changes have no effect. If it returns an error, panics,
	// leaves a Header that cannot be sent, or takes longer than the request may, nothing is
	// sent: a page gets a *policy.Failure of class Sign, and a robots.txt counts as
	// unreachable in this process alone. It is called on goroutines of its own, several at
	// a time. Nil costs nothing.
	//
	// An *http.Transport repeats a GET, with the same signature, if a connection that was
	// kept alive ends without an answer. A site that accepts each signature once may refuse
	// the second request; DisableKeepAlives in the base prevents it.
	Sign func(req *http.Request) error

	// Scopes, if set, gives the request for a URL further limits, which it shares with
	// other requests: those for a registrable domain, or of the crawler as a whole. It
	// is called for pages, for robots.txt and for each hop, and for Check, on any
	// goroutine. It must be quick, and must not change the URL. A request with a Scope
	// that has no meaning gets an error. See [pace.Scope]; a Scope whose Key is the
	// [Authority] of the URL replaces Pace for this host. Nil is none.
	//
	// With the Store of cache/redis the limits of scopes hold for all processes that
	// use it. A Redis Cluster needs its Options.Slot for that.
	Scopes func(target *url.URL) []pace.Scope

	// Redirect, if set, is called before a redirect of robots.txt is followed.
	// An error refuses it; the file then counts as unreachable. Nil follows
	// all that Egress permits.
	Redirect func(from, to *url.URL) error

	// Egress, if set, replaces the rule on the addresses that a redirect of
	// robots.txt may lead to. An error refuses the address. It is called at
	// dial time, possibly by several goroutines. Nil refuses to go from a
	// public address to a private or otherwise special one.
	Egress func(addr netip.Addr) error

	// PageEgress applies the address rule, the default one or Egress, to pages,
	// too, and to the robots.txt that they need: nothing is sent to an address that
	// it refuses, and the request gets a *DeniedError with a Disallow. It holds with
	// Audit and whatever Override says. False suits a crawler of an intranet; true
	// suits one that anybody may give URLs to. Through a proxy, or with a Base that
	// is no *http.Transport, each page then costs a look-up of its host's name.
	PageEgress bool

	// Override, if set, is called first for every URL. If ok is true its verdict
	// decides, no robots.txt is fetched, and the reason is in the Decision. It is
	// called on the caller's goroutine.
	Override func(target *url.URL) (v policy.Verdict, reason string, ok bool)

	// Audit decides and reports but never blocks a request: for a trial.
	Audit bool

	// AsResponse answers a refused request with a response in place of a *DeniedError,
	// for clients that retry on any error: a Disallow is a 403, and a Defer a 503 with
	// Retry-After. Its body is the printed Decision. The header field Polite-Verdict has
	// the value "disallow" or "defer", and tells the response from an answer of the site. A client
	// that does not look at the status takes the body for the page, and may store it.
	AsResponse bool

	// Trace has hooks for what happens. Nil fields cost nothing.
	Trace *Trace

	// Logger gets every fetch (debug, "robots.txt fetched"), a Crawl-delay cut
	// short (info), and store failures (at most one a minute, with their number), caught panics, a User-Agent without the product
	// token and the first body of an authority that is not closed (warn). Messages and keys are stable. Nil logs nothing.
	Logger *slog.Logger
}

// New returns a Transport for the crawler that calls itself agent, the whole
// User-Agent header field such as "ExampleBot/0.1 (+https://example.com/bot)".
// Requests for robots.txt carry it, and pages whose request has no User-Agent.
// Nil options are zero options. An error names the wrong argument and says what was
// expected.
func New(agent string, o *Options) (*Transport, error) {
	if o == nil {
		o = &Options{}
	}
	token, err := productTokens(agent, o.Token)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	e, err := newEngine(agent, *o)
	if err != nil {
		return nil, err
	}
	e.records.Register(token)
	return &Transport{engine: e, route: e.route, token: token}, nil
}

// check refuses a base that follows redirects, and values without a meaning.
func (o *Options) check() error {
	if err := retrieve.CheckBase(o.Base); err != nil {
		return err
	}
	for _, s := range o.Schemes {
		if origin.DefaultPort(s) == 0 {
			return fmt.Errorf("fetcher: Schemes has %.20q; want \"ftp\", or nothing", s)
		}
	}
	switch {
	case o.MaxBytes < 0:
		return fmt.Errorf("fetcher: MaxBytes is %d; want a number of bytes, or 0 for 64 MiB", o.MaxBytes)
	case o.Timeout < 0:
		return fmt.Errorf("fetcher: Timeout is %v; want a positive duration, or 0 for the default", o.Timeout)
	case o.PageTimeout < 0:
		return fmt.Errorf("fetcher: PageTimeout is %v; want a positive duration, or 0 for none", o.PageTimeout)
	case o.Patience < 0:
		return fmt.Errorf("fetcher: Patience is %v; want a positive duration, or 0 to refuse at once", o.Patience)
	case o.Attempts < 0:
		return fmt.Errorf("fetcher: Attempts is %d; want 1 or more, or 0 for 2", o.Attempts)
	case o.Profile == nil:
		return nil
	case o.Store != nil && len(o.Profile.Name) > records.MaxName:
		return fmt.Errorf("fetcher: the name of the profile is %d bytes long; want at most %d, because it is part of each key in the Store", len(o.Profile.Name), records.MaxName)
	}
	return o.Profile.Validate()
}
