// Package grammar writes random texts of a grammar in ABNF (RFC 5234), for tests that
// compare two readers of the same files. RFC9309 is the grammar of robots.txt.
package grammar

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// RFC9309 is the grammar of RFC 9309, section 2.2.
const RFC9309 = `
robotstxt = *(group / emptyline)
group = startgroupline *(startgroupline / emptyline) *(rule / emptyline)
startgroupline = *WS "user-agent" *WS ":" *WS product-token EOL
rule = *WS ("allow" / "disallow") *WS ":" *WS (path-pattern / empty-pattern) EOL
product-token = identifier / "*"
path-pattern = "/" *UTF8-char-noctl
empty-pattern = *WS
identifier = 1*(%x2D / %x41-5A / %x5F / %x61-7A)
comment = "#" *(UTF8-char-noctl / WS / "#")
emptyline = EOL
EOL = *WS [comment] NL
NL = %x0D / %x0A / %x0D.0A
WS = %x20 / %x09
UTF8-char-noctl = UTF8-1-noctl / UTF8-2 / UTF8-3 / UTF8-4
UTF8-1-noctl = %x21 / %x22 / %x24-7F
UTF8-2 = %xC2-DF UTF8-tail
UTF8-3 = %xE0 %xA0-BF UTF8-tail / %xE1-EC 2UTF8-tail / %xED %x80-9F UTF8-tail / %xEE-EF 2UTF8-tail
UTF8-4 = %xF0 %x90-BF 2UTF8-tail / %xF1-F3 3UTF8-tail / %xF4 %x80-8F 2UTF8-tail
UTF8-tail = %x80-BF
`

// A Grammar is a set of rules by name.
type Grammar struct {
	rules map[string]element

	// Likely bytes are preferred where the grammar leaves a choice. With few of them,
	// patterns and targets often match.
	Likely string
}

// An element is a part of a rule.
type element interface {
	write(g *Grammar, b []byte, r *rand.Rand) []byte
}

// Write returns a random text of a rule.
func (g *Grammar) Write(rule string, r *rand.Rand) []byte { return name(rule).write(g, nil, r) }

// Kinds of elements: RFC 5234, sections 2 and 3.
type (
	sequence []element                // one after the other
	choice   []element                // one of them; the first is written most often
	name     string                   // the rule of this name
	word     string                   // in any case
	bytes    string                   // as it is
	span     struct{ low, high byte } // one byte
	repeat   struct {
		of          element
		least, most int // most is -1 without a bound
	}
)

func (s sequence) write(g *Grammar, b []byte, r *rand.Rand) []byte {
	for _, e := range s {
		b = e.write(g, b, r)
	}
	return b
}

func (c choice) write(g *Grammar, b []byte, r *rand.Rand) []byte {
	i := 0
	for i < len(c)-1 && r.IntN(2) == 0 {
		i++
	}
	return c[i].write(g, b, r)
}

func (n name) write(g *Grammar, b []byte, r *rand.Rand) []byte {
	return g.rules[string(n)].write(g, b, r)
}

func (w word) write(_ *Grammar, b []byte, r *rand.Rand) []byte {
	text := string(w)
	if r.IntN(2) == 0 {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return append(b, text...)
}

func (s bytes) write(_ *Grammar, b []byte, _ *rand.Rand) []byte { return append(b, s...) }

func (s span) write(g *Grammar, b []byte, r *rand.Rand) []byte {
	if r.IntN(8) > 0 && g.Likely != "" {
		if c := g.Likely[r.IntN(len(g.Likely))]; s.low <= c && c <= s.high {
			return append(b, c)
		}
	}
	return append(b, s.low+byte(r.IntN(int(s.high-s.low)+1)))
}

func (e repeat) write(g *Grammar, b []byte, r *rand.Rand) []byte {
	for n := 0; n < e.least || (e.most < 0 || n < e.most) && r.IntN(3) > 0; n++ {
		b = e.of.write(g, b, r)
	}
	return b
}

// Parse reads a grammar with one rule a line.
func Parse(abnf string) (*Grammar, error) {
	g := &Grammar{rules: map[string]element{}}
	for line := range strings.Lines(strings.TrimSpace(abnf)) {
		left, right, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("grammar: %q is not a rule", line)
		}
		p := &parser{text: strings.TrimSpace(right)}
		e, err := p.choice()
		if err == nil && p.text != "" {
			err = fmt.Errorf("grammar: %q is left over", p.text)
		}
		if err != nil {
			return nil, err
		}
		g.rules[strings.TrimSpace(left)] = e
	}
	return g, nil
}

// A parser reads the right side of a rule. text is what remains.
type parser struct{ text string }

// next reports whether the text begins with a byte, and passes it if so.
func (p *parser) next(c string) bool {
	rest, ok := strings.CutPrefix(p.text, c)
	if ok {
		p.text = strings.TrimLeft(rest, " ")
	}
	return ok
}

// while returns the bytes at the beginning that are in a set, and passes them.
func (p *parser) while(set string) string {
	n := len(p.text) - len(strings.TrimLeft(p.text, set))
	s := p.text[:n]
	p.text = p.text[n:]
	return s
}

func (p *parser) choice() (element, error) {
	var c choice
	for {
		s, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if c = append(c, s); !p.next("/") {
			return c, nil
		}
	}
}

func (p *parser) sequence() (element, error) {
	var s sequence
	for p.text != "" && !strings.ContainsRune("/)]", rune(p.text[0])) {
		e, err := p.repeat()
		if err != nil {
			return nil, err
		}
		s = append(s, e)
		p.text = strings.TrimLeft(p.text, " ")
	}
	return s, nil
}

const digits = "0123456789"

func (p *parser) repeat() (element, error) {
	least, _ := strconv.Atoi("0" + p.while(digits))
	most := least
	if p.next("*") {
		most = -1
	}
	e, err := p.element()
	if least == 0 && most == 0 {
		return e, err // neither a number nor a star
	}
	return repeat{e, least, most}, err
}

func (p *parser) element() (element, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-" + digits
	switch {
	case p.next("("):
		return p.closed(")")
	case p.next("["):
		e, err := p.closed("]")
		return repeat{e, 0, 1}, err
	case p.next(`"`):
		text, rest, ok := strings.Cut(p.text, `"`)
		p.text = rest
		if !ok || text == "" {
			return nil, fmt.Errorf("grammar: the quotation %q has no end", text)
		}
		return word(text), nil
	case p.next("%x"):
		return bytesOf(p.while(digits + "ABCDEF.-"))
	}
	n := p.while(letters)
	if n == "" {
		return nil, fmt.Errorf("grammar: want an element at %q", p.text)
	}
	return name(n), nil
}

// closed reads the inside of brackets.
func (p *parser) closed(end string) (element, error) {
	e, err := p.choice()
	if err == nil && !p.next(end) {
		err = fmt.Errorf("grammar: want %q at %q", end, p.text)
	}
	return e, err
}

// bytesOf returns the element of a number: 0A, 0D.0A or 41-5A.
func bytesOf(text string) (element, error) {
	var all []byte
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == '.' || c == '-' }) {
		n, err := strconv.ParseUint(part, 16, 8)
		if err != nil {
			return nil, fmt.Errorf("grammar: %q is no byte", text)
		}
		all = append(all, byte(n))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("grammar: want a number of two digits after %%x")
	}
	if strings.Contains(text, "-") && len(all) == 2 && all[0] <= all[1] {
		return span{all[0], all[1]}, nil
	}
	return bytes(all), nil
}
