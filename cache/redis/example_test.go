package redis_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// Every process of a fleet does this, with the same server and the same limits.
// Each robots.txt is then fetched once, and all together keep the limits.
func ExampleOpen() {
	store, err := redis.Open("rediss://crawler:secret@redis.example:6380/0", &redis.Options{
		Timeout: time.Second, // a server on another continent
	})
	if err != nil {
		log.Fatal(err) // the URL is wrong; a server that is down is no error here
	}
	defer store.Close()
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{
		Store: store,
		Pace:  &pace.Limits{Gap: time.Second, Parallel: 2, MaxWait: time.Second},
	})
	if err != nil {
		log.Fatal(err)
	}
	crawl(t)
}

func crawl(*fetcher.Transport) {}

// A server that is down is no error of Open, and costs little of each call.
func ExampleOpen_down() {
	store, err := redis.Open("redis://127.0.0.1:1", &redis.Options{Prefix: "news", Timeout: 5 * time.Second})
	if err != nil {
		log.Fatal(err) // the URL is wrong
	}
	defer store.Close()
	_, err = store.Get(context.Background(), "https://example.com")
	fmt.Println("down:", errors.Is(err, redis.ErrDown))
	// Output: down: true
}

// Of several processes that miss a value one fetches it. The fetcher does the same.
func ExampleStore_Lease() {
	ctx := context.Background()
	store, err := redis.Open("redis://localhost", nil)
	if err != nil {
		log.Fatal(err)
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
