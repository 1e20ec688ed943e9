package lru

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// room is a bound that is large enough for any test.
const room = 1 << 30

// keys returns the keys present, sorted.
func keys[V, S any](c *Cache[V, S]) []string {
	all := maps.Collect(c.All())
	return slices.Sorted(maps.Keys(all))
}

// boundFor returns the bound at which n entries with short keys and this cost fill a map of one shard.
func boundFor(n int, cost int64) int64 {
	c := New[int, int](shardBytes)
	for i := range n {
		c.Put(fmt.Sprint("k", i), i, cost, nil)
	}
	return c.Bytes()
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	for _, row := range []struct {
		name, steps, want string
	}{
		// "+a" puts a, "?a" gets a, "-a" deletes a. The map has room for three entries.
		{"oldest_put", "+a +b +c +d", "b c d"},
		{"hit_refreshes", "+a +b +c ?a +d", "a c d"},
		{"put_refreshes", "+a +b +c +a +d", "a c d"},
		{"miss_changes_nothing", "+a +b +c ?x +d", "b c d"},
		{"deleted_makes_room", "+a +b +c -b +d", "a c d"},
	} {
		t.Run("house/"+row.name, func(t *testing.T) {
			c := New[int, int](boundFor(3, 1000) + 500)
			for _, step := range strings.Fields(row.steps) {
				key := "k" + step[1:]
				switch step[0] {
				case '+':
					c.Put(key, 1, 1000, nil)
				case '?':
					c.Get(key)
				case '-':
					c.Delete(key)
				}
			}
			got := strings.ReplaceAll(strings.Join(keys(c), " "), "k", "")
			if got != row.want {
				t.Errorf("%s: left %q, want %q", row.steps, got, row.want)
			}
		})
	}
}

func TestEntryLargerThanTheBound(t *testing.T) {
	c := New[int, int](10_000)
	c.Put("a", 1, 100, nil)
	part := share(c, "1", 1, 20_000)
	c.Put("b", 1, 5_000, nil)
	c.Put("c", 1, 10_000, nil)
	c.Put("a", 1, 10_000, nil) // keeps nothing, and removes the earlier value
	c.Put("d", 1, 1, part)
	c.Put("e", 1, -1, nil)
	c.Put("f", 1, 1<<33, nil)
	if got := keys(c); !slices.Equal(got, []string{"b"}) {
		t.Errorf("left %q, want only b", got)
	}
	if len(c.parts) != 0 {
		t.Errorf("a part that no entry holds is still there")
	}
}

// TestValueNearTheBound puts a value of nearly every size below the bound into a map with other entries. A value that
// cannot be kept removes none of them.
func TestValueNearTheBound(t *testing.T) {
	const bound = 10_000
	for cost := int64(bound - 600); cost <= bound; cost += 8 {
		c := New[int, int](bound)
		for i := range 20 {
			c.Put(fmt.Sprint(i), i, 10, nil)
		}
		c.Put("large", 1, cost, nil)
		if _, ok := c.Get("large"); !ok && c.Len() != 20 {
			t.Errorf("a value of %d bytes is not kept, and of 20 entries %d are left", cost, c.Len())
		}
	}
}

func TestDeleteNeverAddsBytes(t *testing.T) {
	for n := range 100 {
		c := New[int, int](shardBytes)
		for i := range n {
			c.Put(fmt.Sprint(i), i, 0, nil)
		}
		for i := range n {
			before := c.Bytes()
			c.Delete(fmt.Sprint(i))
			if c.Bytes() > before {
				t.Fatalf("Delete of entry %d of %d adds %d bytes", i, n, c.Bytes()-before)
			}
		}
	}
}

// TestAgainstAPlainMap makes random operations. After each of them it compares the contents with a plain map and
// checks the invariants.
func TestAgainstAPlainMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	c := New[int, int](room)
	want := map[string]int{}
	for i := range 60_000 {
		key := fmt.Sprint(rnd.IntN(700 + i/30))
		switch rnd.IntN(6) {
		case 0, 1, 2:
			c.Put(key, i, int64(rnd.IntN(300)), share(c, fmt.Sprint(byte(i)), 0, 50))
			want[key] = i
		case 3, 4:
			_, there := want[key]
			if got := c.Delete(key); got != there {
				t.Fatalf("step %d: Delete(%s) = %v, want %v", i, key, got, there)
			}
			delete(want, key)
		default:
			value, there := want[key]
			if got, ok := c.Get(key); ok != there || got != value {
				t.Fatalf("step %d: Get(%s) = %d, %v, want %d, %v", i, key, got, ok, value, there)
			}
		}
		if i%2000 == 0 {
			check(t, c)
		}
	}
	if got := maps.Collect(c.All()); !maps.Equal(got, want) {
		t.Errorf("%d entries differ from the %d wanted", len(got), len(want))
	}
	for key := range want {
		c.Delete(key)
	}
	check(t, c)
	if c.Bytes() != 0 || c.Len() != 0 {
		t.Errorf("emptied: %d bytes, %d entries, want none", c.Bytes(), c.Len())
	}
}

