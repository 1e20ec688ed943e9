package retrieve_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/policy"
)

// TestShortBodies uses a base that is not net/http and ends a body before its
// announced length as if it were whole (RFC 9309, section 2.3.1.4).
func TestShortBodies(t *testing.T) {
	zipped := gzipped(rules)
	field := func(n int) http.Header { return http.Header{"Content-Length": {strconv.Itoa(n)}} }
	with := func(h http.Header, name, value string) http.Header { h.Set(name, value); return h }
	for _, tt := range []struct {
		name   string
		header http.Header
		length int64 // Response.ContentLength
		body   string
		want   string
	}{
		{"whole", field(len(rules)), int64(len(rules)), rules, obeyed},
		{"no_length", http.Header{}, -1, rules[:20], nothing},
		{"short_of_the_field", field(len(rules)), -1, rules[:20], down},
		{"short_of_the_length", http.Header{}, int64(len(rules)), rules[:20], down},
		{"by_one_byte", field(len(rules)), int64(len(rules)), rules[:len(rules)-1], down},
		{"nothing_came", field(len(rules)), int64(len(rules)), "", down},
		{"longer_than_its_length", field(10), 10, rules, obeyed},
		{"two_fields_that_differ", http.Header{"Content-Length": {"5", "500"}}, -1, rules, down},
		{"one_length_in_two_fields", http.Header{"Content-Length": {strconv.Itoa(len(rules)), strconv.Itoa(len(rules))}}, -1, rules[:20], down},
		{"a_list_of_one_length", http.Header{"Content-Length": {"500, 500"}}, -1, rules, down},
		{"a_length_that_is_no_number", http.Header{"Content-Length": {"many"}}, -1, rules, obeyed},
		{"a_length_for_chunks_means_nothing", with(field(500), "Transfer-Encoding", "chunked"), -1, rules, obeyed},
		{"gzip", with(field(len(zipped)), "Content-Encoding", "gzip"), int64(len(zipped)), zipped, obeyed},
		{"gzip_of_two_members_lacks_one", with(field(2*len(zipped)), "Content-Encoding", "gzip"), -1, zipped, down},
		{"gzip_short_of_the_length", with(http.Header{}, "Content-Encoding", "gzip"), int64(2 * len(zipped)), zipped, down},
		{"deflate_and_more", with(field(len(zlibbed(rules))+3), "Content-Encoding", "deflate"), -1, zlibbed(rules) + "\n\n\n", obeyed},
		{"deflate_lacks_some", with(field(len(zlibbed(rules))+3), "Content-Encoding", "deflate"), -1, zlibbed(rules), down},
	} {
		t.Run("2.3.1.4/"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := trial{want: tt.want}.hold(t, over(roundTripper(func(r *http.Request) (*http.Response, error) {
					resp := answerOf(r, 200, tt.header.Clone(), tt.body)
					resp.ContentLength = tt.length
					return resp, nil
				})), site)
				if tt.want == down && !hasClass(a, policy.Body) {
					t.Errorf("got  %v\nwant class body", a.Err)
				}
			})
		})
	}
}

// A stuck base blocks in one of its methods until it is released, whatever its
// context says.
type stuck struct {
	in    string
	letGo chan struct{}
	body  io.Reader
}

func (s *stuck) block(in string) {
	if s.in == in {
		<-s.letGo
	}
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	s.block("RoundTrip")
	resp := answerOf(r, 200, http.Header{}, "")
	if s.in == "Close_of_a_404" {
		resp.StatusCode = 404
	}
	resp.Body, resp.ContentLength = &stuck{s.in, s.letGo, strings.NewReader(rules)}, -1
	return resp, nil
}

func (s *stuck) Read(p []byte) (int, error) { s.block("Read"); return s.body.Read(p) }

func (s *stuck) Close() error {
	s.block("Close")
	s.block("Close_of_a_404")
	return nil
}

