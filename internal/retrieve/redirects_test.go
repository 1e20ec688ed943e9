package retrieve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// TestLocations checks the forms of a Location field and where they lead from
// http://example.com/robots.txt (RFC 9309, section 2.3.1.2; RFC 9110, section
// 10.2.2). Served shows the URL that gave the rules.
func TestLocations(t *testing.T) {
	const deep = "http://example.com/a/b/c"
	for _, tt := range []struct{ name, location, served string }{
		{"absolute", "http://b.test/r", "http://b.test/r"},
		{"another_port", "http://b.test:8080/r", "http://b.test:8080/r"},
		{"https", "https://b.test/r", "https://b.test/r"},
		{"relative", "r", site + "/r"},
		{"relative_to_root", "/a/b/c", deep},
		{"dot_segments", "../a/./x/../b/c", deep},
		{"above_the_root", "../../../../a/b/c", deep},
		{"a_query_alone", "?r=1", site + "/robots.txt?r=1"},
		{"an_empty_query", "/r?", site + "/r?"},
		{"scheme_relative", "//b.test/r", "http://b.test/r"},
		{"spaces_around", " \t/a/b/c \t", deep},
		{"a_fragment", "/a/b/c#top", deep},
		{"scheme_in_capitals", "HTTP://B.TEST/r", "http://b.test/r"},
		{"the_default_port", "http://b.test:80/r", "http://b.test/r"},
		{"an_empty_port", "http://b.test:/r", "http://b.test/r"},
		{"a_trailing_dot", "http://b.test./r", "http://b.test/r"},
		{"userinfo", "http://user:secret@b.test/r", "http://b.test/r"},
		{"userinfo_that_looks_like_a_host", "http://example.com@b.test/r", "http://b.test/r"},
		{"an_idn", "http://b\u00fccher.test/r", "http://xn--bcher-kva.test/r"},
		{"an_idn_in_ascii", "http://xn--bcher-kva.test/r", "http://xn--bcher-kva.test/r"},
		{"an_idn_in_triplets", "http://b%C3%BCcher.test/r", "http://xn--bcher-kva.test/r"},
		{"spaces_within", "/a file", site + "/a%20file"},
		{"spaces_within_the_query", "/r?a file", site + "/r?a%20file"},
		{"bytes_beyond_ascii", "/\u00fc", site + "/%C3%BC"},
		{"no_path", "http://b.test", "http://b.test"},
		{"a_backslash", `/a\b`, site + `/a%5Cb`},
		{"a_semicolon", "/r;jsessionid=1", site + "/r;jsessionid=1"},
		{"a_url_as_query", "/r?http://c.test/", site + "/r?http://c.test/"},
		{"robots.txt_of_another_host", "http://b.test/robots.txt", "http://b.test/robots.txt"},

		{"nothing", "", ""},
		{"spaces_alone", "   ", ""},
		{"ftp", "ftp://b.test/r", ""},
		{"file", "file:///etc/passwd", ""},
		{"gopher", "gopher://b.test/r", ""},
		{"data", "data:text/plain,User-agent:*", ""},
		{"javascript", "javascript:alert(1)", ""},
		{"mailto", "mailto:webmaster@example.com", ""},
		{"websocket", "wss://b.test/r", ""},
		{"unix_socket", "http+unix://%2Frun%2Fdocker.sock/r", ""},
		{"no_host", "http:///r", ""},
		{"no_slashes", "http:r", ""},
		{"no_scheme", "://b.test/r", ""},
		{"a_port_of_letters", "http://b.test:http/r", ""},
		{"port_0", "http://b.test:0/r", ""},
		{"port_65536", "http://b.test:65536/r", ""},
		{"half_an_address", "http://[::1", ""},
		{"an_address_with_a_zone", "http://[fe80::1%25eth0]/r", ""},
		{"a_bad_triplet", "/%zz", ""},
		{"a_bad_triplet_in_the_host", "http://b%zz.test/r", ""},
		{"a_space_in_the_host", "http://b test/r", ""},
		{"an_empty_label", "http://b..test/r", ""},
		{"a_dot_alone", "http://./r", ""},
		{"a_host_of_300_bytes", "http://" + strings.Repeat("b.", 150) + "test/r", ""},
		{"8_KiB_and_more", "/" + strings.Repeat("r", 8<<10), ""},
		{"a_tab_within", "/a\tb", ""},
		{"a_delete", "/a\x7fb", ""},
	} {
		want, requests := obeyed, 2
		if tt.served == "" {
			want, requests = down, 1
		}
		t.Run("2.3.1.2/"+tt.name, trial{want: want, requests: requests, answer: httptest.Redirect(302, tt.location), also: func(w *httptest.Web, _ *httptest.Site) {
			if tt.served == "" {
				return
			}
			u := must(tt.served)
			w.Site(u.Scheme+"://"+u.Host).Path(u.RequestURI(), text)
		}}.run)
	}
}

