package docs_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/internal/httptest"
	"github.com/rfc9309/polite/pace"
)

// says reports whether a page has a sentence, wherever its lines break.
func says(t *testing.T, page, sentence string) bool {
	t.Helper()
	return strings.Contains(strings.Join(strings.Fields(readPage(t, page)), " "), sentence)
}

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
		{"longest_crawl_delay", []string{"http://a.example"}, 4, "User-agent: *\nCrawl-delay: 100\n", nil, 6000 * time.Second, "A Crawl-delay is obeyed up to a minute"},
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
			if !says(t, "../README.md", test.says) {
				t.Errorf("the README does not say %q", test.says)
			}
		})
	}
}

// TestMaxWait checks what the guide says of MaxWait: how long 64 workers take for a page from each
// of 2,000 hosts, which go back to the queue until RetryAt when they are deferred.
func TestMaxWait(t *testing.T) {
	for _, test := range []struct {
		maxWait, want time.Duration
		says          string // in the page on operation
	}{
		{time.Second, 33600 * time.Millisecond, "33.6 s"},
		{100 * time.Millisecond, 3150 * time.Millisecond, "3.15 s"},
	} {
		t.Run(fmt.Sprintf("6/%v", test.maxWait), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const hosts, workers = 2000, 64
				tr, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
					Base: slowSites{}, Pace: &pace.Limits{Gap: time.Second, Parallel: 1, MaxWait: test.maxWait},
				})
				if err != nil {
					t.Fatal(err)
				}
				queue := make(chan string, hosts)
				for i := range hosts {
					queue <- fmt.Sprintf("http://site-%d.example/", i)
				}
				began := time.Now()
				var left atomic.Int64
				left.Store(hosts)
				var crawl sync.WaitGroup
				for range workers {
					crawl.Go(func() {
						for page := range queue {
							resp, err := (&http.Client{Transport: tr}).Get(page)
							var denied *fetcher.DeniedError
							if errors.As(err, &denied) {
								time.AfterFunc(time.Until(denied.Decision.RetryAt), func() { queue <- denied.Decision.URL })
								continue
							}
							if err != nil {
								t.Error(err)
							} else {
								resp.Body.Close()
							}
							if left.Add(-1) == 0 {
								close(queue)
							}
						}
					})
				}
				crawl.Wait()
				if got := time.Since(began); got != test.want {
					t.Errorf("got %v, want %v", got, test.want)
				}
			})
			if !says(t, "operations.md", test.says) {
				t.Errorf("operations.md does not say %q", test.says)
			}
		})
	}
}

// slowSites is a web without robots.txt, whose answers take 50 ms.
type slowSites struct{}

func (slowSites) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(50 * time.Millisecond)
	status := http.StatusOK
	if req.URL.Path == "/robots.txt" {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
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
