package ftp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher/ftp"
	"github.com/rfc9309/polite/policy"
)

const text = "User-agent: *\nDisallow: /private\n"

// get fetches a URL and returns the status, or the error of the request or of the body.
func get(ctx context.Context, target string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("User-Agent", "ExampleBot/0.1")
	resp, err := new(ftp.Transport).RoundTrip(req)
	if (resp == nil) == (err == nil) {
		return 0, "", fmt.Errorf("response %v and error %v; want one of the two", resp, err)
	}
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(got), err
}

// replies makes the replies of a server.
func replies(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// TestAnswers checks what each reply of a server becomes (docs/design.md, section 4.5). A want of "200"
// has the whole file. The other wants are a status, or a part of an error: the class of a
// failure and its text.
func TestAnswers(t *testing.T) {
	reset := func(c net.Conn) bool {
		c.Write([]byte(text[:10]))
		c.(*net.TCPConn).SetLinger(0)
		return true
	}
	part := func(c net.Conn) bool { c.Write([]byte(text[:10])); return true }
	hungUp := func(c net.Conn) bool { c.Write([]byte(text)); return false }
	for _, tt := range []struct {
		name    string
		replies map[string]string
		send    func(net.Conn) bool
		want    string
	}{
		{"4.5/a_file", nil, nil, "200"},
		{"4.5/logged_in_without_a_password", replies("USER", "230 in"), nil, "200"},
		{"4.5/no_size", replies("SIZE", "500 what"), nil, "200"},
		{"4.5/a_size_that_is_no_number", replies("SIZE", "213 -9"), nil, "200"},
		{"4.5/a_greeting_of_many_lines", replies("GREETING", "220-a\r\n530 no\r\n220 b"), nil, "200"},
		{"4.5/250_after_the_file", replies("AFTER", "250 done"), nil, "200"},
		{"4.5/pasv", replies("EPSV", "500 what"), nil, "200"},

		{"4.5/no_file", replies("RETR", "550 no such file"), nil, "404"},
		{"4.5/login_refused", replies("PASS", "530 no"), nil, "401"},
		{"4.5/login_refused_for_the_user", replies("USER", "530 no"), nil, "401"},
		{"4.5/login_refused_in_many_lines", replies("USER", "530-no\r\n530 no"), nil, "401"},
		{"4.5/login_refused_for_the_file", replies("RETR", "530 no"), nil, "401"},
		{"4.5/an_account_is_needed", replies("PASS", "332 account"), nil, "401"},

		{"4.5/a_reply_before_its_command", replies("GREETING", "220 hi\r\n555 \x1b[31m"+strings.Repeat("x", 9000)), nil, "ftp: ?[31m" + strings.Repeat("x", 592) + "…"},
		{"4.5/too_many_connections", replies("GREETING", "421 too many"), nil, `connect: ftp: the server replied 421 "too many"`},
		{"4.5/too_many_users", replies("USER", "421 too many"), nil, `connect: ftp: the server replied 421 "too many"`},
		{"4.5/too_many_logins", replies("PASS", "421 too many"), nil, `connect: ftp: the server replied 421 "too many"`},
		{"4.5/no_room_in_530_for_the_user", replies("USER", "530 full\r\n..."), nil, `connect: ftp: the server replied 530 "full"`},
		{"4.5/no_room_in_530_for_the_password", replies("PASS", "530-so\r\n530 full\r\n..."), nil, `connect: ftp: the server replied 530 "so?full"`},
		{"4.5/no_room_in_530_for_the_file", replies("RETR", "530 full\r\n..."), nil, `connect: ftp: the server replied 530 "full"`},
		{"4.5/refused_with_no_reply_to_more", replies("PASS", "530 no", "NOOP", "close"), nil, `connect: ftp: the server replied 530 "no"`},
		{"4.5/no_room_in_530_and_421", replies("PASS", "530 full\r\n421 bye\r\n..."), nil, `connect: ftp: the server replied 530 "full"`},
		{"4.5/refused_with_421_to_more", replies("PASS", "530 full", "NOOP", "421 bye"), nil, `connect: ftp: the server replied 530 "full"`},
		{"4.5/refused_with_250_to_more", replies("PASS", "530 no", "NOOP", "250 ok"), nil, "401"},
		{"4.5/refused_with_the_same_reply_to_more", replies("PASS", "530 no", "NOOP", "530 no"), nil, "401"},
		{"4.5/no_data_connection", replies("RETR", "425 cannot open"), nil, `connect: ftp: the server replied 425 "cannot open"`},
		{"4.5/no_passive_mode_now", replies("EPSV", "425 no", "PASV", "425 no"), nil, `connect: ftp: the server replied 425 "no"`},
		{"4.5/a_busy_file", replies("RETR", "450 busy"), nil, `connect: ftp: the server replied 450 "busy"`},
		{"4.5/no_type", replies("TYPE", "451 error"), nil, `connect: ftp: the server replied 451 "error"`},
		{"4.5/a_text_for_terminals", replies("RETR", "450 \x1b[2J\u202e"+strings.Repeat("a", 999)), nil, `replied 450 "?[2J?aaa`},

		{"4.5/550_for_passive_mode", replies("EPSV", "550 no", "PASV", "550 no"), nil, `protocol: ftp: the server replied 550 "no"`},
		{"4.5/550_at_once", replies("GREETING", "550 no"), nil, `protocol: ftp: the server replied 550 "no"`},
		{"4.5/530_at_once", replies("GREETING", "530 no"), nil, `connect: ftp: the server replied 530 "no"`},
		{"4.5/retr_is_not_known", replies("RETR", "502 what"), nil, `protocol: ftp: the server replied 502 "what"`},
		{"4.5/done_without_data", replies("RETR", "226 done"), nil, `protocol: ftp: the server replied 226 "done"`},
		{"4.5/half_a_reply", replies("USER", "530x"), nil, `ftp: short response: "530x"`},
		{"4.5/another_protocol", replies("GREETING", "HTTP/1.1 400 Bad Request"), nil, `ftp: short response`},
		{"4.5/a_long_reply_without_sense", replies("GREETING", strings.Repeat("a", 9999)), nil, `ftp: short response`},
		{"4.5/a_long_reply_without_sense_after_the_file", replies("AFTER", strings.Repeat("a", 9999)), nil, `body: ftp: short response`},
		{"4.5/pasv_without_sense", replies("EPSV", "500 what", "PASV", "227 )("), nil, `a reply that cannot be read`},
		{"4.5/pasv_without_numbers", replies("EPSV", "500 what", "PASV", "227 (a,b,c,d,e,f)"), nil, `invalid syntax`},
		{"4.5/epsv_of_a_port_that_is_none", replies("EPSV", "229 (|||99999|)"), nil, `invalid port`},
		{"4.5/the_connection_ends_at_once", replies("GREETING", "close"), nil, "EOF"},
		{"4.5/the_connection_ends_at_the_login", replies("USER", "close"), nil, "EOF"},

		{"4.5/a_refused_user_that_breaks_off", replies("USER", "530-no\r\n..."), nil, "EOF"},
		{"4.5/a_refused_user_in_half_a_line", replies("USER", "530 \x1b[2J..."), nil, "ftp: EOF"},
		{"4.5/a_refused_login_in_half_a_line", replies("PASS", "530 no..."), nil, `connect: ftp: the server replied 530 "no"`},
		{"4.5/no_file_in_half_a_line", replies("RETR", "550 no..."), nil, `protocol: ftp: the server replied 550 "no"`},

		{"4.5/broken_off", nil, part, "body: ftp: 10 of 33 bytes: unexpected EOF"},
		{"4.5/reset", nil, reset, "body: "},
		{"4.5/426_after_all_of_it", replies("AFTER", "426 closed"), nil, `body: ftp: the server replied 426 "closed"`},
		{"4.5/451_after_part_of_it", replies("AFTER", "451 disk", "SIZE", "500 what"), part, `body: ftp: the server replied 451 "disk"`},
		{"4.5/550_after_all_of_it", replies("AFTER", "550 no"), nil, `body: ftp: the server replied 550 "no"`},
		{"4.5/no_reply_after_all_of_it", nil, hungUp, "body: ftp: EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := (&server{file: text, replies: tt.replies, send: tt.send}).start(t, "127.0.0.1")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			status, body, err := get(ctx, s.url("/robots.txt"))
			got := fmt.Sprint(status)
			if err != nil {
				got = err.Error()
			}
			var f *policy.Failure
			if errors.As(err, &f) {
				got = f.Class.String() + ": " + f.Err.Error()
			}
			if !strings.Contains(got, tt.want) || len(got) > 620 || status == 200 && err == nil && body != text || status > 200 && body != "" {
				t.Errorf("got  %s with %q\nwant %s", got, body, tt.want)
			}
		})
	}
}

