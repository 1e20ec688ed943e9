package conformance

import (
	"strings"
	"sync"

	"github.com/rfc9309/polite/policy"
)

// text is a document that profiles follow.
type text struct {
	title string
	// about is the paragraph before the tables.
	about string
	// source is the file of the text in the folder POLITE_SPEC, or "" if the
	// folder does not have the text.
	source string
	// follow are the profiles that promise to do what the text says. Each
	// exception must be a numbered deviation.
	follow []*policy.Profile
	// columns are the profiles that the tables show.
	columns  []*policy.Profile
	sections []section
}

// section is a section of a text.
type section struct {
	number, title string
	requirements  []requirement
}

// requirement is a sentence of a text and a case that shows whether a profile does
// what it says.
type requirement struct {
	// level is the key word of the sentence, or "" for a plain statement.
	level string
	// quote is the sentence in the text's own words, or "" if there is no text to
	// quote. An ellipsis means that words are left out.
	quote string
	// asks describes the case in our words.
	asks string
	// probe tries the case. It is nil if the sentence is not for a crawler library.
	probe probe
	// deviations are the numbers in docs/deviations.md of the reasons why a
	// profile that follows the text does not do this.
	deviations []int
	// proofs are tests, as FOLDER/NAME where NAME is a string in a test source
	// of the folder, and topics of test vectors, as vectors/CLAUSE/TOPIC.
	proofs []string
}

// probe tries a profile with the case of a requirement and returns what it did.
type probe func(*policy.Profile) string

// says returns a requirement.
func says(level, quote, asks string, p probe, proofs ...string) requirement {
	return requirement{level: level, quote: quote, asks: asks, probe: p, proofs: proofs}
}

// notOurs returns a requirement that is not for a crawler library. whose says for whom
// it is.
func notOurs(level, quote, whose string) requirement {
	return requirement{level: level, quote: quote, asks: whose}
}

// answer returns what the profile does, or "" if there is no probe.
func (r requirement) answer(p *policy.Profile) string {
	if r.probe == nil {
		return ""
	}
	return r.probe(p)
}

// departs reports whether a profile does not do what the requirement says.
func (r requirement) departs(p *policy.Profile) bool {
	answer := r.answer(p)
	return r.level != "MAY" && (answer == "no" || strings.HasPrefix(answer, "but "))
}

// but returns the requirement with the numbers of deviations.
func (r requirement) but(deviations ...int) requirement {
	r.deviations = deviations
	return r
}

// texts returns the texts in the order of the page.
func texts() []text {
	all := []*policy.Profile{
		policy.RFC9309(), policy.Strict(), policy.Google(), policy.Google2019(), policy.Draft2019(), policy.Koster1996(),
	}
	one := func(p *policy.Profile) []*policy.Profile { return []*policy.Profile{p} }
	return []text{
		{
			title: "RFC 9309", source: "rfc9309.txt", follow: all[:2], columns: all, sections: rfc9309(),
			about: "The Robots Exclusion Protocol, September 2022. Profiles `rfc9309` and `strict` follow it; the other columns show how the older texts differ.",
		},
		{
			title: "RFC 9111", source: "rfc9111.txt", follow: all[:2], columns: all, sections: rfc9111(),
			about: "HTTP Caching, June 2022, which RFC 9309, section 2.4, permits crawlers to use. These are its sentences that matter to one cached file.",
		},
		{
			title: "Google's documentation of 2026", follow: one(all[2]), columns: one(all[2]), sections: google(),
			about: "Profile `google` follows it, and the parser at github.com/google/robotstxt where they differ. Its sentences are given in our words.",
		},
		{
			title: "Google's documentation of 2019", source: "google-robots-spec-2020-nl.txt", follow: one(all[3]), columns: one(all[3]), sections: google2019(),
			about: "Profile `google2019` follows it. The quotations are from a Dutch translation of 2020, \"Robots.txt Specificaties\", because the English page has changed since. They are the words of the translation, not Google's.",
		},
		{
			title: "draft-koster-rep-00", source: "draft-koster-rep-00-en-ja.txt", follow: one(all[4]), columns: one(all[4]), sections: draft2019(),
			about: "The first draft of RFC 9309, July 2019. Profile `draft2019` follows it. These are the sentences that the RFC has in other words.",
		},
		{
			title: "A Method for Robots Exclusion", source: "koster-1996-draft.txt", follow: one(all[5]), columns: one(all[5]), sections: koster1996(),
			about: "The draft of November 1996. Profile `koster1996` follows it. It does not write its key words in capitals.",
		},
		{
			title: "House rules", columns: all, sections: house(),
			about: "Cases that no text describes.",
		},
	}
}

// sentences returns the sections of RFC 9309 without the probes, which hold long files.
var sentences = sync.OnceValue(func() []section {
	all := rfc9309()
	for _, s := range all {
		for i := range s.requirements {
			s.requirements[i].probe = nil
		}
	}
	return all
})

// Sentence returns the sentence of RFC 9309 that begins with these words in a section, and
// its level: "MUST", "SHOULD", another key word, or "" for a plain statement. It returns ""
// if the section has no such sentence. The exam quotes the RFC through it.
func Sentence(number, beginning string) (level, quote string) {
	for _, s := range sentences() {
		for _, r := range s.requirements {
			if s.number == number && r.quote != "" && strings.HasPrefix(r.quote, beginning) {
				return r.level, r.quote
			}
		}
	}
	return "", ""
}

// Title returns the title of a section of RFC 9309.
func Title(number string) string {
	for _, s := range sentences() {
		if s.number == number {
			return s.title
		}
	}
	return ""
}
