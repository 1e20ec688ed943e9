package httptest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// get fetches a URL and its body within a minute.
func get(t *testing.T, c *http.Client, url string) (*http.Response, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return nil, "", err
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res, string(body), err
}

// statusOf returns the status of an answer, or 0 if there is none.
func statusOf(res *http.Response) int {
	if res == nil {
		return 0
	}
	return res.StatusCode
}

func TestStepsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		site := web.Site("https://example.com").Robots(
			httptest.Text("User-agent: *\nDisallow: /x\n"),
			httptest.Status(503),
			httptest.Text("").Status(404))
		client := web.Client()
		began := time.Now()
		var got []int
		for range 4 {
			res, _, err := get(t, client, "https://example.com/robots.txt")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, res.StatusCode)
			time.Sleep(31 * 24 * time.Hour)
		}
		if want := []int{200, 503, 404, 404}; !reflect.DeepEqual(got, want) {
			t.Errorf("statuses: got %v, want %v", got, want)
		}
		requests := site.Requests("/robots.txt")
		if len(requests) != 4 {
			t.Fatalf("requests: got %v, want 4", requests)
		}
		if got, want := requests[3].Time.Sub(began), 93*24*time.Hour; got != want {
			t.Errorf("the last request came after: got %v, want %v", got, want)
		}
		if got, want := requests[0].String(), "GET https://example.com/robots.txt"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestOrigins(t *testing.T) {
	for _, row := range []struct{ name, origin, url, arrives string }{
		{"http", "http://example.com", "http://example.com/", "http://example.com/"},
		{"default_port", "http://example.com:80", "http://EXAMPLE.com:80/", "http://example.com/"},
		{"other_port", "http://example.com:8080", "http://example.com:8080/", "http://example.com:8080/"},
		{"https_other_port", "https://example.com:8443", "https://example.com:8443/", "https://example.com:8443/"},
		{"https_on_port_80", "https://example.com:80", "https://example.com:80/", "https://example.com:80/"},
		{"trailing_dot", "http://example.com", "http://example.com./", "http://example.com/"},
		{"unicode", "https://bücher.example", "https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"},
		{"punycode", "https://xn--bcher-kva.example", "https://bücher.example/", "https://xn--bcher-kva.example/"},
		{"ipv4", "https://10.0.0.1", "https://10.0.0.1/", "https://10.0.0.1/"},
		{"ipv6", "http://[2001:DB8:0::1]", "http://[2001:db8::1]/", "http://[2001:db8::1]/"},
		{"ipv6_tls_port", "https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443/"},
		{"wildcard", "https://*.example.com", "https://a.example.com/", "https://a.example.com/"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(row.origin).Path("/", httptest.Text("here"))
				_, body, err := get(t, web.Client(), row.url)
				if err != nil || body != "here" {
					t.Fatalf("%s: got %q, %v, want %q", row.url, body, err, "here")
				}
				if got := web.Requests()[0].URL(); got != row.arrives {
					t.Errorf("%s arrives: got %s, want %s", row.url, got, row.arrives)
				}
			})
		})
	}
}

func TestOriginsShareAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		for _, origin := range []string{"http://a.example", "http://b.example", "https://a.example", "https://b.example"} {
			web.Site(origin).At("203.0.113.5").Path("/", httptest.Text(origin))
		}
		client := web.Client()
		for _, origin := range []string{"http://a.example", "http://b.example", "https://a.example", "https://b.example"} {
			_, body, err := get(t, client, origin+"/")
			if err != nil || body != origin {
				t.Errorf("%s: got %q, %v, want %q", origin, body, err, origin)
			}
		}
		for _, d := range web.Dials() {
			if got, want := d.Remote.Addr(), netip.MustParseAddr("203.0.113.5"); got != want {
				t.Errorf("%s dials: got %v, want %v", d.Address, got, want)
			}
		}
	})
}

func TestPaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").
			Path("/a", httptest.Text("a")).
			Path("/a?q=1", httptest.Text("query")).
			Path("/b/*", httptest.Text("below")).
			Path("/b/c*", httptest.Text("closer"))
		client := web.Client()
		for _, row := range []struct {
			target string
			status int
			body   string
		}{
			{"/a", 200, "a"}, {"/a?x", 200, "a"}, {"/a?q=1", 200, "query"},
			{"/b/x", 200, "below"}, {"/b/cd?e", 200, "closer"}, {"/", 404, ""},
		} {
			res, body, err := get(t, client, "http://example.com"+row.target)
			if err != nil || res.StatusCode != row.status || body != row.body {
				t.Errorf("%s: got %d %q, %v, want %d %q", row.target, statusOf(res), body, err, row.status, row.body)
			}
		}
	})
}

func TestNames(t *testing.T) {
	type claim func(*net.DNSError) bool
	found := func(e *net.DNSError) bool { return e.IsNotFound && !e.IsTemporary && !e.IsTimeout }
	for _, row := range []struct {
		name  string
		say   []httptest.Name
		claim claim
	}{
		{"unknown", nil, found},
		{"no_such_host", []httptest.Name{httptest.NoSuchHost()}, found},
		{"servfail", []httptest.Name{httptest.ServFail()}, func(e *net.DNSError) bool { return e.IsTemporary && !e.IsNotFound }},
		{"no_answer", []httptest.Name{httptest.NoAnswer()}, func(e *net.DNSError) bool { return e.IsTimeout && e.Timeout() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				if row.say != nil {
					web.Names("gone.example", row.say...)
				}
				_, _, err := get(t, web.Client(), "http://gone.example/")
				var dns *net.DNSError
				if !errors.As(err, &dns) || !row.claim(dns) {
					t.Errorf("got %#v, want a *net.DNSError of its kind", err)
				}
				if dials := web.Dials(); len(dials) != 1 || dials[0].Remote.IsValid() || dials[0].Err == nil {
					t.Errorf("dials: got %v, want one without an address", dials)
				}
			})
		})
	}
}

func TestNamesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Names("rebind.example", httptest.Addrs("93.184.216.200"), httptest.ServFail(), httptest.Addrs("127.0.0.1", "::1"))
		var got []string
		for range 4 {
			addrs, err := web.LookupNetIP(t.Context(), "ip4", "rebind.example")
			for _, a := range addrs {
				got = append(got, a.String())
			}
			if err != nil {
				got = append(got, "error")
			}
		}
		if want := []string{"93.184.216.200", "error", "127.0.0.1", "127.0.0.1"}; !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestConnections(t *testing.T) {
	for _, row := range []struct {
		name  string
		line  httptest.Line
		want  error
		after time.Duration
	}{
		{"refused", httptest.Refused, syscall.ECONNREFUSED, 0},
		{"unreachable", httptest.Unreachable, syscall.EHOSTUNREACH, 0},
		{"lost", httptest.Lost, context.DeadlineExceeded, time.Minute},
		{"silent", httptest.Silent, context.DeadlineExceeded, time.Minute},
		{"torn", httptest.Torn, syscall.ECONNRESET, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site("http://example.com").Path("/", httptest.Text("here")).Connect(row.line, httptest.Open)
				client, began := web.Client(), time.Now()
				_, _, err := get(t, client, "http://example.com/")
				if after := time.Since(began); !errors.Is(err, row.want) || after != row.after {
					t.Errorf("got %v after %v, want %v after %v", err, after, row.want, row.after)
				}
				if _, body, err := get(t, client, "http://example.com/"); body != "here" {
					t.Errorf("next: got %q, %v, want %q", body, err, "here")
				}
			})
		})
	}
}

func TestConnectionEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").Connect(httptest.HungUp, httptest.Torn)
		for _, want := range []error{io.EOF, syscall.ECONNRESET} {
			c, err := web.DialContext(t.Context(), "tcp", "example.com:80")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("read: got %v, want %v", err, want)
			}
			if _, err := c.Write([]byte("GET")); err == nil {
				t.Errorf("write: got nil, want an error")
			}
		}
	})
}

func TestConnectionTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").Connect(httptest.Lost)
		began := time.Now()
		_, err := web.DialContext(t.Context(), "tcp", "example.com:80")
		var op *net.OpError
		if !errors.Is(err, syscall.ETIMEDOUT) || !errors.As(err, &op) || !op.Timeout() || time.Since(began) != 127*time.Second {
			t.Errorf("got %v after %v, want ETIMEDOUT after 127s", err, time.Since(began))
		}
	})
}

func TestNoServerThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").At("10.0.0.1")
		for _, row := range []struct {
			network, address string
			want             error
		}{
			{"tcp", "example.com:81", syscall.ECONNREFUSED},
			{"tcp", "10.0.0.1:443", syscall.ECONNREFUSED},
			{"tcp4", "10.0.0.2:80", syscall.EHOSTUNREACH},
			{"tcp", "[::1]:80", syscall.EHOSTUNREACH},
			{"udp", "10.0.0.1:80", net.UnknownNetworkError("udp")},
			{"tcp6", "10.0.0.1:80", nil},
			{"tcp6", "example.com:80", nil},
			{"tcp", "example.com", nil},
			{"tcp", "example.com:http", nil},
		} {
			_, err := web.DialContext(t.Context(), row.network, row.address)
			if op := new(net.OpError); !errors.As(err, &op) || row.want != nil && !errors.Is(err, row.want) {
				t.Errorf("%s %s: got %v, want %v", row.network, row.address, err, row.want)
			}
		}
	})
}

func TestDownAndUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		site := web.Site("https://example.com").Path("/", httptest.Text("here"))
		client := web.Client()
		if _, _, err := get(t, client, "https://example.com/"); err != nil {
			t.Fatal(err)
		}
		site.Down()
		if _, _, err := get(t, client, "https://example.com/"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("down: got %v, want %v", err, syscall.ECONNREFUSED)
		}
		site.Up()
		if _, body, err := get(t, client, "https://example.com/"); body != "here" {
			t.Errorf("up: got %q, %v, want %q", body, err, "here")
		}
	})
}

// TestHang checks that a hanging request ends with the client's timeout and with the web.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := httptest.New(t)
		web.Site("http://example.com").Path("/", httptest.Hang())
		client, began := web.Client(), time.Now()
		if _, _, err := get(t, client, "http://example.com/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		if got := time.Since(began); got != time.Minute {
			t.Errorf("took %v, want %v", got, time.Minute)
		}
		go client.Post("http://example.com/", "", strings.NewReader("nobody reads this"))
		synctest.Wait()
		if got := web.Conns(); got != 1 {
			t.Errorf("connections: got %d, want 1", got)
		}
	})
}
