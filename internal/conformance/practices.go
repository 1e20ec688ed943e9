package conformance

import (
	"fmt"
	"strings"
)

// practicesSource is the file of the draft in the folder POLITE_SPEC.
const practicesSource = "crawler-best-practices.md"

const practicesHead = `# Best practices of crawlers

This page is written by ` + "`go test ./internal/conformance -update`" + `. Do not edit it.

The draft "Crawler best practices" (draft-illyes-webbotauth-cbcp, an independent submission in progress) says what is asked
of a crawler beside RFC 9309. Each row quotes a sentence of the draft, and says what Polite does about it and what remains
for you, the operator of the crawler. ` + "`polite agent URL`" + ` checks your crawler's page.
`

// A practice is a sentence of the draft.
type practice struct {
	level  string // the key word
	quote  string // in the draft's own words
	polite string // what Polite does; "" if it can do nothing
	yours  string // what remains for the operator; "" if nothing does
	proofs []string
}

// A practiceSection is a section of the draft.
type practiceSection struct {
	title     string
	practices []practice
}

// practices returns the sentences of the draft that have a key word.
func practices() []practiceSection {
	return []practiceSection{
		{"Recommended best practices", []practice{
			{"MUST", "Crawlers MUST support and respect the Robots Exclusion Protocol.",
				"checks robots.txt before each request, and sends none that is not allowed", "", []string{"vectors/2.1/group"}},
			{"MUST", "Crawlers MUST be easily identifiable through their user agent string.",
				"refuses an agent without a product token, and sends the agent with each request that has no User-Agent",
				"choose the agent, and do not set another one on your requests", []string{"fetcher/house/a_browsers_name_is_no_crawlers"}},
			{"MUST", "Crawlers MUST not interfere with the regular operation of a site.",
				"keeps half a second between two requests to a host, obeys Crawl-delay up to a minute, and lets a host rest that fails or asks for a pause",
				"use `pace.Unlimited` for your own hosts only", []string{"fetcher/6/rules_and_gap"}},
			{"MUST", "Crawlers MUST support caching directives.",
				"keeps robots.txt as RFC 9111 says, and revalidates it", "pages need a cache of their own, above or below the Transport", nil},
			{"MUST", "Crawlers MUST expose the ranges they are crawling from in a standardized format.",
				"`polite agent` looks for the link", "publish the list", nil},
			{"MUST", "Crawlers MUST expose a page that explains how the crawling can be blocked, whether\n   the page is rendered, and how the crawled data is used.",
				"`polite agent` looks for a product token and an example robots.txt", "write the page", nil},
		}},
		{"The Robots Exclusion Protocol", []practice{
			{"MUST", "All well behaved-crawlers MUST support the REP as defined in {{Section 2.2.1 of REP}} to allow site owners to opt out from crawling.",
				"finds the groups that name the product token", "", []string{"vectors/2.2.1/shared-group"}},
		}},
		{"Identification", []practice{
			{"SHOULD", "the HTTP request header `User-Agent` SHOULD clearly identify the crawler, usually by including a URL that hosts the crawler's description.",
				"`polite agent --agent` checks that the agent has the URL of the page", "put the URL into the agent", nil},
			{"MUST", "crawler operators MUST include unique identifiers for their crawlers in the case-insensitive `User-Agent` header",
				"refuses an agent without a product token", "choose a name that nobody else has", []string{"fetcher/house/a_browsers_name_is_no_crawlers"}},
			{"SHOULD", "the name SHOULD clearly identify both the crawler owner and its purpose as much as reasonably possible.", "", "choose such a name", nil},
		}},
		{"The normal operation of a site", []practice{
			{"MUST", "Crawler operators MUST ensure that their crawlers are equipped with back-out logic that relies on at least the standard signals defined by {{Section 15.6 of HTTP-SEMANTICS}}",
				"pauses a host after 429, 503, 509 and 529 and after any error with a Retry-After, gives it a rest after other failures in a row, and sends one request to see whether it is back",
				"", []string{"fetcher/6/pause_holds_for_requests_of_the_transport"}},
			{"SHOULD", "crawlers SHOULD log already visited URLs, the number of requests sent to each resource, and the respective HTTP status codes in the responses",
				"`Options.Trace` and `Options.Logger` see each decision and each fetch of robots.txt", "remember the URLs that you have visited", nil},
			{"SHOULD", "crawlers SHOULD, on a best effort basis, crawl the site at times of the day when the site is estimated to have fewer human visitors.", "", "choose the hours", nil},
			{"SHOULD", "crawlers SHOULD avoid sending multiple requests to the same resources at the same time and SHOULD limit the crawling speed to prevent server overload",
				"fetches robots.txt once for all who wait for it; two requests at a time go to a host, half a second apart", "ask for a page once", nil},
			{"SHOULD NOT", "resources SHOULD NOT be re-crawled too often.", "keeps robots.txt for a day if the site says nothing else", "plan when a page is due again", nil},
			{"SHOULD", "crawlers SHOULD restrict the depth of crawling and the number of requests per resource to prevent loops.", "", "bound the depth and the number of pages of a site", nil},
			{"SHOULD NOT", "Crawlers SHOULD NOT attempt to bypass authentication or other access restrictions", "", "do not", nil},
			{"SHOULD", "Crawlers SHOULD primarily access resources using HTTP GET requests", "sends nothing but GET for robots.txt", "use GET", nil},
		}},
		{"The addresses of the crawler", []practice{
			{"SHOULD", "crawler operators SHOULD publish the IP ranges they have allocated for crawling in {{JAFAR}} format, and keep this information reasonably up-to-date", "", "publish the list", nil},
			{"MUST", "The resource containing the IP addresses MUST be linked from the page describing the crawler using the `client-ranges` relation.",
				"`polite agent` follows the link", "add the link", nil},
			{"SHOULD", "This relation SHOULD be provided via an HTTP `Link` header {{HTTP-LINK}} or as a `<link>` element in the page's HTML metadata section",
				"`polite agent` reads both", "add the link", nil},
		}},
		{"The crawler's page", []practice{
			{"MUST", "Crawlers MUST be easily identifiable through their `user-agent` string, and they SHOULD explain how the data they collect will be used.",
				"", "explain the use of the data on the page that the agent links to", nil},
			{"SHOULD", "the documentation page SHOULD include a contact address for the crawler owner.", "`polite agent` looks for one", "add one", nil},
			{"SHOULD", "The documentation SHOULD also provide an example {{REP}} file to block the crawler and a method for verifying {{REP}} files.",
				"`polite agent` reads the example as a robots.txt, and `polite match` and `polite lint` verify one", "add the example, and name the commands", nil},
			{"SHOULD", "If the crawler has exempted itself of these best practices, the documentation page SHOULD describe the reason for that.", "", "give the reason", nil},
		}},
	}
}

// writePractices returns the page.
func writePractices() string {
	var b strings.Builder
	b.WriteString(practicesHead)
	for _, s := range practices() {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		writeRow(&b, []string{"level", "the draft", "Polite", "you"})
		b.WriteString("|---|---|---|---|\n")
		for _, p := range s.practices {
			polite := p.polite
			if len(p.proofs) > 0 {
				polite += " (" + listProofs(p.proofs) + ")"
			}
			writeRow(&b, []string{p.level, quoted(oneLine(p.quote)), polite, p.yours})
		}
	}
	return b.String()
}
