package main

import (
	"bytes"

	bj "github.com/benjaminestes/robots/v2"
	"github.com/jimsmart/grobotstxt"
	"github.com/temoto/robotstxt"

	"github.com/rfc9309/polite/matcher"
)

const token = "ExampleBot"

// A library parses a file and matches targets for one crawler. parse returns nil if it
// fails.
type library struct {
	name  string
	parse func(body []byte, token string) (allowed func(target string) bool)
}

// libraries returns this project first, then its peers.
func libraries() []library {
	return []library{
		{"polite", func(body []byte, token string) func(string) bool {
			f := matcher.Parse(body, matcher.Dialect{})
			return func(target string) bool { return f.Match(token, target).Allowed }
		}},
		{"temoto", func(body []byte, token string) func(string) bool {
			d, err := robotstxt.FromBytes(body)
			if err != nil {
				return nil
			}
			return func(target string) bool { return d.TestAgent(target, token) }
		}},
		{"benjaminestes", func(body []byte, token string) func(string) bool {
			r := readBJ(body, token)
			if r == nil {
				return nil
			}
			return func(target string) bool { return r.Test(token, target) }
		}},
		// It has no parsed form: each match reads the file.
		{"grobotstxt", func(body []byte, token string) func(string) bool {
			s := string(body)
			return func(target string) bool { return grobotstxt.AgentAllowed(s, token, target) }
		}},
	}
}

// readBJ parses a file with benjaminestes/robots. That library panics on a file
// without any record, and fails later on a rule that is not UTF-8.
func readBJ(body []byte, token string) (r *bj.Robots) {
	defer func() {
		if recover() != nil {
			r = nil
		}
	}()
	r, _ = bj.From(200, bytes.NewReader(body))
	r.Test(token, "/x")
	return r
}
