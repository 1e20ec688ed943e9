package retrieve_test

import (
	"bytes"
	"crypto/tls"
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

// TestFrames ends HTTP/2 answers in each way that has an effect of its own, and sends what
// has no end. An answer that breaks off is no answer. x/net tests the framing itself.
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
		{"2.3.1.1/ended_by_a_trailer", obeyed, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.head(id, true, "x-checksum", "1")
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
		{"2.3.1.4/shorter_than_its_length", down, false, func(f *frames, id uint32) {
			f.head(id, false, ":status", "200", "content-length", long)
			f.WriteData(id, true, []byte(rules))
		}},
		{"2.3.1.4/http_1_in_reply", down, true, func(f *frames, _ uint32) { io.WriteString(f.conn, whole("HTTP/1.1 200 OK")) }},
		{"2.3.1.4/settings_and_silence", down, false, func(f *frames, _ uint32) { wait(f) }},
		{"2.3.1.4/silence_within", down, false, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, false, []byte(rules)); wait(f) }},
		{"2.3.1.4/closed_within", down, false, func(f *frames, id uint32) { f.ok(id); f.WriteData(id, false, []byte(rules)) }},
		{"2.3.1.4/refused_stream", down, false, func(f *frames, id uint32) { f.WriteRSTStream(id, http2.ErrCodeRefusedStream); wait(f) }},
		{"2.3.1.4/reset_within", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.WriteRSTStream(id, http2.ErrCodeNo)
			wait(f)
		}},
		{"2.3.1.4/farewell_with_an_error", down, false, func(f *frames, id uint32) { f.WriteGoAway(id, http2.ErrCodeProtocol, []byte("\x1b[31m")); wait(f) }},
		{"2.3.1.4/farewell_within", down, false, func(f *frames, id uint32) {
			f.ok(id)
			f.WriteData(id, false, []byte(rules))
			f.WriteGoAway(id, http2.ErrCodeNo, nil)
		}},
		{"2.3.1.4/101", down, false, func(f *frames, id uint32) { f.head(id, true, ":status", "101"); wait(f) }},
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
