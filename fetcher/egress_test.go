package fetcher_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	nethttptest "net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/policy"
)

// roundTripper is a base of a type that package fetcher does not know.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// bases are the ways in which a crawler may reach the web.
var bases = map[string]func(t *testing.T, w *httptest.Web) http.RoundTripper{
	"dial_context": func(_ *testing.T, w *httptest.Web) http.RoundTripper { return w.Transport() },
	"dial": func(_ *testing.T, w *httptest.Web) http.RoundTripper {
		t := w.Transport()
		t.DialContext = nil
		//lint:ignore SA1019 crawlers have it
		t.Dial = func(network, addr string) (net.Conn, error) {
			return w.DialContext(context.Background(), network, addr)
		}
		return t
	},
	"tls_dialer": func(_ *testing.T, w *httptest.Web) http.RoundTripper {
		t := w.Transport()
		t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := w.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			host, _, _ := net.SplitHostPort(addr)
			secure := tls.Client(conn, &tls.Config{RootCAs: t.TLSClientConfig.RootCAs, ServerName: host})
			return secure, secure.HandshakeContext(ctx)
		}
		return t
	},
	"relay":         func(_ *testing.T, w *httptest.Web) http.RoundTripper { return relayed(w) },
	"unknown":       func(_ *testing.T, w *httptest.Web) http.RoundTripper { return roundTripper(w.Transport().RoundTrip) },
	"unknown_relay": func(_ *testing.T, w *httptest.Web) http.RoundTripper { return roundTripper(relayed(w).RoundTrip) },
	"proxy":         func(_ *testing.T, w *httptest.Web) http.RoundTripper { return proxied(w) },
	"unknown_proxy": func(_ *testing.T, w *httptest.Web) http.RoundTripper { return roundTripper(proxied(w).RoundTrip) },
	"none": func(t *testing.T, w *httptest.Web) http.RoundTripper {
		old := http.DefaultTransport
		t.Cleanup(func() { http.DefaultTransport = old })
		http.DefaultTransport = w.Transport()
		return nil
	},
}

// proxied returns a transport that uses a proxy in the crawler's own network.
func proxied(w *httptest.Web) *http.Transport {
	w.Site("http://proxy.test:3128").At("10.9.9.9").Proxy()
	t := w.Transport()
	t.Proxy = http.ProxyURL(must("http://proxy.test:3128"))
	return t
}

// relayed returns a transport whose dialer uses a relay on this machine, like
// SOCKS: every connection has the address of the relay.
func relayed(w *httptest.Web) *http.Transport {
	t := w.Transport()
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := w.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return relayConn{conn}, nil
	}
	return t
}

type relayConn struct{ net.Conn }

func (relayConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1080} }

// contacts returns the dials to addresses that are not public, by the crawler or by a proxy.
func contacts(w *httptest.Web) (c []httptest.Dial) {
	for _, d := range w.Dials() {
		if d.Remote.IsValid() && !public4(d.Remote.Addr()) && d.Address != "proxy.test:3128" {
			c = append(c, d)
		}
	}
	return c
}

// TestRedirectsToPrivateAddresses redirects a crawler from a public site to special
// addresses (house rule). No such address is dialled, whatever the base.
func TestRedirectsToPrivateAddresses(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3:8080", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.100.100.200",
		"0.0.0.0", "0.1.2.3", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"[::]", "[::1]", "[::1]:8080", "[fe80::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[100::1]",
		"[::ffff:127.0.0.1]", "[::ffff:0:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[4000::1]", "[5f00::1]", "[3fff::1]",
		"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "169.254.43518", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::1]", "[2001::1]",
		"localhost", "LOCALHOST.:8080", "a.localhost",
	} {
		for name, base := range bases {
			t.Run("egress/"+host+"/"+name, func(t *testing.T) {
				refuses(t, base, httptest.Redirect(302, "http://"+host+"/latest/meta-data"), nil)
				if name == "dial_context" {
					refuses(t, base, httptest.Redirect(302, "//user@"+host), nil)
				}
			})
		}
	}
}

