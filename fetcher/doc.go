// Package fetcher makes a crawler polite: wrap its http.Client and every request
// is held against the site's robots.txt first, as RFC 9309 says.
//
//	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", nil)
//	if err != nil {
//		log.Fatal(err)
//	}
//	client := &http.Client{Transport: t}
//	resp, err := client.Get("https://example.com/private")
//	var denied *fetcher.DeniedError
//	if errors.As(err, &denied) {
//		log.Print(denied) // names the rule, its line and the file, or since when the site is down
//	}
//
// The robots.txt of each scheme and authority is retrieved once, however many
// callers ask at the same time, kept for as long as its headers allow and at
// most 24 hours, revalidated, and kept in use while the site is down.
//
// # What you need to think about
//
// A refusal is one of two kinds. [ErrDisallowed] is the site's word: drop the
// URL. [ErrDeferred] means that there is no word yet, because robots.txt could
// not be had or because it is not the crawler's turn: keep the URL and come back
// at Decision.RetryAt. Both say why in one line, see [policy.Decision].
//
// Waiting is bounded by the caller's context, and by nothing else: give
// requests a deadline. The retrieval itself has its own, Options.Timeout, and
// goes on for the other callers when one leaves.
//
// Answers to pages are passed on whatever they are, and no page is asked for
// twice. After a 429 or 503 Options.Pace lets the host rest, so that asking for
// the page once more is all there is to do.
//
// A refusal of a redirect is about where it leads: Decision.URL is then another
// than the one that was asked for.
//
// # What an answer means
//
// The profile says; this is the default, policy.RFC9309:
//
//   - 2xx: the rules in it, for as long as its header says, between a minute and
//     a day; everything is allowed if there is none.
//   - 301, 302, 303, 307, 308: the rules at the end of up to five of them. A
//     sixth is as 404; a loop is followed as far.
//   - 404, 410 and every other 4xx but 429: no file, everything is allowed.
//   - 429, 5xx, no answer, a broken or unreadable one: the copy governs, past
//     its time if need be. Without a copy all is deferred; after 30 days, allowed
//     if the server answers at all.
//
// # Restarts, fleets and pace
//
// The zero Options suit one process that runs once. What a crawl of any length
// wants besides is a store, so that a restart asks no site again and remembers
// since when one is down, and a pace:
//
//	store, err := disk.Open("robots.db", nil) // or redis.Open(url, nil) for a fleet
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer store.Close()
//	t, err := fetcher.New(agent, &fetcher.Options{
//		Store: store,
//		Pace:  &pace.Limits{Gap: time.Second, Parallel: 1, MaxWait: time.Second},
//	})
//
// With MaxWait a worker whose turn is far off gets ErrDeferred at once and can
// visit another host. What holds for one URL of a host then holds for all: put
// off the host until RetryAt, not the URL, or every URL comes back to be told
// the same. With the store of cache/redis both hold for all processes
// that share it: one retrieval of each robots.txt, one pace. See [Options] for
// every choice, and for when zero is not wise.
//
// # Seeing what it does
//
// [Options].Trace has typed hooks, for metrics and traces; the examples turn them
// into OpenTelemetry and Prometheus. Options.Logger takes a log/slog logger,
// [Transport.Stats] has counts, and package inspect is a page for operators.
//
// # Pacing
//
// With Options.Pace every request to an authority takes its turn: pages, the
// robots.txt and each hop and second try of it, each at the host it goes to.
// Turns come in order of arrival and at least the gap apart, counted from when
// the request was written; the first page waits the gap, or the Crawl-delay,
// after its robots.txt. A page is in flight until its body is closed or read to
// its end. An answer 429 or 503 pauses the host for everybody who asks for it.
//
// A turn that cannot come before the caller's deadline, or within
// Limits.MaxWait, is refused at once with Defer and RetryAt. Decision.Turn says
// when an allowed page would have its turn, Decision.Pacing why, and whether a
// Crawl-delay is cut short or ignored; [Trace] and [Stats] tell the rest. See
// package pace for the numbers.
//
// # Under and over other clients
//
// Under http.Client, every redirect of a page is judged by the robots.txt of the
// authority it leads to. Under go-retryablehttp, tell its CheckRetry that a
// denial is final, or it will ask the Transport again, which costs no request
// but time; Options.AsResponse is for clients that cannot be told:
//
//	rc.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
//		if errors.Is(err, fetcher.ErrDisallowed) || errors.Is(err, fetcher.ErrDeferred) {
//			return false, err
//		}
//		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
//	}
//
// As a base, another client must not follow redirects by itself, or pages are
// asked for that nobody has judged, nor make retries that outlast
// Options.Timeout. Give go-retryablehttp an HTTPClient whose CheckRedirect
// returns http.ErrUseLastResponse, and PassthroughErrorHandler; New refuses one
// without a CheckRedirect.
//
// # Redirects to private addresses
//
// A site that is private itself may redirect its robots.txt within its network.
// Once a retrieval has had an answer from a public address, no later redirect may
// lead it to a private, loopback, link-local or otherwise special address; the
// file then counts as unreachable. Page requests are not subject to this rule.
//
// With an *http.Transport as base every address is checked before a connection is
// made to it. Where that transport has a dialer of its own, names are resolved
// here and the dialer is given literal addresses; a TLS dialer makes no
// connection for such a redirect, because it would not know the name to verify:
// the plain dialer makes it, and net/http does TLS with TLSClientConfig.
//
// Through a proxy, or with another kind of RoundTripper, the host of a redirect
// is checked before the request: a literal address, what this machine resolves a
// name to, and, where it cannot, whether the name is one of a local network
// (a single label, .local, .internal, .localhost, .home.arpa or .onion). A base
// built on net/http reports its connections too, so that a request over a refused
// one is ended before it is written. What then remains unseen is where a proxy
// connects to, where a base connects to that does not report it, and what is
// behind a name that only the base's own dialer can resolve until it has connected.
//
// # Bad input
//
// Nothing that a site sends is an error. Bodies over the limit are cut at a line
// end, broken ones count as failures, headers are bounded at 64 KiB, and a
// retrieval as a whole by Options.Timeout. A body that ends with the connection,
// without a length, and was cut on the way cannot be told from a whole one.
//
// A store that fails, is slow or returns the wrong thing is a miss and is
// reported through [Trace]; it never changes a ruling.
package fetcher
