package matcher

// This file reads names of records: RFC 9309, sections 2.2 and 2.2.4.

// kind is what a line of the file is to the matcher.
type kind uint8

const (
	other    kind = iota // kept verbatim: another record, or a known one oddly written
	agent                // user-agent
	disallow             // disallow
	allow                // allow
	sitemap              // sitemap
	delay                // crawl-delay
	junk                 // nothing but the reason why the line says nothing
	ended                // the blank line that ends a record (1996); the end of a group, if without line

	kindAllow   kind = 1 << 0 // of a rule: an allow line
	kindSpecial kind = 1 << 1 // of a rule: a star or an anchor in the pattern
	kindApart   kind = 1 << 2 // of a rule: no record, but the normal form of one
	kindRule    kind = 1 << 3 // a rule that can match something
	kindBack    kind = 1 << 4 // a distance stands before the value
)

// ruleKind returns the kind of a rule that can match something.
func ruleKind(k kind, isSpecial bool) kind {
	r := kindRule
	if k == allow {
		r |= kindAllow
	}
	if isSpecial {
		r |= kindSpecial
	}
	return r
}

// names says which spellings of a record name are accepted.
type names uint8

const (
	commonNames names = iota // the names, and misspellings seen in real files
	prefixNames              // google/robotstxt: anything that begins with one of its spellings
	exactNames               // the names alone
)

// spelling is one way to write the name of a record, in lower case.
type spelling struct {
	name string
	kind kind
}

// proper lists the names by their canonical spelling, indexed by kind.
var proper = [...]string{agent: "user-agent", disallow: "disallow", allow: "allow", sitemap: "sitemap", delay: "crawl-delay"}

// common lists misspellings met in real files ("accept common misspellings of
// the record", RFC 9309, section 2.2.4). House rule: the three records of the
// protocol are read as generously as others.
var common = [...]spelling{
	{"user agent", agent}, {"useragent", agent}, {"user_agent", agent}, {"user-agents", agent},
	{"users-agent", agent}, {"user-agnet", agent}, {"user-agen", agent}, {"uuser-agent", agent},
	{"usser-agent", agent}, {"user - agent", agent}, {"use-agent", agent}, {"ser-agent", agent},
	{"dissallow", disallow}, {"dissalow", disallow}, {"disalow", disallow}, {"diasllow", disallow},
	{"disallaw", disallow}, {"diallow", disallow}, {"disllow", disallow}, {"dislow", disallow},
	{"disalolow", disallow}, {"disalloww", disallow}, {"disallowi", disallow}, {"disalloe", disallow},
	{"disallo", disallow}, {"disal1ow", disallow}, {"diasallow", disallow}, {"disaloow", disallow},
	{"disallpw", disallow}, {"disallown", disallow}, {"disallop", disallow}, {"disalllow", disallow},
	{"disaalow", disallow}, {"dosallow", disallow}, {"dis-allow", disallow}, {"dis allow", disallow},
	{"disallowed", disallow}, {"alow", allow}, {"allowed", allow}, {"alllow", allow},
	{"site-map", sitemap}, {"sitemaps", sitemap}, {"site map", sitemap}, {"sitempa", sitemap}, {"siteamp", sitemap},
	{"crawl delay", delay}, {"crawl_delay", delay}, {"crawldelay", delay}, {"craw-delay", delay}, {"clawl-delay", delay},
}

// prefixes lists the spellings google/robotstxt knows, in the order it tries them.
var prefixes = [...]spelling{
	{"user-agent", agent}, {"useragent", agent}, {"user agent", agent}, {"allow", allow},
	{"disallow", disallow}, {"dissallow", disallow}, {"dissalow", disallow}, {"disalow", disallow},
	{"diasllow", disallow}, {"disallaw", disallow}, {"sitemap", sitemap}, {"site-map", sitemap}, {"crawl-delay", delay},
}

// properKind returns the kind whose canonical spelling is name, or other.
func properKind(name string) kind {
	switch len(name) {
	case 5:
		return kindIf(name, allow)
	case 7:
		return kindIf(name, sitemap)
	case 8:
		return kindIf(name, disallow)
	case 10:
		return kindIf(name, agent)
	case 11:
		return kindIf(name, delay)
	}
	return other
}

// kindIf returns k if name is its canonical spelling, which is as long. Mostly
// only the first letter differs in case.
func kindIf(name string, k kind) kind {
	if p := proper[k]; name[1:] == p[1:] && lower(name[0]) == p[0] || equalFold(name, p) {
		return k
	}
	return other
}

// kindOf returns the kind that the dialect takes name for.
func (d *Dialect) kindOf(name string) kind {
	if k := properKind(name); k != other {
		return k
	}
	return d.names.oddKind(name)
}

// oddKind returns the kind that n accepts name for although it is not the
// canonical spelling, or other.
func (n names) oddKind(name string) kind {
	switch n {
	case commonNames:
		if len(name) < 4 || len(name) > 12 {
			return other
		}
		for _, s := range common {
			if len(name) == len(s.name) && equalFold(name, s.name) {
				return s.kind
			}
		}
	case prefixNames:
		for _, s := range prefixes {
			if len(name) >= len(s.name) && equalFold(name[:len(s.name)], s.name) {
				return s.kind
			}
		}
	}
	return other
}

// equalFold reports whether a and b are equal, letters of ASCII without case.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

// lower returns c in lower case if it is an ASCII letter.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
