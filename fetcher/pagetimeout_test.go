package fetcher_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// TestPageTimeout bounds pages by ten seconds from their turn, which comes 15 seconds after
// robots.txt if requests are paced.
func TestPageTimeout(t *testing.T) {
	for _, tt := range []struct {
		name string
		page httptest.Step
		took time.Duration // from the turn to the error or to the end of the body
		want bool          // the page times out
	}{
		{"in_time", page.After(9 * time.Second), 9 * time.Second, false},
		{"no_body", httptest.Status(204).After(9 * time.Second), 9 * time.Second, false},
		{"head", httptest.Hang(), 10 * time.Second, true},
		{"body", page.HangAfter(2), 10 * time.Second, true},
		{"slow_body", httptest.Text("0123456789abcdef").Drip(1, time.Second), 10 * time.Second, true},
	} {
		for how, limits := range map[string]pace.Limits{"paced": {Gap: 15 * time.Second, Failures: 1}, "unpaced": *pace.Unlimited()} {
			t.Run("4.7/"+tt.name+"_"+how, func(t *testing.T) {
				inPace(t, limits, fetcher.Options{PageTimeout: 10 * time.Second}, func(p *paced) {
					p.web.Site(site).Robots(open).Path("/*", tt.page)
					p.tr.Check(p.t.Context(), must(public))
					ctx, cancel := context.WithTimeout(p.t.Context(), day)
					defer cancel()
					resp, err := p.get(ctx, public)
					if err == nil {
						_, err = io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
					turn := p.start.Add(limits.Gap)
					if took := time.Since(turn); (err != nil) != tt.want || took != tt.took {
						t.Fatalf("got  %v after %v, want a timeout: %t after %v", err, took, tt.want, tt.took)
					}
					if !tt.want {
						return
					}
					if e := net.Error(nil); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) || !e.Timeout() || !strings.Contains(err.Error(), "Options.PageTimeout (10s)") {
						t.Errorf("got  %v, want a timeout that names Options.PageTimeout", err)
					}
					d, err := p.tr.Check(ctx, must(public))
					if rests := strings.Contains(d.Pacing, "(timeout)"); err != nil || rests != (how == "paced") {
						t.Errorf("the next request: %q, %v; want the host to rest after a timeout", d.Pacing, err)
					}
				})
			})
		}
	}
}

// A page that is closed early, or that its caller leaves, is no timeout of its host.
func TestPageTimeoutThatDoesNotCount(t *testing.T) {
	for name, leave := range map[string]func(cancel func(), resp *http.Response){
		"closed":    func(_ func(), resp *http.Response) { resp.Body.Close() },
		"cancelled": func(cancel func(), _ *http.Response) { cancel() },
		"unread":    func(func(), *http.Response) {},
	} {
		t.Run("4.7/"+name, func(t *testing.T) {
			inPace(t, pace.Limits{Failures: 1}, fetcher.Options{PageTimeout: 10 * time.Second}, func(p *paced) {
				p.web.Site(site).Robots(open).Path("/*", page.HangAfter(2))
				ctx, cancel := context.WithCancel(p.t.Context())
				defer cancel()
				resp, err := p.get(ctx, public)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				leave(cancel, resp)
				time.Sleep(11 * time.Second)
				d, err := p.tr.Check(p.t.Context(), must(public))
				if n := p.tr.Stats().Pace.InFlight; n != 0 || err != nil || d.Pacing != "" {
					t.Errorf("%d in flight; the next request: %q, %v; want 0, and no wait", n, d.Pacing, err)
				}
			})
		})
	}
}