// check checks the invariants of every shard, and the sums over all shards.
func check[V, S any](t *testing.T, c *Cache[V, S]) {
	t.Helper()
	var size int64
	used := 0
	holds := map[*Part[S]]uint32{}
	for i := range c.shards {
		s := &c.shards[i]
		checkShard(t, s)
		size += s.size
		used += len(s.slots)
		for j := range s.slots {
			holds[s.slots[j].part]++
		}
	}
	for _, p := range c.parts {
		size += p.cost
		if p.holds != holds[p] {
			t.Errorf("a part counts %d holds, entries have %d", p.holds, holds[p])
		}
	}
	if c.Bytes() != size || c.Len() != used {
		t.Errorf("Bytes and Len say %d and %d, the shards %d and %d", c.Bytes(), c.Len(), size, used)
	}
}

func checkShard[V, S any](t *testing.T, s *shard[V, S]) {
	t.Helper()
	size := int64(cap(s.slots)) * slotCost[V, S]()
	for i := range s.slots {
		e := &s.slots[i]
		size += int64(e.cost)
		if s.find(e.hash, e.key) != e {
			t.Errorf("%q is not found where it is", e.key)
		}
	}
	linked := 0
	for _, id := range s.index {
		for ; id != 0; id = s.slots[id-1].next {
			linked++
		}
	}
	if linked != len(s.slots) || len(s.index) != cap(s.slots)+1 || s.size != size {
		t.Errorf("%d slots of %d are in chains, %d chains, %d bytes, want %d", linked, len(s.slots), len(s.index), s.size, size)
	}
	for i, e := range s.slots[len(s.slots):cap(s.slots)] {
		if e.key != "" || e.part != nil {
			t.Errorf("unused slot %d keeps %q", i, e.key)
		}
	}
}

func TestPartIsHeldAndChargedOnce(t *testing.T) {
	c := New[int, string](room)
	share := func(value string) *Part[string] { return share(c, "file", value, 1<<20) }
	first := share("file")
	c.Put("a", 1, 10, first)
	alone := c.Bytes()
	second := share("file again")
	if second != first || second.Value() != "file" {
		t.Errorf("the second Share gave %q, want the first's content", second.Value())
	}
	c.Put("b", 1, 10, second)
	c.Put("c", 1, 10, share(""))
	c.Put("c", 2, 10, share("")) // replaced by itself
	if more := c.Bytes() - alone; more > 2000 {
		t.Errorf("two more holders are charged %d bytes, want the entries alone", more)
	}
	c.Delete("a")
	c.Put("b", 1, 10, nil)
	if last := share("new"); last != first {
		t.Errorf("the part was removed while c holds it")
	} else {
		c.drop(last)
	}
	c.Delete("c")
	if len(c.parts) != 0 {
		t.Errorf("the part is still there, and nobody holds it")
	}
	if again := share("new"); again.Value() != "new" {
		t.Errorf("Share after the last drop = %q, want its own content", again.Value())
	} else {
		c.drop(again)
	}
	check(t, c)
}

// TestPutKeepsTheNewKey checks that Put replaces the key, too. The old key may be a slice of the old value and
// would keep it in memory.
func TestPutKeepsTheNewKey(t *testing.T) {
	c := New[int, int](room)
	first, second := strings.Repeat("k", 20), strings.Repeat("k", 20)
	c.Put(first, 1, 1, nil)
	c.Put(second, 2, 1, nil)
	for key := range c.All() {
		if unsafe.StringData(key) != unsafe.StringData(second) {
			t.Errorf("the key kept is the first Put's, want the second's")
		}
	}
}

// TestPartsOfOneHash checks that two contents with one hash, which nobody can make on purpose, stay two parts.
func TestPartsOfOneHash(t *testing.T) {
	c := New[int, string](room)
	c.Put("a", 1, 10, share(c, "file", "other", 100))
	c.Put("b", 2, 10, c.Share("file", "own", func(kept string) bool { return kept == "own" }, func(string) int64 { return 100 }))
	for key, want := range map[string]string{"a": "other", "b": "own"} {
		hash, s := c.home(key)
		if got := s.find(hash, key).part.Value(); got != want {
			t.Errorf("%s has the part %q, want %q", key, got, want)
		}
	}
	before := c.Bytes()
	c.Delete("b")
	c.Delete("a")
	if after := c.Bytes(); before-after < 200 || len(c.parts) != 0 {
		t.Errorf("%d bytes are freed, and %d parts left; want both parts freed", before-after, len(c.parts))
	}
}

