package inspect

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/browsertest"
)

// pictureBase is a web of shops. For ten minutes, until 20 minutes before the end, every other
// robots.txt is answered with 503. It opens no connection.
type pictureBase struct{ end time.Time }

func (b pictureBase) RoundTrip(r *http.Request) (*http.Response, error) {
	var n int
	fmt.Sscanf(r.URL.Host, "shop-%d.example.com", &n)
	time.Sleep(time.Duration(80+n) * time.Millisecond)
	w := httptest.NewRecorder()
	w.Header().Set("Cache-Control", fmt.Sprintf("max-age=%d", 900+7*n))
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, time.Now().Unix()/5400))
	left := time.Until(b.end)
	switch {
	case n%2 == 0 && 20*time.Minute < left && left < 30*time.Minute:
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusServiceUnavailable)
	case n%17 == 0:
		w.WriteHeader(http.StatusNotFound)
	case r.Header.Get("If-None-Match") == w.Header().Get("ETag"):
		w.WriteHeader(http.StatusNotModified)
	default:
		fmt.Fprint(w, shopRobots)
	}
	return w.Result(), nil
}

// picturePage crawls for three hours and returns the page with two of its parts.
func picturePage(t *testing.T) (html string, lastHour []bucket, sinceStart fetcher.Stats) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)))
		end := time.Now().Add(3 * time.Hour)
		page := New(nil)
		ft, err := fetcher.New(agent, &fetcher.Options{Base: pictureBase{end}, Attempts: 1, Trace: page.Trace(nil)})
		if err != nil {
			t.Fatal(err)
		}
		paths := []string{"/", "/tea/green", "/search?q=tea", "/private/press/kit.pdf", "/blog/2026/11", "/search/help", "/tea/black?page=2", "/private/"}
		for i := 0; time.Now().Before(end); i++ {
			minutes := time.Until(end).Minutes()
			shop := i*37%160 + int(180-minutes)*2 // two new shops a minute
			checkURL(t, ft, fmt.Sprintf("https://shop-%03d.example.com%s", shop, paths[i*7/5%len(paths)]))
			time.Sleep(time.Duration(180+40*math.Sin(minutes/9)) * time.Millisecond)
		}
		html = readBody(t, sendRequest(page.Handler(ft), "GET", "/debug/polite/", ""))
		lastHour, sinceStart = page.history.series(0, time.Now()), ft.Stats()
	})
	return html, lastHour, sinceStart
}

// TestPicture checks that the numbers of the page agree with each other, and takes the pictures of
// the README if POLITE_SCREENSHOTS names a folder for them and POLITE_CHROMIUM a browser:
//
//	POLITE_CHROMIUM=chromium POLITE_SCREENSHOTS=$PWD/docs/img go test ./inspect -run TestPicture
func TestPicture(t *testing.T) {
	html, lastHour, s := picturePage(t)
	var decided, retrieved int64
	for _, b := range lastHour {
		decided += b.Allowed + b.Disallowed + b.Deferred
		retrieved += b.Retrieved + b.Renewed + b.Unavailable + b.Unreachable
	}
	if total := s.Allowed + s.Disallowed + s.Deferred; decided == 0 || decided >= total || retrieved == 0 || retrieved >= s.Retrievals {
		t.Errorf("in the last of three hours: got %d decisions and %d retrievals\nwant fewer than the %d and %d since start", decided, retrieved, total, s.Retrievals)
	}
	dir := os.Getenv("POLITE_SCREENSHOTS")
	if dir == "" {
		return
	}
	b := browsertest.New(t)
	for scheme, name := range map[string]string{"light": "page.png", "dark": "page-dark.png"} {
		b.SetWindow(1180, 1016, scheme)
		b.Visit("data:text/html;charset=utf-8," + strings.ReplaceAll(url.QueryEscape(html), "+", "%20"))
		b.Eval(`document.documentElement.style.overflow = "hidden"`, nil) // no scroll bar
		b.Screenshot(filepath.Join(dir, name), false)
	}
}
