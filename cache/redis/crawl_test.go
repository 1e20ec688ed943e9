//go:build unix

package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// The tests of a cluster and of sentinels use the store as crawlers do. Eight processes, this test binary started
// again for each, crawl some sites through package fetcher while servers fail.

// workerErrand is the variable in which a crawling process finds its errand.
const workerErrand = "POLITE_TEST_WORKER_ERRAND"

// An errand is what one crawling process does until its input ends.
type errand struct {
	Name   string
	Store  string
	Origin string
	Sites  []string
	Gap    time.Duration
}

// A diary is what a crawling process prints at its end.
type diary struct {
	Sent     map[string]time.Time // when each request was written, by its serial number
	Losses   []loss
	Failures int64  // calls of the store that failed
	Unshared uint64 // requests at the pace of this process alone
}

// A loss is a report that the fleet's pace is lost, or without an error that it is found again.
type loss struct {
	At    time.Time
	Error string
}

// A scribe is the base of a crawling process. It sends each request to the origin, whatever its host, and records
// when the request was written.
type scribe struct {
	origin *url.URL
	name   string

	mu    sync.Mutex
	diary diary
}

// serialHeader names a request.
const serialHeader = "Serial"

func (s *scribe) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	serial := fmt.Sprint(s.name, ".", len(s.diary.Sent))
	s.diary.Sent[serial] = time.Time{}
	s.mu.Unlock()
	out := req.Clone(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.diary.Sent[serial] = time.Now()
	}}))
	out.Header.Set(serialHeader, serial)
	out.Host, out.URL.Scheme, out.URL.Host = req.URL.Host, s.origin.Scheme, s.origin.Host
	return http.DefaultTransport.RoundTrip(out)
}

// record records a report of the pace.
func (s *scribe) record(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.diary.Losses = append(s.diary.Losses, loss{time.Now(), fmt.Sprint(err)})
}

// TestCrawlWorker is one process of a crawl. It asks each site for pages, also for those that are not allowed, and
// drops its copy of a robots.txt now and then, so that it needs the store.
func TestCrawlWorker(t *testing.T) {
	text := os.Getenv(workerErrand)
	if text == "" {
		t.Skip("a process of the tests of clusters and sentinels; no test by itself")
	}
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	s := &scribe{origin: mustParse(e.Origin), name: e.Name, diary: diary{Sent: map[string]time.Time{}}}
	tr, err := fetcher.New("ExampleBot/1.0", &fetcher.Options{
		Store: opened(t, e.Store, nil), Base: s, Pace: &pace.Limits{Gap: e.Gap, Parallel: 1}, Trace: &fetcher.Trace{Fleet: s.record},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, site := range e.Sites {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				switch i % 4 {
				case 1:
					visitPage(ctx, tr, site+"/private")
				case 3:
					tr.Invalidate(ctx, mustParse(site))
				default:
					visitPage(ctx, tr, site+"/page")
				}
			}
		})
	}
	io.Copy(io.Discard, os.Stdin)
	cancel()
	wg.Wait()
	stats := tr.Stats()
	s.mu.Lock() // a fetch for a caller that has left may still be under way
	defer s.mu.Unlock()
	s.diary.Failures, s.diary.Unshared = stats.StoreFailures, stats.Pace.Unshared
	json.NewEncoder(os.Stdout).Encode(&s.diary)
}

