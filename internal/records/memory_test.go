package records

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/realfiles"
	"github.com/rfc9309/polite/policy"
)

// heap returns the bytes in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC() // what is kept to be used again lasts two
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A crowd is a large number of authorities that serve the files of the corpus, each
// file equally often. Two thirds have a file, a third have none (404).
type crowd struct {
	name   string
	most   int  // bytes an authority
	shares int  // so many authorities serve one file; 1: each has its own
	tagged bool // half of the files came with validators
	asked  bool // twice, by a crawler, whose rules are then ready for use
}

var crowds = []crowd{
	{"distinct", 1600, 1, false, false},            // what any token can be answered from
	{"distinct_tagged_asked", 2380, 1, true, true}, // with rules that are sorted where there are many
	{"repeated_tagged_asked", 250, 1000, true, true},
}

// learn returns the record of authority i, which serves a body and a line of its
// own.
func (c crowd) learn(p *policy.Profile, i int, body []byte) *policy.Record {
	now := time.Now()
	a := policy.Attempt{Robots: authority(i) + RobotsPath, Status: 404, Header: http.Header{}, Sent: now, Received: now}
	if i%3 == 0 {
		return p.Learn(nil, a)
	}
	a.Status = 200
	a.Body = append(slices.Clip(body[:min(len(body), p.Limit-20)]), fmt.Sprintf("\nHost: %d\n", i/c.shares)...)
	if c.tagged && i%2 == 0 {
		a.Header.Set("Etag", fmt.Sprintf(`"%x-5f3c%x"`, i, i))
		a.Header.Set("Last-Modified", "Tue, 14 Oct 2025 08:27:11 GMT")
	}
	return p.Learn(nil, a)
}

// fill returns a memory with n authorities.
func (c crowd) fill(n int, bodies [][]byte) *Cache {
	m := New(Settings{MaxBytes: 1 << 40})
	if c.asked {
		m.Register("ExampleBot")
	}
	p := policy.RFC9309()
	target, _ := url.Parse("https://www.example.com/articles/2025/index.html?page=2")
	for i := range n {
		body := (i - i/3) / c.shares
		rec := m.remember(c.learn(p, i, bodies[body*7919%len(bodies)]))
		for range 2 {
			if c.asked {
				rec.Decide("ExampleBot", target, time.Now())
			}
		}
	}
	return m
}

func authority(i int) string { return fmt.Sprintf("https://www.host%07d.example", i) }

// TestMemoryOfACrowd checks that many authorities take little memory, and that the
// bytes counted towards the bound agree with the heap.
func TestMemoryOfACrowd(t *testing.T) {
	bodies := realfiles.Bodies(t)
	n := len(bodies) * 3 / 2
	for _, c := range crowds {
		t.Run("house/"+c.name, func(t *testing.T) {
			before := heap()
			m := c.fill(n, bodies)
			used, counted := int(heap()-before), int(m.records.Bytes())
			t.Logf("%d authorities: %d bytes each, counted %d", n, used/n, counted/n)
			if used/n > c.most {
				t.Errorf("%d bytes each, want at most %d", used/n, c.most)
			}
			// What is counted is without the rounding up of each object, which is
			// a larger share where pointers are small.
			share := 10 * 64 / strconv.IntSize
			if counted < used-used*share/100 || counted > used*11/10 {
				t.Errorf("%d bytes are counted, %d are used", counted, used)
			}
			runtime.KeepAlive(m)
		})
	}
}

// BenchmarkMillion fills a memory with a million authorities and measures a full
// garbage collection: the elapsed time, which other work on the machine makes
// longer, and the time of all processors together.
func BenchmarkMillion(b *testing.B) {
	bodies := realfiles.Bodies(b)
	for _, c := range crowds {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				const n = 1_000_000
				before := heap()
				m := c.fill(n, bodies)
				used := heap() - before
				clock, work := collection(10)
				b.ReportMetric(float64(used)/n, "B/authority")
				b.ReportMetric(float64(m.records.Bytes())/n, "counted-B/authority")
				b.ReportMetric(float64(clock.Nanoseconds())/n, "gc-ns/authority")
				b.ReportMetric(work*1e9/n, "gc-cpu-ns/authority")
				runtime.KeepAlive(m)
			}
		})
	}
}

// collection returns the shortest time of several full garbage collections, and the
// processor time of that one in seconds.
func collection(times int) (clock time.Duration, work float64) {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	clock, work = time.Hour, 1e9
	for range times {
		metrics.Read(sample)
		began, spent := time.Now(), sample[0].Value.Float64()
		runtime.GC()
		clock = min(clock, time.Since(began))
		metrics.Read(sample)
		work = min(work, sample[0].Value.Float64()-spent)
	}
	return clock, work
}

// TestEveryTokenCounts checks that the size of a text with many rules grows with
// each product token, up to a bound.
func TestEveryTokenCounts(t *testing.T) {
	var robots strings.Builder
	for i := range 20 {
		fmt.Fprintf(&robots, "User-agent: bot%c\n%s", 'a'+i, strings.Repeat("Disallow: /\n", 100))
	}
	size := func(tokens int) int64 {
		m := New(Settings{MaxBytes: 1 << 20})
		for i := range tokens {
			m.Register(fmt.Sprintf("bot%c", 'a'+i))
			m.Register("bota") // registered before
		}
		m.remember(crowd{shares: 1}.learn(policy.RFC9309(), 1, []byte(robots.String())))
		return m.records.Bytes()
	}
	for n := range 20 {
		less, more := size(n), size(n+1)
		if grows := more > less; grows != (n < maxTokens) {
			t.Errorf("%d tokens: %d bytes, %d with one more; want it to grow up to %d tokens", n, less, more, maxTokens)
		}
	}
}
