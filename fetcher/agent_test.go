package fetcher_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// TestPagesCarryTheAgent checks which User-Agent the server of a page receives: the
// crawler's, unless the request has another one or an empty one.
func TestPagesCarryTheAgent(t *testing.T) {
	for _, tt := range []struct {
		name string
		own  http.Header
		want string
	}{
		{"no_header", nil, agent},
		{"no_field", http.Header{"Accept": {"text/html"}}, agent},
		{"a_name_of_its_own", http.Header{"User-Agent": {"Other/1"}}, "Other/1"},
		{"an_empty_name_is_silence", http.Header{"User-Agent": {""}}, ""},
		{"no_name_is_silence", http.Header{"User-Agent": nil}, ""},
	} {
		t.Run("7/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(text)
				tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
				req, _ := http.NewRequest(http.MethodGet, public, nil)
				req.Header = tt.own
				resp, err := tr.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.Request != req {
					t.Errorf("the answer is to another request than the caller's: %+v", resp.Request)
				}
				var got []string
				for _, r := range web.Requests() {
					got = append(got, r.Header.Get("User-Agent"))
				}
				if want := []string{agent, tt.want}; !slices.Equal(got, want) {
					t.Errorf("got  %q\nwant %q", got, want)
				}
			})
		})
	}
}

// TestAnotherAgentIsReportedOnce sends pages under a name that a webmaster cannot
// find in robots.txt. The name is reported once for each Transport.
func TestAnotherAgentIsReportedOnce(t *testing.T) {
	const colly = "colly - https://github.com/gocolly/colly/v2"
	for _, tt := range []struct {
		name, token string
		sent        []string
		want        []string
	}{
		{"its_own_agent", "ExampleBot", []string{agent, "examplebot"}, nil},
		{"one_token_of_several", "ExampleBot-Image, ExampleBot", []string{"Mozilla/5.0 (compatible; EXAMPLEBOT/2)"}, nil},
		{"silence", "", []string{""}, nil},
		{"another_agent", "ExampleBot", []string{agent, colly, colly, "curl/8"}, []string{colly}},
	} {
		t.Run("2.2.1/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(text)
				var got []string
				var log bytes.Buffer
				tr, err := fetcher.New("ExampleBot-Image ExampleBot", &fetcher.Options{
					Token: tt.token, Base: web.Transport(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
					Trace: &fetcher.Trace{Agent: func(sent string) { got = append(got, sent) }},
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, sent := range tt.sent {
					req, _ := http.NewRequest(http.MethodGet, public, nil)
					req.Header.Set("User-Agent", sent)
					resp, err := tr.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
				warned := strings.Count(log.String(), `level=WARN msg="the User-Agent sent does not contain the product token"`)
				if !slices.Equal(got, tt.want) || warned != len(tt.want) {
					t.Errorf("sent %q\ngot  %q, log %s\nwant %q", tt.sent, got, &log, tt.want)
				}
				if tt.want == nil {
					return
				}
				sibling, err := tr.As("Sibling")
				if err != nil {
					t.Fatal(err)
				}
				req, _ := http.NewRequest(http.MethodGet, public, nil)
				req.Header.Set("User-Agent", colly)
				if resp, err := sibling.RoundTrip(req); err == nil {
					resp.Body.Close()
				}
				if len(got) != 2 {
					t.Errorf("a Transport of another token: got %q, want a report of its own", got)
				}
			})
		})
	}
}

// TestNamedRequestsCostNothing measures requests that a robots.txt in memory allows. A
// request with a User-Agent allocates nothing. A request without one is copied, and a
// request that is paced, too.
func TestNamedRequestsCostNothing(t *testing.T) {
	named := http.Header{"User-Agent": {agent}}
	for _, tt := range []struct {
		name   string
		header http.Header
		pace   *pace.Limits
		most   float64
	}{
		{"named", named, pace.Unlimited(), 0},
		{"named_in_other_words", http.Header{"User-Agent": {"Mozilla/5.0 (compatible; examplebot/0.1)"}}, pace.Unlimited(), 0},
		{"another_agent", http.Header{"User-Agent": {"Other/1"}}, pace.Unlimited(), 0}, // but for the one report
		{"no_header", nil, pace.Unlimited(), 4},
		{"unnamed", http.Header{"Accept": {"text/html"}, "Cookie": {"a=b"}}, pace.Unlimited(), 4},
		{"paced", named, &pace.Limits{Gap: 1, Parallel: 1}, 4},
	} {
		// Outside a bubble a clock may show the same time for two requests, as on Windows.
		// The second would wait for its gap.
		synctest.Test(t, func(t *testing.T) {
			tr, err := fetcher.New(agent, &fetcher.Options{Base: &stub{robots: ruled(13)}, Pace: tt.pace})
			if err != nil {
				t.Fatal(err)
			}
			req := &http.Request{Method: "GET", URL: must(public), Host: "example.com", Header: tt.header}
			tr.RoundTrip(req)
			request := func() {
				time.Sleep(time.Nanosecond) // the gap
				tr.RoundTrip(req)
			}
			if n := testing.AllocsPerRun(100, request); n > tt.most {
				t.Errorf("house/%s: got %v allocations, want at most %v", tt.name, n, tt.most)
			}
		})
	}
}

// TestSeveralTokens gives several product tokens. The group of the most specific
// token that has one is obeyed, then "*" (Google: "only one group is valid for a
// particular crawler").
func TestSeveralTokens(t *testing.T) {
	const file = "User-agent: ExampleBot-Image\nDisallow: /image\n\nUser-agent: ExampleBot\nDisallow: /bot\n\nUser-agent: *\nDisallow: /all\n"
	for _, tt := range []struct{ name, token, robots, want string }{
		{"the_first_has_a_group", "ExampleBot-Image, ExampleBot", file, "/image"},
		{"the_second_has_a_group", "ExampleBot-News,ExampleBot", file, "/bot"},
		{"none_has_a_group", "ExampleBot-News, MJ12bot", file, "/all"},
		{"a_token_with_digits", "MJ12bot", "User-agent: MJ12bot\nDisallow: /bot\n\n" + file, "/bot"},
	} {
		t.Run("2.2.1/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Text(tt.robots))
				tr := newTransport(t, &fetcher.Options{Base: web.Transport()})
				own, err := tr.As(tt.token)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, path := range []string{"/image", "/bot", "/all"} {
					d, err := own.Check(t.Context(), must(site+path))
					if err != nil {
						t.Fatal(err)
					}
					if d.Verdict == policy.Disallow {
						got = append(got, path)
					}
				}
				if s := strings.Join(got, " "); s != tt.want {
					t.Errorf("%s: got %q disallowed, want %q", tt.token, s, tt.want)
				}
			})
		})
	}
}