// refuses checks http://example.com, which answers with a redirect. It fails unless
// the redirect is refused and only public addresses were dialled.
func refuses(t *testing.T, base func(*testing.T, *httptest.Web) http.RoundTripper, answer httptest.Step, also func(*httptest.Web)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(answer)
		if also != nil {
			also(web)
		}
		tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
		tr.SetLookup(web.LookupNetIP)
		d, err := tr.Check(t.Context(), must(public))
		// Without a Base, a name that this machine cannot resolve is no more than a failed look-up.
		refused := strings.Contains(d.Cause, "egress") && time.Until(d.Expires) == time.Hour
		if err != nil || short(d) != "defer 2.3.1.4" || !refused && !strings.HasPrefix(d.Cause, "dns: ") {
			t.Errorf("got  %v, %v\nwant a Defer for an hour, egress", d, err)
		}
		if c := contacts(web); c != nil {
			t.Errorf("got  %v\nwant no contact", c)
		}
	})
}

// TestSitesThatOnlyARelayResolves redirects from a site whose name this machine cannot resolve,
// behind a dialer whose connections all end at a private address. The site counts as public.
func TestSitesThatOnlyARelayResolves(t *testing.T) {
	for _, name := range []string{"relay", "unknown_relay"} {
		for _, host := range []string{"169.254.169.254", "192.168.1.1", "127.0.0.1:1080", "localhost", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00::1]", "inside.test"} {
			t.Run("4.4/"+host+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).Robots(httptest.Redirect(302, "http://"+host+"/latest/meta-data"))
					web.Site("http://inside.test").At("10.0.0.7").Path("/latest/meta-data", text)
					tr := newTransport(t, &fetcher.Options{Base: bases[name](t, web)})
					tr.SetLookup(unresolved("example.com", web))
					d, err := tr.Check(t.Context(), must(public))
					if err != nil || !strings.HasPrefix(d.Cause, "egress: ") || contacts(web) != nil {
						t.Errorf("got  %v, %v, contacts %v\nwant class egress and no contact", d, err, contacts(web))
					}
				})
			})
		}
	}
}

// public4 reports whether an address is one that the web gives to a site.
func public4(a netip.Addr) bool { return netip.MustParsePrefix("93.184.0.0/16").Contains(a) }

// TestRedirectsToPrivateNames uses names that look public and resolve to private
// addresses, alone or among others. None is connected to.
func TestRedirectsToPrivateNames(t *testing.T) {
	for name, base := range bases {
		for _, scheme := range []string{"http", "https"} {
			t.Run("egress/"+name+"/"+scheme, func(t *testing.T) {
				refuses(t, base, httptest.Redirect(302, scheme+"://inside.test/secret"), func(w *httptest.Web) {
					w.Site(scheme+"://inside.test").At("10.0.0.7").Path("/secret", text)
				})
			})
		}
	}
}

// inTurns returns a transport whose Proxy function returns its proxy for some calls and
// none for the others: one digit a call, from the first again after the last.
func inTurns(w *httptest.Web, digits string) *http.Transport {
	t := proxied(w)
	proxy, calls := t.Proxy, 0
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		calls++
		if digits[(calls-1)%len(digits)] == '0' {
			return nil, nil
		}
		return proxy(req)
	}
	return t
}

// TestProxyInTurns uses a base that goes by a proxy at some times and not at others. A
// private name reaches neither the proxy nor a connection, in a redirect or as a page.
func TestProxyInTurns(t *testing.T) {
	for _, digits := range []string{"01", "10", "001", "010", "011", "100", "101", "110", "0001", "0010", "0100", "1000"} {
		base := func(_ *testing.T, w *httptest.Web) http.RoundTripper { return inTurns(w, digits) }
		inside := func(w *httptest.Web) { w.Site("http://inside.test").At("10.0.0.7").Robots(open).Path("/*", page) }
		t.Run("4.4/redirect/"+digits, func(t *testing.T) {
			refuses(t, base, httptest.Redirect(302, "http://inside.test/secret"), inside)
		})
		t.Run("4.4/page/"+digits, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				inside(web)
				tr, _ := pageGuard(t, web, base(t, web))
				for range 3 {
					if err := requestPage(tr, "http://inside.test/page"); !errors.Is(err, fetcher.ErrDisallowed) {
						t.Errorf("got  %v\nwant a DeniedError that says Disallow", err)
					}
				}
				if c := contacts(web); c != nil {
					t.Errorf("got  %v\nwant no contact", c)
				}
			})
		})
	}
}

