package httptest

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many octets one direction of a connection holds before its writer waits, as a TCP window would.
// A flood therefore costs the memory of one window, however long it lasts.
const window = 16 << 10

// A link is what the two ends of one connection share: its number, and the moment either end lets go of it.
type link struct {
	web  *Web
	id   int
	once sync.Once
	gone chan struct{} // closed when either end has closed or reset the connection
	bye  func()        // called once, just before gone is closed
}

func (l *link) end() {
	l.once.Do(func() {
		l.bye()
		close(l.gone)
	})
}

// A conn is one end of a connection in memory. It waits on condition variables alone, so a goroutine blocked
// in it is durably blocked in the sense of testing/synctest, and virtual time passes over it.
type conn struct {
	*link
	in, out       *half
	local, remote net.Addr
}

// pipe returns the two ends of a new connection.
func pipe(l *link, client, server net.Addr) (c, s *conn) {
	up, down := newHalf(), newHalf()
	return &conn{link: l, in: down, out: up, local: client, remote: server},
		&conn{link: l, in: up, out: down, local: server, remote: client}
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// wrap gives an error the shape that package net gives it: everything but io.EOF is a *net.OpError.
func (c *conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, err)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close ends both directions. The peer reads what is under way and then io.EOF.
func (c *conn) Close() error {
	c.out.finish(io.EOF, net.ErrClosed)
	c.in.abandon(net.ErrClosed, syscall.EPIPE)
	c.end()
	return nil
}

// CloseWrite ends the outgoing direction alone.
func (c *conn) CloseWrite() error {
	c.out.finish(io.EOF, syscall.EPIPE)
	return nil
}

// reset ends the connection as a TCP reset does. Unlike TCP, it never overtakes octets sent before it, so that
// what the peer has read when it meets the error is the same in every run.
func (c *conn) reset() {
	c.out.finish(syscall.ECONNRESET, syscall.ECONNRESET)
	c.in.abandon(syscall.ECONNRESET, syscall.ECONNRESET)
	c.end()
}

func (c *conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readBy, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeBy, t)
	return nil
}

// A half carries octets one way. Every change of its state is made under mu and followed by a broadcast.
type half struct {
	mu              sync.Mutex
	wake            *sync.Cond
	buf             bytes.Buffer
	drained         error // what the reader gets once buf is empty; nil while more may come
	readErr         error // what the reader gets at once
	writeErr        error // what the writer gets at once
	readBy, writeBy deadline
}

// A deadline is a point in time and the timer that wakes those who wait for it.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func newHalf() *half {
	h := new(half)
	h.wake = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.readErr != nil:
			return 0, h.readErr
		case h.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case h.buf.Len() > 0:
			h.wake.Broadcast()
			return h.buf.Read(p)
		case h.drained != nil:
			return 0, h.drained
		}
		h.wake.Wait()
	}
}

func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch room := window - h.buf.Len(); {
		case h.writeErr != nil:
			return n, h.writeErr
		case h.writeBy.passed():
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		case room > 0:
			some := min(room, len(p)-n)
			h.buf.Write(p[n : n+some])
			n += some
			h.wake.Broadcast()
		default:
			h.wake.Wait()
		}
	}
}

// finish is the writer's farewell: the reader drains the buffer and then gets last, the writer gets own from now on.
// The first farewell stands, so that a Close after a reset does not soften it.
func (h *half) finish(last, own error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drained == nil {
		h.drained = last
	}
	h.writeErr = own
	h.wake.Broadcast()
}

// abandon is the reader's farewell: what is under way is lost, the reader gets own and the writer gets peer from now on.
func (h *half) abandon(own, peer error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Reset()
	h.readErr = own
	if h.writeErr == nil {
		h.writeErr = peer
	}
	h.wake.Broadcast()
}

// setDeadline moves d, which belongs to h. The zero time removes it.
func (h *half) setDeadline(d *deadline, t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.at = t
	if wait := time.Until(t); !t.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, h.rouse)
	}
	h.wake.Broadcast()
}

// rouse wakes those who wait, to look at their deadline again. The lock keeps it from slipping between look and wait.
func (h *half) rouse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake.Broadcast()
}