// TestToken checks which tokens the groups are looked up by.
func TestToken(t *testing.T) {
	for _, tt := range []struct{ agent, token, want string }{
		{agent, "", "ExampleBot"},
		{"MJ12bot/v1.4.8", "", "MJ12bot"},
		{"Googlebot-Image/1.0", " Googlebot-Image ,Googlebot", "Googlebot-Image, Googlebot"},
	} {
		tr, err := fetcher.New(tt.agent, &fetcher.Options{Token: tt.token})
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Token(); got != tt.want {
			t.Errorf("2.2.1: New(%q, Token %q).Token() = %q, want %q", tt.agent, tt.token, got, tt.want)
		}
	}
	tr, _ := fetcher.New(agent, nil)
	for _, bad := range []string{"", ",", "a,", "a,,b", "a b", "*", "\u00e4"} {
		if own, err := tr.As(bad); err == nil {
			t.Errorf("2.2.1: As(%q) = %q, want an error", bad, own.Token())
		}
	}
}

// TestABaseThatReturnsNothing requests pages from a base that breaks the contract
// of http.RoundTripper. The caller gets an error, and only an error if the base
// returned both.
func TestABaseThatReturnsNothing(t *testing.T) {
	for _, base := range []roundTripper{
		func(*http.Request) (*http.Response, error) { return nil, nil },
		func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: http.NoBody}, io.ErrUnexpectedEOF
		},
	} {
		for name, o := range map[string]fetcher.Options{
			"paced": {Pace: &pace.Limits{Gap: time.Second}}, "unpaced": {},
		} {
			o.Base, o.Override = base, says(policy.Allow)
			resp, err := newTransport(t, &o).RoundTrip(&http.Request{URL: must(public)})
			if resp != nil || err == nil {
				t.Errorf("house/%s: got %v, %v; want an error", name, resp, err)
			}
		}
	}
}
