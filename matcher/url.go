package matcher

import (
	"net/url"
	"strings"
)

// This file finds the request target of a parsed URL without building it.

// MatchURL is as [File.Match] on the request target that net/http sends for u. A
// path without a leading slash gets one.
// It allocates nothing for targets of usual length.
func (f *File) MatchURL(token string, u *url.URL) (m Match) {
	f = f.orEmpty()
	var own rules
	r, x := f.obeys(token, &own)
	r.say(&m, r.matchURL(x, u))
	return m
}

// MatchURL is as [Group.Match] on the request target that net/http sends for u.
func (g *Group) MatchURL(u *url.URL) (m Match) {
	g.say(&m, g.matchURL(g.ready(), u))
	return m
}

func (r *rules) matchURL(x *index, u *url.URL) rule {
	if u.Opaque != "" {
		return r.match(x, u.RequestURI())
	}
	if u.RawPath == "" && u.RawQuery == "" && !u.ForceQuery && u.Path != "" && u.Path[0] == '/' && shared(u.Path)&inPath != 0 {
		return r.decide(x, u.Path, false)
	}
	var buf [bufSize]byte
	f := r.file.dialect.form
	if f != rfcForm {
		return r.match(x, view(appendTarget(buf[:0], u)))
	}
	t, folds := buf[:0], false
	if encodes(u.RawPath, u.Path) {
		t, _ = f.target(appendSlash(t, u.RawPath), u.RawPath, false)
	} else {
		t = appendPath(appendSlash(t, u.Path), u.Path, true)
	}
	if u.ForceQuery || u.RawQuery != "" {
		t, folds = f.target(append(t, '?'), until(u.RawQuery, '#'), true)
	}
	return r.decide(x, view(t), folds)
}

// bufSize is the size of a target up to which no memory is allocated for it.
const bufSize = 512

// appendTarget appends the request target of u.
func appendTarget(dst []byte, u *url.URL) []byte {
	if encodes(u.RawPath, u.Path) {
		dst = append(appendSlash(dst, u.RawPath), u.RawPath...)
	} else {
		dst = appendPath(appendSlash(dst, u.Path), u.Path, false)
	}
	if u.ForceQuery || u.RawQuery != "" {
		dst = append(append(dst, '?'), u.RawQuery...)
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

// appendPath appends a decoded path, encoded as net/url does
// where a URL says nothing else, or, if normal is set, in normal form.
func appendPath(dst []byte, path string, normal bool) []byte {
	for i := 0; i < len(path); i++ {
		n := i
		for n < len(path) && marks[path[n]]&inPath != 0 {
			n++
		}
		if dst = append(dst, path[i:n]...); n == len(path) {
			break
		}
		if i = n; path[i] == '$' && !normal || classes[path[i]] == letter && normal {
			dst = append(dst, path[i])
		} else {
			dst = appendTriplet(dst, path[i])
		}
	}
	return dst
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
		} else if marks[c]&inRawPath == 0 {
			return false
		}
		if n >= len(path) || path[n] != c {
			return false
		}
		n++
	}
	return n == len(path)
}
