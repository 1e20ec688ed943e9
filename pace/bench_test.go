package pace

import (
	"context"
	"strconv"
	"testing"
	"time"
)

// One turn of an authority that nobody else uses.
func BenchmarkUncontended(b *testing.B) {
	p, _ := New(&Limits{Parallel: 4}, nil)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		turn, err := p.Wait(ctx, host1, 0)
		if err != nil {
			b.Fatal(err)
		}
		turn.Sent()
		turn.Answer(200, nil)
		turn.Done()
	}
}

// Turns on all processors, each of which uses another authority.
func BenchmarkUncontendedParallel(b *testing.B) {
	p, _ := New(&Limits{Parallel: 4}, nil)
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		name := strconv.FormatInt(time.Now().UnixNano(), 10)
		for pb.Next() {
			turn, err := p.Wait(ctx, name, 0)
			if err != nil {
				b.Error(err)
				return
			}
			turn.Done()
		}
	})
}

// Each turn at an authority never seen before, with 100 000 remembered.
func BenchmarkFirstVisit(b *testing.B) {
	p, _ := New(&Limits{Gap: time.Hour}, nil)
	ctx := context.Background()
	names := make([]string, 1<<20)
	for i := range names {
		names[i] = "https://host-" + strconv.Itoa(i) + ".example.com"
	}
	for _, name := range names[:100_000] {
		turn, _ := p.Wait(ctx, name, 0)
		turn.Done()
	}
	b.ReportAllocs()
	i := 100_000
	for b.Loop() {
		turn, err := p.Wait(ctx, names[i%len(names)]+strconv.Itoa(i/len(names)), 0)
		if err != nil {
			b.Fatal(err)
		}
		turn.Done()
		i++
	}
}

// A refusal at the end of a line of a thousand.
func BenchmarkRefusal(b *testing.B) {
	p, _ := New(&Limits{Gap: time.Hour}, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	turn, _ := p.Wait(ctx, host1, 0)
	turn.Done()
	for range 1000 {
		go p.Wait(ctx, host1, 0)
	}
	for p.Stats().Waiting < 1000 {
		time.Sleep(time.Millisecond)
	}
	short, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Wait(short, host1, 0); err == nil {
			b.Fatal("a turn in an hour's line; want a refusal")
		}
	}
}

// One turn with three scopes beside its authority.
func BenchmarkThreeScopes(b *testing.B) {
	p, _ := New(Default(), nil)
	ctx := context.Background()
	scopes := []Scope{
		{Key: "http and https of www.example.com", Limits: Limits{Parallel: 4}},
		{Key: "example.com", Limits: Limits{Parallel: 4}},
		{Key: "all", Limits: Limits{Parallel: 50}},
	}
	b.ReportAllocs()
	for b.Loop() {
		turn, err := p.Wait(ctx, "http://localhost", 0, scopes...)
		if err != nil {
			b.Fatal(err)
		}
		turn.Sent()
		turn.Answer(200, nil)
		turn.Done()
	}
}
