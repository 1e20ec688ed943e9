package matcher

import "net/url"

// MatchURL is as [File.Match] on the request target that net/http sends for u.
func (f *File) MatchURL(token string, u *url.URL) Match {
	return f.Group(token).MatchURL(u)
}

// MatchURL is as [Group.Match] on the request target that net/http sends for u.
func (g *Group) MatchURL(u *url.URL) Match {
	return g.Match(u.RequestURI())
}