// TestCommands checks what the server is sent (RFC 1738, section 3.2).
func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		name, url string
		want      string // commands but TYPE, FEAT and EPSV; "" is an error
		replies   map[string]string
	}{
		{"4.5/anonymous", "/robots.txt", "USER anonymous, PASS ExampleBot/0.1, SIZE robots.txt, RETR robots.txt, QUIT", nil},
		{"4.5/a_folder", "/a/b/", "USER anonymous, PASS ExampleBot/0.1, SIZE a/b/, RETR a/b/, QUIT", nil},
		{"4.5/no_path", "", "USER anonymous, PASS ExampleBot/0.1, SIZE /, RETR /, QUIT", nil},
		{"4.5/from_the_root", "/%2Fetc/motd", "USER anonymous, PASS ExampleBot/0.1, SIZE /etc/motd, RETR /etc/motd, QUIT", nil},
		{"4.5/triplets", "/a%20b%C3%BC", "USER anonymous, PASS ExampleBot/0.1, SIZE a b\u00fc, RETR a b\u00fc, QUIT", nil},
		{"4.5/userinfo", "me:s%40cret@/a", "USER me, PASS s@cret, SIZE a, RETR a, QUIT", nil},
		{"4.5/a_command_in_the_path", "/a%0D%0ADELE%20b", "", nil},
		{"4.5/a_command_in_the_userinfo", "me:a%0D%0ADELE%20b@/a", "", nil},
		{"4.5/a_query", "/a?b", "", nil},
		{"4.5/no_file", "/a", "USER anonymous, PASS ExampleBot/0.1, SIZE a, RETR a, QUIT", replies("RETR", "550 no")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := (&server{file: text, replies: tt.replies}).start(t, "127.0.0.1")
			user, path, ok := strings.Cut(tt.url, "@")
			target := "ftp://" + user + "@" + s.address + path
			if !ok {
				target = s.url(tt.url)
			}
			_, body, err := get(t.Context(), target)
			s.stop()
			commands := slices.DeleteFunc(s.received(), func(c string) bool { return slices.Contains([]string{"TYPE I", "FEAT", "EPSV"}, c) })
			if tt.want == "" && (err == nil || strings.Contains(strings.Join(commands, "\n"), "DELE")) ||
				tt.want != "" && (err != nil || body != text && tt.replies == nil || strings.Join(commands, ", ") != tt.want) {
				t.Errorf("%s\ngot  %q, %v\nwant %s", target, commands, err, tt.want)
			}
		})
	}
}