// TestMixedAddresses uses a name with a private address among public ones. Where
// this machine dials, the private address is skipped. Elsewhere the redirect is
// refused, because nobody knows which address will be used.
func TestMixedAddresses(t *testing.T) {
	for name, base := range bases {
		t.Run("egress/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Redirect(302, "http://b.test/r"))
				web.Site("http://b.test").At("10.0.0.7", "93.184.216.99").Path("/r", text)
				tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
				tr.SetLookup(web.LookupNetIP)
				want := "disallow 2.2.2"
				if strings.Contains(name, "unknown") || name == "proxy" {
					want = "defer 2.3.1.4"
				}
				d, err := tr.Check(t.Context(), must(private))
				if err != nil || short(d) != want || contacts(web) != nil {
					t.Errorf("got  %v, %v, contacts %v\nwant %s and no contact", d, err, contacts(web), want)
				}
			})
		})
	}
}

// TestRedirectsAfterPublicOnes begins at a private site, which may redirect within
// its network, is led to a public site and then back into the network.
func TestRedirectsAfterPublicOnes(t *testing.T) {
	for name, base := range bases {
		for _, to := range []string{"http://169.254.169.254/r", "http://inside.test/r", "http://10.0.0.1/r"} {
			t.Run("egress/"+name+"/"+to[7:], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site("http://10.0.0.1").Robots(httptest.Redirect(302, "http://b.test/1"))
					b := web.Site("http://b.test").Path("/1", httptest.Redirect(302, "http://b.test/2")).Path("/2", httptest.Redirect(302, to))
					inside := web.Site("http://inside.test").At("10.0.0.7").Path("/r", text)
					tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
					tr.SetLookup(web.LookupNetIP)
					d, err := tr.Check(t.Context(), must("http://10.0.0.1/private"))
					if err != nil || d.Verdict != policy.Defer || !strings.Contains(d.Cause, "egress") {
						t.Errorf("got  %v, %v\nwant a Defer, egress", d, err)
					}
					if len(b.Requests("/2")) != 1 || len(inside.Requests()) != 0 || len(contacts(web)) != 1 {
						t.Errorf("got  %v by %v\nwant two requests to b.test and one contact, 10.0.0.1", web.Requests(), contacts(web))
					}
				})
			})
		}
	}
}

// TestBackToTheFirstAddress begins at a private site that only the base can resolve
// and is led by a public site to another name at the first address. That address is
// no relay, because no public site has answered from it.
func TestBackToTheFirstAddress(t *testing.T) {
	for name, base := range bases {
		if strings.Contains(name, "proxy") || strings.Contains(name, "relay") || name == "none" {
			continue // without a Base, no name is left to the dialer
		}
		t.Run("egress/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("http://intra.test").At("10.0.0.1").Robots(httptest.Redirect(302, "http://b.test/1"))
				web.Site("http://b.test").Path("/1", httptest.Redirect(302, "http://admin.test/r"))
				admin := web.Site("http://admin.test").At("10.0.0.1").Path("/r", text)
				tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
				tr.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) {
					return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
				})
				d, err := tr.Check(t.Context(), must("http://intra.test/private"))
				if err != nil || d.Verdict != policy.Defer || !strings.Contains(d.Cause, "egress") {
					t.Errorf("got  %v, %v\nwant a Defer, egress", d, err)
				}
				if n := len(admin.Requests()); n != 0 {
					t.Errorf("got  %d requests of admin.test, want none", n)
				}
			})
		})
	}
}

