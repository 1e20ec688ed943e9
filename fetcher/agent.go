package fetcher

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rfc9309/polite/internal/token"
)

// This file handles the name of the crawler (RFC 9309, section 2.2.1): the agent that
// requests carry, and the product tokens that groups are looked up by.

// productTokens checks the agent, and returns the tokens to look up groups by: those
// given, each of which must be part of the agent, or else the one that the agent
// begins with.
func productTokens(agent, given string) (string, error) {
	if strings.TrimSpace(agent) == "" {
		return "", errors.New(`fetcher: the agent is empty; want a User-Agent such as "ExampleBot/0.1 (+https://example.com/bot)"`)
	}
	for i := range len(agent) {
		if c := agent[i]; c < 0x20 && c != '\t' || c == 0x7f {
			return "", fmt.Errorf("fetcher: the agent has the control byte %#02x, which a header field cannot have", c)
		}
	}
	if given == "" {
		return firstToken(agent)
	}
	tokens, err := parseTokens(given)
	if err != nil {
		return "", err
	}
	for token := range strings.SplitSeq(tokens, ", ") {
		if !containsFold(agent, token) {
			return "", fmt.Errorf("fetcher: the product token %q is not part of the agent %q (RFC 9309, section 2.2.1)", token, agent)
		}
	}
	return tokens, nil
}

// firstToken returns the part of the agent before the first "/", "(" or space.
func firstToken(agent string) (string, error) {
	token := agent
	if i := strings.IndexAny(agent, "/ \t("); i >= 0 {
		token = agent[:i]
	}
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("%w; begin the agent %q with one, or set Options.Token", err, agent)
	}
	if strings.EqualFold(token, "Mozilla") { // what browsers begin with; rules for the crawler would be missed
		return "", fmt.Errorf("fetcher: the agent %q begins with %q, which names no crawler; set Options.Token", agent, token)
	}
	return token, nil
}

// parseTokens checks a comma-separated list of tokens, and returns it with a comma and
// a space between two.
func parseTokens(list string) (string, error) {
	tokens := strings.Split(list, ",")
	for i, token := range tokens {
		tokens[i] = strings.TrimSpace(token)
		if err := checkToken(tokens[i]); err != nil {
			return "", err
		}
	}
	return strings.Join(tokens, ", "), nil
}

// checkToken checks that name is a product token.
func checkToken(name string) error {
	if name == "" || name != token.Prefix(name) {
		return fmt.Errorf("fetcher: %q is no product token; want letters, digits, %q and %q only (RFC 9309, section 2.2.1)", name, "-", "_")
	}
	return nil
}

// containsFold reports whether s contains sub, in any case. It allocates nothing: it runs for
// each page whose User-Agent is another than the agent.
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}

// checkAgent reports the first User-Agent that contains none of the product tokens: a
// webmaster could not find it in robots.txt. An empty one is not sent.
func (t *Transport) checkAgent(sent string) {
	if sent == "" || t.reported.Load() {
		return
	}
	for token := range strings.SplitSeq(t.token, ", ") {
		if containsFold(sent, token) {
			return
		}
	}
	if t.reported.CompareAndSwap(false, true) {
		t.engine.watch.agent(sent, t.token)
	}
}