// closer is a body that notes that it was closed.
type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

// TestOtherRequests checks that a request which FTP cannot serve is an error, without a
// connection.
func TestOtherRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  http.Request
		want string
	}{
		{"head", http.Request{Method: http.MethodHead}, `ftp: method "HEAD"; want GET`},
		{"post", http.Request{Method: http.MethodPost}, `ftp: method "POST"; want GET`},
		{"put", http.Request{Method: http.MethodPut}, `ftp: method "PUT"; want GET`},
		{"another_host", http.Request{Host: "b.test"}, `ftp: the request has Host "b.test"; want the host of the URL`},
		{"http", http.Request{URL: &url.URL{Scheme: "http", Host: "a.test"}}, "ftp: want an ftp URL"},
		{"an_opaque_url", http.Request{URL: &url.URL{Scheme: "ftp", Host: "a.test", Opaque: "//b.test/a"}}, "ftp: an opaque URL"},
		{"a_query", http.Request{URL: &url.URL{Scheme: "ftp", Host: "a.test", RawQuery: "a"}}, "ftp: an opaque URL or one with a query; want a path only"},
		{"no_host", http.Request{URL: &url.URL{Scheme: "ftp", Path: "/a"}}, "ftp: the host is not a domain name"},
	} {
		t.Run("4.5/"+tt.name, func(t *testing.T) {
			if tt.req.URL == nil {
				tt.req.URL = &url.URL{Scheme: "ftp", Host: "a.test"}
			}
			posted := &closer{Reader: strings.NewReader("x")}
			tt.req.Body = posted
			resp, err := new(ftp.Transport).RoundTrip(&tt.req)
			if resp != nil || err == nil || !strings.HasPrefix(err.Error(), tt.want) || !posted.closed {
				t.Errorf("got  %v, %v and the body closed: %v\nwant %s, and true", resp, err, posted.closed, tt.want)
			}
		})
	}
}