// TestConnectionReportedLate uses a base that makes each request twice and reports the
// connection of the slower one during the next request. The trip has left the private network
// by then.
func TestConnectionReportedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://intra.test").At("10.0.0.1").Robots(httptest.Redirect(302, "http://b.test/1"))
		web.Site("http://b.test").Path("/1", httptest.Redirect(302, "http://admin.test/r"))
		admin := web.Site("http://admin.test").At("10.0.0.2").Path("/r", text)
		transport := web.Transport()
		var first *httptrace.ClientTrace
		tr := newTransport(t, &fetcher.Options{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := transport.RoundTrip(r)
			if first == nil {
				first = httptrace.ContextClientTrace(r.Context())
			} else {
				first.GotConn(httptrace.GotConnInfo{Conn: privateConn{}})
			}
			return resp, err
		})})
		tr.SetLookup(func(context.Context, string, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
		})
		d, err := tr.Check(t.Context(), must("http://intra.test/private"))
		if n := len(admin.Requests()); err != nil || n != 0 || !strings.Contains(d.Cause, "egress") {
			t.Errorf("egress: got  %d requests of admin.test, %v, %v\nwant none, egress", n, d, err)
		}
	})
}

// A privateConn is a connection to a private address.
type privateConn struct{ net.Conn }

func (privateConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80} }
func (privateConn) Close() error         { return nil }

// TestRebinding uses a name that is public when it is first resolved and private
// afterwards. Nothing is sent to the private address. Only an unknown base connects
// to it before. What a proxy resolves cannot be seen. A connection that was made to
// the public address and kept is used again, which contacts nobody else.
func TestRebinding(t *testing.T) {
	for name, base := range bases {
		if strings.Contains(name, "proxy") || strings.Contains(name, "relay") {
			continue
		}
		for _, site2 := range []string{"http://b.test", "https://b.test", "h2://b.test"} {
			for _, public := range []int{0, 1, 2} { // look-ups answered with the public address; 0: one, and the connection is kept
				t.Run(fmt.Sprint("egress/", name, "/", site2[:5], "/", public), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						web := httptest.New(t)
						to := strings.Replace(site2, "h2:", "https:", 1)
						web.Site(site).Robots(httptest.Redirect(302, to+"/1"))
						redirect := func(to string) httptest.Step {
							if public == 0 {
								return httptest.Redirect(302, to)
							}
							return httptest.Redirect(302, to).Header("Connection", "close")
						}
						b := web.Site(to).At("93.184.216.99", "10.0.0.7").Path("/1", redirect("/2")).Path("/2", redirect("/3")).Path("/3", text)
						if site2[:3] == "h2:" {
							b.HTTP2()
						}
						answers := append(slices.Repeat([]httptest.Name{httptest.Addrs("93.184.216.99")}, max(public, 1)), httptest.Addrs("10.0.0.7"))
						web.Names("b.test", answers...)
						tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
						tr.SetLookup(web.LookupNetIP)
						d, _ := tr.Check(t.Context(), must(private))
						reused := public == 0 && name != "unknown"
						if refused := d.Verdict == policy.Defer && strings.HasPrefix(d.Cause, "egress: "); refused == reused || reused && short(d) != "disallow 2.2.2" {
							t.Errorf("got  %v\nwant it refused: %v", d, !reused)
						}
						for _, r := range b.Requests() {
							if !public4(r.To.Addr()) {
								t.Errorf("got  %v sent to %v, want nothing", r, r.To)
							}
						}
						if n := len(contacts(web)); n > 0 && name != "unknown" {
							t.Errorf("got  %d contacts, want none", n)
						}
					})
				})
			}
		}
	}
}

// A page has left a connection to a private address, or is about to. Without a Base, a redirect
// from a public site could find it there, and is refused before anything is sent.
func TestConnectionOfAPage(t *testing.T) {
	for _, to := range []string{"http://intra.test", "https://intra.test", "h2://intra.test"} {
		t.Run("4.4/"+to, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				origin := strings.Replace(to, "h2:", "https:", 1)
				web.Site(site).Robots(httptest.Redirect(302, origin+"/r"))
				intra := web.Site(origin).At("10.0.0.7").Robots(open).Path("/*", page)
				if to[:3] == "h2:" {
					intra.HTTP2()
				}
				tr := newTransport(t, &fetcher.Options{Base: bases["none"](t, web)})
				tr.SetLookup(web.LookupNetIP)
				if err := requestPage(tr, origin+"/page"); err != nil {
					t.Fatal(err)
				}
				d, err := tr.Check(t.Context(), must(private))
				if err != nil || d.Verdict != policy.Defer || !strings.Contains(d.Cause, "egress") {
					t.Errorf("got  %v, %v\nwant a Defer, egress", d, err)
				}
				if n := len(intra.Requests()); n != 2 {
					t.Errorf("got  %v\nwant robots.txt and the page", intra.Requests())
				}
				tr.CloseIdleConnections()
			})
		})
	}
}

