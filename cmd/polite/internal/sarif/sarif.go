// Package sarif writes results in SARIF 2.1.0, which code hosts show beside the lines of a file.
package sarif

import (
	"encoding/json"
	"io"
)

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool    tool     `json:"tool"`
	Results []result `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	URI     string `json:"informationUri"`
	Rules   []rule `json:"rules"`
}

type rule struct {
	ID      string  `json:"id"`
	Short   message `json:"shortDescription"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type message struct {
	Text string `json:"text"`
}

type result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     string     `json:"level"`
	Message   message    `json:"message"`
	Locations []location `json:"locations"`
}

type location struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int     `json:"startLine"`
			Snippet   message `json:"snippet"`
		} `json:"region"`
	} `json:"physicalLocation"`
}

// A Rule is a check. Level is error, warning or note.
type Rule struct{ ID, About, Level string }

// A Result is what a check found. Rule is the ID of the check.
type Result struct {
	Rule, Level, Message string
	URI                  string // of the file or page
	Line                 int    // in the file, from 1 on
	Snippet              string // text of the line
}

// Write writes the rules and results of a version of polite.
func Write(w io.Writer, version string, rules []Rule, results []Result) error {
	d := driver{Name: "polite", Version: version, URI: "https://github.com/rfc9309/polite"}
	index := map[string]int{}
	for i, r := range rules {
		written := rule{ID: r.ID, Short: message{r.About}}
		written.Default.Level = r.Level
		d.Rules = append(d.Rules, written)
		index[r.ID] = i
	}
	all := make([]result, len(results))
	for i, r := range results {
		var at location
		at.Physical.Artifact.URI = r.URI
		at.Physical.Region.StartLine = max(r.Line, 1)
		at.Physical.Region.Snippet.Text = r.Snippet
		all[i] = result{r.Rule, index[r.Rule], r.Level, message{r.Message}, []location{at}}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(log{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{{tool{d}, all}}})
}
