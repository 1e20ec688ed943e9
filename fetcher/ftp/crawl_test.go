package ftp_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/fetcher/ftp"
	"github.com/rfc9309/polite/pace"
)

// crawler returns a Transport whose base serves ftp.
func crawler(t *testing.T, o fetcher.Options) *fetcher.Transport {
	t.Helper()
	base := &http.Transport{}
	base.RegisterProtocol("ftp", &ftp.Transport{})
	o.Base, o.Schemes, o.Pace = base, []string{"ftp"}, pace.Unlimited()
	tr, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestCrawl checks the decision on ftp://host/private for what a server does when
// robots.txt is fetched.
func TestCrawl(t *testing.T) {
	endless := func(c net.Conn) bool {
		c.Write([]byte(text))
		for {
			if _, err := c.Write([]byte(strings.Repeat("#\n", 4<<10))); err != nil {
				return false
			}
		}
	}
	drip := func(c net.Conn) bool {
		c.Write([]byte(text))
		_, err := c.Read(make([]byte, 1)) // ends with the connection
		return err == nil
	}
	for _, tt := range []struct {
		name    string
		replies map[string]string
		send    func(net.Conn) bool
		options fetcher.Options
		want    string // verdict, clause, and beginning of the cause
		tries   int
	}{
		{"2.3.1.1/a_file", nil, nil, fetcher.Options{}, "disallow 2.2.2 ", 1},
		{"2.3.1.3/no_file", replies("RETR", "550 no"), nil, fetcher.Options{}, "allow 2.3.1.3 status 404", 1},
		{"2.3.1.3/login_refused", replies("USER", "530 no"), nil, fetcher.Options{}, "allow 2.3.1.3 status 401", 1},
		{"2.3.1.4/too_many_connections", replies("GREETING", "421 no"), nil, fetcher.Options{}, "defer 2.3.1.4 connect: ", 2},
		{"2.3.1.4/no_room", replies("PASS", "530 full\r\n..."), nil, fetcher.Options{}, "defer 2.3.1.4 connect: ", 2},
		{"2.3.1.4/no_data_connection", replies("RETR", "425 no"), nil, fetcher.Options{}, "defer 2.3.1.4 connect: ", 2},
		{"2.3.1.4/another_protocol", replies("USER", "HTTP/1.1 400"), nil, fetcher.Options{}, "defer 2.3.1.4 protocol: ", 1},
		{"2.3.1.4/426_after_the_file", replies("AFTER", "426 no"), nil, fetcher.Options{}, "defer 2.3.1.4 body: ", 2},
		{"2.3.1.4/a_file_without_an_end", nil, drip, fetcher.Options{Timeout: 50 * time.Millisecond}, "defer 2.3.1.4 timeout: ", 1},
		{"2.3.1.4/a_login_without_an_end", replies("PASS", "hang"), nil, fetcher.Options{Timeout: 50 * time.Millisecond}, "defer 2.3.1.4 timeout: ", 1},
		{"2.5/more_than_the_limit", nil, endless, fetcher.Options{}, "disallow 2.2.2 ", 1},
		{"4.4/page_egress", nil, nil, fetcher.Options{PageEgress: true}, "disallow house must not connect to 127.0.0.1", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := (&server{file: text, replies: tt.replies, send: tt.send}).start(t, "127.0.0.1")
			target, err := url.Parse(s.url("/private"))
			if err != nil {
				t.Fatal(err)
			}
			tries := 0
			tt.options.Trace = &fetcher.Trace{Try: func(fetcher.Try) { tries++ }}
			d, err := crawler(t, tt.options).Check(t.Context(), target)
			s.stop() // nothing is open
			if got := d.Verdict.String() + " " + d.Clause + " " + d.Cause; err != nil || !strings.HasPrefix(got, tt.want) || tries != tt.tries {
				t.Errorf("got  %s, %v after %d tries\nwant %s after %d", got, err, tries, tt.want, tt.tries)
			}
			if s.received() != nil && d.Robots != s.url("/robots.txt") {
				t.Errorf("got  rules of %s\nwant of %s", d.Robots, s.url("/robots.txt"))
			}
		})
	}
}

// TestPages requests pages through an http.Client. Userinfo is for the page alone.
func TestPages(t *testing.T) {
	s := (&server{file: text}).start(t, "127.0.0.1")
	client := &http.Client{Transport: crawler(t, fetcher.Options{}), Timeout: time.Minute}
	if _, err := client.Get(s.url("/private")); !errors.Is(err, fetcher.ErrDisallowed) {
		t.Errorf("2.2.2: got %v, want %v", err, fetcher.ErrDisallowed)
	}
	resp, err := client.Get("ftp://me:secret@" + s.address + "/public")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if page, err := io.ReadAll(resp.Body); string(page) != text || err != nil || resp.ContentLength != int64(len(text)) {
		t.Errorf("4.5: got %q, %v of length %d, want the file", page, err, resp.ContentLength)
	}
	if _, err := client.Head(s.url("/public")); err == nil || !strings.Contains(err.Error(), `method "HEAD"; want GET`) {
		t.Errorf("4.5: got %v, want an error about HEAD", err)
	}
	s.stop()
	want := []string{"USER anonymous", "PASS ExampleBot/0.1 (+https://example.com/bot)", "SIZE robots.txt", "RETR robots.txt", "USER me", "PASS secret", "SIZE public", "RETR public"}
	got := slices.DeleteFunc(s.received(), func(c string) bool { return slices.Contains([]string{"FEAT", "TYPE I", "EPSV", "QUIT"}, c) })
	if !slices.Equal(got, want) {
		t.Errorf("4.1: got\n%q\nwant\n%q", got, want)
	}
}

// TestModules checks which modules a program gets that imports package fetcher alone: the
// FTP client is not among them.
func TestModules(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "github.com/rfc9309/polite/fetcher").Output()
	if err != nil {
		t.Skip("no go command: ", err)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	got = slices.Compact(got)
	want := []string{
		"github.com/dunglas/httpsfv", "github.com/hashicorp/go-cleanhttp", "github.com/hashicorp/go-retryablehttp", "github.com/pquerna/cachecontrol",
		"github.com/rfc9309/polite", "golang.org/x/net", "golang.org/x/sync", "golang.org/x/text",
	}
	if !slices.Equal(got, want) {
		t.Errorf("house/modules\ngot  %v\nwant %v", got, want)
	}
}
