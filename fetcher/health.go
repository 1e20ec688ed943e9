package fetcher

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// patience is how long a request must have been under way for the deadline of its
// caller to count as a timeout of the host.
const patience = time.Second

// failTurn reports to a turn that its request failed, if the host or the way to it is
// the reason.
func failTurn(turn pace.Turn, f *policy.Failure) {
	switch f.Class {
	case policy.DNS, policy.Connect, policy.TLS, policy.Timeout, policy.Protocol, policy.Body:
		turn.Fail(f.Class.String())
	}
}

// A pacedPage is a page request under way with its turn. It is the body of the answer,
// too.
type pacedPage struct {
	io.ReadCloser // of the answer

	turn   pace.Turn
	began  time.Time // set if the caller has a deadline
	caller *http.Request
	trace  httptrace.ClientTrace
	upload upload      // body of the request
	wrote  atomic.Bool // the request went out
	closed atomic.Bool // the caller wants no more of the answer
}

// written reports to the turn that the request has been written.
func (p *pacedPage) written(httptrace.WroteRequestInfo) {
	p.wrote.Store(true)
	p.turn.Sent()
}

// fail reports a failed page to its turn. A caller that left, whose own body could not
// be read, or whose request cannot be sent is not the host's fault.
func (p *pacedPage) fail(err error) {
	ctx := p.caller.Context()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		if time.Since(p.began) >= patience {
			p.turn.Fail(policy.Timeout.String())
		}
		return
	case ctx.Err() != nil, errors.Is(err, context.Canceled), canceled(p.caller), p.upload.failed.Load():
		return
	}
	f := classify(context.Background(), err)
	if f.Class != policy.Protocol || p.wrote.Load() {
		failTurn(p.turn, f)
	}
}

// canceled reports whether the deprecated Request.Cancel is closed.
func canceled(req *http.Request) bool {
	select {
	//lint:ignore SA1019 net/http honours it as well
	case <-req.Cancel:
		return true
	default:
		return false
	}
}

// Read ends the turn with the body.
func (p *pacedPage) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err == nil {
		return n, nil
	}
	if err != io.EOF && !p.closed.Load() {
		p.fail(&policy.Failure{Class: policy.Body, Err: err})
	}
	p.turn.Done()
	return n, err
}

// Close ends the turn.
func (p *pacedPage) Close() error {
	p.closed.Store(true)
	defer p.turn.Done()
	return p.ReadCloser.Close()
}

// An upload is the body of a request. It remembers that it could not be read.
type upload struct {
	io.ReadCloser
	failed atomic.Bool
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	if err != nil && err != io.EOF {
		u.failed.Store(true)
	}
	return n, err
}
