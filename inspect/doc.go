// Package inspect is a page for operators. It shows the cached robots.txt files of a
// crawler, its recent decisions and their reasons, and rates over time. It is
// mounted like net/http/pprof:
//
//	page := inspect.New(nil)
//	t, err := fetcher.New(agent, &fetcher.Options{Trace: page.Trace(nil)})
//	if err != nil {
//		log.Fatal(err)
//	}
//	mux.Handle("/debug/polite/", page.Handler(t))
//
// One path serves every page. The query selects what is shown. The pages are plain
// HTML made on the server. They use no script, load nothing from other servers and
// link to no other site.
//
// # What the pages show
//
//   - The authorities in memory. The list can be searched and sorted. It has the
//     access result in the words of RFC 9309, section 2.3.1, the age of the cached
//     copy, the time of the next fetch, and since when the site is down.
//   - One authority: its robots.txt line by line. The rules of the obeyed group are
//     marked, each line without effect has a remark, and the redirects that led to
//     the file are listed.
//   - The hosts with requests in line or in flight, and the hosts at rest: how many
//     requests wait and since when, the next turn, and what it waits for. The host
//     with the longest wait is first.
//   - Recent decisions and fetches, and their rates over an hour, a day and a
//     week.
//   - The answer to "may I fetch this URL?" with its reasons, from memory alone.
//
// Every page is also available as JSON: with format=json in the query, or with an
// Accept header that names application/json and not text/html.
//
// # What you need to think about
//
// Who may see the page. The URLs that a crawler visits may be confidential, and the
// page asks for no password. Mount it where you mount pprof: on a private listener,
// or behind a handler that checks a password.
//
// Whether to enable [Options.Actions]: buttons that fetch a robots.txt or, after a
// question, forget an authority. They are off by default. They send POST requests, which
// [net/http.CrossOriginProtection] refuses from pages of other origins. This works
// only if a proxy in front of the page passes the Host header on. The protection
// does not stop clients that are not browsers, and it does not stop DNS rebinding.
// Check passwords and host names in front of the page.
//
// Whether to install the hooks of [Page.Trace]. Without them recent decisions,
// fetches, redirects and rates are missing. With them every request of the
// crawler makes a full Decision and records it under a lock, which takes about a
// microsecond instead of a tenth of one.
//
// # Cost
//
// Showing a page sends no request and changes nothing in memory. The list of authorities
// reads the state of all records in memory and the rules of none but the rows it shows, which
// takes about 0.3 seconds of one core for a million. It needs memory for two screens of rows,
// however far down the list the page is. The page of one authority finds its record in a few
// hundredths of a second. This measures both, on a machine that does nothing else:
//
//	POLITE_MILLION=1 go test -run '^$' -bench Million ./inspect
//
// Only one request at a time reads the records. It locks one part of the memory at a time,
// only to copy the list of that part, and it stops if the request is cancelled. The list of
// waiting hosts takes about 20 milliseconds for 262,144 hosts, and delays no turn by more
// than about a quarter of a millisecond. The cost of the other pages does not depend on the
// number of records.
//
// The history takes at most about 5 KiB for each of the [Options.Recent] decisions
// and 23 KiB for each of the fetches. Nearly all of this is URLs of redirects, so
// usually the history takes a tenth of that.
//
// # Bad input
//
// URLs, rules, headers and errors come from other servers. They are cut to a
// maximum length, and characters that do not print, direction marks included, are
// shown as escapes. All text goes through html/template, and the
// Content-Security-Policy permits one style sheet and no script.
package inspect
