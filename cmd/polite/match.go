package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/cases"
	"github.com/rfc9309/polite/cmd/polite/internal/paper"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// matching is one run of polite match.
type matching struct {
	*cli
	token, profileName string
	json, jsonl        bool
	profile            *policy.Profile
	shut               *matcher.File // allows what no file can shut off
}

func (c *cli) matchCommand() *cobra.Command {
	m := &matching{cli: c}
	cmd := &cobra.Command{
		Use:   "match [flags] ROBOTS_FILE URL...",
		Short: "Say what a robots.txt at hand means for URLs, without any network",
		Long: `Match holds URLs, or paths such as /private?x=1, against a robots.txt in a file; a
file named - is standard input. What is matched is the request target as typed:
nothing in it is resolved or cleaned, only scheme, authority and fragment are cut
off.

With --jsonl it reads cases from standard input, one object a line, and answers
each in order:

  {"id": ..., "robots": "...", "agent": "ExampleBot", "url": "https://example.com/private"}
  {"id": ..., "allowed": false, "line": 2, "agent": "*", "pattern": "/private"}

The agent is a product token; robots_b64 in place of robots is the file in
base64. Line 0 means that no rule matched. A line that cannot be read is reported
with its number, the rest is answered, and the exit code is 2; otherwise it is 0.`,
		Example: `  polite match --token ExampleBot robots.txt https://example.com/private /public
  polite match --profile google --jsonl < cases.jsonl > answers.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			profile, err := profileByName(m.profileName)
			if err != nil {
				return err
			}
			m.profile = profile
			if m.jsonl {
				if len(args) > 0 {
					return misused("--jsonl takes its cases from standard input; want no arguments")
				}
				o := &cases.Options{Profile: profile, Token: m.token, Warn: func(s string) { m.warn("%s", s) }}
				return o.Answer(cmd.Context(), m.in, m.out)
			}
			if len(args) < 2 {
				return misused("want a robots.txt and a URL")
			}
			return m.run(args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.token, "token", "", "the product `token` that groups are looked up by (default: the group of all others, *)")
	f.BoolVar(&m.json, "json", false, "one JSON object a line")
	f.BoolVar(&m.jsonl, "jsonl", false, "read cases from standard input, one JSON object a line")
	profileFlag(cmd, &m.profileName)
	return cmd
}

func (m *matching) run(name string, targets []string) error {
	text, err := m.readFile(name, m.profile.Limit)
	if err != nil {
		return err
	}
	g := matcher.Parse(text, m.profile.Dialect).Group(m.token)
	m.shut = matcher.Parse([]byte("User-agent: *\nDisallow: /\n"), m.profile.Dialect)
	p, column := paper.New(m.out), paper.Column(targets)
	var tally tally
	for _, t := range targets {
		d := m.decide(g, t)
		d.Robots = name
		tally.add(d.Verdict, nil)
		if m.json {
			p.JSON(d)
		} else {
			p.Ruling(paper.Word(d.Verdict), t, column, paper.Cause(d))
		}
	}
	m.code = tally.code()
	return p.Flush()
}

// decide is the ruling of a file that was read successfully (RFC 9309, section
// 2.3.1.1). The target is matched as typed: url.Parse would change it.
func (m *matching) decide(g *matcher.Group, target string) policy.Decision {
	d := policy.Decision{
		Verdict: policy.Disallow, URL: target, Clause: "2.2.2", Access: policy.Successful,
		Match: g.Match(target), Profile: m.profile.Name,
	}
	if d.Match.Allowed {
		d.Verdict = policy.Allow
	}
	switch {
	case m.shut.Match("", target).Allowed:
		d.Match.Agent = "" // robots.txt itself, which no group is asked for
	case d.Match.Agent == "":
		d.Clause = "2.2.1"
	}
	return d
}

// readFile reads a robots.txt, at most limit octets of it, as a crawler would.
// The file - is standard input.
func (c *cli) readFile(name string, limit int) ([]byte, error) {
	r := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(text) > limit {
		c.warn("%s is cut after %s octets, the profile's limit (RFC 9309, section 2.5)", name, paper.Thousands(limit))
		text = cases.Cut(text, limit)
	}
	return text, nil
}
