package lint

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// This file writes remarks in SARIF 2.1.0, which code hosts show beside the lines of a file.

type sarifLog struct {
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
		Level Level `json:"level"`
	} `json:"defaultConfiguration"`
}

type message struct {
	Text string `json:"text"`
}

type result struct {
	RuleID    string     `json:"ruleId"`
	RuleIndex int        `json:"ruleIndex"`
	Level     Level      `json:"level"`
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

// WriteSARIF writes remarks about a file. what is its path or URL.
func WriteSARIF(w io.Writer, version, what string, remarks []Remark) error {
	d := driver{Name: "polite", Version: version, URI: "https://github.com/rfc9309/polite"}
	index := map[string]int{}
	for i, c := range checks {
		r := rule{ID: c.name, Short: message{c.about}}
		r.Default.Level = c.level
		d.Rules = append(d.Rules, r)
		index[c.name] = i
	}
	results := make([]result, len(remarks))
	for i, m := range remarks {
		var at location
		at.Physical.Artifact.URI = reference(what)
		at.Physical.Region.StartLine = max(m.Line, 1)
		at.Physical.Region.Snippet.Text = m.Text
		results[i] = result{m.Check, index[m.Check], m.Level, message{m.String()}, []location{at}}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{{tool{d}, results}}})
}

// reference returns a path or URL as a URI.
func reference(what string) string {
	if strings.Contains(what, "://") {
		return what
	}
	if what == "-" {
		what = "robots.txt"
	}
	return (&url.URL{Path: filepath.ToSlash(what)}).String()
}
