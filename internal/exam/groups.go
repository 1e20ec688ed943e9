package exam

// Paths that most cases use.
const (
	private = "/private" // disallowed
	public  = "/public"  // allowed, although a crawler with a fault takes it for disallowed
)

// forAll returns a robots.txt with the same rules for every crawler, in a group of its own and
// in the group *, so that a case about something else does not depend on the choice of a group.
func forAll(rules string) string {
	return "User-agent: *\n" + rules + "\nUser-agent: {token}\n" + rules
}

// groups returns the cases about the choice of a group (section 2.2.1).
func groups() []*Case {
	const (
		find     = "Crawlers MUST use case-insensitive matching to find the group"
		combined = "If there is more than one group matching the user-agent"
		star     = "If no matching group exists, crawlers MUST obey the group"
		none     = "If no group matches the product token"
		lines    = "2.1|One or more user-agent lines that are followed by one or more rules."
		empty    = "2.1|The last group may have no rules"
		own      = "2.2.1/own_group"
	)
	return []*Case{
		{Name: own, Text: find, Site: "groups for {token}, for {token} with its version, and for the whole User-Agent disallow /private",
			robots: "User-agent: {token}\nDisallow: /private\n\nUser-agent: {product}\nDisallow: /private\n\nUser-agent: {agent}\nDisallow: /private\n",
			closed: []string{private}},
		{Name: "2.2.1/version_in_the_agent", Text: find, Site: "the group for {token}, without a version, disallows /private", after: []string{own},
			robots: "User-agent: {token}\nDisallow: /private\n", closed: []string{private}},
		{Name: "2.2.1/case_of_the_token", Text: find, Site: "the group for {TOKEN}, in the other letter case, disallows /private",
			after:  []string{own, "2.2.1/version_in_the_agent"},
			robots: "User-agent: {TOKEN}\nDisallow: /private\n", closed: []string{private}},
		{Name: "2.2.1/groups_are_combined", Text: combined, Site: "one group for {token} disallows /private, another one /secret", after: []string{own, "2.2.1/version_in_the_agent"},
			robots: "User-agent: {token}\nDisallow: /private\n\nUser-agent: OtherBot\nDisallow: /other\n\nUser-agent: {token}\nDisallow: /secret\n",
			closed: []string{private, "/secret"}},
		{Name: "2.2.1/star", Text: star, Site: "no group names {token}; the group * disallows /private",
			robots: "User-agent: OtherBot\nDisallow: /other\n\nUser-agent: *\nDisallow: /private\n", closed: []string{private}},
		{Name: "2.2.1/star_only_without_own_group", Text: star, Site: "the group * disallows /public, the group for {token} does not", after: []string{own, "2.2.1/version_in_the_agent"},
			robots: "User-agent: *\nDisallow: /public\n\nUser-agent: {token}\nDisallow: /other\n", open: []string{public}},
		{Name: "2.2.1/longer_name", Text: find, Site: "the group for {longer}, a longer name, disallows /public",
			robots: "User-agent: {longer}\nDisallow: /public\n", open: []string{public}},
		{Name: "2.2.1/shorter_name", Text: find, Site: "the group for {shorter}, a shorter name, disallows /public",
			robots: "User-agent: {shorter}\nDisallow: /public\n", open: []string{public}},
		{Name: "2.2.1/group_of_another", Text: none, Site: "the only group is for OtherBot, and disallows everything",
			robots: "User-agent: OtherBot\nDisallow: /\n", judge: judgeOpen},
		{Name: "2.1/several_user_agent_lines", Text: lines, Site: "the group for FirstBot, {token} and LastBot disallows /private", after: []string{own, "2.2.1/version_in_the_agent"},
			robots: "User-agent: FirstBot\nUser-agent: {token}\nUser-agent: LastBot\nDisallow: /private\n", closed: []string{private}},
		{Name: "2.1/own_group_without_rules", Text: empty, Site: "the last group is for {token} and has no rules; the group * disallows /public",
			after:  []string{own, "2.2.1/version_in_the_agent", "2.2.1/star_only_without_own_group"},
			robots: "User-agent: *\nDisallow: /public\n\nUser-agent: {token}\n", open: []string{public}},
		{Name: "2.2.4/sitemap_in_a_group", Text: `a "Sitemaps" record MUST NOT terminate a group.`, Site: "a Sitemap record is between the user-agent line and Disallow: /private",
			robots: forAll("Sitemap: {origin}/map.xml\nDisallow: /private\n"), closed: []string{private}},
		{Name: "2.2.4/unknown_record", Text: "Parsing of other records MUST NOT interfere", Site: "an unknown record is between the user-agent line and Disallow: /private",
			robots: forAll("Clean-param: a /b\nDisallow: /private\n"), closed: []string{private}},
	}
}
