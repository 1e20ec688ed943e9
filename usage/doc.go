// Package usage reads what a site says about the use of the pages that a crawler
// fetches: may they be indexed, shown in search results, used to train a model? It does
// no I/O: it takes the group of a robots.txt file, or the header of an answer, and
// returns preferences, each with its source.
//
//	said := usage.Combine(usage.OfGroup(group, "/article"), usage.OfHeader(resp.Header, "ExampleBot"))
//	if value, why := said.Get("train-ai"); value == usage.Denied {
//		log.Print(why[0]) // "train-ai": denied, line 3 "Content-Usage: train-ai=n"
//	}
//
// With package fetcher, Transport.Usage does this for a response.
//
// The package is experimental: most texts that it follows are drafts and will change. It is
// not part of the promise of 1.0: its exported names and its results may change in any release.
// It reports, and nothing in Polite enforces what it reports. What a crawler does with a
// preference is for its operator to decide.
//
// # What is read
//
// A Set is an open map: a label is a word of the site's, and a [Value] is Allowed,
// Denied or Unknown. The labels of different fields are not translated into each
// other: "train-ai" and "ai-train" are two labels.
//
//   - Content-Usage, in robots.txt and in headers: a dictionary such as
//     "train-ai=n, search=y" (draft-ietf-aipref-attach and draft-ietf-aipref-vocab,
//     August 2026). In robots.txt a path pattern may come before it. Of the records of
//     the group, those with the longest pattern that matches count. A record without a
//     pattern matches everything. No record counts for a URL that may not be fetched.
//   - Content-Signal, in robots.txt for a whole group, and in headers: a dictionary such
//     as "search=yes, ai-train=no" (draft-romm-aipref-contentsignals, September 2025). A
//     record outside of any group has no effect, and [OfFile] lists it as skipped.
//   - X-Robots-Tag, as search engines document it, and Robots-Tag (draft-illyes-repext,
//     April 2026), in headers: the rules for every crawler and the rules for the crawler's
//     own tokens. The label is the rule: "noindex" is Denied by noindex, and Allowed by
//     the opposite, index. The rule none denies noindex and nofollow, too, and all allows
//     both. Rules with a value, such as max-snippet, and rules that are not known are
//     Unknown.
//   - tdm-reservation and tdm-policy, in headers (TDM Reservation Protocol of the W3C
//     community group, 2024): "tdm-reservation" is Denied if rights are reserved.
//   - License, in robots.txt and in headers, and Link with the relation license (Really
//     Simple Licensing 1.0): "license" is Unknown, and its source names the terms. A
//     License record applies wherever it is in the file; see [OfFile].
//
// HTML is not read, so robots meta tags are missing from every Set.
//
// # Contradictions
//
// If two preferences contradict each other, the more restrictive one counts
// (draft-ietf-aipref-vocab, section 7.1): Denied before Allowed before Unknown. All are
// kept with their sources, and [Set.Contradictions] lists the labels.
//
// # What is done with bad input
//
// A dictionary that cannot be parsed (RFC 9651, section 4.2) counts as absent. In
// robots.txt its record counts as absent, and the next longest pattern decides.
// [Set.Skipped] lists it with the reason. A value that is neither of the two words, such
// as "train-ai=maybe", is Unknown and no error.
//
// A record or a header field of more than 64 KiB is skipped; of a list, the members before
// the limit count. If the lines of a field are separate values, as in X-Robots-Tag, Link and
// the single values, the limit is for each line. A field yields at most 1,024
// preferences. Of the Content-Usage records of a group 4,096 are read. A label has at most
// 256 bytes, and 64 skipped values are listed. Time and memory are linear in the text.
//
// Labels and texts come from the site and may contain any bytes. The String methods and
// the JSON form quote and bound them.
package usage
