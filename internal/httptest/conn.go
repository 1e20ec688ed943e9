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

// window is how many bytes one direction of a connection buffers before its writer waits, like a TCP window.
// So an endless body takes the memory of one window.
const window = 16 << 10

// A link is the state that the two ends of a connection share: its number, and whether an end has closed it.
type link struct {
	web   *Web
	id    int
	once  sync.Once
	gone  chan struct{} // closed when either end has closed or reset the connection
	onEnd func()        // called once, just before gone is closed
}

func (l *link) end() {
	l.once.Do(func() {
		l.onEnd()
		close(l.gone)
	})
}

// A conn is one end of a connection in memory. It waits only on condition variables, so a goroutine that waits in it is
// durably blocked in the sense of testing/synctest, and virtual time passes.
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

// wrap returns an error as package net returns it: a *net.OpError, or io.EOF.
func (c *conn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, err)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close ends both directions. The peer reads what was sent and then io.EOF.
func (c *conn) Close() error {
	c.out.finish(io.EOF, net.ErrClosed)
	c.in.abandon(net.ErrClosed, syscall.EPIPE)
	c.end()
	return nil
}

// CloseWrite ends only the outgoing direction.
func (c *conn) CloseWrite() error {
	c.out.finish(io.EOF, syscall.EPIPE)
	return nil
}

// reset ends the connection like a TCP reset. Unlike a TCP reset it never overtakes bytes that were sent before, so that
// the peer reads the same bytes before the error in every run.
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

// A half carries bytes in one direction. Every change of its state happens under mu and is followed by a broadcast.
type half struct {
	mu              sync.Mutex
	wake            *sync.Cond
	buf             bytes.Buffer
	drained         error // error for the reader when buf is empty, or nil if more bytes may come
	readErr         error // error for the reader even if buf is not empty
	writeErr        error // error for the writer
	readBy, writeBy deadline
}

// A deadline is a point in time and the timer that wakes the waiting goroutines then.
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

// finish ends writing. The reader reads the rest of the buffer and then gets the error last. The writer gets the error
// own from now on. Only the first call sets last, so a Close after a reset does not hide the reset.
func (h *half) finish(last, own error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drained == nil {
		h.drained = last
	}
	h.writeErr = own
	h.wake.Broadcast()
}

// abandon ends reading. The buffer is lost. From now on the reader gets the error own and the writer the error peer.
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
		d.timer = time.AfterFunc(wait, h.wakeAll)
	}
	h.wake.Broadcast()
}

// wakeAll wakes the waiting goroutines, which then check their deadlines. It takes the lock, so that it does not come
// between the check and the wait of such a goroutine.
func (h *half) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake.Broadcast()
}
