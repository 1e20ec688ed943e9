package fetcher_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// byDomain gives all hosts of a registrable domain a second between requests.
func byDomain(u *url.URL) []pace.Scope {
	return []pace.Scope{{Key: pace.Domain(u.Host), Limits: pace.Limits{Gap: time.Second, MaxWait: time.Minute}}}
}

var scopesTests = []struct {
	name   string
	limits pace.Limits
	scopes func(*url.URL) []pace.Scope
	pages  []string // requested at once, in this order
	want   []string
}{
	{"domain", pace.Limits{}, byDomain,
		[]string{"http://a.test.org/1", "http://b.test.org/2"},
		[]string{"0s a.test.org/robots.txt", "1s a.test.org/1", "2s b.test.org/robots.txt", "3s b.test.org/2"}},
	{"http_and_https", pace.Limits{}, func(u *url.URL) []pace.Scope {
		return []pace.Scope{{Key: "host " + u.Hostname(), Limits: pace.Limits{Gap: time.Second}}}
	}, []string{"http://a.test.org/1", "http://a.test.org:8080/2"},
		[]string{"0s a.test.org/robots.txt", "1s a.test.org/1", "2s a.test.org:8080/robots.txt", "3s a.test.org:8080/2"}},
	{"own_limits_of_a_host", pace.Limits{Gap: time.Second}, func(u *url.URL) []pace.Scope {
		key, err := fetcher.Authority(u)
		if err != nil || u.Host != "b.test.org" {
			return nil
		}
		return []pace.Scope{{Key: key, Limits: pace.Limits{Gap: 5 * time.Second}}}
	}, []string{"http://a.test.org/1", "http://b.test.org/2"},
		[]string{"0s a.test.org/robots.txt", "0s b.test.org/robots.txt", "1s a.test.org/1", "5s b.test.org/2"}},
	{"without_a_pace", *pace.Unlimited(), byDomain,
		[]string{"http://a.test.org/1", "http://b.test.org/2"},
		[]string{"0s a.test.org/robots.txt", "1s a.test.org/1", "2s b.test.org/robots.txt", "3s b.test.org/2"}},
	{"redirects_of_robots", pace.Limits{}, byDomain,
		[]string{"http://moved.test.org/1"},
		[]string{"0s moved.test.org/robots.txt", "1s a.test.org/robots.txt", "2s moved.test.org/1"}},
}

func TestScopes(t *testing.T) {
	for _, test := range scopesTests {
		t.Run("6/"+test.name, func(t *testing.T) {
			inPace(t, test.limits, fetcher.Options{Scopes: test.scopes}, func(p *paced) {
				for _, s := range []string{"http://a.test.org", "http://a.test.org:8080", "http://b.test.org", "http://c.test.net"} {
					p.web.Site(s).Robots(open).Path("/*", page)
				}
				p.web.Site("http://moved.test.org").Robots(httptest.Redirect(301, "http://a.test.org/robots.txt")).Path("/*", page)
				p.crowd(test.pages...)
				p.saw(test.want...)
			})
		})
	}
}

