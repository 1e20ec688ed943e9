package redis_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/redis"
)

// A server that is down is no error of Open, and costs little of each call.
func ExampleOpen() {
	store, err := redis.Open("redis://127.0.0.1:1", &redis.Options{Prefix: "news", Delay: 5 * time.Second})
	if err != nil {
		fmt.Println(err) // the URL is wrong
		return
	}
	defer store.Close()
	_, err = store.Get(context.Background(), "https://example.com")
	fmt.Println("down:", errors.Is(err, redis.ErrDown))
	// Output: down: true
}

// Of those who miss a value one retrieves it; this is what the fetcher does.
func ExampleStore_Lease() {
	ctx := context.Background()
	store, err := redis.Open("redis://localhost", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	const key = "https://example.com"
	release, err := store.Lease(ctx, key, 30*time.Second)
	switch {
	case errors.Is(err, cache.ErrHeld):
		// Another process retrieves it: look again with Get in a moment, and ask for
		// the lease again, because that process may die.
		return
	case err != nil:
		// The server is down: retrieve it alone.
	default:
		defer release()
		if _, err := store.Get(ctx, key); err == nil {
			return // the holder before was done between our look and our lease
		}
	}
	// Retrieve it here.
	store.Put(ctx, key, []byte("a record"), 24*time.Hour)
}
