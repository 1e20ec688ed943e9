package fetcher

import (
	"net/http"

	"github.com/rfc9309/polite/usage"
)

// Usage returns what the site says about the use of a page that the Transport fetched:
// in its robots.txt and in the header of the answer. It is experimental; nothing is
// enforced. See package usage.
//
// The robots.txt is the cached copy that is in memory now, so call Usage when the
// response arrives: a later fetch of robots.txt may replace the copy that governed the
// request. Without a copy, or after it was dropped from memory, the header alone counts.
// Usage does no I/O and does not read the body.
func (t *Transport) Usage(resp *http.Response) usage.Set {
	said := usage.OfHeader(resp.Header, t.token)
	if resp.Request == nil {
		return said
	}
	target := addressed(resp.Request)
	key, err := Authority(target)
	if err != nil {
		return said
	}
	rec, _ := t.engine.memory.records.Get(key)
	return usage.Combine(usage.OfFile(rec.File(), t.token, target.RequestURI()), said)
}