// TestLocalNames uses names of a local network that the proxy or the base resolves
// and this machine does not. They are refused, but a site may redirect to itself.
func TestLocalNames(t *testing.T) {
	for name, base := range bases {
		for _, host := range []string{"intranet", "metadata.google.internal", "printer.local", "nas.home.arpa", "abc.onion", "127.0.0.1.nip.1"} {
			t.Run("egress/"+name+"/"+host, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).Robots(httptest.Redirect(302, "http://"+host+"/r"))
					web.Site("http://"+host).At("10.0.0.7").Path("/r", text)
					tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
					tr.SetLookup(unresolved(host, web))
					d, err := tr.Check(t.Context(), must(private))
					want := map[bool]string{true: "dns: ", false: "egress"}[name == "none"]
					if err != nil || !strings.Contains(d.Cause, want) || contacts(web) != nil {
						t.Errorf("got  %v, %v, contacts %v\nwant %s and no contact", d, err, contacts(web), want)
					}
				})
			})
		}
		t.Run("egress/"+name+"/the_initial_host", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("http://intranet").At("10.0.0.7").Robots(httptest.Redirect(302, "https://intranet/r"))
				web.Site("https://intranet").At("10.0.0.7").Path("/r", text)
				tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
				tr.SetLookup(unresolved("intranet", web))
				if d, err := tr.Check(t.Context(), must("http://intranet/private")); err != nil || short(d) != "disallow 2.2.2" {
					t.Errorf("got  %v, %v\nwant disallow 2.2.2", d, err)
				}
			})
		})
	}
}

// unresolved is the resolver of the web without one host.
func unresolved(host string, web *httptest.Web) func(context.Context, string, string) ([]netip.Addr, error) {
	return func(ctx context.Context, network, name string) ([]netip.Addr, error) {
		if name == host {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		return web.LookupNetIP(ctx, network, name)
	}
}

// TestPublicRedirects checks that redirects between public sites are followed
// through every base.
func TestPublicRedirects(t *testing.T) {
	for name, base := range bases {
		for way, also := range map[string]func(*httptest.Web){
			"plain":                    nil,
			"the_resolver_is_down":     func(w *httptest.Web) { w.Names("b.test", httptest.ServFail(), httptest.Addrs("93.184.216.99")) },
			"the_first_address_is_off": func(w *httptest.Web) { w.Names("b.test", httptest.Addrs("93.184.216.98", "93.184.216.99")) },
			"ipv6_is_broken":           func(w *httptest.Web) { w.Names("b.test", httptest.Addrs("2606:2800::1", "93.184.216.99")) },
		} {
			want := "disallow 2.2.2"
			if name == "relay" && way == "the_resolver_is_down" {
				want = "defer 2.3.1.4" // the relay connects to the name, and the connection has a private address
			}
			t.Run("egress/"+name+"/"+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).Robots(httptest.Redirect(302, "https://b.test/1"))
					web.Site("https://b.test").At("93.184.216.99").Path("/1", httptest.Redirect(302, "/2")).Path("/2", text)
					if also != nil {
						also(web)
					}
					tr := newTransport(t, &fetcher.Options{Base: base(t, web)})
					tr.SetLookup(web.LookupNetIP)
					if d, err := tr.Check(t.Context(), must(private)); err != nil || short(d) != want {
						t.Errorf("got  %v, %v\nwant %s", d, err, want)
					}
				})
			})
		}
	}
}

