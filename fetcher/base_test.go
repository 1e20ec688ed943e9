package fetcher_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
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
				tr := newTransport(t, &fetcher.Options{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
					resp := answerOf(r, 200, tt.header.Clone(), tt.body)
					resp.ContentLength = tt.length
					return resp, nil
				})})
				trial{want: tt.want}.hold(t, tr, site)
				if d, _ := tr.Peek(must(private)); tt.want == down && !strings.HasPrefix(d.Cause, "body: ") {
					t.Errorf("got  %q\nwant class body", d.Cause)
				}
			})
		})
	}
}

// A stuck base blocks in one of its methods until it is released, whatever its
// context says.
type stuck struct {
	in    string
	cured *atomic.Bool
	letGo chan struct{}
	body  io.Reader
}

func (s *stuck) block(in string) {
	if s.in == in && !s.cured.Load() {
		<-s.letGo
	}
}

func (s *stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	s.block("RoundTrip")
	resp := answerOf(r, 200, http.Header{}, "")
	if s.in == "Close_of_a_404" && !s.cured.Load() {
		resp.StatusCode = 404
	}
	resp.Body, resp.ContentLength = &stuck{s.in, s.cured, s.letGo, strings.NewReader(rules)}, -1
	return resp, nil
}

func (s *stuck) Read(p []byte) (int, error) { s.block("Read"); return s.body.Read(p) }

func (s *stuck) Close() error {
	s.block("Close")
	s.block("Close_of_a_404")
	return nil
}

// TestStuckBases uses bases that do not end with their context. The fetch ends in
// time, nobody else waits, and the goroutine ends with the base.
func TestStuckBases(t *testing.T) {
	for _, in := range []string{"RoundTrip", "Read", "Close", "Close_of_a_404"} {
		t.Run("house/"+in, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &stuck{in: in, cured: new(atomic.Bool), letGo: make(chan struct{})}
				tr := newTransport(t, &fetcher.Options{Base: base, Timeout: 10 * time.Second, Pace: &pace.Limits{Parallel: 1}})
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				d, err := tr.Check(ctx, must(private))
				if took := time.Since(began); err != nil || short(d) != "defer 2.3.1.4" || !strings.HasPrefix(d.Cause, "timeout: ") || took != 10*time.Second {
					t.Errorf("got  %v, %v after %v\nwant a Defer because of a timeout after 10s", d, err, took)
				}
				began = time.Now()
				base.cured.Store(true)
				if d, err := tr.Refresh(ctx, must(private)); err != nil || short(d) != "disallow 2.2.2" || time.Since(began) > time.Second {
					t.Errorf("the next retrieval:\ngot  %v, %v after %v\nwant disallow 2.2.2 at once", d, err, time.Since(began))
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
		cause string
	}{
		"drip":  {&slowBody{pause: time.Second, n: 1}, "timeout: "},
		"never": {&slowBody{pause: time.Second}, "timeout: "},
		"spins": {&slowBody{pause: time.Millisecond}, "body: "},
	} {
		t.Run("house/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := tt.body
				tr := newTransport(t, &fetcher.Options{Timeout: 10 * time.Second, Attempts: 1, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
				})})
				d, err := tr.Check(t.Context(), must(private))
				if err != nil || short(d) != "defer 2.3.1.4" || !strings.HasPrefix(d.Cause, tt.cause) {
					t.Errorf("got  %v, %v\nwant defer because of %s", d, err, tt.cause)
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
		body := &closing{Reader: bytes.NewReader(nil)}
		tr := newTransport(t, &fetcher.Options{Timeout: time.Second, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Minute)
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
		})})
		tr.Check(t.Context(), must(private))
		time.Sleep(time.Hour)
		if n := body.closed.Load(); n != 1 {
			t.Errorf("got  a body closed %d times, want once", n)
		}
	})
}

// Another HTTP stack may keep the lower case of the field names of HTTP/2. The fields mean
// the same.
func TestFieldNamesInLowerCase(t *testing.T) {
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return answerOf(r, 200, http.Header{"content-encoding": {"gzip"}}, gzipped(rules)), nil
		}
		return answerOf(r, 503, http.Header{"retry-after": {"60"}}, ""), nil
	})
	t.Run("2.3.1.1/coding", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			trial{want: obeyed}.hold(t, newTransport(t, &fetcher.Options{Base: base}), site)
		})
	})
	for name, request := range map[string]func(p *paced){
		"page": func(p *paced) { p.read(public) },
		"admission": func(p *paced) {
			a, _ := p.admit(p.t.Context(), public)
			a.Answer(503, http.Header{"retry-after": {"60"}})
			a.Done()
		},
	} {
		t.Run("6/pause_after_"+name, func(t *testing.T) {
			inPace(t, pace.Limits{}, fetcher.Options{Base: base}, func(p *paced) {
				request(p)
				p.read(public)
				if waited := time.Since(p.start); waited != time.Minute {
					t.Errorf("the next page was requested after %v, want 1m0s", waited)
				}
			})
		})
	}
}
