// Package fetcher makes a crawler polite: with its Transport in an http.Client
// every request is checked against the site's robots.txt first, as RFC 9309 says.
//
//	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	client := &http.Client{Transport: t}
//	resp, err := client.Get("https://example.com/private")
//	var denied *fetcher.DeniedError
//	if errors.As(err, &denied) {
//		log.Print(denied.Decision) // names the rule, its line and the file, or since when the site is down
//	}
//
// The robots.txt of each authority (see [Authority]) is fetched once, however
// many callers wait for it at the same time. It is kept for as long as its header
// allows, at most 24 hours, then revalidated, and kept in use while the site is
// down.
//
// # Names
//
// Most crawlers need these forty names and no other:
//
//   - [New] with [Options]: Token, Profile, Store, Base, Pace, Timeout, Patience, Override, Audit
//     and Logger.
//   - [Transport], its Check, Stats and CloseIdleConnections, and [Stats].
//   - [DeniedError] with its Decision, [ErrDisallowed] and [ErrDeferred].
//   - [policy.Decision] with URL, Verdict, RetryAt and DownSince; [policy.Allow], [policy.Disallow]
//     and [policy.Defer]; [policy.RFC9309], [policy.Strict] and [policy.Google].
//   - [pace.Limits] with Gap, Parallel and MaxWait; [pace.Default] and [pace.Unlimited].
//   - Open of cache/disk or cache/redis.
//
// In the code, one journey has four words. A visit is one URL on its way to a decision and to
// its turn. A flight is one fetch of a robots.txt for all visits that wait for it. An attempt is
// what the fetch produced, a [policy.Attempt]. A hop is one redirect of it, a [policy.Hop].
//
// # What you need to think about
//
// There are two kinds of refusal. [ErrDisallowed] is the site's answer: drop the
// URL. [ErrDeferred] means that there is no answer yet, because robots.txt could
// not be fetched or because the host's next turn is too far away: keep the URL
// and retry at Decision.RetryAt. Both give the reason in one line, see
// [policy.Decision].
//
// After a redirect the refusal is about the URL that the redirect leads to, which may be of
// another host. So requeue Decision.URL, not the URL that you asked for. The host that must wait
// is the [Authority] of Decision.URL.
//
// Decision.DownSince says since when a site is down: its robots.txt, or its pages. Give the site
// up, with all its URLs, after 15 minutes: Polite has fetched its robots.txt five or six times by
// then. Otherwise a program that ends when its queue is empty ends when the last dead site has come
// back. A site that answers its pages with 429 or 503 pauses and is not down: your program gets
// these answers, and may count them.
//
// A program that has no place for deferred URLs can set Options.Patience to a few minutes:
// while robots.txt is unreachable, each request then waits for it in place of a Defer, and all
// of them continue when it is back.
//
// A request waits as long as its context permits, so give it a deadline. It counts the
// wait for the turn, so it should be longer than Limits.DelayCap; Options.PageTimeout counts
// from the turn. The
// error of a wait that was cut short has the context's cause. The fetch of
// robots.txt has a deadline of its own, Options.Timeout, and goes on for other
// callers when one leaves.
//
// Requests name the crawler: the agent is the User-Agent of requests for robots.txt,
// and of pages whose request has none. A User-Agent that the request has is kept, even
// an empty one, for which net/http sends no field. The first one without the product
// token is reported to the Logger and Trace.Agent: webmasters who see it cannot
// know which group to write.
//
// The answer to a page is returned whatever it is, and no page is requested
// twice, but by an *http.Transport, which repeats a GET if a connection that was kept
// ends without an answer. After a 429 or 503, or an error with a Retry-After, Options.Pace
// makes the host's next request wait, so a simple retry is enough. It must close the body
// first.
//
// [Transport.Usage] reports what the site says about the use of a page, such as the
// training of a model. It is experimental, and nothing is enforced.
//
// # What an answer means
//
// The profile decides; this is the default, policy.RFC9309:
//
//   - 2xx: the rules in it, for as long as its header says, between a minute and
//     a day. Everything is allowed if there is none.
//   - 301, 302, 303, 307, 308: the rules at the end of up to five redirects. With
//     more redirects, or in a loop, everything is allowed. If a single redirect leads
//     to the /robots.txt of another authority, the answer is kept for that authority, too.
//   - 404 and 410: no file, everything is allowed.
//   - 407, 408, 421, 425, 429, 5xx, no answer, or a broken or unreadable answer: the
//     cached copy governs, even after it has expired. Without a copy everything is
//     deferred. After 30 days everything is allowed if the server answers, but not
//     while it answers 429.
//   - every other 4xx: the cached copy until it expires, then everything is allowed.
//
// Nothing that a site sends is an error. Bodies over the limit are cut at a line
// end, broken bodies count as failures, headers are bounded at 64 KiB, and a fetch
// as a whole by Options.Timeout. If an answer declares no length and ends with its
// connection, nobody can tell whether it was cut on the way.
//
// # Restarts, fleets and pace
//
// The zero Options suit one process that runs once. A longer crawl wants a store, which
// keeps the files and remembers since when a site is down. It may want another pace than the
// default:
//
//	store, err := disk.Open("robots.db", nil) // or redis.Open(url, nil) for a fleet
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer store.Close()
//	t, err := fetcher.New(agent, &fetcher.Options{
//		Store: store,
//		Pace:  &pace.Limits{Gap: time.Second, Parallel: 1, MaxWait: 100 * time.Millisecond},
//	})
//
// Keep MaxWait well below Gap. The first page of a host follows its robots.txt after one Gap: if
// MaxWait is as long, no page is refused, and a worker waits for each new host. With 64 workers
// and answers after 50 ms, a crawl of one page from each of 2,000 hosts takes 33.6 s with a
// MaxWait of 1 s, and 3.15 s with 100 ms.
//
// With the store of cache/redis all processes that share it fetch each robots.txt
// once, and work on each host one at a time. A store that fails, is slow or returns the wrong thing is a
// miss and is reported; it never changes a decision. [Trace] has hooks for metrics and
// traces, Options.Logger takes a log/slog logger, [Transport.Stats] has counts, and package
// inspect is a page for operators.
//
// Unless Options.Pace is pace.Unlimited(), every request to a host waits for its turn
// there: pages, robots.txt, and each redirect and second try of robots.txt. A page is in
// flight until its body is closed or read to its end, until the context of its request ends,
// or until nobody has read the body for Options.Timeout. Trace.Unclosed and the Logger report
// such a body. Package pace says how turns follow
// each other, and when a host that fails, or asks for it, is left alone for a while.
// Options.Scopes adds limits that hosts share, such as the limits of a domain.
//
// A turn that cannot come before the caller's deadline, or within
// Limits.MaxWait, is refused at once with Defer and RetryAt, so that a worker can
// visit another host. RetryAt applies to the whole host: reschedule the host, not
// just this URL. MaxWait does not apply in two cases. A redirect, which http.Client
// marks by Request.Response, would have to begin again from its first hop. And if the
// request for a page fetched a robots.txt that expires before the page's turn, every
// further request would have to fetch it again.
//
// # Under and over other clients
//
// A program that makes its requests without net/http, with a browser for instance, waits
// for each in [Transport.Admit].
//
// Under http.Client, every redirect of a page is checked against the robots.txt
// of the authority that it leads to.
//
// Colly sends its own User-Agent unless colly.UserAgent is the agent. Its timeout of 10 seconds
// counts the wait for a turn: call SetRequestTimeout with more than Limits.DelayCap and
// Options.Patience together. A proxy belongs into Options.Base, as &http.Transport{Proxy: ...}.
// SetProxy and SetProxyFunc after WithTransport replace Polite without a word, so that a forbidden
// page is fetched. Before it, WithTransport drops the proxy.
//
// With fetchbot, HttpClient is &http.Client{Transport: t}, UserAgent is the agent,
// DisablePoliteness is true and CrawlDelay is 0. It has a goroutine for each host, which may wait:
// set Options.Patience.
//
// With geziyor, set RobotsTxtDisabled, UserAgent, and the Transport of the Client of the Geziyor.
// RetryTimes is -1: otherwise it tries each refusal three times, and waits for Options.Patience
// each time.
//
// With gocrawl, set the Transport of its HttpClient, and a CrawlDelay of 0. The RequestRobots of the
// Extender returns nil and false.
//
// A feed reader gives Polite to its HTTP client as well. A refusal is no failure of the feed,
// and must not count among the failures after which the reader gives a feed up: poll it next at
// RetryAt.
//
// A client with one limit of workers for all hosts loses a worker to each slow host, until all
// wait. Set Limits.MaxWait, leave Options.Patience zero, and requeue what is deferred.
//
// Under go-retryablehttp, let CheckRetry treat a refusal as final, or it tries again,
// which costs time, and after a redirect the request for its first page. Options.AsResponse is for
// clients that have no such function:
//
//	rc.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
//		if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
//			return false, err
//		}
//		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
//	}
//
// Another client as Options.Base must not follow redirects by itself, or it requests
// pages that were never checked. It must not retry for longer than Options.Timeout. Give
// a go-retryablehttp client an HTTPClient whose CheckRedirect returns
// http.ErrUseLastResponse, and PassthroughErrorHandler; New refuses a client without a
// CheckRedirect. A client without net/http, such as fasthttp, becomes a base that copies the
// method, the URL, the header and the status: see examples/fasthttp.
//
// # Redirects to private addresses
//
// A site that is private itself may redirect its robots.txt within its network.
// Once a fetch has had an answer from a public address, no later redirect may
// lead it to a private, loopback, link-local or otherwise special address; the
// file then counts as unreachable. Options.PageEgress applies the rule to pages,
// too, and to the robots.txt of every authority, whatever led there.
//
// The rule binds the redirects of a robots.txt, and with Options.PageEgress all requests. With
// an *http.Transport as base, a clone of it makes them, and keeps its connections. Without
// Options.Base, the redirects share the connections of all other requests; the address of a
// connection that a page has left is checked before the redirect uses it. Every address is
// checked before a connection is made to it under the rule: names are resolved here, and the
// dialer of the base is given literal addresses. A TLS
// dialer makes no connection under the rule, because it would not know the name to verify:
// the plain dialer makes it, and net/http does TLS with TLSClientConfig.
//
// Through a proxy, or with another kind of RoundTripper, the host of a redirect
// is checked before the request: a literal address, or the addresses that this machine
// resolves a name to. A name that it cannot resolve is refused if it is one of a local
// network: a single label, or one under .local, .internal, .localhost, .home.arpa or
// .onion. A base built on net/http reports its connections, too, so that a request over
// a refused connection is ended before it is written. Three things remain unseen: the
// address that a proxy connects to; the address that a base connects to without reporting
// it; and, until it is connected, the address of a name that only the base's dialer can
// resolve.
package fetcher
