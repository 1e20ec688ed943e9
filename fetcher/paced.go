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
// Callers leave when they like; see inTime.
func (e *engine) firstTurn(key string) (*pace.Turn, error) {
	if e.pacer == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), turnTime)
	defer cancel()
	return e.pacer.Wait(ctx, key, 0)
}

// inTime is ctx's error, or a *pace.RefusedError if the host's turn is known to
// come only after ctx has ended.
func (e *engine) inTime(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	if e.pacer == nil || !ok {
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
	if err != nil {
		closeBody(req)
		var refused *pace.RefusedError
		if !errors.As(err, &refused) {
			return nil, err
		}
		d := t.paced(req.URL, refused)
		t.watch.decided(req.Context(), d)
		return t.refusal(req, d)
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		turn.Done()
		return nil, err
	}
	turn.Answer(resp.StatusCode, resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		turn.Done() // the body is a connection now, not an answer
		return resp, nil
	}
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
