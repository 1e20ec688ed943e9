package matcher

// This file reads the names of records, and says which records have no effect:
// RFC 9309, sections 2.2 and 2.2.4.

// kind is what a record is to the matcher.
type kind uint8

const (
	other    kind = iota // another record
	agent                // user-agent
	disallow             // disallow
	allow                // allow
	sitemap              // sitemap
	delay                // crawl-delay
	junk                 // no record: no name before a colon
	blank                // a blank line that ends a record of the 1996 draft
	tooLong              // what follows in the line is past Dialect.lineMax
)

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

// commonSpellings lists misspellings met in real files ("accept common misspellings of
// the record", RFC 9309, section 2.2.4). House rule: the three records of the
// protocol are read as generously as others.
var commonSpellings = [...]spelling{
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

// googleSpellings lists the spellings google/robotstxt knows, in the order it tries them.
var googleSpellings = [...]spelling{
	{"user-agent", agent}, {"useragent", agent}, {"user agent", agent}, {"allow", allow},
	{"disallow", disallow}, {"dissallow", disallow}, {"dissalow", disallow}, {"disalow", disallow},
	{"diasllow", disallow}, {"disallaw", disallow}, {"sitemap", sitemap}, {"site-map", sitemap}, {"crawl-delay", delay},
}

// properKind returns the kind whose canonical spelling is name, or other.
func properKind(name string) kind {
	k, usual := other, false // usual: only the first letter can differ in case
	switch len(name) {
	case len("allow"):
		k, usual = allow, name[1:] == "llow"
	case len("sitemap"):
		k, usual = sitemap, name[1:] == "itemap"
	case len("disallow"):
		k, usual = disallow, name[1:] == "isallow"
	case len("user-agent"):
		k, usual = agent, name[1:] == "ser-agent"
	case len("crawl-delay"):
		k, usual = delay, name[1:] == "rawl-delay"
	}
	if usual && lower(name[0]) == proper[k][0] || equalFold(name, proper[k]) {
		return k
	}
	return other
}

// kindOf returns the kind that the dialect takes name for, and whether name is a
// misspelling.
func (d *Dialect) kindOf(name string) (k kind, odd bool) {
	if k := properKind(name); k != other {
		return k, false
	}
	switch d.names {
	case commonNames:
		if len(name) < 4 || len(name) > 12 {
			return other, false // no spelling is as short, or as long
		}
		for i := range commonSpellings {
			if s := &commonSpellings[i]; len(name) == len(s.name) && equalFold(name, s.name) {
				return s.kind, true
			}
		}
	case prefixNames:
		for _, s := range googleSpellings {
			if len(name) >= len(s.name) && equalFold(name[:len(s.name)], s.name) {
				return s.kind, true
			}
		}
	}
	return other, false
}

// isRule reports whether r is an allow or disallow record.
func (r *record) isRule() bool { return r.kind == allow || r.kind == disallow }

// isOther reports whether r is a record that is none of the protocol's (RFC 9309,
// section 2.2.4).
func (r *record) isOther() bool { return r.kind == other || r.kind == sitemap || r.kind == delay }

// reason returns why a record has no effect, or that it is taken for more than
// what is written; "" if there is nothing to say.
func (d *Dialect) reason(r *record) string {
	switch {
	case r.kind == tooLong:
		return "past the limit: what follows here is not read"
	case r.kind == junk:
		return "not a record: no name before a colon"
	case r.kind == other:
		return "unknown record"
	case r.kind == agent && d.token(r.value) == "":
		return "user-agent line that names no crawler"
	}
	if why := d.idle(r); r.isRule() && why != "" {
		return why
	}
	if r.odd {
		return "misspelling accepted"
	}
	return ""
}

// idle returns why a rule can match nothing, or "".
func (d *Dialect) idle(r *record) string {
	switch {
	case !r.grouped:
		return "rule outside any group"
	case r.value == "":
		return "empty pattern"
	case !d.loose && shared(r.value)&notControl == 0:
		return "control bytes in the pattern"
	case !d.canBegin(r.value):
		return "rule that can never match: its pattern begins with neither / nor *"
	}
	return ""
}

// canBegin reports whether a path can begin as a pattern does.
func (d *Dialect) canBegin(pattern string) bool {
	return pattern != "" && (pattern[0] == '/' || pattern[0] == '*' && !d.literal)
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
