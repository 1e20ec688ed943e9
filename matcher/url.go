package matcher

import (
	"net/url"
	"strings"
)

// This file finds the request target in a URL: RFC 9309, section 2.2.2, and RFC
// 3986, section 3.

// MatchURL is as [File.Match] on the request target that net/http sends for u. A
// path without a leading slash gets one. It allocates nothing for targets of
// usual length.
func (f *File) MatchURL(token string, u *url.URL) Match { return f.Group(token).MatchURL(u) }

// MatchURL is as [Group.Match] on the request target that net/http sends for u. A
// path without a leading slash gets one.
func (g *Group) MatchURL(u *url.URL) Match {
	hasQuery := u.ForceQuery || u.RawQuery != ""
	switch {
	case u.Opaque != "":
		return g.Match(u.RequestURI())
	case u.RawPath == "" && !hasQuery && strings.HasPrefix(u.Path, "/") && shared(u.Path)&inPath != 0:
		return g.decide(u.Path, false)
	}
	var buf [targetUsual]byte
	f, t := g.dialect.form, buf[:0]
	if f != rfcForm {
		if t = appendPath(t, u); hasQuery {
			t = append(append(t, '?'), u.RawQuery...)
		}
		return g.Match(view(t))
	}
	if encodes(u.RawPath, u.Path) {
		t, _ = f.target(appendSlash(t, u.RawPath), u.RawPath, false)
	} else {
		t = appendNormal(appendSlash(t, u.Path), u.Path)
	}
	folds := false
	if hasQuery {
		t, folds = f.target(append(t, '?'), until(u.RawQuery, '#'), true)
	}
	return g.decide(view(t), folds)
}

// appendPath appends the path of u as net/url encodes it.
func appendPath(dst []byte, u *url.URL) []byte {
	if encodes(u.RawPath, u.Path) {
		return append(appendSlash(dst, u.RawPath), u.RawPath...)
	}
	dst = appendSlash(dst, u.Path)
	for i := range len(u.Path) {
		if c := u.Path[i]; properties[c]&inPath != 0 || c == '$' {
			dst = append(dst, c)
		} else {
			dst = appendTriplet(dst, c)
		}
	}
	return dst
}

// appendNormal appends a decoded path in rfcForm.
func appendNormal(dst []byte, path string) []byte {
	for i := range len(path) {
		if c := path[i]; properties[c]&decoded != 0 || c == '/' {
			dst = append(dst, c)
		} else {
			dst = appendTriplet(dst, c)
		}
	}
	return dst
}

// appendSlash appends the slash that path lacks.
func appendSlash(dst []byte, path string) []byte {
	if strings.HasPrefix(path, "/") {
		return dst
	}
	return append(dst, '/')
}

// encodes reports whether raw is an encoding of path that net/url sends as it
// stands.
func encodes(raw, path string) bool {
	if raw == "" {
		return false
	}
	n := 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			v, ok := triplet(raw, i)
			if !ok {
				return false
			}
			c, i = v, i+2
		} else if properties[c]&inRawPath == 0 {
			return false
		}
		if n >= len(path) || path[n] != c {
			return false
		}
		n++
	}
	return n == len(path)
}

// origin returns the path and query of a target, at least "/".
func (d *Dialect) origin(target string) string {
	target = until(target, '#')
	if d.nulEnds {
		target = until(target, 0)
	}
	if strings.HasPrefix(target, "/") {
		return target
	}
	i := 0
	if scheme, _, ok := strings.Cut(target, "://"); ok && isScheme(scheme) {
		i = pathStart(target, len(scheme)+len("://"))
	} else if d.hostFirst {
		i = pathStart(target, 0)
	}
	if i == len(target) || target[i] != '/' {
		return "/" + target[i:]
	}
	return target[i:]
}

// isScheme reports whether s is the scheme of a URL.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if l := c | 0x20; !('a' <= l && l <= 'z' || i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// pathStart returns where the path can begin in s, from byte i on.
func pathStart(s string, i int) int {
	for i < len(s) && s[i] != '/' && s[i] != '?' && s[i] != ';' {
		i++
	}
	return i
}
