package cache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
)

// Plain is a complete Store: a map that many goroutines may use. It never removes an expired value.
type Plain struct{ m sync.Map }

type plain struct {
	value []byte
	end   time.Time
}

func (p *Plain) Get(_ context.Context, key string) ([]byte, error) {
	v, ok := p.m.Load(key)
	if !ok || !time.Now().Before(v.(plain).end) {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(v.(plain).value), nil
}

func (p *Plain) Put(_ context.Context, key string, value []byte, keep time.Duration) error {
	p.m.Store(key, plain{bytes.Clone(value), time.Now().Add(keep)})
	return nil
}

func (p *Plain) Delete(_ context.Context, key string) error {
	p.m.Delete(key)
	return nil
}

// A store of your own needs three methods. Package cachetest checks whether they keep the promises of this
// package.
func Example() {
	var store cache.Store = new(Plain)
	_ = store // fetcher.New("ExampleBot/1.0", &fetcher.Options{Store: store})
	// Output:
}

// Two crawlers of one program share their cached copies.
func ExampleNewMemory() {
	store := cache.NewMemory(64 << 20)
	ctx := context.Background()
	store.Put(ctx, "https://example.com", []byte("a record"), time.Hour)
	value, err := store.Get(ctx, "https://example.com")
	fmt.Printf("%s, %v\n", value, err)
	_, err = store.Get(ctx, "http://example.com")
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// a record, <nil>
	// true
}

func TestPlainKeepsThePromises(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Store { return new(Plain) })
}