func mustParse(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// visitPage asks for one page.
func visitPage(ctx context.Context, tr *fetcher.Transport, page string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		panic(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		<-time.After(5 * time.Millisecond) // it is not allowed
		return
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

const (
	crawlers   = 8
	crawlGap   = 150 * time.Millisecond
	closedSite = "http://closed.test" // its robots.txt cannot be fetched, so nothing of it is allowed

	// settled is how long after the end of a failover the fleet may need until it has its whole rate again.
	settled = 5 * time.Second
	// measured is how long its rate is measured then.
	measured = 3 * time.Second
)

// openSites are on two of three masters of a cluster, with all that the pace keeps of them: the first four on the
// first master, the last two on the second.
var openSites = []string{"http://c.test", "http://f.test", "http://site3.test", "http://site4.test", "http://a.test", "http://b.test"}

// An arrival is a request as the origin sees it.
type arrival struct {
	at                 time.Time
	site, path, serial string
}

// A webLog is the origin of all sites, and logs what arrives.
type webLog struct {
	t      *testing.T
	began  time.Time
	store  string
	origin string
	inputs []io.Closer // of the processes

	running  sync.WaitGroup
	mu       sync.Mutex
	arrivals []arrival
	diaries  []diary
}

func (l *webLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	site := "http://" + r.Host
	l.mu.Lock()
	l.arrivals = append(l.arrivals, arrival{time.Now(), site, r.URL.Path, r.Header.Get(serialHeader)})
	l.mu.Unlock()
	switch {
	case r.URL.Path != "/robots.txt":
		io.WriteString(w, "a page")
	case site == closedSite:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		io.WriteString(w, "User-agent: *\nDisallow: /private\n")
	}
}

// beginCrawl starts the processes. It returns when each of them has made a request, and has had time to learn how
// many they are.
func beginCrawl(t *testing.T, store string) *webLog {
	t.Helper()
	l := &webLog{t: t, began: time.Now(), store: store}
	web := httptest.NewServer(l)
	t.Cleanup(web.Close)
	l.origin = web.URL
	for i := range crawlers {
		l.launch(fmt.Sprint(i))
	}
	l.await("each process has made a request", func() bool {
		named := map[string]bool{}
		for _, a := range l.arrivals {
			name, _, _ := strings.Cut(a.serial, ".")
			named[name] = true
		}
		return len(named) == crawlers
	})
	<-time.After(2500 * time.Millisecond) // a process asks how many they are once in a second
	return l
}

// await returns when ok does, which looks at what has arrived.
func (l *webLog) await(what string, ok func() bool) {
	l.t.Helper()
	for end := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		l.mu.Lock()
		done := ok()
		l.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(end) {
			l.t.Errorf("waited a minute until %s", what)
			return
		}
	}
}

// launch starts a process. It ends when its input is closed.
func (l *webLog) launch(name string) {
	l.t.Helper()
	text, err := json.Marshal(errand{name, l.store, l.origin, append([]string{closedSite}, openSites...), crawlGap})
	if err != nil {
		l.t.Fatal(err)
	}
	worker := exec.CommandContext(l.t.Context(), os.Args[0], "-test.run=^TestCrawlWorker$", "-test.timeout=5m")
	worker.Env = append(os.Environ(), workerErrand+"="+string(text))
	var out bytes.Buffer
	worker.Stdout, worker.Stderr = &out, &out
	in, err := worker.StdinPipe()
	if err == nil {
		err = worker.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.inputs = append(l.inputs, in)
	l.running.Go(func() {
		err := worker.Wait()
		var d diary
		json.NewDecoder(&out).Decode(&d)
		if err != nil || d.Sent == nil {
			l.t.Errorf("a crawling process: %v\n%.2000s", err, &out)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.diaries = append(l.diaries, d)
	})
}

// A failover is the time from the death of a server until another has taken its place, and when the crawl ended.
type failover struct {
	failed, healed, ended time.Time
}

// inTrouble reports whether a moment is after the failure and before the fleet is to have its whole rate again.
func (f failover) inTrouble(at time.Time) bool {
	return at.After(f.failed) && at.Before(f.healed.Add(settled))
}

// finish lets the crawl run until the rate after a failover is measured and each site is visited again, ends it and
// checks all promises.
func (l *webLog) finish(f failover) {
	<-time.After(time.Until(f.healed.Add(settled + measured)))
	l.await("each site is visited after a failover", func() bool {
		visited := map[string]bool{}
		for _, a := range l.arrivals {
			visited[a.site] = visited[a.site] || !f.inTrouble(a.at) && a.at.After(f.healed)
		}
		return !slices.ContainsFunc(openSites, func(site string) bool { return !visited[site] })
	})
	f.ended = time.Now()
	for _, in := range l.inputs {
		in.Close()
	}
	l.running.Wait()
	slices.SortFunc(l.arrivals, func(a, b arrival) int { return a.at.Compare(b.at) })
	for _, d := range l.diaries {
		l.t.Logf("a process: %d requests, %d at its own pace, %d failures of the store", len(d.Sent), d.Unshared, d.Failures)
	}
	l.t.Logf("failed after %v, healed after %v", f.failed.Sub(l.began), f.healed.Sub(l.began))
	l.t.Run("7/nothing_that_is_not_allowed", l.checkAllowed)
	trouble := f.healed.Add(settled)
	l.t.Run("6/limits_before_a_server_is_down", func(t *testing.T) { l.checkLimits(t, l.began, f.failed) })
	l.t.Run("6/limits_while_a_server_is_down", func(t *testing.T) { l.checkLimits(t, f.failed, trouble) })
	l.t.Run("6/limits_after_a_failover", func(t *testing.T) { l.checkLimits(t, trouble, f.ended) })
	l.t.Run("6/gap", func(t *testing.T) { l.checkGap(t, f) })
	l.t.Run("6/rate_after_a_failover", func(t *testing.T) { l.checkRate(t, f) })
}

// checkAllowed fails the test if anything arrived that is not allowed.
func (l *webLog) checkAllowed(t *testing.T) {
	for _, a := range l.arrivals {
		if a.path == "/private" || a.site == closedSite && a.path != "/robots.txt" {
			t.Errorf("%s%s was fetched after %v, though it is not allowed", a.site, a.path, a.at.Sub(l.began))
		}
	}
}

// bySite returns what arrived at each open site.
func (l *webLog) bySite() map[string][]arrival {
	sites := map[string][]arrival{}
	for _, a := range l.arrivals {
		if a.site != closedSite {
			sites[a.site] = append(sites[a.site], a)
		}
	}
	return sites
}

// checkGap compares each two arrivals with the gap. The log of an arrival may be late, so the earlier of the two
// counts from when its process had written it. On a busy machine a process may be wrong about the store's clock by
// more than the gap, or lose the store for a moment, so only a quiet machine is required to keep it.
func (l *webLog) checkGap(t *testing.T, f failover) {
	if os.Getenv(measureAll) == "" {
		t.Skip("measured with", measureAll)
	}
	sent := map[string]time.Time{}
	for _, d := range l.diaries {
		for _, loss := range d.Losses {
			if loss.Error != "<nil>" && !f.inTrouble(loss.At) {
				t.Errorf("the pace was lost after %v: %s; want it kept but for the failover", loss.At.Sub(l.began), loss.Error)
			}
		}
		for serial, at := range d.Sent {
			sent[serial] = at
		}
	}
	shortest := time.Hour
	for site, arrivals := range l.bySite() {
		for i := 1; i < len(arrivals); i++ {
			a, b := arrivals[i-1], arrivals[i]
			if f.inTrouble(a.at) || f.inTrouble(b.at) || b.at.After(f.ended) {
				continue
			}
			apart := b.at.Sub(sent[a.serial])
			if apart < crawlGap-5*time.Millisecond {
				t.Errorf("%s after %v: %s of request %s came %v after %s of %s, want %v", site, b.at.Sub(l.began), b.path, b.serial, apart, a.path, a.serial, crawlGap)
			}
			shortest = min(shortest, apart)
		}
	}
	t.Logf("%d requests, shortest gap %v", len(l.arrivals), shortest)
}

// checkLimits counts the requests of a span. Without the store each process keeps its share of the limits, so the
// fleet keeps them on average, but for one request of each process at each change. A busy machine loses the store
// for a moment again and again. A fleet whose processes do not share makes eight times as many requests.
func (l *webLog) checkLimits(t *testing.T, from, to time.Time) {
	span := to.Sub(from)
	most := int(span/crawlGap) + crawlers + 1
	if os.Getenv(measureAll) == "" {
		most *= 2
	}
	for site, arrivals := range l.bySite() {
		n := 0
		for _, a := range arrivals {
			if a.at.After(from) && a.at.Before(to) {
				n++
			}
		}
		t.Logf("%s: %d requests in %v, the limits permit %d", site, n, span.Round(time.Millisecond), span/crawlGap)
		if n > most {
			t.Errorf("%s: %d requests in %v, want %d at most", site, n, span, most)
		}
	}
}

// checkRate compares the rate after the failover with what the limits permit.
func (l *webLog) checkRate(t *testing.T, f failover) {
	begin := f.healed.Add(settled)
	permitted := f.ended.Sub(begin).Seconds() / crawlGap.Seconds()
	total := 0
	for site, arrivals := range l.bySite() {
		var seconds []int
		n := 0
		for _, a := range arrivals {
			if a.at.After(begin) && a.at.Before(f.ended) {
				n++
			}
			for second := int(a.at.Sub(l.began).Seconds()); len(seconds) <= second; {
				seconds = append(seconds, 0)
			}
			seconds[len(seconds)-1]++
		}
		total += n
		t.Logf("%s: %d of %.1f; in each second %v", site, n, permitted, seconds)
	}
	share := float64(total) / permitted / float64(len(openSites))
	t.Logf("share of the permitted rate %.2f", share)
	if share < 0.9 && os.Getenv(measureAll) != "" { // a busy machine may lose any part
		t.Errorf("%v after the failover the share of the permitted rate is %.2f, want at least 0.9", settled, share)
	}
}
