package agentpage

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

var at = &url.URL{Scheme: "https", Host: "bot.example", Path: "/bot.html"}

// TestParse checks what is found in a page, and where.
func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, link, body string
		want             string // the token of the example, contact and addresses
	}{
		{"a_page", "", `<link rel="x client-ranges" href=ip.json><a href="mailto:a@b.example">Write</a><pre>User-agent: OneBot
Disallow: /</pre>`, "OneBot a@b.example https://bot.example/ip.json"},
		{"lines_by_elements", "", "<html><li>user-agent: <code>OneBot</code><li>disallow: /", "OneBot - -"},
		{"plain_text", "", "User-agent: OneBot\nDisallow: /\n\nWrite to bot@example.com.", "OneBot bot@example.com -"},
		{"a_contact_page", "", `<html><a href="/contact">Contact</a>`, "- /contact -"},
		{"a_script_is_not_shown", "", "<html><script>\nUser-agent: OneBot\nDisallow: /\n</script>", "- - -"},
		{"a_rule_for_all_is_no_example", "", "User-agent: *\nDisallow: /\n", "- - -"},
		{"an_example_that_blocks_nothing", "", "User-agent: OneBot\nAllow: /\n", "- - -"},
		{"a_link_field", `<https://a.example/x>; rel=next, </ip.json>; rel="client-ranges"`, "text", "- - https://bot.example/ip.json"},
		{"a_link_of_another_kind", `</ip.json>; rel="xclient-ranges"`, `<html><link rel=stylesheet href=ip.json>`, "- - -"},
		{"a_link_that_is_no_url", "", `<html><link rel=client-ranges href="http://[">`, "- - -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{"Content-Type": {"text/plain"}, "Link": {test.link}}
			if strings.Contains(test.body, "<") {
				header.Set("Content-Type", "text/html")
			}
			p := Parse(at, header, []byte(test.body))
			found := []string{"-", "-", "-"}
			if token := p.exampleToken(); p.blocks(token) {
				found[0] = token
			}
			if p.contact != "" {
				found[1] = p.contact
			}
			if p.Ranges != nil {
				found[2] = p.Ranges.String()
			}
			if got := strings.Join(found, " "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// FuzzParse reads any page.
func FuzzParse(f *testing.F) {
	f.Add("text/html", `</ip>; rel="client-ranges"`, "<html><p>User-agent: a<br>Disallow: /</p>")
	f.Add("text/plain", "", "User-agent: *")
	f.Fuzz(func(t *testing.T, kind, link, body string) {
		p := Parse(at, http.Header{"Content-Type": {kind}, "Link": {link}}, []byte(body))
		for _, f := range p.Check("") {
			if f.Detail == "" || f.Asked == "" || f.Level == "" {
				t.Errorf("%q: a finding without words: %+v", body, f)
			}
		}
	})
}
