package exam

// rules returns the cases about paths and special characters (sections 2.2, 2.2.2 and 2.2.3).
func rules() []*Case {
	const (
		match    = "a crawler MUST match the paths"
		start    = "The matching MUST start with the first octet"
		longest  = "The most specific match found MUST be used."
		outside  = "Octets in the URI and robots.txt paths outside the range"
		decoded  = "If a percent-encoded ASCII octet is encountered"
		support  = "Crawlers MUST support the following special characters:"
		verbatim = "If crawlers match special characters verbatim"
	)
	return []*Case{
		{Name: "2.2/empty_pattern", Text: "empty-pattern", Site: "Disallow has no value", robots: forAll("Disallow:\n"), judge: judgeOpen},
		{Name: "2.2/line_ends_cr", Text: "NL =", Site: "the lines end at CR, and /private is disallowed", robots: crOnly(forAll("Disallow: /private\n")), closed: []string{private}},
		{Name: "2.2/line_ends_crlf", Text: "NL =", Site: "the lines end at CRLF, and /private is disallowed", robots: crlf(forAll("Disallow: /private\n")), closed: []string{private}},
		{Name: "2.2.2/prefix", Text: match, Site: "Disallow: /private, and a link to /private-too", robots: forAll("Disallow: /private\n"), closed: []string{"/private-too"}},
		{Name: "2.2.2/first_byte", Text: start, Site: "Disallow: /public, and a link to /about/public", robots: forAll("Disallow: /public\n"), open: []string{"/about/public"}},
		{Name: "2.2.2/case_of_paths", Text: "The matching SHOULD be case sensitive.", Site: "Disallow: /Public, and a link to /public", robots: forAll("Disallow: /Public\n"), open: []string{public}},
		{Name: "2.2.2/longest_rule", Text: longest, Site: "Allow: /a, then Disallow: /a/private; Disallow: /b, then Allow: /b/public",
			robots: forAll("Allow: /a\nDisallow: /a/private\nDisallow: /b\nAllow: /b/public\n"), closed: []string{"/a/private"}, open: []string{"/b/public"}},
		{Name: "2.2.2/ties_allow", Text: `If an "allow" rule and a "disallow" rule are equivalent`, Site: "Allow: /public, and Disallow: /public", after: []string{"2.2.2/longest_rule"},
			robots: forAll("Allow: /public\nDisallow: /public\n"), open: []string{public}},
		{Name: "2.2.2/rule_outside_a_group", Text: `The crawler SHOULD ignore "disallow" and "allow" rules that are not in any group`, Site: "Disallow: /public before the first user-agent line",
			robots: "Disallow: /public\n" + forAll("Disallow: /other\n"), open: []string{public}},
		{Name: "2.2.2/query", Text: match, Site: "Disallow: /find?q=private, and links to /find?q=private and /find?q=public",
			robots: forAll("Disallow: /find?q=private\n"), closed: []string{"/find?q=private"}, open: []string{"/find?q=public"}},
		{Name: "2.2.2/encoded_in_the_rule", Text: decoded, Site: "Disallow: /%70rivate, and a link to /private", robots: forAll("Disallow: /%70rivate\n"), closed: []string{private}},
		{Name: "2.2.2/encoded_in_the_link", Text: decoded, Site: "Disallow: /private, and a link to /%70rivate", robots: forAll("Disallow: /private\n"), closed: []string{"/%70rivate"}},
		{Name: "2.2.2/utf8_in_the_rule", Text: outside, Site: "Disallow: /ツ, and a link to /%E3%83%84", robots: forAll("Disallow: /ツ\n"), closed: []string{"/%E3%83%84"}},
		{Name: "2.2.2/utf8_in_the_link", Text: outside, Site: "Disallow: /%E3%83%84, and a link to /ツ", robots: forAll("Disallow: /%E3%83%84\n"), closed: []string{"/ツ"}},
		{Name: "2.2.2/robots_txt_itself", Text: "The /robots.txt URI is implicitly allowed.", Site: "Disallow: /robots.txt, and Disallow: /private",
			robots: forAll("Disallow: /robots.txt\nDisallow: /private\n"), closed: []string{private}},
		{Name: "2.2.2/redirect_of_a_page", Text: match, Site: "/moved redirects to /private, which is disallowed; /moved-too redirects to /landed",
			robots: forAll("Disallow: /private\n"), closed: []string{private}, needs: []string{"/moved", "/landed"}, build: pageRedirects(false)},
		{Name: "2.2.2/redirect_of_a_page_to_another_host", Text: match, Site: "/moved redirects to another host's /private, which that host disallows; /moved-too redirects to its /landed",
			robots: forAll("Disallow: /other\n"), needs: []string{"/moved", "/moved-too"}, build: pageRedirects(true), judge: judgeOtherHost},
		{Name: "2.2.3/star", Text: support, Site: "Disallow: /*/private, and a link to /any/private", robots: forAll("Disallow: /*/private\n"), closed: []string{"/any/private"}},
		{Name: "2.2.3/dollar", Text: support, Site: "Disallow: /end$, and links to /end and /end-not", robots: forAll("Disallow: /end$\n"), closed: []string{"/end"}, open: []string{"/end-not"}},
		{Name: "2.2.3/comment", Text: support, Site: "Disallow: /private # comment", robots: forAll("Disallow: /private # comment\n"), closed: []string{private}},
		{Name: "2.2.3/literal_star", Text: verbatim, Site: "Disallow: /a%2Ab, and links to /a*b and /a-b", robots: forAll("Disallow: /a%2Ab\n"), closed: []string{"/a*b"}, open: []string{"/a-b"}},
		{Name: "2.2.3/literal_dollar", Text: verbatim, Site: "Disallow: /c%24, and links to /c$ and /c", robots: forAll("Disallow: /c%24\n"), closed: []string{"/c$"}, open: []string{"/c"}},
	}
}
