package httptest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pipeEnds returns the two ends of a connection without a web.
func pipeEnds(t *testing.T) (client, server *conn) {
	l := &link{gone: make(chan struct{}), onEnd: func() {}}
	client, server = pipe(l, &net.TCPAddr{Port: 1}, &net.TCPAddr{Port: 2})
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestConnCarriesMoreThanItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pipeEnds(t)
		sent := bytes.Repeat([]byte("0123456789"), window)
		go func() {
			server.Write(sent)
			server.CloseWrite()
		}()
		synctest.Wait() // the writer waits for the reader
		got, err := io.ReadAll(client)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("got %d bytes, %v, want the %d sent", len(got), err, len(sent))
		}
		if n, err := client.Write([]byte("back")); n != 4 || err != nil {
			t.Errorf("the other direction: got %d, %v, want 4, nil", n, err)
		}
	})
}

func TestConnDeadlines(t *testing.T) {
	flood := make([]byte, 2*window)
	for _, row := range []struct {
		name string
		set  func(*conn, time.Time) error
		do   func(*conn) (int, error)
		n    int
	}{
		{"read", (*conn).SetReadDeadline, func(c *conn) (int, error) { return c.Read(make([]byte, 1)) }, 0},
		{"write", (*conn).SetWriteDeadline, func(c *conn) (int, error) { return c.Write(flood) }, window},
		{"both_read", (*conn).SetDeadline, func(c *conn) (int, error) { return c.Read(make([]byte, 1)) }, 0},
		{"both_write", (*conn).SetDeadline, func(c *conn) (int, error) { return c.Write(flood) }, window},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := pipeEnds(t)
				began := time.Now()
				row.set(client, began.Add(time.Hour))
				go func() {
					time.Sleep(time.Minute)
					row.set(client, began.Add(2*time.Hour)) // while the other goroutine waits
				}()
				n, err := row.do(client)
				if after := time.Since(began); n != row.n || !errors.Is(err, os.ErrDeadlineExceeded) || after != 2*time.Hour {
					t.Errorf("got %d, %v after %v, want %d, %v after 2h", n, err, after, row.n, os.ErrDeadlineExceeded)
				}
				row.set(client, began) // a deadline in the past
				if _, err := row.do(client); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 2*time.Hour {
					t.Errorf("past deadline: got %v, want %v at once", err, os.ErrDeadlineExceeded)
				}
			})
		})
	}
}

func TestConnEnds(t *testing.T) {
	for _, row := range []struct {
		name               string
		end                func(client, server *conn)
		readErr, writeErr  error // errors of the client
		serverRead, server error // errors of the server's Read and Write
	}{
		{"server_closes", func(_, s *conn) { s.Close() }, io.EOF, syscall.EPIPE, net.ErrClosed, net.ErrClosed},
		{"server_closes_writing", func(_, s *conn) { s.CloseWrite() }, io.EOF, nil, nil, syscall.EPIPE},
		{"server_resets", func(_, s *conn) { s.reset() }, syscall.ECONNRESET, syscall.ECONNRESET, syscall.ECONNRESET, syscall.ECONNRESET},
		{"server_resets_then_closes", func(_, s *conn) { s.reset(); s.Close() }, syscall.ECONNRESET, syscall.ECONNRESET, net.ErrClosed, net.ErrClosed},
		{"client_closes", func(c, _ *conn) { c.Close() }, net.ErrClosed, net.ErrClosed, io.EOF, syscall.EPIPE},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := pipeEnds(t)
				server.Write([]byte("sent before"))
				row.end(client, server)
				if row.readErr != net.ErrClosed {
					if got := make([]byte, 20); true {
						n, err := client.Read(got)
						if string(got[:n]) != "sent before" || err != nil {
							t.Errorf("client reads: got %q, %v, want what was sent before", got[:n], err)
						}
					}
				}
				_, err := client.Read(make([]byte, 1))
				checkError(t, "client reads", err, row.readErr)
				_, err = client.Write([]byte("x"))
				checkError(t, "client writes", err, row.writeErr)
				_, err = server.Read(make([]byte, 1))
				checkError(t, "server reads", err, row.serverRead)
				_, err = server.Write([]byte("x"))
				checkError(t, "server writes", err, row.server)
			})
		})
	}
}

func checkError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
	if op := new(net.OpError); want != nil && want != io.EOF && !errors.As(got, &op) {
		t.Errorf("%s: got %T, want a %T", what, got, op)
	}
}