// TestLostAddresses uses a name whose first address never answers. The next one is
// tried while there is time.
func TestLostAddresses(t *testing.T) {
	for _, name := range []string{"dial_context", "tls_dialer", "relay"} {
		t.Run("egress/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Redirect(302, "http://b.test/r"))
				web.Site("http://b.test").At("93.184.216.99").Path("/r", text)
				web.Site("http://lost.test").At("93.184.216.98").Connect(httptest.Lost)
				web.Names("b.test", httptest.Addrs("93.184.216.98", "93.184.216.99"))
				tr := newTransport(t, &fetcher.Options{Base: bases[name](t, web)})
				tr.SetLookup(web.LookupNetIP)
				if d, err := tr.Check(t.Context(), must(private)); err != nil || short(d) != "disallow 2.2.2" {
					t.Errorf("got  %v, %v\nwant disallow 2.2.2", d, err)
				}
			})
		})
	}
}

// TestDefaultBase uses real listeners: with Go's default transport, too, a refused
// address sees no connection.
func TestDefaultBase(t *testing.T) {
	var asked atomic.Int32
	inside := nethttptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer inside.Close()
	first := nethttptest.NewServer(http.RedirectHandler(inside.URL, http.StatusFound))
	defer first.Close()
	for name, base := range map[string]http.RoundTripper{"nil": nil, "default": http.DefaultTransport, "zero": &http.Transport{}} {
		tr := newTransport(t, &fetcher.Options{Base: base, Egress: func(netip.Addr) error { return errors.New("none") }})
		d, err := tr.Check(t.Context(), must(first.URL+"/private"))
		if err != nil || !strings.Contains(d.Cause, "egress") || asked.Load() != 0 {
			t.Errorf("egress/%s: got  %v, %v after %d requests\nwant egress after none", name, d, err, asked.Load())
		}
	}
}

// A program may give Go's default transport another dialer, such as a tunnel. All
// requests go through it, redirects that the address rule binds and pages included.
func TestDialerOfTheDefaultBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Redirect(302, "http://b.test/r")).Path("/*", page)
		web.Site("http://b.test").At("93.184.216.99").Path("/r", text)
		defer func(old http.RoundTripper) { http.DefaultTransport = old }(http.DefaultTransport)
		http.DefaultTransport = web.Transport()
		tr := newTransport(t, &fetcher.Options{PageEgress: true})
		tr.SetLookup(web.LookupNetIP)
		if err := requestPage(tr, public); err != nil || len(web.Requests()) != 3 {
			t.Errorf("4.4/default_dialer: got  %v after %v\nwant the page after three requests", err, web.Requests())
		}
		tr.CloseIdleConnections()
	})
}

// With Go's default transport a name that this machine cannot resolve is not left to
// the dialer, which may get a private address for it a moment later.
func TestLateNamesOfTheDefaultBase(t *testing.T) {
	for name, first := range map[string]httptest.Name{"no_such_host": httptest.NoSuchHost(), "servfail": httptest.ServFail()} {
		t.Run("4.4/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Redirect(302, "http://inside.test/r"))
				web.Site("http://inside.test").At("10.0.0.7").Path("/r", text)
				web.Names("inside.test", first, httptest.Addrs("10.0.0.7"))
				defer func(old http.RoundTripper) { http.DefaultTransport = old }(http.DefaultTransport)
				http.DefaultTransport = web.Transport()
				tr := newTransport(t, &fetcher.Options{Attempts: 1})
				tr.SetLookup(web.LookupNetIP)
				if d, err := tr.Check(t.Context(), must(private)); err != nil || short(d) != "defer 2.3.1.4" || contacts(web) != nil {
					t.Errorf("got  %v, %v, contacts %v\nwant a Defer and no contact", d, err, contacts(web))
				}
			})
		})
	}
}

