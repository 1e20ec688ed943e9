// Package agentpage checks the page on which a crawler presents itself, as the draft
// "Crawler best practices" (draft-illyes-webbotauth-cbcp) asks.
//
// Parse reads the page, and Check says what it has and what is missing. What only a
// person can judge, such as whether the use of the data is explained, is not checked.
package agentpage

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/rfc9309/polite/matcher"
)

// A Page is what matters of a page.
type Page struct {
	// Ranges is the URL of the list of the crawler's addresses, nil if no link has
	// the relation client-ranges.
	Ranges *url.URL

	text    string // as a browser shows it, with its line breaks
	contact string // the first contact found, "" if there is none
}

// Parse reads a page and the header that came with it. The page may be HTML or plain
// text. at is its URL.
func Parse(at *url.URL, header http.Header, body []byte) *Page {
	p := &Page{}
	p.linkFields(at, header)
	if !strings.Contains(header.Get("Content-Type"), "html") && !bytes.Contains(body, []byte("<html")) {
		p.text = string(body)
	} else {
		p.readHTML(at, body)
	}
	if p.contact == "" {
		p.contact = address.FindString(p.text)
	}
	return p
}

var address = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)

// linkField matches a link of a Link header with the relation client-ranges (RFC 8288,
// section 3).
var linkField = regexp.MustCompile(`(?i)<([^>]*)>[^,]*;\s*rel\s*=\s*(?:"[^"]*\bclient-ranges\b[^"]*"|client-ranges\b)`)

func (p *Page) linkFields(at *url.URL, header http.Header) {
	for _, field := range header.Values("Link") {
		if m := linkField.FindStringSubmatch(field); m != nil {
			p.linkRanges(at, m[1])
		}
	}
}

// linkRanges notes the first link to the crawler's addresses.
func (p *Page) linkRanges(at *url.URL, href string) {
	if to, err := at.Parse(strings.TrimSpace(href)); err == nil && p.Ranges == nil {
		p.Ranges = to
	}
}

// readHTML collects the text and the links of a page.
func (p *Page) readHTML(at *url.URL, body []byte) {
	var text strings.Builder
	z := html.NewTokenizer(bytes.NewReader(body))
	for hidden := atom.Atom(0); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break // the end: a tokenizer reads any text to its end
		}
		switch t := z.Token(); kind {
		case html.TextToken:
			if hidden == 0 {
				text.WriteString(t.Data)
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			if kind == html.StartTagToken && (t.DataAtom == atom.Script || t.DataAtom == atom.Style) {
				hidden = t.DataAtom
			}
			if !inline[t.DataAtom] {
				text.WriteByte('\n')
			}
			p.link(at, t)
		case html.EndTagToken:
			if t.DataAtom == hidden {
				hidden = 0
			}
			if !inline[t.DataAtom] {
				text.WriteByte('\n')
			}
		}
	}
	p.text = text.String()
}

// inline are the elements that do not end a line.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.B: true, atom.Code: true, atom.Em: true, atom.I: true, atom.Kbd: true, atom.Samp: true,
	atom.Small: true, atom.Span: true, atom.Strong: true, atom.Tt: true, atom.Var: true,
}

// link notes what the link of an element leads to.
func (p *Page) link(at *url.URL, t html.Token) {
	var rel, href string
	for _, a := range t.Attr {
		switch a.Key {
		case "rel":
			rel = strings.ToLower(a.Val)
		case "href":
			href = a.Val
		}
	}
	to, isMail := strings.CutPrefix(href, "mailto:")
	switch {
	case isMail && p.contact == "":
		p.contact = to
	case t.DataAtom == atom.Link && strings.Contains(" "+rel+" ", " client-ranges "):
		p.linkRanges(at, href)
	case t.DataAtom == atom.A && strings.Contains(strings.ToLower(href), "contact") && p.contact == "":
		p.contact = href
	}
}

// A Finding says whether a page has what the draft asks for.
type Finding struct {
	Level  string `json:"level"`  // MUST or SHOULD
	Asked  string `json:"asked"`  // what the draft asks for
	OK     bool   `json:"ok"`     // the page has it
	Detail string `json:"detail"` // what was found, or what to add
}

// Check returns a finding for each thing that a program can check. token is the
// crawler's product token; if it is empty, the first one for which the page has an
// example counts.
func (p *Page) Check(token string) []Finding {
	if token == "" {
		token = p.exampleToken()
	}
	named := Finding{Level: "MUST", Asked: "the crawler's product token"}
	rules := Finding{Level: "SHOULD", Asked: "an example robots.txt that blocks the crawler"}
	switch {
	case token == "":
		named.Detail = "no line such as User-agent: ExampleBot names one"
		rules.Detail = "add the lines User-agent: and the product token, and Disallow: /"
	default:
		named.OK = strings.Contains(strings.ToLower(p.text), strings.ToLower(token))
		named.Detail = ifElse(named.OK, token, "the page does not name "+token)
		rules.OK = p.blocks(token)
		rules.Detail = ifElse(rules.OK, "User-agent: "+token, "add the lines User-agent: "+token+" and Disallow: /")
	}
	return []Finding{
		named,
		rules,
		{"SHOULD", "a contact address", p.contact != "", ifElse(p.contact != "", p.contact, "add an e-mail address or a link to a contact page")},
	}
}

// exampleToken returns the product token of the first user-agent line that names one.
func (p *Page) exampleToken() string {
	if m := agentLine.FindStringSubmatch(p.text); m != nil {
		return m[1]
	}
	return ""
}

var agentLine = regexp.MustCompile(`(?im)^[ \t]*user-agent[ \t]*:[ \t]*([a-z_-]+)`)

// blocks reports whether the page, read as a robots.txt, has a group for the token
// that disallows something.
func (p *Page) blocks(token string) bool {
	f := matcher.Parse([]byte(p.text), matcher.Dialect{})
	m := f.Match(token, "/")
	return !m.Allowed && m.Agent != "*"
}

func ifElse(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

// CheckAgent returns whether a crawler's User-Agent has the URL of its page.
func CheckAgent(agent string, page *url.URL) Finding {
	ok := strings.Contains(agent, page.String())
	return Finding{"SHOULD", "the URL of the page in the User-Agent", ok, ifElse(ok, agent, "add (+"+page.String()+")")}
}
