package retrieve_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frames is the server's side of an HTTP/2 connection. If a write fails, the client
// has closed the connection, so only gone reports errors.
type frames struct {
	*http2.Framer
	conn net.Conn
	gone chan struct{} // closed when the client is
}

// fields returns a header block of alternating names and values.
func fields(pairs ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		e.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // never fails on a buffer
	}
	return b.Bytes()
}

// head begins the answer. end says whether the answer ends with it.
func (f *frames) head(id uint32, end bool, pairs ...string) {
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(pairs...), EndHeaders: true, EndStream: end})
}

// ok begins an answer with status 200.
func (f *frames) ok(id uint32) { f.head(id, false, ":status", "200") }

// raw writes a frame that a framer would refuse to write.
func (f *frames) raw(kind http2.FrameType, flags http2.Flags, id uint32, payload string) {
	n := len(payload)
	b := append([]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(kind), byte(flags)}, binary.BigEndian.AppendUint32(nil, id)...)
	f.conn.Write(append(b, payload...))
}

// until repeats f until the client has closed the connection.
func (f *frames) until(do func() error) {
	for do() == nil {
		select {
		case <-f.gone:
			return
		default:
		}
	}
}

// speakHTTP2 serves connections. After the settings, the script answers the first
// request, whose stream number it gets. With bare, the connection begins with the
// script.
func speakHTTP2(config *tls.Config, bare bool, script func(f *frames, id uint32)) func(net.Conn) {
	return func(below net.Conn) {
		conn := tls.Server(below, config)
		if conn.Handshake() != nil {
			return
		}
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := &frames{Framer: http2.NewFramer(conn, conn), conn: conn, gone: make(chan struct{})}
		f.AllowIllegalWrites = true
		asked := make(chan uint32, 100)
		go func() { // ends with the connection
			defer close(f.gone)
			for {
				frame, err := f.ReadFrame()
				if err != nil {
					return
				}
				if h, ok := frame.(*http2.HeadersFrame); ok {
					asked <- h.StreamID
				}
			}
		}()
		if !bare {
			f.WriteSettings()
		}
		select {
		case id := <-asked:
			script(f, id)
		case <-f.gone:
		}
		conn.Close()
		<-f.gone
	}
}

