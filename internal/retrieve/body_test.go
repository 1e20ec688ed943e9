package retrieve_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// limit is the parsing limit in bytes (RFC 9309, section 2.5).
const limit = 512_000

// padded returns a file of n bytes that begins with the rules and ends with last.
func padded(n int, last string) string {
	room := n - len(rules) - len(last)
	return rules + strings.Repeat("#", room-1) + "\n" + last
}

// packed returns s compressed.
func packed(s string, coder func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := coder(&b)
	io.WriteString(w, s) // neither fails on a buffer
	w.Close()
	return b.String()
}

func gzipped(s string) string {
	return packed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

func deflated(s string) string {
	return packed(s, func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 9); return f })
}

func zlibbed(s string) string {
	return packed(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}

func coded(body string, codings ...string) httptest.Step {
	s := httptest.Text(body)
	for _, c := range codings {
		s = s.Header("Content-Encoding", c)
	}
	return s
}

// TestBodies sends a file in many ways, some of them broken (RFC 9309, sections
// 2.3.1.4 and 2.5). It checks the private page and /last, which the last line of
// some files forbids.
func TestBodies(t *testing.T) {
	const end = "Disallow: /last"
	const both, first, none, down = "disallow, disallow", "disallow, allow", "allow, allow", "defer, defer"
	broken := gzipped(rules)
	broken = broken[:len(broken)-8] + "\x00\x00\x00\x00" + broken[len(broken)-4:]
	for _, tt := range []struct {
		name     string
		answer   httptest.Step
		want     string
		requests int
	}{
		{"2.5/exactly_the_limit", httptest.Text(padded(limit, end)), both, 1},
		{"2.5/one_byte_more", httptest.Text(padded(limit+1, end)), first, 1},
		{"2.5/cut_within_a_rule", httptest.Text(padded(limit+4, "\n"+end)), first, 1},
		{"2.5/cut_before_a_line_end", httptest.Text(padded(limit, end) + "\nDisallow: /"), both, 1},
		{"2.5/cut_before_a_return", httptest.Text(padded(limit, end) + "\r\nDisallow: /"), both, 1},
		{"2.5/cut_after_a_line_end", httptest.Text(padded(limit, end+"\n") + "Disallow: /"), both, 1},
		{"2.5/cut_after_a_bare_return", httptest.Text(padded(limit, end+"\r") + "Disallow: /"), both, 1},
		{"2.5/one_line_over_the_limit", httptest.Text(rules + strings.Repeat("x", limit)), first, 1},
		{"2.5/no_line_end_at_all", httptest.Text(strings.Repeat("x", limit+1)), none, 1},
		{"2.5/decoded_bytes_count", coded(gzipped(padded(limit+1, end)), "gzip"), first, 1},
		{"2.5/decoded_up_to_the_limit", coded(gzipped(padded(limit, end)), "gzip"), both, 1},
		{"2.5/a_gzip_bomb", httptest.GzipBomb(1 << 30), none, 1},
		{"2.5/a_bomb_that_decodes_to_nothing", coded(strings.Repeat(gzipped(""), 100_000), "gzip"), down, 1},
		{"2.3.1.1/gzip", coded(gzipped(rules+end), "gzip"), both, 1},
		{"2.3.1.1/x-gzip", coded(gzipped(rules+end), "X-GZip"), both, 1},
		{"2.3.1.1/deflate_as_meant", coded(zlibbed(rules+end), "deflate"), both, 1},
		{"2.3.1.1/deflate_as_some_send_it", coded(deflated(rules+end), "deflate"), both, 1},
		{"2.3.1.1/identity", coded(rules+end, "identity"), both, 1},
		{"2.3.1.1/two_codings", coded(gzipped(zlibbed(rules+end)), "deflate", "gzip"), both, 1},
		{"2.3.1.1/two_codings_in_a_line", coded(gzipped(deflated(rules+end)), "deflate, , gzip"), both, 1},
		{"2.3.1.1/empty_and_gzip", coded("", "gzip"), none, 1},
		{"2.3.1.1/chunked", httptest.Text(rules + end).Chunked(), both, 1},
		{"2.3.1.1/ended_by_the_connection", httptest.Text(rules + end).HTTP10(), both, 1},
		{"2.3.1.1/slow_but_in_time", httptest.Text(rules+end).Drip(10, time.Second), both, 1},
		{"2.3.1.1/after_many_hints", httptest.Text(rules+end).Early(103, 50), both, 1},
		{"2.3.1.4/hints_without_end", text.Early(103, -1), down, 1},
		{"2.3.1.4/three_codings", coded(gzipped(gzipped(gzipped(rules))), "gzip", "gzip", "gzip"), down, 1},
		{"2.3.1.4/codings_in_the_wrong_order", coded(gzipped(zlibbed(rules)), "gzip", "deflate"), down, 1},
		{"2.3.1.4/zstd", coded("\x28\xb5\x2f\xfd", "zstd"), down, 1},
		{"2.3.1.4/gzip_in_name_only", coded(rules, "gzip"), down, 1},
		{"2.3.1.4/deflate_in_name_only", coded(rules, "deflate"), down, 1},
		{"2.3.1.4/bad_checksum", coded(broken, "gzip"), down, 1},
		{"2.3.1.4/gzip_cut_at_the_source", coded(gzipped(rules)[:20], "gzip"), down, 2},
		{"2.3.1.4/rubbish_after_gzip", coded(gzipped(rules)+"rubbish, not gzip", "gzip"), down, 1},
		{"2.3.1.4/two_lengths_that_differ", text.Length("40\r\nContent-Length: 41"), down, 1},
		{"2.3.1.4/unknown_transfer_coding", httptest.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + rules), down, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(tt.answer)
				a := over(web.Transport()).get(t, site)
				if got := decided(t, a, "/private", "/last"); got != tt.want || len(web.Requests()) != tt.requests {
					t.Errorf("/private, /last:\ngot  %s after %d requests\nwant %s after %d\n%v", got, len(web.Requests()), tt.want, tt.requests, a.Err)
				}
			})
		})
	}
}

// TestHostileBodiesAreCheap checks the cost of the worst answers: a gigabyte that
// comes as a megabyte must not be decoded or kept.
func TestHostileBodiesAreCheap(t *testing.T) {
	for name, answer := range map[string]httptest.Step{
		"bomb": httptest.GzipBomb(1 << 40), "flood": httptest.Flood("Disallow: /\n"), "headers": text.HeaderFlood(1 << 20), "endless": httptest.EndlessHeader(),
	} {
		t.Run("2.5/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				web.Site(site).Robots(answer)
				c := over(web.Transport())
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				c.get(t, site)
				runtime.ReadMemStats(&after)
				if got, most := after.TotalAlloc-before.TotalAlloc, uint64(24<<20); got > most {
					t.Errorf("%d bytes allocated for one retrieval, at both ends; want at most %d", got, most)
				}
			})
		})
	}
}