// TestRedirects checks redirects with a body or special fields, and redirects that
// fail.
func TestRedirects(t *testing.T) {
	to := func(code int, location string) httptest.Step { return httptest.Redirect(code, location) }
	// at adds what other URLs answer.
	at := func(url string, answers ...httptest.Step) func(*httptest.Web, *httptest.Site) {
		return func(w *httptest.Web, _ *httptest.Site) {
			u := must(url)
			w.Site(u.Scheme+"://"+u.Host).Path(u.RequestURI(), answers...)
		}
	}
	r := site + "/r"
	rawTo := func(lines string) httptest.Step {
		return httptest.Raw("HTTP/1.1 302 Found\r\nLocation: /r\r\n" + lines)
	}
	endless := httptest.Handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Path+"x")
		w.WriteHeader(http.StatusFound)
	})
	slow := func(w *httptest.Web, s *httptest.Site) {
		for i := range 5 {
			s.Path(fmt.Sprint("/", i), to(302, fmt.Sprint("/", i+1)).After(7*time.Second))
		}
	}
	runAll(t, "redirects", []trial{
		{name: "2.3.1.2/with_a_body_of_200_KiB", answer: httptest.Text(strings.Repeat("x", 200<<10)).Status(302).Header("Location", "/r"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_rules_in_its_body", answer: httptest.Text("User-agent: *\nDisallow: /\n").Status(301).Header("Location", "/r"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_an_endless_body", answer: httptest.Flood("x").Status(302).Header("Location", "/r"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_a_body_that_hangs", answer: text.Status(302).Header("Location", "/r").HangAfter(3), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_a_body_that_breaks_off", answer: text.Status(302).Header("Location", "/r").ResetAfter(3), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_a_false_length", answer: rawTo("Content-Length: 1000\r\n\r\nx"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_a_broken_chunk", answer: rawTo("Transfer-Encoding: chunked\r\n\r\nxyz"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_an_unknown_coding", answer: to(302, "/r").Header("Content-Encoding", "br"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_cookies", answer: to(302, "/r").Header("Set-Cookie", "seen=1"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_a_refresh", answer: to(302, "/r").Header("Refresh", "0; url=/s"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/with_a_retry_after", answer: to(302, "/r").Header("Retry-After", "100000"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/after_hints", answer: to(302, "/r").Early(103, 3), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/in_http_1.0", answer: httptest.Raw("HTTP/1.0 302 Moved\r\nLocation: /r\r\n\r\n"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/without_a_reason", answer: httptest.Raw("HTTP/1.1 302\r\nLocation: /r\r\n\r\n"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/field_in_lower_case", answer: httptest.Raw("HTTP/1.1 302 Found\r\nlocation: /r\r\n\r\n"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/the_same_location_twice", answer: to(302, "/r").Header("Location", "/r"), also: at(r, text), want: obeyed, requests: 2},
		{name: "2.3.1.2/from_https_to_http_and_back", answer: to(302, "https://example.com/1"), also: func(w *httptest.Web, s *httptest.Site) {
			w.Site("https://example.com").Path("/1", to(302, site+"/2")).Path("/3", text)
			s.Path("/2", to(302, "https://example.com/3"))
		}, want: obeyed, requests: 4},
		{name: "2.3.1.2/found_in_the_second_answer", answer: to(302, "/r"), also: at(r, httptest.Reset(), text), want: obeyed, requests: 3},

		{name: "2.3.1.2/to_itself_with_a_cookie", answer: to(302, "/robots.txt").Header("Set-Cookie", "seen=1"), want: nothing, requests: 6},
		{name: "2.3.1.2/to_a_new_url_each_time", answer: endless, also: func(_ *httptest.Web, s *httptest.Site) { s.Path("/robots.txt*", endless) }, want: nothing, requests: 6},
		{name: "2.3.1.2/to_and_fro_between_schemes", answer: to(301, "https://example.com/robots.txt"), also: at("https://example.com/robots.txt", to(301, site+"/robots.txt")), want: nothing, requests: 6},
		{name: "2.3.1.2/to_and_fro_with_www", answer: to(301, "http://www.example.com/robots.txt"), also: at("http://www.example.com/robots.txt", to(302, "http://EXAMPLE.com.:80/robots.txt")), want: nothing, requests: 6},
		{name: "2.3.1.2/to_itself_until_it_is_a_file", also: at(site+"/robots.txt", to(302, "/robots.txt"), to(302, "/robots.txt"), text), want: obeyed, requests: 3},
		{name: "2.3.1.2/by_www_to_itself_and_a_file", also: func(w *httptest.Web, s *httptest.Site) {
			w.Site("http://www.example.com").Robots(to(302, site+"/robots.txt"))
			s.Robots(to(301, "http://www.example.com/robots.txt"), text)
		}, want: obeyed, requests: 3},
		{name: "2.3.1.2/to_itself_at_the_sixth_redirect", also: at(site+"/robots.txt", append(slices.Repeat(steps(to(302, "/robots.txt")), 6), text)...), want: nothing, requests: 6},
		{name: "2.2.1/to_a_page", answer: to(302, "/"), also: at(site+"/", httptest.Text("<html>Welcome</html>")), want: nothing, requests: 2},
		{name: "2.3.1.3/to_a_login", answer: to(302, "/login"), also: at(site+"/login", httptest.Status(401)), want: nothing, requests: 2},
		{name: "2.3.1.3/to_nowhere", answer: to(302, "/nowhere"), want: nothing, requests: 2},
		{name: "2.2.1/meta_refresh_is_no_redirect", answer: httptest.Text(`<meta http-equiv="refresh" content="0; url=/r">`), also: at(r, text), want: nothing, requests: 1},

		{name: "2.3.1.4/to_a_broken_server", answer: to(302, "/r"), also: at(r, httptest.Status(503)), want: down, requests: 2},
		{name: "house/to_a_busy_server", answer: to(302, "/r"), also: at(r, httptest.Status(429)), want: down, requests: 2},
		{name: "2.3.1.4/to_a_server_that_hangs", answer: to(302, "/r"), also: at(r, httptest.Hang()), want: down, requests: 2},
		{name: "2.3.1.4/to_no_host", answer: to(302, "http://nohost.test/"), want: down, requests: 1},
		{name: "2.3.1.4/to_a_closed_port", answer: to(302, "http://example.com:81/"), want: down, requests: 1},
		{name: "2.3.1.4/to_a_bad_certificate", answer: to(302, "https://b.test/"), also: func(w *httptest.Web, _ *httptest.Site) {
			w.Site("https://b.test").Cert(httptest.WrongName).Path("/", text)
		}, want: down, requests: 1},
		{name: "2.3.1.3/to_http_on_the_port_of_https", answer: to(302, "http://b.test:443/"), also: at("https://b.test/", text), want: nothing, requests: 1},
		{name: "2.3.1.4/to_https_on_the_port_of_http", answer: to(302, "https://b.test:80/"), also: at("http://b.test/", text), want: down, requests: 1},
		{name: "2.3.1.4/to_a_broken_body", answer: to(302, "/r"), also: at(r, text.Cut(10)), want: down, requests: 3},
		{name: "2.3.1.4/to_a_304", answer: to(302, "/r"), also: at(r, httptest.Status(304)), want: down, requests: 2},
		{name: "2.3.1.4/two_locations", answer: to(302, "/r").Header("Location", "/s"), also: at(r, text), want: down, requests: 1},
		{name: "2.3.1.4/five_slow_ones", answer: to(302, "/0"), also: slow, want: down, requests: 6},
	})
}
