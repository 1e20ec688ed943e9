package fetcher_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
)

// ftpSite is what serves ftp in these tests. It knows one file, and the address that
// all of its hosts have.
type ftpSite struct {
	requests []string
	addr     netip.AddrPort
}

// RoundTrip reports its connection, as a base may, and answers unless its context ended.
func (s *ftpSite) RoundTrip(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
		trace.GetConn(net.JoinHostPort(r.URL.Hostname(), "21"))
		conn, far := net.Pipe()
		defer far.Close()
		trace.GotConn(httptrace.GotConnInfo{Conn: addressedConn{conn, net.TCPAddrFromAddrPort(s.addr)}})
		conn.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.requests = append(s.requests, r.URL.String())
	return answerOf(r, 200, http.Header{}, rules), nil
}

// addressedConn is a connection whose far end has an address.
type addressedConn struct {
	net.Conn
	far net.Addr
}

func (c addressedConn) RemoteAddr() net.Addr { return c.far }

// newFTP returns a Transport whose base serves ftp, and its options may admit it.
func newFTP(t *testing.T, o fetcher.Options) (*fetcher.Transport, *httptest.Web, *ftpSite) {
	web, ftp := httptest.New(t), &ftpSite{addr: netip.MustParseAddrPort("93.184.216.34:21")}
	base := web.Transport()
	base.RegisterProtocol("ftp", ftp)
	o.Base = base
	tr := newTransport(t, &o)
	tr.SetLookup(web.LookupNetIP)
	return tr, web, ftp
}

// TestSchemes checks that Options.Schemes admits URLs of ftp, and that their
// robots.txt is fetched by ftp, too.
func TestSchemes(t *testing.T) {
	ftp := fetcher.Options{Schemes: []string{"ftp"}}
	t.Run("2.3/a_robots.txt_of_its_own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr, web, sent := newFTP(t, ftp)
			web.Site(site).Robots(httptest.Status(404))
			for target, want := range map[string]string{
				"ftp://example.com/private": "disallow 2.2.2", "FTP://u:p@Example.com.:21/public": "allow 2.2.2", private: "allow 2.3.1.3",
			} {
				if d, err := tr.Check(t.Context(), must(target)); err != nil || short(d) != want {
					t.Errorf("%s\ngot  %v, %v\nwant %s", target, d, err, want)
				}
			}
			if err := requestPage(tr, "ftp://example.com/public"); err != nil {
				t.Error(err)
			}
			if err := requestPage(tr, "ftp://example.com/private"); !errors.Is(err, fetcher.ErrDisallowed) {
				t.Errorf("got  %v\nwant %v", err, fetcher.ErrDisallowed)
			}
			if want := []string{"ftp://example.com/robots.txt", "ftp://example.com/public"}; !slices.Equal(sent.requests, want) {
				t.Errorf("got  %v\nwant %v", sent.requests, want)
			}
		})
	})
	t.Run("2.3/not_named", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr, _, sent := newFTP(t, fetcher.Options{})
			_, checked := tr.Check(t.Context(), must("ftp://example.com/public"))
			_, _, admitted := tr.Admit(t.Context(), must("ftp://example.com/public"))
			for _, err := range []error{checked, admitted, requestPage(tr, "ftp://example.com/robots.txt")} {
				if !errors.Is(err, fetcher.ErrURL) {
					t.Errorf("got  %v\nwant %v", err, fetcher.ErrURL)
				}
			}
			if len(sent.requests) > 0 {
				t.Errorf("got  %v\nwant no request", sent.requests)
			}
		})
	})
	t.Run("2.3.1.4/redirected_from_http", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr, web, sent := newFTP(t, ftp)
			web.Site(site).Robots(httptest.Redirect(301, "ftp://example.com/robots.txt"))
			if d, err := tr.Check(t.Context(), must(public)); err != nil || short(d) != "defer 2.3.1.4" || len(sent.requests) > 0 {
				t.Errorf("got  %v, %v and %v\nwant defer 2.3.1.4 and no request by ftp", d, err, sent.requests)
			}
		})
	})
	for name, target := range map[string]string{
		"loopback": "ftp://127.0.0.1", "a_private_host": "ftp://inside.test", "a_name_of_a_local_network": "ftp://printer",
		"a_connection_that_is_reported": "ftp://outside.test",
	} {
		t.Run("4.4/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, web, sent := newFTP(t, fetcher.Options{Schemes: ftp.Schemes, PageEgress: true})
				web.Names("inside.test", httptest.Addrs("10.0.0.7"))
				web.Names("outside.test", httptest.Addrs("93.184.216.34"))
				sent.addr = netip.MustParseAddrPort("10.0.0.7:21")
				for _, path := range []string{"/a", "/robots.txt"} {
					if err := requestPage(tr, target+path); !errors.Is(err, fetcher.ErrDisallowed) || len(sent.requests) > 0 {
						t.Errorf("%s\ngot  %v and requests %v\nwant it disallowed, and no request", target+path, err, sent.requests)
					}
				}
			})
		})
	}
}
