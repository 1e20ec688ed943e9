package retrieve_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/httptest"
)

// whole is an answer with the rules, after these header lines.
func whole(lines ...string) string {
	return strings.Join(append(lines, fmt.Sprintf("Content-Length: %d", len(rules)), "", rules), "\r\n")
}

// TestWire ends HTTP/1 answers in each way that has an effect of its own, and sends what has no
// end. What is not HTTP or breaks off has no status, and the file is unreachable (RFC 9309, section
// 2.3.1.4). net/http tests how it reads lines, fields, lengths and chunks.
func TestWire(t *testing.T) {
	const ok, chunked = "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	drip := httptest.Raw(whole(ok, "X-Slow: "+strings.Repeat("s", 600))).Drip(1, 100*time.Millisecond)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(rules), rules)
	sized := func(n string) string { return ok + "\r\nContent-Length: " + n + "\r\n\r\n" + rules }
	n := len(rules)
	runAll(t, "wire", []trial{
		raw("2.3.1.1/ended_by_the_connection", ok+"\r\n\r\n"+rules, obeyed, 1),
		raw("2.3.1.1/rubbish_after_the_end", sized(fmt.Sprint(n))+"Disallow: /public\n", obeyed, 1),
		raw("2.3.1.1/a_reason_of_rubbish", whole("HTTP/1.1 200 \x00\xff\x1b[31m"), obeyed, 1),
		raw("2.3.1.1/60_KiB_in_one_field", whole(ok, "X-Long: "+strings.Repeat("x", 60<<10)), obeyed, 1),
		raw("2.3.1.1/location_with_a_201", whole("HTTP/1.1 201 Created", "Location: http://b.test/"), obeyed, 1),
		raw("2.3.1.1/retry_after_with_a_200", whole(ok, "Retry-After: 100000"), obeyed, 1),
		{name: "2.3.1.1/a_head_that_drips_in_time", answer: httptest.Raw(whole(ok)).Drip(4, time.Second), want: obeyed, requests: 1},
		raw("2.3.1.1/hints_with_a_location", "HTTP/1.1 103 Early Hints\r\nLocation: http://b.test/\r\n\r\n"+whole(ok), obeyed, 1),
		{name: "2.3.1.1/slow_hints_in_time", answer: text.Early(102, 3).After(5 * time.Second), want: obeyed, requests: 1},
		raw("2.3.1.1/chunks_with_a_trailer", chunked+chunk+"0\r\nLocation: http://b.test/\r\nContent-Encoding: gzip\r\n\r\n", obeyed, 1),
		raw("2.2.1/no_body", sized("0"), nothing, 1),

		raw("2.3.1.4/http_0.9", rules, down, 1),
		raw("2.3.1.4/half_a_first_line", "HTTP/1.", down, 1),
		raw("2.3.1.4/a_tls_alert", "\x15\x03\x01\x00\x02\x02\x46", down, 1),
		raw("2.3.1.4/a_first_line_without_end", "HTTP/1.1 200 "+strings.Repeat("x", 1<<20), down, 2),
		raw("2.3.1.4/a_status_of_two_digits", whole("HTTP/1.1 99 Low"), down, 1),
		raw("2.3.1.4/a_head_without_end", ok+"\r\nContent-Type: text/plain\r\n", down, 2),
		raw("2.3.1.4/a_head_alone", ok+"\r\nContent-Length: 50\r\n\r\n", down, 2),
		raw("2.3.1.4/70_KiB_in_one_field", whole(ok, "X-Long: "+strings.Repeat("x", 70<<10)), down, 1),
		raw("2.3.1.4/70_KiB_in_many", whole(ok, strings.Repeat("A: b\r\n", 12_000)+"A: c"), down, 1),
		raw("2.3.1.4/a_line_without_a_colon", whole(ok, "rubbish"), down, 1),
		{name: "2.3.1.4/a_head_that_drips_for_ever", answer: drip, want: down, requests: 1},
		{name: "2.3.1.4/100_without_end", answer: text.Early(100, -1), want: down, requests: 1},
		raw("2.3.1.4/101_with_rules", whole("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"), down, 1),
		raw("2.3.1.4/hints_and_no_more", "HTTP/1.1 103 Early Hints\r\n\r\n", down, 2),
		raw("2.3.1.4/one_byte_short", sized(fmt.Sprint(n+1)), down, 2),
		raw("2.3.1.4/two_lengths_that_differ", sized(fmt.Sprintf("%d\r\nContent-Length: %d", n, n+1)), down, 1),
		raw("2.3.1.4/no_last_chunk", chunked+chunk, down, 2),
		raw("2.3.1.4/a_chunk_of_no_size", chunked+chunk+"xyz\r\n", down, 2),
		raw("2.3.1.4/a_trailer_without_end", chunked+chunk+"0\r\n"+strings.Repeat("X-Trailer: x\r\n", 10_000), down, 2),
		raw("2.3.1.4/an_unknown_transfer_coding", ok+"\r\nTransfer-Encoding: x-rot13\r\n\r\n"+rules, down, 1),
	})
}
