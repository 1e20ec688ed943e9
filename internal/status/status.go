// Package status lists the statuses of answers that say nothing of what was requested: the
// server is in trouble, or the request came at a bad moment. Package policy reads the list for
// robots.txt, and package pace for pages. It is one list so that a status that closes a site
// does not leave the crawl of its pages at full speed.
package status

// Meaning is what a range of statuses says.
type Meaning struct {
	From, To int
	Robots   Robots
	Page     Page
}

// Robots is the meaning of a status for robots.txt. A Profile of package policy may have another
// one.
type Robots uint8

const (
	Unreachable Robots = iota // RFC 9309, section 2.3.1.4
	NotNow                    // unreachable by a house rule, for a 4xx
	Patience                  // NotNow, and however long it lasts, nothing is allowed
	Proxy                     // NotNow, from the crawler's own proxy: it does not prove that there is a server
)

// Page is the meaning of a status for the pages of a host.
type Page uint8

const (
	Neutral Page = iota // nothing
	Fails               // the request failed: after several failures in a row the host rests
	Pauses              // the host wants fewer requests: a pause begins
)

// List has the meanings. A status has the meaning of the first range that it is in. 421, 501 and
// 505 are about one request, so they say nothing of other pages. Nobody changes the list.
var List = []Meaning{
	{407, 407, Proxy, Neutral},
	{408, 408, NotNow, Fails},
	{421, 421, NotNow, Neutral},
	{425, 425, NotNow, Fails},
	{429, 429, Patience, Pauses},
	{501, 501, Unreachable, Neutral},
	{503, 503, Unreachable, Pauses},
	{505, 505, Unreachable, Neutral},
	{509, 509, Unreachable, Pauses}, // "Bandwidth Limit Exceeded" of cPanel
	{529, 529, Unreachable, Pauses}, // "Site is overloaded" of Qualys and others
	{500, 599, Unreachable, Fails},
	{999, 999, Unreachable, Fails}, // "Request denied" of LinkedIn and Yahoo
}

// Of returns the meaning of a status for pages. A status that is not in the list is Neutral.
func Of(status int) Page {
	for _, m := range List {
		if m.From <= status && status <= m.To {
			return m.Page
		}
	}
	return Neutral
}
