package ftp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"time"

	"github.com/jlaffaye/ftp"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/policy"
)

// This file has the connections of one request.

const (
	// dialTime bounds the time to make one connection.
	dialTime = 30 * time.Second
	// maxReplies bounds the replies to one request, in bytes. The client reads a line
	// of any length.
	maxReplies = 64 << 10
	// maxQuote bounds a text in an error, in bytes.
	maxQuote = 200
	// maxText bounds an error without a code, in bytes. It is longer than an error of
	// the network, which has a host name.
	maxText = 600
)

// session makes one request. Its connections close when ctx ends.
type session struct {
	req       *http.Request
	ctx       context.Context
	end       context.CancelFunc // ends ctx
	client    *ftp.ServerConn    // nil until the server is ready
	control   *control           // the control connection; nil until it is made
	requested bool               // the data connection is made; the next command is RETR
}

// open logs in and requests the file. The size is -1 if the server does not report it.
func (s *session) open(address string) (file *ftp.Response, size int64, err error) {
	defer func() {
		if v := recover(); v != nil { // the client panics on some replies to PASV
			err = fmt.Errorf("a reply that cannot be read: %v", v)
		}
	}()
	// A server that has UTF-8 has it without OPTS, too (RFC 2640, section 3.1).
	s.client, err = ftp.Dial(address, ftp.DialWithDialFunc(s.dial), ftp.DialWithTrustPasvIP(false), ftp.DialWithDisabledUTF8(true))
	if err != nil {
		return nil, 0, err
	}
	if f := s.trace().GotFirstResponseByte; f != nil {
		f()
	}
	if err := s.client.Login(login(s.req)); err != nil {
		return nil, 0, s.withCode(err)
	}
	name := fileName(s.req.URL.Path)
	if size, err = s.client.FileSize(name); err != nil || size < 0 {
		size = -1
	}
	file, err = s.client.Retr(name)
	return file, size, err
}

// dial makes the control connection, and then the data connection. The client gives the
// address of the control connection for both.
func (s *session) dial(network, address string) (net.Conn, error) {
	trace := s.trace()
	if s.control == nil && trace.GetConn != nil {
		trace.GetConn(address)
	}
	conn, err := (&net.Dialer{Timeout: dialTime}).DialContext(s.ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(s.ctx, func() { conn.Close() })
	if s.control != nil {
		s.requested = true
		return conn, nil
	}
	s.control = &control{Conn: conn, left: maxReplies}
	if trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: conn}) // may end the context
	}
	if trace.WroteRequest != nil {
		trace.WroteRequest(httptrace.WroteRequestInfo{}) // its commands begin
	}
	return s.control, s.ctx.Err()
}

// trace returns the hooks of the request.
func (s *session) trace() *httptrace.ClientTrace {
	return cmp.Or(httptrace.ContextClientTrace(s.ctx), &httptrace.ClientTrace{})
}

// status returns the status that a reply stands for (RFC 959, section 4.2), 0 if the
// reply is no answer.
func (s *session) status(code int) int {
	switch {
	case s.client == nil, s.control.err != nil: // the server was not ready, or the reply broke off
	case (code == 530 || code == 332) && s.serves(): // not logged in, need an account
		return http.StatusUnauthorized
	case code == 550 && s.requested: // no such file
		return http.StatusNotFound
	}
	return 0
}

// serves reports whether the server keeps the connection after its last reply. One that
// refuses a login does. One that has no room may say so with 530 instead of 421, and
// closes the connection.
func (s *session) serves() bool {
	err := s.client.NoOp()
	code, _ := s.reply(err)
	return s.control.err == nil && (err == nil || code > 0 && code/100 != 4)
}

// withCode returns an error of the login with the code of the reply: the client's error
// for USER has none.
func (s *session) withCode(err error) error {
	if code, _ := s.reply(err); code > 0 || s.control.code() == 0 {
		return err
	}
	return &textproto.Error{Code: s.control.code(), Msg: err.Error()}
}

