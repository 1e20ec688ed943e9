package usage

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rfc9309/polite/internal/clean"
)

// Value is what a site says about one use. The zero Value is Unknown.
type Value uint8

const (
	Unknown Value = iota // nothing is said, or nothing that is understood
	Allowed              // the site allows the use
	Denied               // the site asks not to use the page so
)

// String returns "unknown", "allowed" or "denied".
func (v Value) String() string {
	return [...]string{"unknown", "allowed", "denied"}[min(v, Denied)]
}

// MarshalText returns the same word as String.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Preference is what one record or header field says about one use.
type Preference struct {
	Label  string `json:"label"` // the use, as written: "train-ai", "search", "noindex"
	Value  Value  `json:"value"`
	Source Source `json:"source"`
}

// String returns the preference as one line, quoted and bounded.
func (p Preference) String() string {
	return fmt.Sprintf("%s: %s, %s", clean.Quote(p.Label, labelMost), p.Value, p.Source)
}

// Kind is the name of a record or header field, as its text spells it: "Content-Usage",
// "Content-Signal", "X-Robots-Tag", "Robots-Tag", "tdm-reservation", "tdm-policy",
// "License" or "Link". RobotsTxt is robots.txt as a whole.
type Kind string

// RobotsTxt is the Kind of a [Skip] about robots.txt as a whole.
const RobotsTxt Kind = "robots.txt"

// A Source is where a preference stands.
type Source struct {
	Kind Kind   `json:"kind"`
	Line int    `json:"line"` // line of robots.txt, from 1; 0 for a header field
	Text string `json:"text"` // the value as written, cut to 1 KiB; of Link, the one link
}

// String returns the source as words, quoted and bounded.
func (s Source) String() string {
	text := clean.Quote(string(s.Kind)+": "+s.Text, shownMost)
	switch {
	case s.Line > 0:
		return fmt.Sprintf("line %d %s", s.Line, text)
	case s.Kind == RobotsTxt:
		return string(RobotsTxt)
	}
	return "header " + text
}

// Skip is a record or header field that was not read, or only in part.
type Skip struct {
	Source Source `json:"source"`
	Reason string `json:"reason"`
}

// String returns the source and the reason as one line, quoted and bounded.
func (s Skip) String() string {
	return fmt.Sprintf("%s: skipped, %s", s.Source, clean.Text(s.Reason, shownMost))
}

// shownMost bounds a text that is shown, in bytes.
const shownMost = 120

// A Set is what a site says about the use of one URL. It is immutable. The zero Set says
// nothing.
type Set struct {
	preferences []Preference
	skipped     []Skip
}

// Get returns what the site says about a use: the most restrictive value of the
// preferences with the label, and these preferences in order.
func (s Set) Get(label string) (Value, []Preference) {
	value, found := Unknown, []Preference(nil)
	for _, p := range s.preferences {
		if p.Label == label {
			value, found = max(value, p.Value), append(found, p)
		}
	}
	return value, found
}

// All yields the preferences in the order in which they were read.
func (s Set) All() iter.Seq[Preference] { return slices.Values(s.preferences) }

// Contradictions returns the labels that are both Allowed and Denied.
func (s Set) Contradictions() []string {
	var labels []string
	said := map[string]Value{} // the first value of each label that is not Unknown
	for _, p := range s.preferences {
		switch first := said[p.Label]; {
		case first == Unknown:
			said[p.Label] = p.Value
		case p.Value != Unknown && p.Value != first && !slices.Contains(labels, p.Label):
			labels = append(labels, p.Label)
		}
	}
	return labels
}

// With returns s with one more source that was not read.
func (s Set) With(k Skip) Set {
	s.skipped = append(slices.Clip(s.skipped), k)
	return s
}

// Skipped returns the records and header fields that were not read, or only in part.
func (s Set) Skipped() []Skip { return slices.Clone(s.skipped) }

// String returns a line for each preference, contradiction and skipped value, quoted and
// bounded; "" if there is none.
func (s Set) String() string {
	var lines []string
	for _, p := range s.preferences {
		lines = append(lines, p.String())
	}
	for _, label := range s.Contradictions() {
		lines = append(lines, clean.Quote(label, labelMost)+": contradiction, denied counts")
	}
	for _, k := range s.skipped {
		lines = append(lines, k.String())
	}
	return strings.Join(lines, "\n")
}

// Combine returns everything that the sets say. A preference that is in several of
// them is kept once.
func Combine(sets ...Set) Set {
	var all Set
	preferences, skipped := map[Preference]bool{}, map[Skip]bool{}
	for _, s := range sets {
		all.preferences = appendNew(all.preferences, s.preferences, preferences)
		all.skipped = appendNew(all.skipped, s.skipped, skipped)
	}
	return all
}

// appendNew appends the values that were not seen.
func appendNew[T comparable](list, values []T, seen map[T]bool) []T {
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	return list
}

// MarshalJSON returns an object with the members preferences, contradictions and
// skipped. Texts are bounded, and characters that do not print are replaced.
func (s Set) MarshalJSON() ([]byte, error) {
	out := struct {
		Preferences    []Preference `json:"preferences"`
		Contradictions []string     `json:"contradictions"`
		Skipped        []Skip       `json:"skipped"`
	}{slices.AppendSeq([]Preference{}, s.All()), append([]string{}, s.Contradictions()...), append([]Skip{}, s.skipped...)}
	for i := range out.Preferences {
		p := &out.Preferences[i]
		p.Label, p.Source.Text = clean.Text(p.Label, labelMost), clean.Text(p.Source.Text, shownMost)
	}
	for i, label := range out.Contradictions {
		out.Contradictions[i] = clean.Text(label, labelMost)
	}
	for i := range out.Skipped {
		k := &out.Skipped[i]
		k.Reason, k.Source.Text = clean.Text(k.Reason, shownMost), clean.Text(k.Source.Text, shownMost)
	}
	return json.Marshal(out)
}