// TestStuckBases uses bases that do not end with their context. The fetch ends in
// time, and the goroutine ends with the base.
func TestStuckBases(t *testing.T) {
	for _, in := range []string{"RoundTrip", "Read", "Close", "Close_of_a_404"} {
		t.Run("house/"+in, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &stuck{in: in, letGo: make(chan struct{})}
				c := over(base)
				c.Timeout = 10 * time.Second
				began := time.Now()
				a := c.get(t, site)
				if took := time.Since(began); !hasClass(a, policy.Timeout) || took != 10*time.Second {
					t.Errorf("got  %v after %v\nwant a timeout after 10s", a.Err, took)
				}
				close(base.letGo)
			})
		})
	}
}

// A body that arrives too slowly, or whose reads return nothing, is closed when its fetch
// ends.
func TestBodyWithoutProgress(t *testing.T) {
	for name, tt := range map[string]struct {
		body  *slowBody
		class policy.Class
	}{
		"drip":  {&slowBody{pause: time.Second, n: 1}, policy.Timeout},
		"never": {&slowBody{pause: time.Second}, policy.Timeout},
		"spins": {&slowBody{pause: time.Millisecond}, policy.Body},
	} {
		t.Run("house/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := tt.body
				c := over(roundTripper(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
				}))
				c.Timeout, c.Attempts = 10*time.Second, 1
				if a := c.get(t, site); !hasClass(a, tt.class) {
					t.Errorf("got  %v\nwant class %v", a.Err, tt.class)
				}
				time.Sleep(2 * time.Second)
				if !body.closed.Load() {
					t.Error("the body is read after the fetch, want it closed")
				}
			})
		})
	}
}

// A slowBody returns n bytes at a time, for a day.
type slowBody struct {
	pause  time.Duration
	n      int
	slept  time.Duration
	closed atomic.Bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.slept > day {
		return 0, io.EOF
	}
	b.slept += b.pause
	time.Sleep(b.pause)
	return copy(p, "####"[:b.n]), nil
}

func (b *slowBody) Close() error { b.closed.Store(true); return nil }

// TestLateAnswers checks that an answer which comes after the fetch has ended is
// closed.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := new(slowBody)
		c := over(roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Minute)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
		}))
		c.Timeout = time.Second
		c.get(t, site)
		time.Sleep(time.Hour)
		if !body.closed.Load() {
			t.Error("a late answer is left open, want it closed")
		}
	})
}

// Another HTTP stack may keep the lower case of the field names of HTTP/2. The fields mean
// the same.
func TestFieldNamesInLowerCase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trial{want: obeyed}.hold(t, over(roundTripper(func(r *http.Request) (*http.Response, error) {
			return answerOf(r, 200, http.Header{"content-encoding": {"gzip"}}, gzipped(rules)), nil
		})), site)
	})
}

// TestOddBases uses bases that return what no RoundTripper may return.
func TestOddBases(t *testing.T) {
	for name, base := range map[string]roundTripper{
		"neither":         func(*http.Request) (*http.Response, error) { return nil, nil },
		"both":            func(r *http.Request) (*http.Response, error) { return answerOf(r, 200, nil, rules), errors.New("both") },
		"no_body":         func(r *http.Request) (*http.Response, error) { return &http.Response{StatusCode: 500}, nil },
		"no_header":       func(r *http.Request) (*http.Response, error) { return answerOf(r, 503, nil, ""), nil },
		"negative_status": func(r *http.Request) (*http.Response, error) { return answerOf(r, -200, http.Header{}, rules), nil },
		"status_0":        func(r *http.Request) (*http.Response, error) { return answerOf(r, 0, http.Header{}, rules), nil },
		"hostile_error": func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("\x1b[31m" + strings.Repeat("\u202e", 10_000) + "\n")
		},
		"nil_inside": func(r *http.Request) (*http.Response, error) { return nil, (*policy.Failure)(nil) },
	} {
		t.Run("2.3.1.4/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				trial{want: down}.hold(t, over(base), site)
			})
		})
	}
}