// share is Share for values that are the same if their contents are.
func share[V, S any](c *Cache[V, S], content string, value S, cost int64) *Part[S] {
	return c.Share(content, value, func(S) bool { return true }, func(S) int64 { return cost })
}

func TestBoundIsThatOfAllShards(t *testing.T) {
	c := New[int, int](1 << 20)
	s := &c.shards[0]
	for i := 0; c.Len() < 500; i++ {
		key := fmt.Sprint("uneven", i)
		if _, home := c.home(key); home == s {
			c.Put(key, i, 1000, nil)
		}
	}
	if got := len(s.slots); got != 500 {
		t.Errorf("one shard of a half-empty map keeps %d entries, want 500", got)
	}
	c.Put("large", 1, 1<<20-1000, nil)
	if _, ok := c.Get("large"); !ok || c.Bytes() > 1<<20 {
		t.Errorf("large kept %v in %d bytes, want it kept within %d", ok, c.Bytes(), 1<<20)
	}
}

func TestManyGoroutines(t *testing.T) {
	c := New[string, int](256 << 10)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range 8_000 {
				key := fmt.Sprint(rnd.IntN(3000))
				switch rnd.IntN(5) {
				case 0, 1:
					c.Put(key, key, int64(rnd.IntN(500)), share(c, fmt.Sprint(rnd.IntN(40)), 0, 500))
				case 2:
					c.Delete(key)
				default:
					if got, ok := c.Get(key); ok && got != key {
						t.Errorf("Get(%s) = %s", key, got)
					}
				}
				if i%4000 == 0 {
					for key, value := range c.All() {
						c.Get(key)
						if key != value {
							t.Errorf("All has %s under %s", value, key)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	check(t, c)
	if c.Bytes() > 256<<10 {
		t.Errorf("%d bytes, want at most %d", c.Bytes(), 256<<10)
	}
}

func TestGetAllocatesNothing(t *testing.T) {
	c := New[int, int](room)
	c.Put("https://example.com:8443", 1, 1, nil)
	key := []byte("https://example.com:8443")
	for name, get := range map[string]func(){
		"string": func() { c.Get("https://example.com:8443") },
		"bytes":  func() { c.GetBytes(key) },
	} {
		if got := testing.AllocsPerRun(100, get); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
	if got, ok := c.GetBytes(key); !ok || got != 1 {
		t.Errorf("GetBytes = %d, %v, want 1, true", got, ok)
	}
}

// TestAllRunsWithoutLocks changes the map inside a loop over All, and breaks off such a loop.
func TestAllRunsWithoutLocks(t *testing.T) {
	c := New[int, int](room)
	for i := range 5000 {
		c.Put(fmt.Sprint(i), i, 1, nil)
	}
	seen := map[string]bool{}
	for key, value := range c.All() {
		if seen[key] || key != fmt.Sprint(value) {
			t.Errorf("%s, %d: seen before %v", key, value, seen[key])
		}
		seen[key] = true
		c.Put(key, value, 1, nil)
		c.Delete(key)
	}
	if len(seen) != 5000 || c.Len() != 0 {
		t.Errorf("%d entries seen and %d left, want 5000 and none", len(seen), c.Len())
	}
	c.Put("a", 1, 1, nil)
	c.Put("b", 1, 1, nil)
	n := 0
	for range c.All() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d entries seen after a break, want 1", n)
	}
}

// TestPutReturnsWhatItReplaced checks the result of Put for a new key, a key with a value,
// and a value that is too large to be kept.
func TestPutReturnsWhatItReplaced(t *testing.T) {
	c := New[string, struct{}](10_000)
	for _, put := range []struct {
		name, value string
		cost        int64
		want        string
	}{
		{"new", "first", 1, ""},
		{"replaced", "second", 1, "first"},
		{"too_large", "third", 20_000, ""},
		{"removed_before", "fourth", 1, ""},
	} {
		if got := c.Put("key", put.value, put.cost, nil); got != put.want {
			t.Errorf("9/%s: Put(%q) = %q, want %q", put.name, put.value, got, put.want)
		}
	}
}

// TestEntryPutMeanwhileIsNotTheOldest puts an entry between the moment at which ages are measured and the sample.
func TestEntryPutMeanwhileIsNotTheOldest(t *testing.T) {
	c := New[int, int](shardBytes)
	c.Put("old", 1, 1, nil)
	before := c.clock.Load()
	c.Put("new", 1, 1, nil)
	c.clock.Store(before)
	if key, _ := c.oldest(); key != "old" {
		t.Errorf("the oldest is %s, want old", key)
	}
}
