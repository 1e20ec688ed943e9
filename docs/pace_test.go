package docs_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// TestReadmePace checks what the README says of the time that a crawl takes: 100 pages
// of each host, by so many goroutines for each.
func TestReadmePace(t *testing.T) {
	slower := pace.Default()
	slower.Gap = time.Second
	for _, test := range []struct {
		name       string
		hosts      []string
		goroutines int
		robots     string
		limits     *pace.Limits
		want       time.Duration
		says       string // in the README
	}{
		{"one_host", []string{"http://a.example"}, 1, "", nil, 50 * time.Second, "So 100 pages of one host take 50 seconds"},
		{"many_goroutines", []string{"http://a.example"}, 8, "", nil, 50 * time.Second, "however many goroutines you use"},
		{"two_hosts", []string{"http://a.example", "http://b.example"}, 1, "", nil, 50 * time.Second, "Hosts do not wait for each other."},
		{"a_crawl_delay", []string{"http://a.example"}, 4, "User-agent: *\nCrawl-delay: 10\n", nil, 1000 * time.Second, "with 10 seconds, 100 pages take 17 minutes"},
		{"longest_crawl_delay", []string{"http://a.example"}, 4, "User-agent: *\nCrawl-delay: 100\n", nil, 6000 * time.Second, "A\nCrawl-delay is obeyed up to a minute"},
		{"this_machine", []string{"http://127.0.0.1:8080"}, 1, "", nil, 0, "Hosts of this machine have no gap"},
		{"another_gap", []string{"http://a.example"}, 1, "", slower, 100 * time.Second, "limits.Gap = time.Second"},
		{"off", []string{"http://a.example"}, 1, "", pace.Unlimited(), 0, "`pace.Unlimited()` turns pacing off"},
	} {
		t.Run("6/"+test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := httptest.New(t)
				for _, host := range test.hosts {
					web.Site(host).Robots(httptest.Text(test.robots))
				}
				tr, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: web.Transport(), Pace: test.limits})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var crawl sync.WaitGroup
				for _, host := range test.hosts {
					for worker := range test.goroutines {
						crawl.Go(func() { visit(t, tr, host, worker, test.goroutines) })
					}
				}
				crawl.Wait()
				if got := time.Since(began); got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
			})
			if !strings.Contains(readPage(t, "../README.md"), test.says) {
				t.Errorf("the README does not say %q", test.says)
			}
		})
	}
}

// visit fetches every nth of 100 pages.
func visit(t *testing.T, tr *fetcher.Transport, host string, first, n int) {
	client := &http.Client{Transport: tr}
	for i := first; i < 100; i += n {
		resp, err := client.Get(fmt.Sprintf("%s/%d", host, i))
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
