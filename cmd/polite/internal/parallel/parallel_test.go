package parallel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// item is the n-th item of a list. Processing it takes the time took.
type item struct {
	n    int
	site string
	took time.Duration
}

// items yields total items of a number of sites. The first site is slow.
func items(total, sites int, slow time.Duration, read *atomic.Int64) func(func(item) bool) error {
	return func(yield func(item) bool) error {
		for n := range total {
			i := item{n: n, site: fmt.Sprint("site ", n%sites)}
			if n%sites == 0 {
				i.took = slow
			}
			if read.Add(1); !yield(i) {
				return nil
			}
		}
		return nil
	}
}

// waitForItem waits as long as the item takes, and reports false if ctx ended first.
func waitForItem(ctx context.Context, i item) bool {
	if i.took == 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(i.took):
		return true
	case <-ctx.Done():
		return false
	}
}

func idleNothing() error { return nil }

func oneSlot(item) int { return 1 }

// TestOrder checks that the results have the order of the list however long each
// item takes, and that the reader stays within the window.
func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		total, sites, workers int
		slow                  time.Duration
		slots                 int
	}{
		{"nothing", 0, 1, 3, 0, 1},
		{"one_site", 100, 1, 8, time.Second, 1},
		{"more_sites_than_workers", 500, 50, 4, time.Second, 1},
		{"more_than_the_window", 3 * Window, 1 << 12, 16, time.Second, 1},
		{"large_items", 300, 30, 4, time.Second, Window/8 + 1},
		{"an_item_for_the_whole_window", 30, 3, 4, time.Second, Window},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int64
				next, ahead := 0, int64(0)
				w := Work[item]{
					Workers: tt.workers, Key: func(i item) string { return i.site }, Slots: func(item) int { return tt.slots }, Do: waitForItem, Idle: idleNothing,
					Result: func(i item) error {
						if i.n != next {
							t.Fatalf("got item %d, want %d", i.n, next)
						}
						ahead = max(ahead, read.Load()-int64(next))
						next++
						return nil
					},
				}
				if err := w.Run(t.Context(), items(tt.total, tt.sites, tt.slow, &read)); err != nil || next != tt.total {
					t.Errorf("got %d results, error %v; want %d and none", next, err, tt.total)
				}
				if most := int64(Window/tt.slots + 1); ahead > most { // one more item waits for a slot
					t.Errorf("the reader was %d items ahead of the results; want %d at most", ahead, most)
				}
			})
		})
	}
}

// TestOneWorkerAKey checks that no two items with the same key are processed at the
// same time, and that no worker is idle while there are keys left.
func TestOneWorkerAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites, workers = 6, 4
		var mu sync.Mutex
		busy, most := map[string]int{}, 0
		enter := func(site string, by int) {
			mu.Lock()
			defer mu.Unlock()
			if busy[site] += by; busy[site] == 0 {
				delete(busy, site)
			}
			if busy[site] > 1 {
				t.Errorf("%s has %d workers", site, busy[site])
			}
			most = max(most, len(busy))
		}
		var read atomic.Int64
		w := Work[item]{
			Workers: workers, Key: func(i item) string { return i.site }, Slots: oneSlot, Idle: idleNothing,
			Do: func(ctx context.Context, i item) bool {
				enter(i.site, 1)
				defer enter(i.site, -1)
				i.took = time.Second
				return waitForItem(ctx, i)
			},
			Result: func(item) error { return nil },
		}
		start := time.Now()
		if err := w.Run(t.Context(), items(60, sites, 0, &read)); err != nil {
			t.Fatal(err)
		}
		if most != workers {
			t.Errorf("got %d queues at a time, want %d", most, workers)
		}
		// Each of the six sites has ten items. Four sites are processed at first,
		// two after them.
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("took %v, want 20s", took)
		}
	})
}

// TestEnd ends a run early in each possible way.
func TestEnd(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		cancel  time.Duration // 0: never
		idle    error
		result  error
		after   error // error of the list at its end
		want    error
		results []int
		took    time.Duration
	}{
		// Site 0 has items 0 and 3, and answers after an hour.
		{"ctx", time.Second, nil, nil, nil, context.Canceled, []int{1, 2, 4, 5}, time.Second},
		{"result", 0, nil, broken, nil, broken, []int{0}, time.Hour},
		{"idle", 0, broken, nil, nil, broken, nil, tick},
		{"list", 0, nil, nil, broken, broken, []int{0, 1, 2, 3, 4, 5}, 2 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				var read atomic.Int64
				var results []int
				w := Work[item]{
					Workers: 3, Key: func(i item) string { return i.site }, Slots: oneSlot, Do: waitForItem,
					Idle: func() error { return tt.idle },
					Result: func(i item) error {
						results = append(results, i.n)
						return tt.result
					},
				}
				start := time.Now()
				err := w.Run(ctx, func(yield func(item) bool) error {
					items(6, 3, time.Hour, &read)(yield)
					return tt.after
				})
				if !errors.Is(err, tt.want) || !slices.Equal(results, tt.results) || time.Since(start) != tt.took {
					t.Errorf("got  %v, results %v after %v\nwant %v, results %v after %v", err, results, time.Since(start), tt.want, tt.results, tt.took)
				}
			})
		})
	}
}
