package lru

import (
	"container/list"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// A record has the size of what a fetcher keeps for one authority.
type record struct {
	file *[2000]byte
	_    [88]byte
}

// recordCost is the memory of a record and its key, in bytes.
const recordCost = 96 + 32

func host(i int) string { return fmt.Sprintf("https://www.host%07d.example", i) }

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// fill puts n authorities, which share a few files.
func fill(c *Cache[*record, *[2000]byte], n int) {
	for i := range n {
		part := share(c, fmt.Sprint(i%10), nil, 2048)
		if part.value == nil {
			part.value = new([2000]byte)
		}
		c.Put(host(i), &record{file: part.value}, recordCost, part)
	}
}

// TestRetainedIsCounted checks that the counted bytes are those that the heap grows by, and that they are few.
func TestRetainedIsCounted(t *testing.T) {
	for _, row := range []struct {
		n, most int // bytes an authority, its record of 96 included
	}{{20_000, 240}, {100_000, 230}} {
		t.Run(fmt.Sprintf("house/%d_authorities", row.n), func(t *testing.T) {
			before := heap()
			c := New[*record, *[2000]byte](room)
			fill(c, row.n)
			used := int(heap() - before)
			counted := int(c.Bytes())
			t.Logf("%d authorities: %d bytes each, counted %d", row.n, used/row.n, counted/row.n)
			if used/row.n > row.most {
				t.Errorf("%d bytes each, want at most %d", used/row.n, row.most)
			}
			if counted < used*9/10 || counted > used*12/10 {
				t.Errorf("%d bytes are counted, %d are used", counted, used)
			}
			runtime.KeepAlive(c)
		})
	}
}

// TestHeapStaysInTheBound checks that the heap stays within the bound for small values, which need many slots, and
// then for large values.
func TestHeapStaysInTheBound(t *testing.T) {
	const bound = 4 << 20
	before := heap()
	c := New[[]byte, struct{}](bound)
	for round := range 2 {
		for i := range 40_000 {
			c.Put(host(i+round), make([]byte, 16), 16+32, nil)
		}
		small := heap()
		for i := range 75 {
			c.Put(host(i), make([]byte, 128<<10), 128<<10+32, nil)
		}
		large := heap()
		for when, used := range map[string]uint64{"small": small, "large": large} {
			if used-before > bound*11/10 {
				t.Errorf("round %d, %s values: %d bytes in use, want at most about %d", round, when, used-before, bound)
			}
		}
		if large-before < bound*8/10 {
			t.Errorf("round %d, large values: %d bytes in use, want most of %d", round, large-before, bound)
		}
	}
	runtime.KeepAlive(c)
}

// TestFrontier crawls 50,000 hosts, of which 5,000 at a time are active and are used in turn. With room for 6,000
// hosts, hardly any host is retrieved twice.
func TestFrontier(t *testing.T) {
	const hosts, active, places = 50_000, 5_000, 6_000
	c := New[int, int](boundForHosts(places))
	exact := newExact(places)
	rnd := rand.New(rand.NewPCG(5, 5))
	names := make([]string, hosts)
	for i := range names {
		names[i] = host(i)
	}
	type visit struct{ host, pages int }
	var queue []visit
	next, retrieved, exactly := 0, 0, 0
	for {
		for ; len(queue) < active && next < hosts; next++ {
			queue = append(queue, visit{next, 1 + rnd.IntN(20)})
		}
		if len(queue) == 0 {
			break
		}
		v := queue[0]
		queue = queue[1:]
		if v.pages--; v.pages > 0 {
			queue = append(queue, v)
		}
		if _, ok := c.Get(names[v.host]); !ok {
			retrieved++
			c.Put(names[v.host], v.host, recordCost, nil)
		}
		if !exact.use(v.host) {
			exactly++
		}
	}
	got, best := float64(retrieved)/hosts, float64(exactly)/hosts
	t.Logf("%.4f retrievals a host, %.4f with the exact order; %d hosts kept", got, best, c.Len())
	if c.Len() > places {
		t.Errorf("%d hosts kept, want the bound to have room for %d at most", c.Len(), places)
	}
	if got > 1.05 {
		t.Errorf("%.4f retrievals a host, want at most 1.05", got)
	}
}

// TestOldHostsGo fills the map and then puts a quarter more. Of the younger half no host is removed for them, also
// not where hosts of one age have neighbouring slots.
func TestOldHostsGo(t *testing.T) {
	const hosts = 20_000
	c := New[int, int](boundForHosts(hosts))
	n := 0
	for ; c.Len() == n; n++ { // until the map is full
		c.Put(host(n), n, recordCost, nil)
	}
	for i := range n / 4 {
		c.Put(host(n+i), i, recordCost, nil)
	}
	removed := 0
	for i := n / 2; i < n; i++ {
		if _, ok := c.Get(host(i)); !ok {
			removed++
		}
	}
	if removed > n/1000 {
		t.Errorf("%d hosts of the younger half of %d are removed, want hardly any", removed, n)
	}
}

// boundForHosts returns the bound at which the map has room for about n hosts.
func boundForHosts(n int) int64 {
	c := New[int, int](room)
	for i := range n {
		c.Put(host(i), i, recordCost, nil)
	}
	return c.Bytes()
}

// exact is an LRU cache without any approximation.
type exact struct {
	places int
	order  *list.List
	at     map[int]*list.Element
}

func newExact(places int) *exact { return &exact{places, list.New(), map[int]*list.Element{}} }

func (e *exact) use(host int) (hit bool) {
	if at, ok := e.at[host]; ok {
		e.order.MoveToFront(at)
		return true
	}
	e.at[host] = e.order.PushFront(host)
	if e.order.Len() > e.places {
		delete(e.at, e.order.Remove(e.order.Back()).(int))
	}
	return false
}

func BenchmarkGet(b *testing.B) {
	const n = 100_000
	c := New[*record, *[2000]byte](room)
	fill(c, n)
	names := make([]string, n)
	for i := range names {
		names[i] = host(i)
	}
	b.Run("one_key", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Get(names[7])
			}
		})
	})
	b.Run("any_key", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := rand.IntN(n); pb.Next(); i = (i + 7919) % n {
				c.Get(names[i])
			}
		})
	})
}

func BenchmarkPutFull(b *testing.B) {
	c := New[*record, *[2000]byte](20 << 20)
	fill(c, 150_000)
	r := new(record)
	names := make([]string, 400_000)
	for i := range names {
		names[i] = host(i)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(names)); pb.Next(); i = (i + 7919) % len(names) {
			c.Put(names[i], r, recordCost, nil)
		}
	})
}