// TestEnds checks that a request ends with its context, whatever the server waits for,
// and leaves no connection and no goroutine.
func TestEnds(t *testing.T) {
	slow := func(c net.Conn) bool { // a byte now and then, without end
		for {
			if _, err := c.Write([]byte("#")); err != nil {
				return false
			}
			time.Sleep(time.Millisecond)
		}
	}
	for _, tt := range []struct {
		name, hangs string
		refuses     bool // the server refuses the login
		send        func(net.Conn) bool
		wait        time.Duration // a deadline; 0: canceled once the server hangs
	}{
		{name: "greeting", hangs: "GREETING"}, {name: "refused_login", hangs: "NOOP", refuses: true}, {name: "user", hangs: "USER"}, {name: "password", hangs: "PASS"}, {name: "features", hangs: "FEAT"},
		{name: "type", hangs: "TYPE"}, {name: "size", hangs: "SIZE"}, {name: "passive_mode", hangs: "EPSV"}, {name: "file", hangs: "RETR"},
		{name: "after_the_file", hangs: "AFTER"}, {name: "slow_drip", send: slow}, {name: "deadline", hangs: "PASS", wait: 20 * time.Millisecond},
		{name: "deadline_of_a_slow_drip", send: slow, wait: 20 * time.Millisecond},
	} {
		t.Run("4.5/"+tt.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			r := replies(tt.hangs, "hang")
			if tt.refuses {
				r["USER"] = "530 no"
			}
			s := (&server{file: text, send: tt.send, replies: r}).start(t, "127.0.0.1")
			ctx, cancel := context.WithTimeout(t.Context(), max(tt.wait, time.Minute))
			want := context.Canceled
			if tt.wait > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), tt.wait)
				want = context.DeadlineExceeded
			} else {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			defer cancel()
			if _, _, err := get(ctx, s.url("/robots.txt")); !errors.Is(err, want) {
				t.Errorf("got  %v\nwant %v", err, want)
			}
			s.stop() // waits until its connections have ended
			for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if n := runtime.NumGoroutine(); n > before {
				t.Errorf("got  %d goroutines\nwant %d", n, before)
			}
		})
	}
}

// TestBounds checks that an endless file ends with its body, and endless replies after
// 64 KiB.
func TestBounds(t *testing.T) {
	endless := func(c net.Conn) bool {
		for {
			if _, err := c.Write(make([]byte, 8<<10)); err != nil {
				return false
			}
		}
	}
	t.Run("2.5/a_file_without_end", func(t *testing.T) {
		s := (&server{file: text, send: endless}).start(t, "127.0.0.1")
		req, err := http.NewRequest(http.MethodGet, s.url("/robots.txt"), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := new(ftp.Transport).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		s.stop() // it sends no more
	})
	for name, r := range map[string]map[string]string{
		"a_line": replies("GREETING", "220 "+strings.Repeat("a", 1<<20)), "many_lines": replies("PASS", strings.Repeat("230-a\r\n", 1<<17)),
	} {
		t.Run("4.1/replies_without_end_in_"+name, func(t *testing.T) {
			s := (&server{file: text, replies: r}).start(t, "127.0.0.1")
			var f *policy.Failure
			if _, _, err := get(t.Context(), s.url("/")); !errors.As(err, &f) || f.Class != policy.Protocol || !strings.Contains(err.Error(), "more than 65536 bytes of replies") {
				t.Errorf("got  %v\nwant a failure of class protocol", err)
			}
			s.stop()
		})
	}
}

// TestAddresses checks where connections go: to a bare IPv6 address, and for the data to
// the address of the control connection. The connection is reported before anything is
// sent on it.
func TestAddresses(t *testing.T) {
	t.Run("4.2/ipv6", func(t *testing.T) {
		s := (&server{file: text}).start(t, "::1")
		if status, body, err := get(t.Context(), s.url("/robots.txt")); status != 200 || body != text || err != nil {
			t.Errorf("got  %d, %q, %v\nwant the file", status, body, err)
		}
	})
	t.Run("4.4/pasv_to_another_address", func(t *testing.T) {
		s := (&server{file: text, replies: replies("EPSV", "500 what")}).start(t, "127.0.0.1")
		var dialed []string
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{ConnectStart: func(_, addr string) { dialed = append(dialed, addr) }})
		_, body, err := get(ctx, s.url("/robots.txt"))
		if body != text || err != nil || len(dialed) != 2 || dialed[0] != s.address || !strings.HasPrefix(dialed[1], "127.0.0.1:") {
			t.Errorf("got  %q, %v over %v\nwant the file, over 127.0.0.1 alone", body, err, dialed)
		}
	})
	t.Run("4.4/reported_before_anything_is_sent", func(t *testing.T) {
		s := (&server{file: text}).start(t, "127.0.0.1")
		refused := errors.New("refused")
		ctx, cancel := context.WithCancelCause(t.Context())
		var asked, peer string
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GetConn: func(to string) { asked = to },
			GotConn: func(i httptrace.GotConnInfo) { peer = i.Conn.RemoteAddr().String(); cancel(refused) },
		})
		_, _, err := get(ctx, s.url("/robots.txt"))
		s.stop()
		if err != refused || asked != s.address || peer != s.address || len(s.received()) > 0 {
			t.Errorf("got  %v for %s at %s, and commands %v\nwant %v for %s, and no command", err, asked, peer, s.received(), refused, s.address)
		}
	})
	t.Run("4.5/nobody_listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skip(err)
		}
		l.Close()
		var op *net.OpError
		if _, _, err := get(t.Context(), "ftp://"+l.Addr().String()+"/"); !errors.As(err, &op) {
			t.Errorf("got  %v\nwant a *net.OpError", err)
		}
	})
}