// A decision names the scope that its request waits for, or is refused for.
func TestScopesInDecisions(t *testing.T) {
	inPace(t, pace.Limits{}, fetcher.Options{Scopes: byDomain}, func(p *paced) {
		p.web.Site("http://a.test.org").Robots(open).Path("/*", page)
		p.read("http://a.test.org/1")
		p.read("http://a.test.org/2")
		target := must("http://a.test.org/3")
		d, err := p.tr.Check(context.Background(), target)
		if want := time.Now().Add(time.Second); err != nil || !d.Turn.Equal(want) || d.Pacing != `waits for the limits of the scope "test.org"` {
			t.Errorf("Check = %v, %v; want a turn at %v and the scope that it waits for", d, err, want)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		_, err = p.get(ctx, target.String())
		var denied *fetcher.DeniedError
		if !errors.As(err, &denied) || denied.Decision.Verdict != policy.Defer || denied.Decision.Pacing != `no turn before your deadline (in 500ms): the next one is in 1s, because of the limits of the scope "test.org"` {
			t.Errorf("RoundTrip = %v; want a Defer that names the scope", err)
		}
		a, d, err := p.tr.Admit(context.Background(), target)
		if at := time.Since(p.start); err != nil || !d.Allowed() || at != 3*time.Second {
			t.Errorf("Admit = %v, %v at %v; want an admission at 3s", d, err, at)
		}
		a.Done()
		// robots.txt of another host of the domain waits, too.
		p.web.Site("http://b.test.org").Robots(open).Path("/*", page)
		ctx, cancel = context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		d, err = p.tr.Check(ctx, must("http://b.test.org/1"))
		if err != nil || d.Verdict != policy.Defer || d.Pacing != `no turn before your deadline (in 500ms): the next one is in 1s, because of the limits of the scope "test.org"` {
			t.Errorf("Check before robots.txt has a turn = %v, %v; want a Defer that names the scope", d, err)
		}
	})
}

// No scopes are looked up for a URL that is disallowed: it makes no request.
func TestScopesOfARefusal(t *testing.T) {
	asked := 0
	scopes := func(*url.URL) []pace.Scope { asked++; return nil }
	inPace(t, pace.Limits{}, fetcher.Options{Scopes: scopes}, func(p *paced) {
		p.web.Site(site).Robots(httptest.Text(rules))
		p.tr.Check(context.Background(), must(private))
		asked = 0 // for robots.txt
		p.tr.Check(context.Background(), must(private))
		p.tr.Peek(must(private))
		if asked != 0 {
			t.Errorf("6/disallowed: Scopes was called %d times, want none", asked)
		}
	})
}

// A decision says how far a Crawl-delay is obeyed under the host's own limits.
func TestScopesInDecisionsOwnLimits(t *testing.T) {
	own := func(*url.URL) []pace.Scope {
		return []pace.Scope{{Key: site, Limits: pace.Limits{DelayCap: 2 * time.Second}}}
	}
	inPace(t, pace.Limits{}, fetcher.Options{Scopes: own}, func(p *paced) {
		p.web.Site(site).Robots(delayed("10")).Path("/*", page)
		p.read(public)
		d, err := p.tr.Check(context.Background(), must(public))
		if want := "waits for the Crawl-delay, Crawl-delay 10s obeyed as 2s"; err != nil || d.Pacing != want {
			t.Errorf("Check = %v, %v; want %q", d, err, want)
		}
	})
}

// A Scope without a meaning is an error of its request, which is not sent.
func TestScopesWithoutAMeaning(t *testing.T) {
	for _, test := range []struct {
		name  string
		scope pace.Scope
		want  string
	}{
		{"no_key", pace.Scope{}, "the Key of a Scope is empty; want a name"},
		{"limits", pace.Scope{Key: "all", Limits: pace.Limits{Parallel: -1}}, `scope "all": pace: Limits.Parallel is -1; want a positive number`},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			bad := false
			scopes := func(*url.URL) []pace.Scope {
				if bad {
					return []pace.Scope{test.scope}
				}
				return nil
			}
			inPace(t, pace.Limits{}, fetcher.Options{Scopes: scopes}, func(p *paced) {
				p.web.Site(site).Robots(open).Path("/*", page)
				p.read(public)
				bad = true
				_, err := p.get(context.Background(), public)
				if err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, new(*fetcher.DeniedError)) {
					t.Errorf("RoundTrip = %v; want the error %q", err, test.want)
				}
				if _, _, err = p.tr.Admit(context.Background(), must(public)); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Admit = %v; want the error %q", err, test.want)
				}
				if _, err = p.tr.Check(context.Background(), must("http://example.net/")); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("Check with robots.txt to fetch = %v; want the error %q", err, test.want)
				}
				p.saw("0s example.com/robots.txt", "0s example.com/public")
			})
		})
	}
}

// Options.Scopes is called once for each URL of a call, whatever the call waits for.
func TestScopesAreFoundOnce(t *testing.T) {
	var asked []string
	o := fetcher.Options{Scopes: func(u *url.URL) []pace.Scope {
		asked = append(asked, u.Path)
		return byDomain(u)
	}}
	inPace(t, pace.Limits{Gap: time.Second}, o, func(p *paced) {
		p.web.Site(site).Robots(text).Path("/*", page)
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
		defer cancel()
		for _, call := range []struct {
			name string
			do   func()
			want string
		}{
			{"cold_request", func() { p.get(ctx, public) }, "[/robots.txt /public]"},
			{"warm_request", func() { p.get(ctx, public) }, "[/public]"},
			{"check", func() { p.tr.Check(ctx, must(public)) }, "[/public]"},
			{"admit", func() { p.admit(ctx, public) }, "[/public]"},
		} {
			asked = nil
			if call.do(); fmt.Sprint(asked) != call.want {
				t.Errorf("6/scopes/%s: got %v, want %s", call.name, asked, call.want)
			}
		}
	})
}
