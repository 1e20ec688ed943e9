package lines

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestNext reads streams to their end, in one read and one byte at a time.
func TestNext(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, tt := range []struct {
		name, in, want string // the lines, each with a bar behind it; a long one is "LONG"
	}{
		{"nothing", "", ""},
		{"one", "a", "a|"},
		{"ends", "a\nb\r\nc\n", "a|b|c|"},
		{"empty_lines", "\n\r\n\na", "|||a|"},
		{"at_the_bound", strings.Repeat("x", 9) + "\ny", "xxxxxxxxx|y|"},
		{"over_the_bound", strings.Repeat("x", 11) + "\ny", "LONG|y|"},
		{"over_the_buffer", long + "\ny", "LONG|y|"},
		{"long_without_end", "y\n" + long, "y|LONG|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				l := New(r, 10)
				got, n := "", 0
				for {
					line, err := l.Next()
					if err == io.EOF {
						break
					}
					if n++; err == ErrLong {
						line = []byte("LONG")
					} else if err != nil {
						t.Fatal(err)
					}
					got += string(line) + "|"
				}
				if got != tt.want || l.N != n || l.Read != int64(len(tt.in)) {
					t.Errorf("got  %q, line %d, %d bytes\nwant %q, line %d, %d bytes", got, l.N, l.Read, tt.want, n, len(tt.in))
				}
			}
		})
	}
}

func TestError(t *testing.T) {
	broken := errors.New("broken")
	l := New(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 10)
	if line, err := l.Next(); string(line) != "a" || err != nil {
		t.Errorf("got %q, %v; want a", line, err)
	}
	if line, err := l.Next(); line != nil || err != broken {
		t.Errorf("got %q, %v; want %v", line, err, broken)
	}
}
