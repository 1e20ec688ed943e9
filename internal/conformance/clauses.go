package conformance

import "github.com/rfc9309/polite/policy"

// clause is a section of RFC 9309, or the house rules.
type clause struct {
	number, title string
	requirements  []requirement
}

// requirement is one sentence of a clause in a few words.
type requirement struct {
	level string // MUST, SHOULD, MAY, or "" for a plain statement
	text  string
	probe probe
	// proofs are tests, as FOLDER/NAME where NAME is a string in a test source
	// of the folder, and topics of test vectors, as vectors/CLAUSE/TOPIC.
	proofs []string
}

// probe puts a profile to the case of a requirement and says what came of it.
type probe func(*policy.Profile) string

// proofs makes the list of a requirement readable where it stands.
func proofs(names ...string) []string { return names }

// clauses returns the RFC in its order, and after it the house rules.
func clauses() []clause {
	return []clause{
		{"2.1", "Protocol definition", definition()},
		{"2.2", "Formal syntax", syntax()},
		{"2.2.1", "The user-agent line", userAgents()},
		{"2.2.2", "The allow and disallow lines", rules()},
		{"2.2.3", "Special characters", special()},
		{"2.2.4", "Other records", otherRecords()},
		{"2.3.1.1", "Successful access", successful()},
		{"2.3.1.2", "Redirects", redirects()},
		{"2.3.1.3", "Unavailable status", unavailable()},
		{"2.3.1.4", "Unreachable status", unreachable()},
		{"2.3.1.5", "Parsing errors", parsing()},
		{"2.4", "Caching", caching()},
		{"2.5", "Limits", limits()},
		{"5", "Examples", examples()},
		{"House", "rules: what the RFC leaves open", house()},
	}
}
