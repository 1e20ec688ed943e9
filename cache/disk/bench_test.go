//go:build !wasm

package disk

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// benchmarked returns a store with n values of a kilobyte, all in the file.
func benchmarked(b *testing.B, n int) *Store {
	s, err := openWith(filepath.Join(b.TempDir(), "robots.db"), nil, bbolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	value := make([]byte, 1000)
	for i := range n {
		if err := s.Put(context.Background(), host(i), value, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	flushing{s}.flushNow()
	return s
}

func host(i int) string { return fmt.Sprintf("https://host%d.example", i) }

func BenchmarkGet(b *testing.B) {
	const n = 20_000
	s := benchmarked(b, n)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i = (i + 7919) % n {
			if _, err := s.Get(context.Background(), host(i)); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkPut includes the time of the writer, because Put waits if the disk is
// slower.
func BenchmarkPut(b *testing.B) {
	const n = 20_000
	s := benchmarked(b, n)
	value := make([]byte, 1000)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i = (i + 7919) % n {
			if err := s.Put(context.Background(), host(i), value, time.Hour); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkNeighbours writes 200,000 consecutive keys, such as the hosts of one platform. The time is for all of
// them, until they are in the file.
func BenchmarkNeighbours(b *testing.B) {
	value := make([]byte, 200)
	for b.Loop() {
		s := benchmarked(b, 0)
		for i := range 200_000 {
			if err := s.Put(context.Background(), fmt.Sprintf("https://host%07d.example", i), value, time.Hour); err != nil {
				b.Fatal(err)
			}
		}
		flushing{s}.flushNow()
	}
}
