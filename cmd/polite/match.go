package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rfc9309/polite/cmd/polite/internal/cases"
	"github.com/rfc9309/polite/cmd/polite/internal/display"
	"github.com/rfc9309/polite/cmd/polite/internal/lint"
	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/token"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// matching is one run of polite match.
type matching struct {
	*cli
	token       string // --token
	profileName string // --profile
	json        bool   // --json
	cases       bool   // --cases
	from        string // --from
	profile     *policy.Profile
	disallowAll *matcher.File // allows only URLs that no file can disallow
}

func (c *cli) matchCommand() *cobra.Command {
	m := &matching{cli: c}
	cmd := &cobra.Command{
		Use:   "match [flags] ROBOTS_FILE URL...",
		Short: "Match URLs with a local robots.txt, without any network",
		Long: `Match says for each URL, or path such as /private?x=1, whether the robots.txt in
a local file allows it. The file - is standard input. The scheme, the host, the
port and the fragment are cut off. The rest is matched as typed: dot segments
and double slashes stay.

` + exitCodes + `

With --from it reads URLs or paths from a file, one per line. It skips blank
lines and lines that begin with #.

With --cases it reads test cases from standard input, one JSON object per line,
and writes one answer per line, in the same order:

  {"id": 1, "robots": "...", "agent": "ExampleBot", "url": "/private"}
  {"id": 1, "allowed": false, "line": 2, "agent": "*", "pattern": "/private"}

The agent is a product token. A case may have robots_b64, the file in base64,
instead of robots. Line 0 means that no rule matched. If a line cannot be read,
its number is reported, the other lines are answered, and the exit code is 2.
Otherwise the exit code is 0, whatever the answers are.`,
		Example: `  polite match --token ExampleBot robots.txt https://example.com/private /public
  polite match --from urls.txt robots.txt
  polite match --profile google --cases < cases.jsonl > answers.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return m.start(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&m.token, "token", "", "the product `token` that groups must name (default: use the group *)")
	f.BoolVar(&m.json, "json", false, "print one JSON object per line")
	f.StringVar(&m.from, "from", "", "read URLs or paths from this `file`; - is standard input")
	f.BoolVar(&m.cases, "cases", false, "read test cases from standard input, one JSON object per line")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "jsonl" {
			name = "cases" // its old name
		}
		return pflag.NormalizedName(name)
	})
	profileFlag(cmd, &m.profileName)
	return cmd
}

// start checks the command line and matches URLs or test cases.
func (m *matching) start(ctx context.Context, args []string) error {
	var err error
	if m.profile, err = profileByName(m.profileName); err != nil {
		return err
	}
	if err := checkTokens(m.token); err != nil {
		return err
	}
	if m.cases {
		if len(args) > 0 || m.from != "" {
			return usageErrorf("want no file and no --from with --cases, which reads standard input")
		}
		o := &cases.Options{Profile: m.profile, Token: m.token, Warn: func(s string) { m.warn("%s", s) }}
		return o.Answer(ctx, m.in, m.out)
	}
	if len(args) == 0 || len(args) == 1 && m.from == "" {
		return usageErrorf("want a robots.txt file and one or more URLs or paths")
	}
	if args[0] == "-" && m.from == "-" {
		return usageErrorf("want one file on standard input, not two")
	}
	return m.run(args[0], args[1:])
}

// run matches URLs and paths with a file.
func (m *matching) run(name string, targets []string) error {
	list, closeList, err := openList(targets, m.from, m.in)
	if err != nil {
		return err
	}
	defer closeList()
	text, _, err := m.readFile(name, m.profile.Limit)
	if err != nil {
		return err
	}
	if kind := lint.NotText(string(text)); kind != "" {
		m.warn("%s: %s", name, kind)
	}
	f := matcher.Parse(text, m.profile.Dialect)
	g, lines := f.Group(m.token), maps.Collect(f.Lines())
	m.disallowAll = matcher.Parse([]byte("User-agent: *\nDisallow: /\n"), m.profile.Dialect)
	p := m.output()
	p.Fit(targets...)
	if list.r != nil {
		p.Widen(listColumn)
	}
	var tally tally
	err = list.entries(func(e entry) bool {
		t, err := e.text, e.err
		if err == nil {
			err = checkTarget(t)
		}
		d := m.decide(g, t)
		d.Robots = name
		tally.add(d.Verdict, err)
		switch {
		case err != nil && m.json:
			p.JSON(errorResult{display.URL(t, longText), err.Error()})
		case err != nil:
			p.Result(display.Error, t, err.Error())
		case m.json:
			p.JSON(d)
		default:
			p.Result(display.Word(d.Verdict), t, cause(d, lines))
		}
		return true
	})
	m.code = tally.code()
	return errors.Join(err, p.Flush())
}

// checkTarget checks that a target is a path or a URL. It does not check the path,
// because paths are matched as typed.
func checkTarget(target string) error {
	if strings.HasPrefix(target, "/") {
		return nil
	}
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok {
		return errors.New("want a path that begins with /, or a URL such as https://example.com/")
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	_, err := parseURL(scheme + "://" + rest)
	return err
}

// cause returns what decided. It quotes a rule as the file writes it, because the
// Decision has the name of a misspelled rule corrected.
func cause(d policy.Decision, lines map[int]string) string {
	n := d.Match.Rule.Line
	if n == 0 {
		return display.Cause(d)
	}
	written := clean.Quote(strings.TrimSpace(lines[n]), longRule)
	return fmt.Sprintf("line %d %s in group %s", n, written, display.Group(d.Match.Agent))
}

// longRule is how much of a long rule is shown, in bytes.
const longRule = 120

// checkTokens checks the list of product tokens in --token.
func checkTokens(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if err := checkToken(strings.TrimSpace(name)); list != "" && err != nil {
			return usageErrorf("--token: %w", err)
		}
	}
	return nil
}

// checkToken checks a product token.
func checkToken(name string) error {
	if name == "" || name != token.Prefix(name) {
		return fmt.Errorf("%q is no product token; want letters, digits, \"-\" and \"_\" only", name)
	}
	return nil
}

// decide makes the decision for a file that was fetched successfully (RFC 9309,
// section 2.3.1.1). The target is matched as typed, because url.Parse would change it.
func (m *matching) decide(g *matcher.Group, target string) policy.Decision {
	d := policy.Decision{
		Verdict: policy.Disallow, URL: display.Mask(target), Clause: "2.2.2", Access: policy.Successful,
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
// Cut reports whether there is more.
func (c *cli) readFile(name string, limit int) (text []byte, cut bool, err error) {
	r := c.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		r = f
	}
	text, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", name, err)
	}
	if cut = len(text) > limit; cut {
		c.warn("%s is cut after %s bytes, the profile's limit (RFC 9309, section 2.5)", name, display.Thousands(limit))
		text = cases.Cut(text, limit)
	}
	return text, cut, nil
}
