package fetcher

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rfc9309/polite/pace"
)

// turnTime bounds how long a retrieval of robots.txt waits for the host's turn.
// It is longer than any pause after a 429 or 503.
const turnTime = 20 * time.Minute

// firstTurn waits for the turn to ask for robots.txt. The wait is not part of the
// retrieval's budget: a host that wants a minute between requests is not down.
// Callers leave when they like; see reachable.
func (e *engine) firstTurn(key string) (pace.Turn, error) {
	if e.pacer == nil {
		return pace.Turn{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), turnTime)
	defer cancel()
	return e.pacer.Wait(ctx, key, 0)
}

// reachable is ctx's error, or a *pace.RefusedError if the host's turn is known
// to come only after ctx has ended. A retrieval that has its turn can be joined.
func (e *engine) reachable(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	if e.pacer == nil || !ok {
		return nil
	}
	if f, ok := e.aloft.Load(key); ok && f.(*flight).asking.Load() {
		return nil
	}
	if at, why := e.pacer.Peek(key, 0); !at.Before(deadline) {
		return &pace.RefusedError{Authority: key, RetryAt: at, Reason: why}
	}
	return nil
}

// pacedTrip makes a page request when it is its turn. A turn that comes too late
// is a refusal with Defer and RetryAt.
func (t *Transport) pacedTrip(req *http.Request, key string) (*http.Response, error) {
	var delay time.Duration
	if rec, ok := t.memory.Get(key); ok {
		if f := rec.File(); f != nil {
			delay, _ = f.CrawlDelay(t.token)
		}
	}
	turn, err := t.pacer.Wait(req.Context(), key, delay)
	var refused *pace.RefusedError
	switch {
	case errors.As(err, &refused) && t.opts.Audit:
		d := t.paced(addressed(req), refused)
		t.told(req.Context(), d)
		return t.base.RoundTrip(req)
	case errors.As(err, &refused):
		closeBody(req)
		d := t.paced(addressed(req), refused)
		t.told(req.Context(), d)
		return t.refusal(req, d)
	case err != nil:
		closeBody(req)
		return nil, err
	}
	return inTurn(t.base, req, turn)
}

// inTurn makes a request that has its turn, which ends with the answer's body,
// or with the request if there is none to read.
func inTurn(base http.RoundTripper, req *http.Request, turn pace.Turn) (*http.Response, error) {
	held := false
	defer func() {
		if !held {
			turn.Done()
		}
	}()
	resp, err := base.RoundTrip(req)
	if err != nil || resp == nil {
		return resp, err
	}
	turn.Answer(resp.StatusCode, resp.Header)
	// The body of a 101 is a connection now, not an answer.
	if resp.Body == nil || resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil
	}
	held = true
	resp.Body = &pacedBody{ReadCloser: resp.Body, done: sync.OnceFunc(turn.Done)}
	return resp, nil
}

// pacedBody ends the turn when the body has been read to its end or is closed.
type pacedBody struct {
	io.ReadCloser
	done func()
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.done()
	}
	return n, err
}

func (b *pacedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
