// Package matcher reads robots.txt files as RFC 9309 says and answers what a
// crawler may fetch. It does no I/O: it takes the bytes of a file and the target of
// a request, and returns a verdict with its reason.
//
//	f := matcher.Parse(body, matcher.Dialect{})
//	m := f.Match("ExampleBot", "/private/report?id=1")
//	if !m.Allowed {
//		log.Printf("line %d forbids it: %s", m.Rule.Line, m.Rule.Pattern)
//	}
//
// # What to think about
//
// The token is the product token of the crawler, such as "ExampleBot": letters,
// digits, "-" and "_". Of a whole User-Agent header such as "ExampleBot/1.0", only
// the token at its beginning counts. It is compared without case, and as a whole:
// "ExampleBot" and "ExampleBot-News" are two crawlers. A crawler with several tokens
// gives them separated by commas, the most specific first: the first that has a group is
// obeyed.
//
// The target is path and query as the request line has them, "/path?query". For a
// [net/url.URL], [File.MatchURL] does the same without making that string. An
// absolute URL may stand for its target; nothing checks that it belongs to the
// site of the file. Any other target that lacks the leading slash gets one.
//
// Parse the body of a successful answer only. Package policy says what a missing
// file, an error, a redirect or an old copy means, and package fetcher fetches the
// file.
//
// # How a target is decided
//
// A crawler obeys all groups that name its token, taken together. If none names
// it, the crawler obeys the groups of "*". If there are none either, everything is
// allowed ([RFC 9309, section 2.2.1]). A group that names the crawler and
// has no rules allows everything.
//
// Of the rules that match, the one with the longest pattern decides. If an allow rule and
// a disallow rule are equally long, the allow rule decides (section 2.2.2). Without a
// match the target is allowed, and /robots.txt is always allowed.
//
// A pattern matches from the beginning of the target on. "*" stands for any run of bytes,
// a "$" at the end for the end of the target. Both sides are brought to one normal form
// first: %7E is "~", %3A is ":", "ä" is %C3%A4, %2f is %2F, but never "/". Exception: in a
// query, rules with a "?" match "/" and "?" and their triplets alike, as Figure 4 of the
// RFC asks.
//
// # What is done with bad input
//
// Nothing in a body is an error (section 2.3.1.5). Lines end with CR, LF or both. A
// line that makes no sense is skipped, and so is a rule outside any group. Common
// misspellings of the records are accepted. [File.Skipped] lists all these lines with
// their reasons. Any other record, such as Content-Signal or Clean-param, can be read
// as it is written ([File.Other], [Group.Other]), and never ends a group (section
// 2.2.4).
//
// # Dialects
//
// The zero [Dialect] is RFC 9309. [Google] is the parser at github.com/google/robotstxt as
// it behaves, [Draft2019] and [Koster1996] are the older texts. A dialect is data; one
// program can use all of them.
//
// # Time and memory
//
// A File keeps the text, and [Parse] copies it. The first Match for a token reads the
// text line by line, and the File keeps the [Group] that the crawler obeys, for
// the newest 16 tokens. A Group holds no part of the text, so a program with one crawler
// can keep the Group and drop the File. See [File.Size] and [Group.Size].
//
// Reading a file takes time in proportion to its bytes, whatever they are. A match
// allocates nothing for targets of up to 512 bytes in normal form, unless more than 64
// rules with a "*" may match. The first or second match in a group of many rules sorts
// them, which takes as long as many matches. From then on a match takes hardly longer
// than in a small group. Hostile patterns cannot make it slow: with any file of 500 KiB
// and any target of 2 KiB, a match takes at most 5 ms, and the match that sorts the rules
// at most 60 ms.
//
// Files and groups are immutable and safe for concurrent use.
//
// [RFC 9309, section 2.2.1]: https://www.rfc-editor.org/rfc/rfc9309#section-2.2.1
package matcher
