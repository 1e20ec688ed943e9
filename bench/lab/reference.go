package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// This file has a second reading of robots.txt, slow and plain, to compare with. It is
// written from RFC 9309 and from docs/deviations.md and shares no code with the matcher.

// plainFile is what a robots.txt means for one crawler.
type plainFile struct {
	rules []plainRule
	delay time.Duration // the Crawl-delay; -1 without one
	page  bool          // an HTML page or binary data, without one rule
}

// plainRule is a rule in its normal form.
type plainRule struct {
	allow   bool
	pattern string
}

// plainNames are the names of records. They include the misspelled names that the files
// have.
var plainNames = map[string]string{
	"user-agent": "agent", "user agent": "agent", "useragent": "agent", "user_agent": "agent", "user-agents": "agent",
	"users-agent": "agent", "user-agen": "agent", "use-agent": "agent", "ser-agent": "agent",
	"allow": "allow", "alow": "allow", "allowed": "allow",
	"disallow": "disallow", "dissalow": "disallow", "dissallow": "disallow", "disalow": "disallow", "diallow": "disallow",
	"disllow": "disallow", "dislow": "disallow", "disalolow": "disallow", "disalloww": "disallow", "disallowi": "disallow",
	"disalloe": "disallow", "disalllow": "disallow", "dis-allow": "disallow", "disallo": "disallow", "disal1ow": "disallow", "diasallow": "disallow", "dosallow": "disallow",
	"crawl-delay": "delay", "crawl delay": "delay", "crawl_delay": "delay", "craw-delay": "delay", "clawl-delay": "delay",
}

// A plainReader reads a robots.txt line by line.
type plainReader struct {
	token   string
	own     plainFile // of the groups that name the token
	general plainFile // of the groups of "*"
	found   bool      // there is a group that names the token
	anyRule bool

	// The open group.
	open, named, star, hasRule bool
	delays                     []time.Duration // before its first rule; they belong to all of its crawlers
}

// readPlainly reads a robots.txt for the crawler with a product token.
func readPlainly(body []byte, token string) *plainFile {
	if len(body) > 500<<10 {
		body = body[:500<<10]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	r := &plainReader{token: token, own: plainFile{delay: -1}, general: plainFile{delay: -1}}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(plainText(body))
	for line := range strings.SplitSeq(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if name, value, ok := strings.Cut(line, ":"); ok {
			r.read(plainNames[strings.ToLower(strings.Trim(name, " \t"))], strings.Trim(value, " \t"))
		}
	}
	r.settle()
	f := &r.general
	if r.found {
		f = &r.own
	}
	f.page = !r.anyRule && looksBinary(body)
	return f
}

// read reads one record.
func (r *plainReader) read(kind, value string) {
	switch kind {
	case "agent":
		if r.hasRule {
			r.settle()
			r.named, r.star, r.hasRule = false, false, false
		}
		r.open = true
		r.named = r.named || strings.EqualFold(plainToken(value), r.token)
		r.found = r.found || r.named
		r.star = r.star || value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t")
	case "allow", "disallow":
		r.hasRule = r.hasRule || r.open
		if !r.open || value == "" || value[0] != '/' && value[0] != '*' || strings.ContainsFunc(value, isControl) {
			return
		}
		r.anyRule = true
		rule := plainRule{kind == "allow", plainForm(value, true, true)}
		for _, f := range r.obeyed() {
			f.rules = append(f.rules, rule)
		}
	case "delay":
		seconds, err := strconv.ParseFloat(value, 64)
		if err == nil && seconds >= 0 && strings.Trim(value, "0123456789.+-eE") == "" && r.open {
			r.delays = append(r.delays, time.Duration(min(seconds, 1e9)*float64(time.Second)))
		}
	}
}

// obeyed returns the files that the open group belongs to.
func (r *plainReader) obeyed() (files []*plainFile) {
	if r.named {
		files = append(files, &r.own)
	}
	if r.star {
		files = append(files, &r.general)
	}
	return files
}

// settle ends the open group.
func (r *plainReader) settle() {
	for _, f := range r.obeyed() {
		if len(r.delays) > 0 && f.delay < 0 {
			f.delay = r.delays[0]
		}
	}
	r.delays = nil
}

func isControl(c rune) bool { return c < ' ' && c != '\t' }

// looksBinary reports whether a file looks like an HTML page or like binary data.
func looksBinary(body []byte) bool {
	head := strings.TrimLeft(strings.TrimPrefix(string(body), "\uFEFF"), " \t\r\n\f\v\x00")
	return strings.HasPrefix(head, "<") || !strings.HasPrefix(http.DetectContentType(body), "text/plain")
}

// plainText decodes UTF-16 and removes a byte order mark.
func plainText(body []byte) string {
	if len(body) < 2 || body[0]^body[1] != 0xFE^0xFF || body[0] < 0xFE {
		return strings.TrimPrefix(string(body), "\uFEFF")
	}
	var units []uint16
	high := int(body[0] & 1) // FE FF has the high byte first
	for i := 2; i+1 < len(body); i += 2 {
		units = append(units, uint16(body[i+high])<<8|uint16(body[i+1-high]))
	}
	return string(utf16.Decode(units))
}

// plainToken returns the product token that a user-agent value begins with.
func plainToken(value string) string {
	n := strings.IndexFunc(value, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
	if n < 0 {
		return value
	}
	return value[:n]
}

// allows reports whether the file allows a request target.
func (f *plainFile) allows(target string) bool {
	target, _, _ = strings.Cut(target, "#")
	forms := [2]string{plainForm(target, false, false), plainForm(target, false, true)}
	best := plainRule{allow: true}
	for _, r := range f.rules {
		form := forms[0]
		if strings.Contains(r.pattern, "?") {
			form = forms[1]
		}
		longer := len(r.pattern) > len(best.pattern) || len(r.pattern) == len(best.pattern) && r.allow
		if longer && plainMatch(r.pattern, form) {
			best = r
		}
	}
	return best.allow || forms[0] == "/robots.txt"
}

// plainForm returns the normal form of a pattern or of a target. With fold, "/" and "?"
// and their triplets are equal in a query.
func plainForm(s string, pattern, fold bool) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	const alike = ":@!&'()+,;=[]" // equal to their triplets
	var b strings.Builder
	query := false
	for i := 0; i < len(s); i++ {
		c, triplet := s[i], false
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, triplet = byte(n), true
				i += 2
			}
		}
		wild := pattern && !triplet && (c == '*' || c == '$' && i == len(s)-1)
		delimiter := strings.IndexByte("/?#%", c) >= 0
		switch {
		case wild, strings.IndexByte(unreserved+alike, c) >= 0, delimiter && !triplet,
			triplet && fold && query && (c == '/' || c == '?'):
			b.WriteByte(c)
			query = query || c == '?'
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// plainMatch reports whether a pattern matches a target from its first byte on. It goes
// back to the last star whenever it fails.
func plainMatch(p, t string) bool {
	if end := strings.TrimSuffix(p, "$"); end != p {
		p = end
	} else {
		p += "*"
	}
	i, j, star, from := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && p[i] == t[j]:
			i++
			j++
		case star < 0:
			return false
		default:
			from++
			i, j = star+1, from
		}
	}
	return strings.Trim(p[i:], "*") == ""
}
