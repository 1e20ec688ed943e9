package retrieve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rfc9309/polite/internal/bounded"
	"github.com/rfc9309/polite/internal/egress"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// This file says which part of a fetch an error is from: RFC 9309, section 2.3.1.4.

// classify returns err as a *policy.Failure, whose class says which part of a fetch failed.
// If ctx has ended, the class is Timeout, unless an earlier step has named another class than
// Body. It never looks at the text of an error.
func classify(ctx context.Context, err error) *policy.Failure {
	var f *policy.Failure
	if errors.As(err, &f) && f != nil && (f.Class != policy.Body || ctx.Err() == nil) {
		return f
	}
	return &policy.Failure{Class: class(ctx, err), Err: err}
}

// class returns the class of an error of net/http, of the base, or of a function of the options.
func class(ctx context.Context, err error) policy.Class {
	var refused *egress.RefusedError
	var panicked *bounded.PanicError
	var name *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &refused):
		return policy.Egress
	case errors.As(err, &panicked):
		return policy.Other
	case ctx.Err() != nil:
		return policy.Timeout
	case errors.As(err, &name):
		return policy.DNS
	case isTLS(err):
		return policy.TLS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return policy.Timeout
	case errors.As(err, &op), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNREFUSED):
		return policy.Connect
	}
	return policy.Protocol
}

// isTLS reports whether err is a failure of the handshake or of a certificate, which a function
// of the tls.Config may have checked. An alert that the server sent is a *net.OpError whose Op
// is "remote error", and a tls.AlertError over QUIC.
func isTLS(err error) bool {
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &cert) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown) ||
		errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &op) && op.Op == "remote error"
}

// isTransient reports whether the next try may succeed after this failure.
func isTransient(f *policy.Failure) bool {
	var name *net.DNSError
	var short *cutShort
	switch f.Class {
	case policy.Connect, policy.Timeout:
		return true
	case policy.DNS:
		return errors.As(f.Err, &name) && !name.IsNotFound
	case policy.Body: // an error of the coding is final
		return errors.As(f.Err, &short) || errors.Is(f.Err, io.ErrUnexpectedEOF)
	}
	return false
}

// FailTurn ends a turn and reports that its request failed, unless the request was not made, or a
// function of the options is the reason.
func FailTurn(turn pace.Turn, err error) {
	switch f := classify(context.Background(), err); f.Class {
	case policy.Sign, policy.Egress, policy.Other:
		turn.Done()
	default:
		turn.Fail(errors.New(f.Class.String()))
	}
}