// TestRedirectsThatArePermitted checks redirects that the address rule allows.
func TestRedirectsThatArePermitted(t *testing.T) {
	for name, tt := range map[string]struct {
		target, to string
		also       func(*httptest.Web)
	}{
		"public_literal":       {"http://example.com/private", "http://93.184.217.1/r", nil},
		"public_by_nat64":      {"http://example.com/private", "http://[64:ff9b::5db8:d901]/r", nil},
		"public_by_6to4":       {"http://example.com/private", "http://[2002:5db8:d901::1]/r", nil},
		"private_to_private":   {"http://example.com/private", "http://10.0.0.2/r", func(w *httptest.Web) { w.Site(site).At("10.0.0.1") }},
		"private_by_ipv6":      {"http://example.com/private", "http://[fd00::2]/r", func(w *httptest.Web) { w.Site(site).At("fd00::1") }},
		"literal_to_private":   {"http://192.168.0.1/private", "http://10.0.0.2/r", nil},
		"loopback_to_loopback": {"http://127.0.0.1:8080/private", "http://127.0.0.1:8081/r", nil},
		"localhost":            {"http://localhost/private", "http://127.0.0.2/r", func(w *httptest.Web) { w.Site("http://localhost").At("127.0.0.1") }},
		"private_to_public":    {"http://10.0.0.1/private", "http://b.test/r", nil},
	} {
		for _, base := range []string{"dial_context", "unknown"} {
			t.Run("egress/"+name+"/"+base, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					origin := strings.TrimSuffix(tt.target, "/private")
					web.Site(origin).Robots(httptest.Redirect(302, tt.to))
					web.Site(strings.TrimSuffix(tt.to, "/r")).Path("/r", text)
					if tt.also != nil {
						tt.also(web)
					}
					tr := newTransport(t, &fetcher.Options{Base: bases[base](t, web)})
					tr.SetLookup(web.LookupNetIP)
					if d, err := tr.Check(t.Context(), must(tt.target)); err != nil || short(d) != "disallow 2.2.2" {
						t.Errorf("%s by way of %s:\ngot  %v, %v\nwant disallow 2.2.2", tt.target, tt.to, d, err)
					}
				})
			})
		}
	}
}

// TestEgress checks the caller's own rule on addresses.
func TestEgress(t *testing.T) {
	no := errors.New("not on the list")
	for name, tt := range map[string]struct {
		at     string // address of example.com
		egress func(netip.Addr) error
		want   string
		cause  string
	}{
		"it_may_permit_private":         {"93.184.216.50", func(netip.Addr) error { return nil }, "disallow 2.2.2", ""},
		"it_binds_private_sites":        {"10.0.0.1", func(netip.Addr) error { return no }, "defer 2.3.1.4", no.Error()},
		"its_error_is_the_cause":        {"93.184.216.50", func(netip.Addr) error { return no }, "defer 2.3.1.4", no.Error()},
		"a_panic_refuses":               {"93.184.216.50", func(netip.Addr) error { panic("egress") }, "defer 2.3.1.4", "egress"},
		"an_exit_refuses":               {"93.184.216.50", func(netip.Addr) error { runtime.Goexit(); return nil }, "defer 2.3.1.4", "exited"},
		"it_is_not_called_for_the_site": {"93.184.216.50", func(a netip.Addr) error { return map[bool]error{true: no}[a.String() == "93.184.216.50"] }, "disallow 2.2.2", ""},
	} {
		for _, to := range []string{"http://10.0.0.7/r", "http://inside.test/r"} {
			t.Run("egress/"+name+"/"+to[7:], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site(site).At(tt.at).Robots(httptest.Redirect(302, to))
					web.Site("http://inside.test").At("10.0.0.7").Path("/r", text)
					web.Site("http://10.0.0.7").Path("/r", text)
					tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Egress: tt.egress})
					d, err := tr.Check(t.Context(), must(private))
					if err != nil || short(d) != tt.want || !strings.Contains(d.Cause, tt.cause) {
						t.Errorf("got  %v, %v\nwant %s, cause %q", d, err, tt.want, tt.cause)
					}
				})
			})
		}
	}
}

// TestRedirectRule checks the caller's own rule on redirects.
func TestRedirectRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site(site).Robots(httptest.Redirect(302, "HTTP://B.test:80/r#x"))
		web.Site("http://b.test").Path("/r", httptest.Redirect(301, "/s")).Path("/s", text)
		var seen []string
		tr := newTransport(t, &fetcher.Options{Base: web.Transport(), Redirect: func(from, to *url.URL) error {
			seen = append(seen, fmt.Sprint(from, " ", to))
			if to.Path == "/s" {
				return errors.New("not to /s")
			}
			return nil
		}})
		d, err := tr.Check(t.Context(), must(public))
		if err != nil || d.Verdict != policy.Defer || time.Until(d.Expires) != time.Hour || !strings.Contains(d.Cause, "not to /s") {
			t.Errorf("got  %v, %v\nwant a Defer for an hour because of \"not to /s\"", d, err)
		}
		got := strings.Join(seen, ", ")
		if want := "http://example.com/robots.txt http://b.test/r, http://b.test/r http://b.test/s"; got != want {
			t.Errorf("redirects passed to the rule:\ngot  %s\nwant %s", got, want)
		}
	})
}

