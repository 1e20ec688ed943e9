package retrieve_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/rfc9309/polite/internal/httptest"
)

// utf16Of returns s in UTF-16 after a byte order mark.
func utf16Of(s string, order binary.AppendByteOrder) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// TestTexts sends files as bad editors write them (RFC 9309, sections 2.2 and
// 2.3.1.5). Nothing in a complete file is an error.
func TestTexts(t *testing.T) {
	file := func(name, body, want string) trial {
		return trial{name: name, answer: httptest.Text(body), want: want, requests: 1}
	}
	typed := func(name, kind, body, want string) trial {
		return trial{name: name, answer: httptest.Text(body).Header("Content-Type", kind), want: want, requests: 1}
	}
	returns := strings.ReplaceAll(rules, "\n", "\r")
	runAll(t, "texts", []trial{
		file("2.3/byte_order_mark", "\xef\xbb\xbf"+rules, obeyed),
		file("2.3/utf-16_little_end_first", utf16Of(rules, binary.LittleEndian), obeyed),
		file("2.3/utf-16_big_end_first", utf16Of(rules, binary.BigEndian), obeyed),
		file("2.3/utf-16_with_an_byte_missing", strings.TrimSuffix(utf16Of(rules+"#", binary.LittleEndian), "\x00"), obeyed),
		file("2.2/bare_returns", returns, obeyed),
		file("2.2/returns_and_line_feeds", strings.ReplaceAll(rules, "\n", "\r\n"), obeyed),
		file("2.2/line_feeds_and_returns", strings.ReplaceAll(rules, "\n", "\n\r"), obeyed),
		file("2.2/no_last_line_end", strings.TrimSuffix(rules, "\n"), obeyed),
		file("2.2/white_space_everywhere", " \tUser-agent \t: * \nDisallow\t:\t/private \t\n", obeyed),
		file("2.2/keywords_in_capitals", strings.ToUpper(rules[:11])+rules[11:], obeyed),
		file("2.3.1.5/nul_bytes_before", "\x00\x00\n"+rules, obeyed),
		file("2.3.1.5/rubbish_before", strings.Repeat("\x80\xff\x00rubbish\n", 1000)+rules, obeyed),
		file("2.3.1.5/rubbish_between", "User-agent: *\n\x00\xff\x80\nDisallow /public\n: :\nDisallow: /private\n", obeyed),
		file("2.3.1.5/a_line_of_500_KB_before", "# "+strings.Repeat("x", 500_000)+"\n"+rules, obeyed),
		file("2.3.1.5/a_line_of_500_KB_after", rules+"Disallow: /"+strings.Repeat("x", 500_000), obeyed),
		file("2.3.1.5/a_token_of_400_KB", "User-agent: "+strings.Repeat("x", 400_000)+"\nDisallow: /\n"+rules, obeyed),
		file("2.3.1.5/a_hundred_thousand_stars", rules+"Disallow: /"+strings.Repeat("*", 100_000)+"x$\n", obeyed),
		file("2.3.1.5/forty_thousand_groups", strings.Repeat("User-agent: a\n", 30_000)+"Disallow: /\n"+rules, obeyed),
		file("2.3.1.5/escapes_of_a_terminal", "\x1b]0;title\x07\x1b[2J\n"+rules, obeyed),
		file("2.3.1.5/a_page_with_rules_in_it", "<html><pre>\n"+rules+"</pre></html>", obeyed),
		file("2.2.4/sitemaps_by_the_thousand", strings.Repeat("Sitemap: http://example.com/s.xml\n", 10_000)+rules, obeyed),
		file("2.2.1/nul_bytes_alone", strings.Repeat("\x00", 10_000), nothing),
		file("2.2.1/gzip_without_a_word", gzipped(rules), nothing),
		file("2.2.1/json", `{"error":"not found"}`, nothing),
		file("2.2.1/a_soft_404", "<!DOCTYPE html><title>404</title>Not found", nothing),
		file("2.2.1/rules_before_any_group", "Disallow: /\n", nothing),
		file("2.2.1/a_group_of_another", "User-agent: OtherBot\nDisallow: /\n", nothing),
		typed("2.3.1.1/latin1_announced", "text/plain; charset=iso-8859-1", "# \xfcber\n"+rules, obeyed),
		typed("2.3.1.1/utf-16_announced_but_not_sent", "text/plain; charset=utf-16", rules, obeyed),
		typed("2.3.1.1/no_type", "", rules, obeyed),
		typed("2.3.1.1/octet_stream", "application/octet-stream", rules, obeyed),
		typed("2.3.1.1/html", "text/html", rules, obeyed),
		typed("2.3.1.1/gzip_as_a_type", "application/gzip", rules, obeyed),
		typed("2.2.1/multipart", "multipart/mixed; boundary=x", "--x\r\n\r\n--x--", nothing),
	})
}

// TestCodings checks the names of content codings (RFC 9110, section 8.4). An
// unknown coding is never guessed, whatever the bytes look like.
func TestCodings(t *testing.T) {
	z := gzipped(rules)
	named := func(name, body, want string, requests int, codings ...string) trial {
		return trial{name: name, answer: coded(body, codings...), want: want, requests: requests}
	}
	table := []trial{
		named("2.3.1.1/gzip_in_capitals", z, obeyed, 1, "GZIP"),
		named("2.3.1.1/spaces_around", z, obeyed, 1, " gzip "),
		named("2.3.1.1/gzip_twice", gzipped(z), obeyed, 1, "gzip, gzip"),
		named("2.3.1.1/gzip_in_two_fields", gzipped(z), obeyed, 1, "gzip", "gzip"),
		named("2.3.1.1/identity_and_gzip", z, obeyed, 1, "identity, gzip"),
		named("2.3.1.1/an_empty_name", rules, obeyed, 1, ""),
		named("2.3.1.1/commas_alone", rules, obeyed, 1, " , ,"),
		named("2.3.1.1/two_members", gzipped(rules[:20])+gzipped(rules[20:]), obeyed, 1, "gzip"),
		named("2.3.1.1/an_empty_member_first", gzipped("")+z, obeyed, 1, "gzip"),
		named("2.5/a_bomb_in_a_bomb", gzipped(gzipped(strings.Repeat("\x00", 4<<20))), nothing, 1, "gzip, gzip"),
		named("2.3.1.4/gzip_once_said_twice", z, down, 1, "gzip, gzip"),
		named("2.3.1.4/gzip_with_a_weight", z, down, 1, "gzip;q=1"),
		named("2.3.1.4/gzip_head_alone", z[:10], down, 2, "gzip"),
		named("2.3.1.4/one_byte", "\x1f", down, 2, "gzip"),
		named("2.3.1.4/gzip_without_its_checksum", z[:len(z)-8], down, 2, "gzip"),
		named("2.3.1.4/gzip_with_another_length", z[:len(z)-4]+"\x00\x00\x00\x01", down, 1, "gzip"),
		named("2.3.1.4/a_second_member_cut", z+gzipped("Disallow: /public\n")[:15], down, 2, "gzip"),
		named("2.3.1.4/zeros_after_gzip", z+"\x00\x00\x00\x00", down, 2, "gzip"),
	}
	for _, coding := range []string{"br", "zstd", "compress", "x-compress", "bzip2", "lzma", "exi", "aws-chunked", "utf-8", "none", "*", "chunked"} {
		table = append(table, named("2.3.1.4/unknown/"+coding, rules, down, 1, coding))
	}
	table = append(table, named("2.3.1.4/unknown/a_kibibyte", rules, down, 1, strings.Repeat("x", 1<<10)))
	runAll(t, "codings", table)
}
