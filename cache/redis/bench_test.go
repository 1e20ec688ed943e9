//go:build unix

package redis

import (
	"fmt"
	"testing"
	"time"
)

// The server runs on the same machine, and has its share of it.
func BenchmarkStore(b *testing.B) {
	srv := start(b)
	s := opened(b, srv.url(), slow)
	value := make([]byte, 1000)
	ctx := b.Context()
	for i := range 1000 {
		if err := s.Put(ctx, fmt.Sprint(i), value, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	for name, call := range map[string]func(key string) error{
		"get": func(key string) error { _, err := s.Get(ctx, key); return err },
		"put": func(key string) error { return s.Put(ctx, key, value, time.Hour) },
		"lease": func(key string) error {
			if release, err := s.Lease(ctx, key, time.Minute); err == nil {
				release()
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8) // calls that wait together share the way to the server
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i = (i + 7) % 1000 {
					if err := call(fmt.Sprint(i)); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