// A rule on redirects or addresses that does not return ends the fetch in time.
func TestRuleThatBlocks(t *testing.T) {
	for _, name := range []string{"redirect", "egress"} {
		t.Run("house/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Redirect(302, "http://10.0.0.7/r"))
				block := make(chan struct{})
				o := &fetcher.Options{Base: web.Transport(), Timeout: 10 * time.Second}
				if name == "redirect" {
					o.Redirect = func(_, _ *url.URL) error { <-block; return nil }
				} else {
					o.Egress = func(netip.Addr) error { <-block; return nil }
				}
				tr := newTransport(t, o)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				d, err := tr.Check(ctx, must(private))
				if took := time.Since(began); err != nil || short(d) != "defer 2.3.1.4" || !strings.HasPrefix(d.Cause, "timeout: ") || took > 11*time.Second {
					t.Errorf("got  %v, %v after %v\nwant defer because of a timeout after 10s", d, err, took)
				}
				close(block)
			})
		})
	}
}

// A rule on addresses that does not return delays no page and no fetch beyond its time.
func TestPageRuleThatBlocks(t *testing.T) {
	for _, name := range []string{"dial_context", "proxy"} {
		for _, fetched := range []bool{false, true} {
			t.Run(fmt.Sprintf("4.4/%s/fetched_%v", name, fetched), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					web := httptest.New(t)
					web.Site("http://10.0.0.7").Robots(open).Path("/*", page)
					block := make(chan struct{})
					var blocks atomic.Bool
					tr := newTransport(t, &fetcher.Options{Base: bases[name](t, web), PageEgress: true, Timeout: 10 * time.Second, Egress: func(netip.Addr) error {
						if blocks.Load() {
							<-block
						}
						return nil
					}})
					tr.SetLookup(web.LookupNetIP)
					target := must("http://10.0.0.7/page")
					if fetched {
						if d, err := tr.Check(t.Context(), target); err != nil || !d.Allowed() {
							t.Fatalf("got  %v, %v\nwant it allowed", d, err)
						}
					}
					blocks.Store(true)
					tr.CloseIdleConnections() // a connection that was checked is used again
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					began := time.Now()
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
					_, err := tr.RoundTrip(req)
					took := time.Since(began)
					if ok := errors.Is(err, fetcher.ErrDeferred) && took <= 11*time.Second; !fetched && !ok {
						t.Errorf("got  %v after %v\nwant a Defer after 10s", err, took)
					}
					if ok := errors.Is(err, context.DeadlineExceeded) && took == time.Minute; fetched && !ok {
						t.Errorf("got  %v after %v\nwant the end of the context, after a minute", err, took)
					}
					close(block)
				})
			})
		}
	}
}

// TestTLSDialers uses dialers that return a connection with TLS already done.
func TestTLSDialers(t *testing.T) {
	for _, name := range []string{"DialTLSContext", "DialTLS"} {
		t.Run("egress/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(httptest.Redirect(302, "https://inside.test/r"))
				web.Site("https://inside.test").At("10.0.0.7").Path("/r", text)
				base := web.Transport()
				dialled := 0
				dial := func(network, addr string) (net.Conn, error) {
					dialled++
					return web.DialContext(context.Background(), network, addr)
				}
				if name == "DialTLS" {
					//lint:ignore SA1019 crawlers have it
					base.DialTLS = dial
				} else {
					base.DialTLSContext = func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) }
				}
				tr := newTransport(t, &fetcher.Options{Base: base})
				d, err := tr.Check(t.Context(), must(public))
				if err != nil || !strings.Contains(d.Cause, "egress") || dialled != 0 {
					t.Errorf("got  %v, %v, %d dials\nwant egress without a dial", d, err, dialled)
				}
			})
		})
	}
}
