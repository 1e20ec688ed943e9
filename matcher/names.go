package matcher

// This file reads the names of records, and says which records have no effect:
// RFC 9309, sections 2.2 and 2.2.4.

// kind is what a record is to the matcher.
type kind uint8

const (
	other    kind = iota // a record with any other name
	agent                // user-agent
	disallow             // disallow
	allow                // allow
	sitemap              // sitemap
	delay                // crawl-delay
	junk                 // no record: no name before a colon
	blank                // a blank line that ends a group in the 1996 draft
	tooLong              // the rest of a line that is longer than Dialect.lineMax
)

// names lists the names of records in lower case, indexed by kind.
var names = [...]string{agent: "user-agent", disallow: "disallow", allow: "allow", sitemap: "sitemap", delay: "crawl-delay"}

// misspellings lists misspelled names met in real files ("accept common
// misspellings of the record", RFC 9309, section 2.2.4). The section speaks of other records.
// House rule: misspelled user-agent, allow and disallow records are also accepted.
var misspellings = map[string]kind{
	"user agent": agent, "useragent": agent, "user_agent": agent, "user-agents": agent,
	"users-agent": agent, "user-agnet": agent, "user-agen": agent, "uuser-agent": agent,
	"usser-agent": agent, "user - agent": agent, "use-agent": agent, "ser-agent": agent,
	"dissallow": disallow, "dissalow": disallow, "disalow": disallow, "diasllow": disallow,
	"disallaw": disallow, "diallow": disallow, "disllow": disallow, "dislow": disallow,
	"disalolow": disallow, "disalloww": disallow, "disallowi": disallow, "disalloe": disallow,
	"disallo": disallow, "disal1ow": disallow, "diasallow": disallow, "disaloow": disallow,
	"disallpw": disallow, "disallown": disallow, "disallop": disallow, "disalllow": disallow,
	"disaalow": disallow, "dosallow": disallow, "dis-allow": disallow, "dis allow": disallow,
	"disallowed": disallow, "alow": allow, "allowed": allow, "alllow": allow,
	"site-map": sitemap, "sitemaps": sitemap, "site map": sitemap, "sitempa": sitemap, "siteamp": sitemap,
	"crawl delay": delay, "crawl_delay": delay, "crawldelay": delay, "craw-delay": delay, "clawl-delay": delay,
}

// maxMisspelled is the length of the longest misspelling.
const maxMisspelled = len("user - agent")

// googleNames lists the beginnings of names that google/robotstxt knows, each with its kind.
// To go through a map would take four times as long.
var googleNames = [...]struct {
	begin string
	kind  kind
}{
	{"user-agent", agent}, {"useragent", agent}, {"user agent", agent}, {"allow", allow}, {"disallow", disallow},
	{"dissallow", disallow}, {"dissalow", disallow}, {"disalow", disallow}, {"diasllow", disallow}, {"disallaw", disallow},
	{"sitemap", sitemap}, {"site-map", sitemap}, {"crawl-delay", delay},
}

// kindOf returns the kind of the records with a name, and whether the name is
// misspelled.
func (d *Dialect) kindOf(name string) (k kind, misspelled bool) {
	if name == "" || !contains("acdsu", lower(name[0])) { // how all names and misspellings begin
		return other, false
	}
	for k := agent; k <= delay; k++ {
		if equalFold(name, names[k]) {
			return k, false
		}
	}
	switch {
	case d.exactNames:
	case d.prefixNames:
		for i := range googleNames {
			if g := &googleNames[i]; len(name) >= len(g.begin) && equalFold(name[:len(g.begin)], g.begin) {
				return g.kind, true
			}
		}
	case len(name) <= maxMisspelled:
		var buf [maxMisspelled]byte
		for i := range len(name) {
			buf[i] = lower(name[i])
		}
		k, misspelled = misspellings[string(buf[:len(name)])]
	}
	return k, misspelled
}

// isRule reports whether records of this kind are rules.
func (k kind) isRule() bool { return k == allow || k == disallow }

// isOther reports whether this is a kind of the other records of RFC 9309, section 2.2.4, which
// are neither rules nor user-agent lines.
func (k kind) isOther() bool { return k == other || k == sitemap || k == delay }

// reason returns why the record has no effect, or that its misspelling is accepted; ""
// if there is nothing to say.
func (s *scanner) reason(value string) string {
	switch {
	case s.kind == tooLong:
		return "past the limit: what follows here is not read"
	case s.kind == junk:
		return "not a record: no name before a colon"
	case s.kind == other:
		return "unknown record"
	case s.kind == agent && s.dialect.token(value) == "":
		return "user-agent line that names no crawler"
	}
	if why := s.idleReason(value); s.kind.isRule() && why != "" {
		return why
	}
	if s.misspelled {
		return "misspelling accepted"
	}
	return ""
}

// idleReason returns why the record, a rule, can match nothing; "" if it can.
func (s *scanner) idleReason(value string) string {
	d, pattern := s.dialect, value
	switch {
	case !s.grouped:
		return "rule outside any group"
	case pattern == "":
		return "empty pattern"
	case !d.controls && propertiesOf(pattern)&control != 0:
		return "control bytes in the pattern"
	case !d.canMatch(pattern):
		return "rule that can never match: its pattern begins with neither / nor *"
	}
	return ""
}

// canMatch reports whether a pattern can match any path: it begins with "/" or "*".
func (d *Dialect) canMatch(pattern string) bool {
	return pattern != "" && (pattern[0] == '/' || pattern[0] == '*' && !d.literal)
}

// equalFold reports whether a and b are equal, letters of ASCII without case.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
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
