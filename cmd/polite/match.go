package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rfc9309/polite/cmd/polite/internal/cases"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// matching is one run of polite match.
type matching struct {
	*cli
	token, profileName string
	json, jsonl        bool
	profile            *policy.Profile
	disallowAll        *matcher.File // allows only URLs that no file can disallow
}

func (c *cli) matchCommand() *cobra.Command {
	m := &matching{cli: c}
	cmd := &cobra.Command{
		Use:   "match [flags] ROBOTS_FILE URL...",
		Short: "Match URLs with a local robots.txt, without any network",
		Long: `Match says for each URL, or path such as /private?x=1, whether the robots.txt in a
local file allows it. The file - is standard input. The scheme, the authority and
the fragment are cut off. The rest is matched as typed: dot segments and double
slashes stay.

With --jsonl it reads cases from standard input, one object per line, and answers
each in order:

  {"id": ..., "robots": "...", "agent": "ExampleBot", "url": "https://example.com/private"}
  {"id": ..., "allowed": false, "line": 2, "agent": "*", "pattern": "/private"}

The agent is a product token. A case may have robots_b64, the file in base64,
instead of robots. Line 0 means that no rule matched. If a line cannot be read,
its number is reported, the other lines are answered, and the exit code is 2.
Otherwise the exit code is 0.`,
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
					return usageErrorf("--jsonl reads cases from standard input; want no arguments")
				}
				o := &cases.Options{Profile: profile, Token: m.token, Warn: func(s string) { m.warn("%s", s) }}
				return o.Answer(cmd.Context(), m.in, m.out)
			}
			if len(args) < 2 {
				return usageErrorf("want a robots.txt and a URL")
			}
			return m.run(args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.token, "token", "", "the product `token` that groups must name (default: use the group *)")
	f.BoolVar(&m.json, "json", false, "print one JSON object per line")
	f.BoolVar(&m.jsonl, "jsonl", false, "read cases from standard input, one JSON object per line")
	profileFlag(cmd, &m.profileName)
	return cmd
}

func (m *matching) run(name string, targets []string) error {
	text, err := m.readFile(name, m.profile.Limit)
	if err != nil {
		return err
	}
	g := matcher.Parse(text, m.profile.Dialect).Group(m.token)
	m.disallowAll = matcher.Parse([]byte("User-agent: *\nDisallow: /\n"), m.profile.Dialect)
	p, column := display.New(m.out), display.Column(targets)
	var tally tally
	for _, t := range targets {
		d := m.decide(g, t)
		d.Robots = name
		tally.add(d.Verdict, nil)
		if m.json {
			p.JSON(d)
		} else {
			p.Result(display.Word(d.Verdict), t, column, display.Cause(d))
		}
	}
	m.code = tally.code()
	return p.Flush()
}

// decide makes the decision for a file that was fetched successfully (RFC 9309,
// section 2.3.1.1). The target is matched as typed, because url.Parse would change it.
func (m *matching) decide(g *matcher.Group, target string) policy.Decision {
	d := policy.Decision{
		Verdict: policy.Disallow, URL: target, Clause: "2.2.2", Access: policy.Successful,
		Match: g.Match(target), Profile: m.profile.Name,
	}
	if d.Match.Allowed {
		d.Verdict = policy.Allow
	}
	switch {
	case m.disallowAll.Match("", target).Allowed:
		d.Match.Agent = "" // robots.txt itself: no group decides
	case d.Match.Agent == "":
		d.Clause = "2.2.1"
	}
	return d
}

// readFile reads at most limit bytes of a robots.txt. The file - is standard input.
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
		c.warn("%s is cut after %s bytes, the profile's limit (RFC 9309, section 2.5)", name, display.Thousands(limit))
		text = cases.Cut(text, limit)
	}
	return text, nil
}