// reply returns the code and the text of the reply that an error is about. The code is 0
// if the error is about none.
func (s *session) reply(err error) (code int, text string) {
	var reply *textproto.Error
	if errors.As(err, &reply) {
		return reply.Code, reply.Msg
	}
	return 0, ""
}

// failure returns the error of a request that has no answer. A reply of 400 to 499, or of
// a server that has no room, may be another at the next try.
func (s *session) failure(err error) error {
	code, _ := s.reply(err)
	switch err = s.described(err); {
	case s.req.Context().Err() != nil:
		return context.Cause(s.req.Context())
	case code == 0:
		return err
	case code/100 == 4, code == 530:
		return &policy.Failure{Class: policy.Connect, Err: err}
	}
	return &policy.Failure{Class: policy.Protocol, Err: err}
}

// described returns an error with the server's text quoted and bounded.
func (s *session) described(err error) error {
	code, text := s.reply(err)
	var unreadable textproto.ProtocolError
	switch {
	case code > 0:
		return fmt.Errorf("ftp: the server replied %d %s", code, clean.Quote(text, maxQuote))
	case errors.As(err, &unreadable):
		return errors.New("ftp: " + clean.Text(err.Error(), maxQuote))
	case s.control != nil && s.control.err != nil:
		err = s.control.err // err may be part of a reply
	}
	if shown := clean.Text(err.Error(), maxText); shown != err.Error() { // a reply that came before its command
		return errors.New("ftp: " + shown)
	}
	return fmt.Errorf("ftp: %w", err)
}

// control is the control connection. It bounds the replies, and keeps the beginning of
// the last one.
type control struct {
	net.Conn
	left  int    // bytes of replies that may still be read
	reply []byte // at most four bytes, the first since the last command
	err   error  // of the last Read
}

// errReplies ends a session whose server replies without end.
var errReplies = &policy.Failure{Class: policy.Protocol, Err: fmt.Errorf("more than %d bytes of replies", maxReplies)}

func (c *control) Write(p []byte) (int, error) {
	c.reply = nil
	return c.Conn.Write(p)
}

func (c *control) Read(p []byte) (n int, err error) {
	defer func() { c.err = err }()
	if c.left == 0 {
		return 0, errReplies
	}
	n, err = c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	c.reply = append(c.reply, p[:min(n, 4-len(c.reply))]...)
	return n, err
}

// code returns the code of the last reply, 0 unless all of it came.
func (c *control) code() int {
	if c.err != nil || len(c.reply) < 4 || c.reply[3] != ' ' && c.reply[3] != '-' {
		return 0
	}
	n, _ := strconv.Atoi(string(c.reply[:3]))
	return n
}

// body is a file that is being sent. It ends well only if the server reports that all of
// it was sent.
type body struct {
	session *session
	file    *ftp.Response
	size    int64 // bytes that the server announced, -1 if it did not
	read    int64 // bytes that were read
	err     error // the result of every further Read
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.file.Read(p)
	b.read += int64(n)
	if err == io.EOF {
		err = b.complete()
	}
	if err != nil {
		b.err = b.result(err)
		b.Close()
	}
	return n, b.err
}

// complete reads the reply that follows the file, and returns io.EOF if all of it came.
func (b *body) complete() error {
	err := b.file.Close()
	code, _ := b.session.reply(err)
	switch {
	case err != nil && code/100 != 2: // 250 says the same as 226, which the client expects
		return err
	case b.read < b.size:
		return fmt.Errorf("%d of %d bytes: %w", b.read, b.size, io.ErrUnexpectedEOF)
	}
	b.session.client.Quit()
	return io.EOF
}

// result returns the error with which a body ends.
func (b *body) result(err error) error {
	ctx := b.session.req.Context()
	switch {
	case err == io.EOF:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &policy.Failure{Class: policy.Body, Err: b.session.described(err)}
}

// Close closes the connections, also while the file is being sent.
func (b *body) Close() error {
	b.session.end()
	return nil
}
