package httptest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Hang reads the request and never answers.
func Hang() Step {
	return Handler(func(_ http.ResponseWriter, r *http.Request) { wait(r, forever) })
}

// Reset reads the request and resets the connection.
func Reset() Step {
	return Handler(func(_ http.ResponseWriter, r *http.Request) {
		connOf(r).reset()
		panic(http.ErrAbortHandler)
	})
}

// Close reads the request and closes the connection without an answer.
func Close() Step {
	return Handler(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Raw sends these bytes instead of an answer and closes the connection. The methods that shape a body apply to the bytes.
// It fails the test over HTTP/2, like every step that breaks the framing of HTTP/1.1.
func Raw(answer string) Step {
	return Step{body: []byte(answer), wire: func(Step) []byte { return nil }}
}

// Flood is 200 with an endless body that repeats line.
func Flood(line string) Step {
	s := Text("")
	s.stream = func(w io.Writer) error { return repeat(w, line, -1) }
	return s
}

// GzipBomb is 200 with a body of size bytes after decompression, and about a hundredth of that before. The body is computed
// while it is sent, so that its size costs no memory.
func GzipBomb(size int64) Step {
	s := Text("").Header("Content-Encoding", "gzip")
	s.stream = func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		must(err)
		if err := repeat(z, "# bomb\n", size); err != nil {
			return err
		}
		return z.Close()
	}
	return s
}

// repeat writes line again and again, in blocks, until size bytes are written. If size is negative it never ends.
func repeat(w io.Writer, line string, size int64) error {
	block := bytes.Repeat([]byte(line), 1+4096/len(line))
	for size != 0 {
		if size > 0 && size < int64(len(block)) {
			block = block[:size]
		}
		n, err := w.Write(block)
		if err != nil {
			return err
		}
		if size > 0 {
			size -= int64(n)
		}
	}
	return nil
}

// EndlessHeader is 200 with a header that never ends.
func EndlessHeader() Step {
	s := Raw("")
	s.wire = func(Step) []byte { return []byte("HTTP/1.1 200 OK\r\n") }
	s.stream = func(w io.Writer) error { return repeat(w, "X-Flood: "+strings.Repeat("f", 80)+"\r\n", -1) }
	return s
}

// HeaderFlood adds header fields with a total of at least size bytes.
func (s Step) HeaderFlood(size int) Step {
	const width = 1000
	s.fields = slices.Clone(s.fields)
	for n := 0; n*width < size; n++ {
		s.fields = append(s.fields, field{name: fmt.Sprintf("X-Flood-%d", n), value: strings.Repeat("f", width)})
	}
	return s
}

// Cut closes the connection after n bytes of the body. Over HTTP/2 it ends the stream with an error. With [Step.HTTP10]
// the end of the connection is the end of the body, and the client cannot tell that the body was cut.
func (s Step) Cut(n int) Step { return s.ending(cutOff, n) }

// ResetAfter resets the connection after the header and n bytes of the body.
func (s Step) ResetAfter(n int) Step { return s.ending(tornOff, n) }

// HangAfter sends nothing more after the header and n bytes of the body.
func (s Step) HangAfter(n int) Step { return s.ending(hangsOff, n) }

func (s Step) ending(e ending, n int) Step {
	s.end, s.keep = e, n
	return s
}

// Drip sends the body in pieces of n bytes with a gap between them.
func (s Step) Drip(n int, gap time.Duration) Step {
	s.piece, s.gap = n, gap
	return s
}

// Length declares this length instead of the true one, and closes the connection after the body. The value need not be a
// number.
func (s Step) Length(value string) Step {
	s.wire = func(s Step) []byte { return s.head("HTTP/1.1", "Content-Length: "+value) }
	return s
}

// HTTP10 answers in HTTP/1.0: the body ends with the connection.
func (s Step) HTTP10() Step {
	s.wire = func(s Step) []byte { return s.head("HTTP/1.0") }
	return s
}

// BrokenChunk sends the body as one chunk, followed by bytes that are not a chunk.
func (s Step) BrokenChunk() Step {
	s.wire = func(s Step) []byte { return s.head("HTTP/1.1", "Transfer-Encoding: chunked") }
	s.frame = func(p []byte) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\nnot hexadecimal\r\n", len(p), p) }
	return s
}

// sendEarly sends the interim answers of the step, each with a field of a kibibyte. If the client closes the connection,
// the server may still be writing an HTTP/2 frame, so sendEarly does not change the header then.
func (s Step) sendEarly(w http.ResponseWriter, r *http.Request) {
	if s.times == 0 {
		return
	}
	w.Header().Set("Link", "</"+strings.Repeat("f", 1<<10)+">; rel=preload")
	for n := 0; n != s.times; n++ {
		w.WriteHeader(s.early)
		if clientGone(r) {
			panic(http.ErrAbortHandler)
		}
	}
	w.Header().Del("Link")
}

// head returns the head of an answer that the server would not send. It ends with the lines in more.
func (s Step) head(proto string, more ...string) []byte {
	text := http.StatusText(s.status)
	if text == "" {
		text = "Odd"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %d %s\r\n", proto, s.status, text)
	for _, f := range s.fields {
		if !f.absent {
			fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
		}
	}
	for _, line := range append(more, "") {
		b.WriteString(line + "\r\n")
	}
	return b.Bytes()
}
