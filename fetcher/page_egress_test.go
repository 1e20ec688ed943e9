package fetcher_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// pageGuard returns a Transport that applies the address rule to pages and counts
// its decisions.
func pageGuard(t *testing.T, web *httptest.Web, base http.RoundTripper) (*fetcher.Transport, *[]policy.Decision) {
	var decided []policy.Decision
	tr := newTransport(t, &fetcher.Options{Base: base, PageEgress: true, Trace: &fetcher.Trace{
		Decided: func(_ context.Context, d policy.Decision) { decided = append(decided, d) },
	}})
	tr.SetLookup(web.LookupNetIP)
	return tr, &decided
}

// requestPage requests one page through a client and reads it.
func requestPage(tr http.RoundTripper, page string) error {
	resp, err := (&http.Client{Transport: tr}).Get(page)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// wantRefusedAddress fails unless err and the one decision say that the address of
// a page is refused.
func wantRefusedAddress(t *testing.T, err error, decided []policy.Decision) {
	t.Helper()
	var denied *fetcher.DeniedError
	if !errors.Is(err, fetcher.ErrDisallowed) || !errors.As(err, &denied) {
		t.Fatalf("got  %v\nwant a DeniedError that says Disallow", err)
	}
	if d := denied.Decision; d.Clause != "house" || !strings.Contains(d.Cause, "must not connect") || len(decided) != 1 || decided[0].String() != d.String() {
		t.Errorf("got  %+v\nreported %v\nwant clause house, a cause, and one report", d, decided)
	}
}

// TestPagesAtPrivateAddresses requests pages at addresses that are not public
// (docs/design.md, section 4.4). Neither the page nor its robots.txt is requested.
func TestPagesAtPrivateAddresses(t *testing.T) {
	for name, base := range bases {
		for _, host := range []string{"127.0.0.1", "10.0.0.1:8080", "[::1]", "[64:ff9b::a9fe:a9fe]", "localhost", "inside.test"} {
			t.Run("4.4/"+name+"/"+host, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site("http://inside.test").At("10.0.0.7").Robots(open).Path("/*", page)
					tr, decided := pageGuard(t, web, base(t, web))
					err := requestPage(tr, "http://"+host+"/page")
					wantRefusedAddress(t, err, *decided)
					if c := contacts(web); c != nil {
						t.Errorf("got  %v\nwant no contact", c)
					}
				})
			})
		}
	}
}

// TestPagesOfReboundNames uses a name that is public while its robots.txt is
// fetched and private afterwards. The page is not requested.
func TestPagesOfReboundNames(t *testing.T) {
	for name, base := range bases {
		if strings.Contains(name, "proxy") || strings.Contains(name, "relay") {
			continue // where they connect to cannot be seen
		}
		for _, scheme := range []string{"http", "https"} {
			t.Run("4.4/"+name+"/"+scheme, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					s := web.Site(scheme+"://b.test").At("93.184.216.99", "10.0.0.7").Robots(open).Path("/*", page)
					web.Names("b.test", httptest.Addrs("93.184.216.99"))
					tr, decided := pageGuard(t, web, base(t, web))
					if _, err := tr.Check(t.Context(), must(scheme+"://b.test/page")); err != nil {
						t.Fatal(err)
					}
					if n := len(s.Requests("/robots.txt")); n != 1 {
						t.Fatalf("%d requests for robots.txt, want 1", n)
					}
					*decided = nil
					web.Names("b.test", httptest.Addrs("10.0.0.7"))
					tr.CloseIdleConnections() // a connection that was checked may be used again
					wantRefusedAddress(t, requestPage(tr, scheme+"://b.test/page"), *decided)
					if n := len(s.Requests("/page")); n != 0 {
						t.Errorf("%d requests for the page, want none", n)
					}
				})
			})
		}
	}
}

// TestPagesAtPublicAddresses requests public pages under the rule. The connections
// are kept and used again.
func TestPagesAtPublicAddresses(t *testing.T) {
	for name, base := range bases {
		if name == "unknown_relay" {
			continue // its connections have a special address
		}
		t.Run("4.4/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("https://b.test").Robots(open).Path("/*", page)
				rt := base(t, web)
				tr, decided := pageGuard(t, web, rt)
				for range 3 {
					if err := requestPage(tr, "https://b.test/page"); err != nil {
						t.Fatal(err)
					}
				}
				direct := 0
				for _, d := range web.Dials() {
					if d.Via == "" {
						direct++
					}
				}
				if len(*decided) != 3 || direct > 2 {
					t.Errorf("got  %d decisions and %d connections, want 3 and at most 2: one for robots.txt, one for the pages", len(*decided), direct)
				}
				tr.CloseIdleConnections()
			})
		})
	}
}

// A name of a local network whose look-up fails for a moment is deferred, if the base
// connects to no other address than this machine looks up.
func TestPagesOfNamesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://intranet").At("10.0.0.7").Robots(open).Path("/*", page)
		web.Names("intranet", httptest.ServFail(), httptest.ServFail(), httptest.Addrs("10.0.0.7"))
		defer func(old http.RoundTripper) { http.DefaultTransport = old }(http.DefaultTransport)
		http.DefaultTransport = web.Transport()
		tr := newTransport(t, &fetcher.Options{PageEgress: true, Egress: func(netip.Addr) error { return nil }})
		tr.SetLookup(web.LookupNetIP)
		if err := requestPage(tr, "http://intranet/page"); !errors.Is(err, fetcher.ErrDeferred) {
			t.Errorf("4.4/look_up_fails: got %v; want a Defer", err)
		}
		time.Sleep(time.Hour)
		if err := requestPage(tr, "http://intranet/page"); err != nil {
			t.Errorf("4.4/look_up_works: got %v; want the page", err)
		}
		tr.CloseIdleConnections()
	})
}

// TestPageEgressInAudit checks that an address is refused although Audit refuses
// nothing else, and that Options.Egress replaces the rule for pages, too.
func TestPageEgressInAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://10.0.0.7").Robots(open).Path("/*", page)
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), PageEgress: true, Audit: true})
		if err := requestPage(tr, "http://10.0.0.7/page"); !errors.Is(err, fetcher.ErrDisallowed) || contacts(web) != nil {
			t.Errorf("4.4/audit: got %v, contacts %v; want a refusal and none", err, contacts(web))
		}
		tr = newTransport(t, &fetcher.Options{Base: web.Transport(), PageEgress: true, Egress: func(netip.Addr) error { return nil }})
		if err := requestPage(tr, "http://10.0.0.7/page"); err != nil {
			t.Errorf("4.4/own_rule: got %v; want the page", err)
		}
	})
}