// TestFrames sends HTTP/2 answers that no server should send (RFC 9113). An answer
// that breaks the rules or breaks off is no answer. A whole one is.
func TestFrames(t *testing.T) {
	server, client := identity(t)
	server.NextProtos = []string{"h2"}
	long := fmt.Sprint(len(rules) + 10)
	wait := func(f *frames) { <-f.gone }
	for _, tt := range []struct {
		name   string
		want   string
		bare   bool
		script func(f *frames, id uint32)
	}{
		{"2.3.1.1/whole", obeyed, false, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, true, []byte(rules)) }},
		{"2.3.1.1/byte_by_byte", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			for i := range len(rules) {
				f.WriteData(id, i == len(rules)-1, []byte(rules[i:i+1]))
			}
		}},
		{"2.3.1.1/padded", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteDataPadded(id, false, nil, make([]byte, 255))
			f.WriteDataPadded(id, true, []byte(rules), make([]byte, 255))
		}},
		{"2.3.1.1/ended_by_an_empty_frame", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.WriteData(id, true, nil)
		}},
		{"2.3.1.1/ended_by_a_trailer", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.head(id, true, "x-checksum", "1")
		}},
		{"2.3.1.1/head_in_pieces", obeyed, false, func(f *frames, id uint32) {
			block := fields(":status", "200", "x-long", strings.Repeat("x", 1000))
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1]})
			f.WriteContinuation(id, true, block[1:])
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.1/pings_between", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			for range 100 {
				f.WritePing(false, [8]byte{})
			}
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.1/settings_between", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0}, http2.Setting{ID: 0xfff, Val: 1})
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.1/frames_of_an_unknown_kind", obeyed, false, func(f *frames, id uint32) {
			f.raw(0xbe, 0xff, 0, "what is this")
			f.ok(id)
			f.raw(0xbe, 0xff, id, "what is this")
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.1/farewell_that_lets_it_end", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteGoAway(id, http2.ErrCodeNo, nil)
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.1/reset_after_the_end", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, true, []byte(rules))
			f.WriteRSTStream(id, http2.ErrCodeNo)
			wait(f)
		}},
		{"2.2.1/ended_by_its_head", nothing, false, func(f *frames, id uint32) { f.head(id, true, ":status", "200") }},
		{"2.3.1.3/missing", nothing, false, func(f *frames, id uint32) { f.head(id, true, ":status", "404") }},

		{"2.3.1.4/ended_by_its_head_with_a_length", down, false, func(f *frames, id uint32) { f.head(id, true, ":status", "200", "content-length", long) }},
		{"2.3.1.4/shorter_than_its_length", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "content-length", long)
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.4/longer_than_its_length", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "content-length", "14")
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.4/no_settings", down, true, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, true, []byte(rules)) }},
		{"2.3.1.4/http_1_in_reply", down, true, func(f *frames, _ uint32) { io.WriteString(f.conn, whole("HTTP/1.1 200 OK")) }},
		{"2.3.1.4/rubbish_in_reply", down, true, func(f *frames, _ uint32) { io.WriteString(f.conn, strings.Repeat("rubbish", 10_000)) }},
		{"2.3.1.4/silence", down, true, func(f *frames, _ uint32) { wait(f) }},
		{"2.3.1.4/settings_and_silence", down, false, func(f *frames, _ uint32) { wait(f) }},
		{"2.3.1.4/head_and_silence", down, false, func(f *frames, id uint32) { f.ok(id); wait(f) }},
		{"2.3.1.4/silence_within", down, false, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, false, []byte(rules)); wait(f) }},
		{"2.3.1.4/closed_within", down, false, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, false, []byte(rules)) }},
		{"2.3.1.4/closed_at_once", down, false, func(*frames, uint32) {}},
		{"2.3.1.4/refused_stream", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeRefusedStream); wait(f) }},
		{"2.3.1.4/reset_internal_error", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeInternal); wait(f) }},
		{"2.3.1.4/reset_no_error", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeNo); wait(f) }},
		{"2.3.1.4/reset_enhance_your_calm", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeEnhanceYourCalm); wait(f) }},
		{"2.3.1.4/reset_http_1_required", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeHTTP11Required); wait(f) }},
		{"2.3.1.4/reset_of_an_unknown_code", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, 0xffffffff); wait(f) }},
		{"2.3.1.4/reset_within", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.WriteRSTStream(id, http2.ErrCodeNo)
			wait(f)
		}},
		{"2.3.1.4/farewell_at_once", down, false, func(f *frames, _ uint32) { f.WriteGoAway(0, http2.ErrCodeNo, nil); wait(f) }},
		{"2.3.1.4/farewell_with_an_error", down, false, func(f *frames, id uint32) { f.WriteGoAway(id, http2.ErrCodeProtocol, []byte("\x1b[31m")); wait(f) }},
		{"2.3.1.4/farewell_within", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.WriteGoAway(id, http2.ErrCodeNo, nil)
		}},
		{"2.3.1.4/data_before_the_head", down, false, func(f *frames, id uint32) { f.WriteData(id, true, []byte(rules)); wait(f) }},
		{"2.3.1.4/no_status", down, false, func(f *frames, id uint32) {
			f.head(id, false, "x-status", "200")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/status_of_letters", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "abc")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/status_000", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "000")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/status_1000", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "1000")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/status_negative", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "-20")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/two_statuses", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", ":status", "404")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/status_after_a_field", down, false, func(f *frames, id uint32) {
			f.head(id, false, "x-first", "1", ":status", "200")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/an_unknown_pseudo_field", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", ":odd", "1")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/a_name_in_capitals", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "X-Odd", "1")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/a_line_end_in_a_value", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "x-odd", "1\r\nx-two: 2")
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/101", down, false, func(f *frames, id uint32) { f.head(id, true, ":status", "101"); wait(f) }},
		{"2.3.1.4/103_that_ends", down, false, func(f *frames, id uint32) { f.head(id, true, ":status", "103"); wait(f) }},
		{"2.3.1.4/a_second_head", down, false, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, false, []byte(rules)); f.ok(id); wait(f) }},
		{"2.3.1.4/a_head_that_is_not_hpack", down, false, func(f *frames, id uint32) {
			f.raw(http2.FrameHeaders, 0x4, id, "\xff\xff\xff\xff\xff\xff\xff")
			wait(f)
		}},
		{"2.3.1.4/a_head_of_100_KiB", down, false, func(f *frames, id uint32) {
			var big []string
			for i := range 100 {
				big = append(big, fmt.Sprint("x-", i), strings.Repeat("x", 1<<10))
			}
			block := fields(append([]string{":status", "200"}, big...)...)
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:10_000]})
			for block = block[10_000:]; len(block) > 0; block = block[min(10_000, len(block)):] {
				f.WriteContinuation(id, len(block) <= 10_000, block[:min(10_000, len(block))])
			}
			f.WriteData(id, true, []byte(rules))
			wait(f)
		}},
		{"2.3.1.4/a_head_without_end", down, false, func(f *frames, id uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200")})
			f.until(func() error { return f.WriteContinuation(id, false, fields("x-more", strings.Repeat("x", 1000))) })
		}},
		{"2.3.1.4/continued_on_another_stream", down, false, func(f *frames, id uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(":status", "200")})
			f.WriteContinuation(id+2, true, nil)
			wait(f)
		}},
		{"2.3.1.4/a_frame_over_its_limit", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.raw(http2.FrameData, 1, id, strings.Repeat("#", 1<<20))
			wait(f)
		}},
		{"2.3.1.4/padding_over_its_frame", down, false, func(f *frames, id uint32) { f.ok(id); f.raw(http2.FrameData, 9, id, "\xff"+rules); wait(f) }},
		{"2.3.1.4/a_push", down, false, func(f *frames, id uint32) {
			f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, BlockFragment: fields(":method", "GET"), EndHeaders: true})
			wait(f)
		}},
		{"2.3.1.4/a_window_of_nothing", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00")
			wait(f)
		}},
		{"2.3.1.4/a_ping_of_the_wrong_size", down, false, func(f *frames, id uint32) { f.ok(id); f.raw(http2.FramePing, 0, 0, "ping"); wait(f) }},
		{"2.3.1.4/settings_that_cannot_be", down, false, func(f *frames, id uint32) {
			f.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1})
			f.ok(id)
			wait(f)
		}},
		{"2.3.1.4/data_on_a_stream_of_nobody", down, false, func(f *frames, id uint32) { f.WriteData(id+100, true, []byte(rules)); wait(f) }},
		{"2.3.1.4/pings_without_end", down, false, func(f *frames, id uint32) {
			f.until(func() error { time.Sleep(10 * time.Millisecond); return f.WritePing(false, [8]byte{}) })
		}},
		{"2.3.1.4/empty_data_without_end", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.until(func() error { time.Sleep(10 * time.Millisecond); return f.WriteData(id, false, nil) })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, dials := wire(speakHTTP2(server, tt.bare, tt.script))
				base.TLSClientConfig = client
				trial{want: tt.want}.hold(t, over(base), secure)
				if n := dials.Load(); n > mostDials {
					t.Errorf("got  %d connections for one retrieval, want at most %d", n, mostDials)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}
