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

// TestStatusLines sends unusual first lines of an answer. What is not HTTP has no
// status, and the file is unreachable (RFC 9309, section 2.3.1.4). What a lenient
// reader understands without guessing is an answer.
func TestStatusLines(t *testing.T) {
	runAll(t, "status", []trial{
		raw("2.3.1.1/no_reason", whole("HTTP/1.1 200"), obeyed, 1),
		raw("2.3.1.1/empty_reason", whole("HTTP/1.1 200 "), obeyed, 1),
		raw("2.3.1.1/reason_of_rubbish", whole("HTTP/1.1 200 \x00\xff\x1b[31m"), obeyed, 1),
		raw("2.3.1.1/reason_that_lies", whole("HTTP/1.1 200 Not Found"), obeyed, 1),
		raw("2.3.1.1/long_reason", whole("HTTP/1.1 200 "+strings.Repeat("OK", 10_000)), obeyed, 1),
		raw("2.3.1.1/two_spaces", whole("HTTP/1.1  200 OK"), obeyed, 1),
		raw("2.3.1.1/http_1.0_with_a_length", whole("HTTP/1.0 200 OK"), obeyed, 1),
		raw("2.3.1.1/http_1.0_without_a_length", "HTTP/1.0 200 OK\r\n\r\n"+rules, obeyed, 1),
		raw("2.3.1.1/http_1.1_without_a_length", "HTTP/1.1 200 OK\r\n\r\n"+rules, obeyed, 1),
		raw("2.3.1.1/bare_line_feeds", strings.ReplaceAll(whole("HTTP/1.1 200 OK"), "\r\n", "\n"), obeyed, 1),
		raw("2.3.1.1/two_answers", whole("HTTP/1.1 200 OK")+"HTTP/1.1 404 Not Found\r\n\r\n", obeyed, 1),

		raw("2.3.1.4/http_0.9", rules, down, 1),
		raw("2.3.1.4/an_empty_line_first", "\r\n"+whole("HTTP/1.1 200 OK"), down, 1),
		raw("2.3.1.4/icy", whole("ICY 200 OK"), down, 1),
		raw("2.3.1.4/lower_case_http", whole("http/1.1 200 OK"), down, 1),
		raw("2.3.1.4/no_version", whole("HTTP 200 OK"), down, 1),
		raw("2.3.1.4/odd_version", whole("HTTP/x.y 200 OK"), down, 1),
		raw("2.3.1.4/status_of_nothing", whole("HTTP/1.1"), down, 1),
		raw("2.3.1.4/status_000", whole("HTTP/1.1 000 Zero"), down, 1),
		raw("2.3.1.4/status_010", whole("HTTP/1.1 010 Ten"), down, 1),
		raw("2.3.1.4/status_99", whole("HTTP/1.1 99 Low"), down, 1),
		raw("2.3.1.4/status_1000", whole("HTTP/1.1 1000 High"), down, 1),
		raw("2.3.1.4/status_20", whole("HTTP/1.1 +20 Signed"), down, 1),
		raw("2.3.1.4/status_negative", whole("HTTP/1.1 -20 Signed"), down, 1),
		raw("2.3.1.4/status_in_letters", whole("HTTP/1.1 two OK"), down, 1),
		raw("2.3.1.4/status_in_hexadecimal", whole("HTTP/1.1 0xC OK"), down, 1),
		raw("2.3.1.4/status_with_a_letter", whole("HTTP/1.1 200x OK"), down, 1),
		raw("2.3.1.4/endless_first_line", "HTTP/1.1 200 "+strings.Repeat("x", 1<<20), down, 2),
		raw("2.3.1.4/bare_returns", strings.ReplaceAll(whole("HTTP/1.1 200 OK"), "\r\n", "\r"), down, 2),
		raw("2.3.1.4/head_without_an_end", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", down, 2),
		raw("2.3.1.4/half_a_first_line", "HTTP/1.", down, 1),
		raw("2.3.1.4/a_tls_alert", "\x15\x03\x01\x00\x02\x02\x46", down, 1),
		raw("2.3.1.4/an_ssh_server", "SSH-2.0-OpenSSH_9.9\r\n", down, 1),
		raw("2.3.1.4/bytes_of_nothing", strings.Repeat("\x00", 1<<16), down, 2),
	})
}

// TestHeads sends header fields that a server should not send.
func TestHeads(t *testing.T) {
	ok := "HTTP/1.1 200 OK"
	drip := httptest.Raw(whole(ok, "X-Slow: "+strings.Repeat("s", 600))).Drip(1, 100*time.Millisecond)
	runAll(t, "head", []trial{
		raw("2.3.1.1/folded_lines", whole(ok, "X-Long: one\r\n two\r\n\tthree"), obeyed, 1),
		raw("2.3.1.1/an_empty_value", whole(ok, "X-Empty:"), obeyed, 1),
		raw("2.3.1.1/a_value_beyond_ascii", whole(ok, "X-Name: b\u00fccher \xff"), obeyed, 1),
		raw("2.3.1.1/many_small_fields", whole(ok, strings.Repeat("A: b\r\n", 1000)+"A: c"), obeyed, 1),
		raw("2.3.1.1/60_KiB_in_one_field", whole(ok, "X-Long: "+strings.Repeat("x", 60<<10)), obeyed, 1),
		raw("2.3.1.1/cookies_by_the_hundred", whole(ok, strings.Repeat("Set-Cookie: a=b; Path=/\r\n", 500)+"A: b"), obeyed, 1),
		raw("2.3.1.1/connection_fields_of_rubbish", whole(ok, "Connection: keep-alive, close, ,x\r\nKeep-Alive: max=-1"), obeyed, 1),
		raw("2.3.1.1/location_with_a_200", whole(ok, "Location: http://b.test/"), obeyed, 1),
		raw("2.3.1.1/location_with_a_201", whole("HTTP/1.1 201 Created", "Location: http://b.test/"), obeyed, 1),
		raw("2.3.1.1/refresh", whole(ok, "Refresh: 0; url=http://b.test/robots.txt"), obeyed, 1),
		raw("2.3.1.1/retry_after_with_a_200", whole(ok, "Retry-After: 100000"), obeyed, 1),
		raw("2.3.1.1/other_content_types", whole(ok, "Content-Type: image/png"), obeyed, 1),
		raw("2.3.1.1/content_type_of_rubbish", whole(ok, "Content-Type: ;;/="), obeyed, 1),
		raw("2.3.1.1/a_download", whole(ok, "Content-Disposition: attachment; filename=../../etc/passwd"), obeyed, 1),
		raw("2.3.1.1/robots_tag", whole(ok, "X-Robots-Tag: none"), obeyed, 1),
		raw("2.3.1.1/alternative_service", whole(ok, `Alt-Svc: h3=":443", h2="127.0.0.1:22"`), obeyed, 1),
		raw("2.3.1.1/upgrade_offered", whole(ok, "Upgrade: h2c\r\nConnection: upgrade"), obeyed, 1),
		raw("2.3.1.1/a_space_before_the_colon", whole(ok, "X-Odd : 1"), obeyed, 1),
		{name: "2.3.1.1/a_head_that_drips_in_time", answer: httptest.Raw(whole(ok)).Drip(4, time.Second), want: obeyed, requests: 1},

		{name: "2.3.1.4/a_head_that_drips_for_ever", answer: drip, want: down, requests: 1},
		raw("2.3.1.4/70_KiB_in_one_field", whole(ok, "X-Long: "+strings.Repeat("x", 70<<10)), down, 1),
		raw("2.3.1.4/70_KiB_in_many", whole(ok, strings.Repeat("A: b\r\n", 12_000)+"A: c"), down, 1),
		raw("2.3.1.4/a_line_without_a_colon", whole(ok, "rubbish"), down, 1),
		raw("2.3.1.4/a_field_without_a_name", whole(ok, ": nameless"), down, 1),
		raw("2.3.1.4/a_fold_at_the_start", whole(ok, " folded: first"), down, 1),
		raw("2.3.1.4/a_nul_in_a_name", whole(ok, "X-\x00: 1"), down, 1),
		raw("2.3.1.4/reset_after_the_head", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", down, 2),
	})
}

// TestInterimAnswers sends interim answers before the final one (RFC 9110, section
// 15.2).
func TestInterimAnswers(t *testing.T) {
	after := func(lines string) string { return lines + whole("HTTP/1.1 200 OK") }
	runAll(t, "interim", []trial{
		raw("2.3.1.1/100_unasked", after("HTTP/1.1 100 Continue\r\n\r\n"), obeyed, 1),
		raw("2.3.1.1/102_and_103", after("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), obeyed, 1),
		raw("2.3.1.1/199", after("HTTP/1.1 199 Odd\r\n\r\n"), obeyed, 1),
		raw("2.3.1.1/hints_with_a_location", after("HTTP/1.1 103 Early Hints\r\nLocation: http://b.test/\r\n\r\n"), obeyed, 1),
		raw("2.3.1.1/hints_with_a_length", after("HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n"), obeyed, 1),
		{name: "2.3.1.1/slow_hints_in_time", answer: text.Early(102, 3).After(5 * time.Second), want: obeyed, requests: 1},
		{name: "2.3.1.4/100_without_end", answer: text.Early(100, -1), want: down, requests: 1},
		{name: "2.3.1.4/102_without_end", answer: text.Early(102, -1), want: down, requests: 1},
		raw("2.3.1.4/101_with_rules", whole("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"), down, 1),
		raw("2.3.1.4/hints_and_no_more", "HTTP/1.1 103 Early Hints\r\n\r\n", down, 2),
	})
}

// TestLengths states the end of a body in different ways (RFC 9112, section 6.3). A
// body that is shorter than its length was cut on the way. A longer one ends at its
// length.
func TestLengths(t *testing.T) {
	head := func(lines ...string) string {
		return strings.Join(append(append([]string{"HTTP/1.1 200 OK"}, lines...), "", ""), "\r\n")
	}
	n := len(rules)
	sized := func(value string) string { return head("Content-Length: "+value) + rules }
	runAll(t, "length", []trial{
		raw("2.3.1.1/exact", sized(fmt.Sprint(n)), obeyed, 1),
		raw("2.3.1.1/leading_zeros", sized(fmt.Sprintf("%020d", n)), obeyed, 1),
		raw("2.3.1.1/twice_the_same", sized(fmt.Sprintf("%d\r\nContent-Length: %d", n, n)), obeyed, 1),
		raw("2.3.1.1/rubbish_after_the_end", sized(fmt.Sprint(n))+"Disallow: /public\n", obeyed, 1),
		raw("2.2.1/zero", sized("0"), nothing, 1),
		raw("2.2.1/shorter_than_what_is_sent", sized("14"), nothing, 1),
		raw("2.3.1.4/one_too_long", sized(fmt.Sprint(n+1)), down, 2),
		raw("2.3.1.4/a_terabyte", sized("1099511627776"), down, 2),
		raw("2.3.1.4/the_largest", sized("9223372036854775807"), down, 2),
		raw("2.3.1.4/one_more_than_the_largest", sized("9223372036854775808"), down, 1),
		raw("2.3.1.4/negative", sized("-1"), down, 1),
		raw("2.3.1.4/signed", sized(fmt.Sprintf("+%d", n)), down, 1),
		raw("2.3.1.4/hexadecimal", sized(fmt.Sprintf("0x%x", n)), down, 1),
		raw("2.3.1.4/a_fraction", sized(fmt.Sprintf("%d.0", n)), down, 1),
		raw("2.3.1.4/a_list", sized(fmt.Sprintf("%d, %d", n, n+1)), down, 1),
		raw("2.3.1.4/a_word", sized("twelve"), down, 1),
		raw("2.3.1.4/two_that_differ", sized(fmt.Sprintf("%d\r\nContent-Length: %d", n, n+1)), down, 1),
	})
}

// TestChunks sends bodies in chunks (RFC 9112, section 7.1).
func TestChunks(t *testing.T) {
	head := func(coding string) string { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + coding + "\r\n\r\n" }
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(rules), rules)
	var small strings.Builder
	for i := range len(rules) {
		fmt.Fprintf(&small, "1\r\n%c\r\n", rules[i])
	}
	runAll(t, "chunks", []trial{
		raw("2.3.1.1/one", head("chunked")+chunk+"0\r\n\r\n", obeyed, 1),
		raw("2.3.1.1/one_for_each_byte", head("chunked")+small.String()+"0\r\n\r\n", obeyed, 1),
		raw("2.3.1.1/in_capitals", head("Chunked")+strings.ToUpper(chunk[:2])+chunk[2:]+"0\r\n\r\n", obeyed, 1),
		raw("2.3.1.1/with_an_extension", head("chunked")+fmt.Sprintf("%x;a=b;c\r\n%s\r\n", len(rules), rules)+"0;last\r\n\r\n", obeyed, 1),
		raw("2.3.1.1/with_leading_zeros", head("chunked")+"000000"+chunk+"000\r\n\r\n", obeyed, 1),
		raw("2.3.1.1/with_a_trailer", head("chunked")+chunk+"0\r\nLocation: http://b.test/\r\nContent-Encoding: gzip\r\n\r\n", obeyed, 1),
		raw("2.3.1.1/rubbish_after_the_last", head("chunked")+chunk+"0\r\n\r\nDisallow: /public\n", obeyed, 1),
		raw("2.3.1.1/beside_a_length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"+chunk+"0\r\n\r\n", obeyed, 1),
		raw("2.2.1/the_last_alone", head("chunked")+"0\r\n\r\n", nothing, 1),
		raw("2.3.1.4/no_last_one", head("chunked")+chunk, down, 2),
		raw("2.3.1.4/the_last_without_its_end", head("chunked")+chunk+"0\r\n", down, 2),
		raw("2.3.1.4/cut_within_one", head("chunked")+chunk[:20], down, 2),
		raw("2.3.1.4/a_size_that_is_none", head("chunked")+chunk+"xyz\r\n", down, 2),
		raw("2.3.1.4/a_negative_size", head("chunked")+"-1\r\n"+chunk, down, 2),
		raw("2.3.1.4/a_size_without_bound", head("chunked")+strings.Repeat("f", 17)+"\r\n"+rules, down, 2),
		raw("2.3.1.4/a_size_too_large", head("chunked")+"7fffffffffffffff\r\n"+rules, down, 2),
		raw("2.3.1.4/a_size_too_small", head("chunked")+"3\r\n"+rules+"\r\n0\r\n\r\n", down, 2),
		raw("2.3.1.4/no_size_at_all", head("chunked")+rules, down, 2),
		raw("2.3.1.4/an_endless_extension", head("chunked")+"1;"+strings.Repeat("x", 1<<17), down, 2),
		raw("2.3.1.4/an_endless_trailer", head("chunked")+chunk+"0\r\n"+strings.Repeat("X-Trailer: x\r\n", 10_000), down, 2),
		raw("2.3.1.4/under_gzip_as_transfer_coding", head("gzip, chunked")+chunk+"0\r\n\r\n", down, 1),
		raw("2.3.1.4/twice", head("chunked, chunked")+chunk+"0\r\n\r\n", down, 1),
		raw("2.3.1.4/two_fields", head("chunked\r\nTransfer-Encoding: chunked")+chunk+"0\r\n\r\n", down, 1),
		raw("2.3.1.4/identity_as_transfer_coding", head("identity")+rules, down, 1),
		raw("2.3.1.4/no_coding_known", head("x-rot13")+rules, down, 1),
	})
}
