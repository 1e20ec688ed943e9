// Package inspect is a page for operators: what a crawler holds of robots.txt,
// what it has just decided and why, and how that goes over time. It is mounted
// like net/http/pprof:
//
//	page := inspect.New(nil)
//	t, err := fetcher.New(agent, &fetcher.Options{Trace: page.Trace(nil)})
//	if err != nil {
//		log.Fatal(err)
//	}
//	mux.Handle("/debug/polite", page.Handler(t))
//
// One path serves everything, whichever it is; what to show stands in the query.
// The page is plain HTML made on the server. It needs no script, loads nothing
// from elsewhere and links nowhere.
//
// # What there is to see
//
//   - The authorities in memory, to search, sort and page through: the access
//     result in the words of RFC 9309, section 2.3.1, the age of the copy, when
//     it is asked for again, since when the site is down.
//   - One authority: its robots.txt line by line, with the rules of the group
//     that is obeyed and a remark at each line without effect, where it was
//     served from and by which redirects.
//   - Rulings and retrievals just made, and their rates over an hour, a day and a
//     week.
//   - An answer to "may I fetch this URL?", with its reasons, from memory alone.
//
// Every page is JSON as well, with format=json in the query or with an Accept
// header that asks for application/json and not for text/html.
//
// # What you need to think about
//
// Who may see it. URLs that a crawler visits may be confidential, and the page
// asks nobody who they are: mount it where pprof is mounted, on a listener that
// the world does not reach or behind what asks for a password.
//
// Whether to enable [Options.Actions]: the buttons that forget an authority, ask
// a site again, or ask one for the first time. They are off unless enabled, are
// requests with the method POST, and are refused from pages of other origins by
// [net/http.CrossOriginProtection], to which a proxy before the page must pass the
// Host on. It does not hold up programs that are no browsers, nor a stranger's page
// whose name was made to lead to this listener: what stands before the page knows
// who may come, and by which name.
//
// Whether to install the hooks of [Page.Trace]. Without them recent rulings,
// retrievals, redirects and rates are missing, the rest is there. With them
// every request of the crawler is ruled on in full and noted under a lock, about
// a microsecond in place of a tenth of that.
//
// # Cost
//
// Showing a page sends no request. A list is made by looking at all that the
// memory holds: about a second for a million authorities on one core, a microsecond
// each, and memory for two screens of rows, whichever page is asked for. One
// authority is found in some hundredths of a second. Such walks are made one at a
// time and end with their request; they hold no lock but that of one part of the
// memory for as long as it takes to copy a list of it. The first one may also
// prepare the default group of files that the crawler has not used yet. The other
// pages do not depend on how much is held. The history takes at most about 5 KiB
// for each of the [Options.Recent] rulings and 23 KiB for each of the retrievals,
// nearly all of it the URLs of redirects, and mostly a tenth of that.
//
// # Bad input
//
// URLs, rules, headers and errors are the words of strangers. They are cut to a
// length, characters that do not print are shown as escapes, direction marks
// among them, and all goes through html/template under a Content-Security-Policy
// that permits one style sheet and no script.
package inspect
