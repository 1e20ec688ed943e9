package fetcher_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// New says which argument is wrong, and what was expected.
func TestNew(t *testing.T) {
	lost := policy.RFC9309()
	lost.Limit = -1
	long := policy.RFC9309()
	long.Name = strings.Repeat("n", 31)
	for _, c := range []struct {
		name, agent string
		options     *fetcher.Options
		want        string // in the error; "" is none
	}{
		{"2.2.1/the_token_is_the_agents_first_word", "ExampleBot/0.1 (+https://example.com/bot)", nil, ""},
		{"2.2.1/the_agent_may_be_the_token", "Example_Bot-x", nil, ""},
		{"2.2.1/a_token_anywhere_in_the_agent", "Mozilla/5.0 (compatible; examplebot/0.1)", &fetcher.Options{Token: "ExampleBot"}, ""},
		{"2.2.1/a_token_that_is_not_in_the_agent", agent, &fetcher.Options{Token: "OtherBot"}, `"OtherBot" is not part of the agent`},
		{"2.2.1/a_token_may_have_digits", "MJ12bot/v1.4.8", nil, ""},
		{"2.2.1/a_version_is_no_token", "2.0 Bot", nil, `"2.0" is no product token; want letters, digits, "-" and "_" only`},
		{"2.2.1/several_tokens", "ExampleBot-Image/1 ExampleBot/1", &fetcher.Options{Token: "ExampleBot-Image, ExampleBot"}, ""},
		{"2.2.1/each_of_several_is_in_the_agent", agent, &fetcher.Options{Token: "ExampleBot-Image, ExampleBot"}, `"ExampleBot-Image" is not part of the agent`},
		{"2.2.1/each_of_several_is_a_token", agent, &fetcher.Options{Token: "ExampleBot, "}, `"" is no product token`},
		{"2.2.1/no_token_of_that_grammar", agent, &fetcher.Options{Token: "Example Bot"}, `"Example Bot" is no product token`},
		{"house/a_browsers_name_is_no_crawlers", "Mozilla/5.0 (compatible; ExampleBot/0.1)", nil, `begins with "Mozilla", which names no crawler; set Options.Token`},
		{"house/an_empty_agent", " ", nil, "the agent is empty; want a User-Agent"},
		{"house/a_line_end_in_the_agent", "ExampleBot\r\nCookie: x", nil, "control byte 0x0d"},
		{"house/a_negative_size", agent, &fetcher.Options{MaxBytes: -1}, "MaxBytes is -1; want a number of bytes, or 0 for 64 MiB"},
		{"house/a_negative_time", agent, &fetcher.Options{Timeout: -1}, "Timeout is -1ns; want a positive duration, or 0 for the default"},
		{"4.7/a_negative_page_timeout", agent, &fetcher.Options{PageTimeout: -1}, "PageTimeout is -1ns; want a positive duration, or 0 for none"},
		{"4.7/a_negative_patience", agent, &fetcher.Options{Patience: -1}, "Patience is -1ns; want a positive duration, or 0 to refuse at once"},
		{"house/a_negative_number_of_tries", agent, &fetcher.Options{Attempts: -1}, "Attempts is -1; want 1 or more, or 0 for 2"},
		{"4.5/a_scheme_that_is_not_known", agent, &fetcher.Options{Schemes: []string{"ftp", "FTP"}}, `Schemes has "FTP"; want "ftp", or nothing`},
		{"house/a_profile_that_makes_no_sense", agent, &fetcher.Options{Profile: lost}, "Limit"},
		{"4.2/a_profile_whose_name_makes_keys_too_long", agent, &fetcher.Options{Profile: long, Store: cache.NewMemory(1)}, "name of the profile is 31 bytes long; want at most 30"},
		{"4.2/a_long_name_without_a_store", agent, &fetcher.Options{Profile: long}, ""},
		{"house/a_base_that_follows_redirects", agent, &fetcher.Options{Base: &retryablehttp.RoundTripper{}}, "Base is a go-retryablehttp RoundTripper that follows redirects; want"},
		{"house/a_base_whose_client_follows", agent, &fetcher.Options{Base: &retryablehttp.RoundTripper{Client: retryablehttp.NewClient()}}, "CheckRedirect"},
		{"house/a_base_with_a_rule_on_redirects", agent, &fetcher.Options{Base: &retryablehttp.RoundTripper{Client: &retryablehttp.Client{
			HTTPClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		}}}, ""},
		{"house/a_base_that_is_a_nil_transport", agent, &fetcher.Options{Base: (*http.Transport)(nil)}, "Base is a nil *http.Transport; want"},
		{"house/a_base_that_is_a_nil_client", agent, &fetcher.Options{Base: (*retryablehttp.RoundTripper)(nil)}, "Base is a go-retryablehttp RoundTripper that follows redirects; want"},
		{"house/limits_that_make_no_sense", agent, &fetcher.Options{Pace: &pace.Limits{Gap: -1}}, "Gap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, err := fetcher.New(c.agent, c.options)
			switch {
			case (tr == nil) == (err == nil):
				t.Errorf("New(%q, %+v)\ngot  %v and %v\nwant one of the two", c.agent, c.options, tr, err)
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("New(%q, %+v)\ngot  %v\nwant an error with %q", c.agent, c.options, err, c.want)
			}
		})
	}
}
