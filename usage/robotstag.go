package usage

import (
	"iter"
	"strings"

	"github.com/dunglas/httpsfv"
)

// This file reads the header fields that are lists: Robots-Tag, X-Robots-Tag and Link.

// A robotsRule is what a rule of Robots-Tag and X-Robots-Tag means.
type robotsRule struct {
	value  Value
	labels string // the labels that have the value, separated by spaces
}

// robotsRules are the rules that are known. All others are Unknown.
var robotsRules = map[string]robotsRule{
	"noindex":      {Denied, "noindex"},
	"nofollow":     {Denied, "nofollow"},
	"none":         {Denied, "none noindex nofollow"},
	"noarchive":    {Denied, "noarchive"},
	"nocache":      {Denied, "nocache"},
	"nosnippet":    {Denied, "nosnippet"},
	"noimageindex": {Denied, "noimageindex"},
	"notranslate":  {Denied, "notranslate"},
	"noai":         {Denied, "noai"},
	"noimageai":    {Denied, "noimageai"},
	"index":        {Allowed, "noindex"},
	"follow":       {Allowed, "nofollow"},
	"all":          {Allowed, "noindex nofollow"},
	"archive":      {Allowed, "noarchive"},

	// Rules of X-Robots-Tag with a colon and a value. Any other name before a colon is a
	// product token.
	"max-snippet":       {},
	"max-image-preview": {},
	"max-video-preview": {},
	"unavailable_after": {},
}

// robotsTag reads a list of product tokens whose parameters are rules
// (draft-illyes-repext, section 3.1.1).
func (r *reader) robotsTag(_ *field, value string) {
	list, err := httpsfv.UnmarshalList([]string{value})
	if err != nil {
		r.skip("not a list (RFC 9651): " + err.Error())
		return
	}
	for _, member := range list {
		item, _ := member.(httpsfv.Item)
		token, isToken := item.Value.(httpsfv.Token)
		name, isString := item.Value.(string)
		if isToken {
			name = string(token)
		}
		switch {
		case !isToken && !isString:
			r.skip("a member is no product token")
		case r.isFor(name):
			for _, rule := range item.Params.Names() {
				v, _ := item.Params.Get(rule)
				r.rule(rule, v == true)
			}
		}
	}
}

// xRobotsTag reads a line of rules separated by commas. A product token and a colon
// before a rule say that it and the rules after it are for that crawler alone.
func (r *reader) xRobotsTag(_ *field, line string) {
	mine, hasDate := true, false
	for part := range strings.SplitSeq(line, ",") {
		part = strings.Trim(part, " \t")
		if hasDate && part != "" && '0' <= part[0] && part[0] <= '9' {
			continue // the rest of a date such as "Fri, 25 Jun 2010 15:00:00 GMT"
		}
		name, value, hasColon := cutRule(part)
		if _, isRule := robotsRules[strings.ToLower(name)]; hasColon && !isRule && isName(name) {
			mine = r.isFor(name)
			name, _, hasColon = cutRule(value)
		}
		hasDate = strings.EqualFold(name, "unavailable_after")
		if mine && part != "" {
			r.rule(name, !hasColon)
		}
	}
}

// cutRule cuts a rule around its first colon.
func cutRule(rule string) (name, value string, hasColon bool) {
	name, value, hasColon = strings.Cut(rule, ":")
	return strings.Trim(name, " \t"), strings.Trim(value, " \t"), hasColon
}

// isFor reports whether rules for a product token are for this crawler.
func (r *reader) isFor(name string) bool {
	if name == "*" {
		return true
	}
	for token := range strings.SplitSeq(r.tokens, ",") {
		if strings.EqualFold(strings.Trim(token, " \t"), name) {
			return true
		}
	}
	return false
}

// rule adds the preferences of a rule. plain means that it has no value.
func (r *reader) rule(name string, plain bool) {
	if !isName(name) {
		r.skip("a part is no rule")
		return
	}
	name = strings.ToLower(name)
	meaning := robotsRules[name]
	if !plain || meaning.labels == "" {
		r.add(strings.Clone(name), Unknown)
		return
	}
	for label := range strings.FieldsSeq(meaning.labels) {
		r.add(label, meaning.value)
	}
}

// isName reports whether s can be a product token or the name of a rule.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if l := c | 0x20; !('a' <= l && l <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '*') {
			return false
		}
	}
	return s != ""
}

// links reads the links of a line whose relation is license (RFC 8288, section 3).
func (r *reader) links(f *field, line string) {
	for link := range split(line, ',') {
		link = strings.Trim(link, " \t")
		for parameter := range split(link, ';') {
			name, value, _ := strings.Cut(parameter, "=")
			if !strings.EqualFold(strings.Trim(name, " \t"), "rel") {
				continue
			}
			for relation := range strings.FieldsSeq(strings.Trim(value, " \t\"")) {
				if strings.EqualFold(relation, "license") {
					r.source = newSource(f, 0, link)
					r.add("license", Unknown)
				}
			}
			break // only the first rel counts (RFC 8288, section 3.3)
		}
	}
}

// split yields the parts of s between separators that stand neither in a quoted string
// nor between < and >.
func split(s string, separator byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin, end := 0, byte(0) // end is the byte that ends a quoted part
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case end != 0 && c == end:
				end = 0
			case end == '"' && c == '\\':
				i++
			case end != 0:
			case c == '"':
				end = '"'
			case c == '<':
				end = '>'
			case c == separator:
				if !yield(s[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(s[begin:])
	}
}

// cutList returns the members of a list that stand whole in its first most bytes.
func cutList(s string, most int) string {
	n := 0
	for part := range split(s, ',') {
		if n+len(part) > most {
			break
		}
		n += len(part) + 1
	}
	return s[:max(n-1, 0)]
}
