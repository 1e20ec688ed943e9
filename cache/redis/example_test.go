package redis_test

import (
	"log"
	"time"

	"github.com/rfc9309/polite/cache/redis"
	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/pace"
)

// Every process of a fleet does this, with the same server and the same limits.
// Each robots.txt is then retrieved once, and the limits hold for all together.
func ExampleOpen() {
	store, err := redis.Open("rediss://crawler:secret@redis.example:6380/0", &redis.Options{
		Delay: time.Second, // a server on another continent
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
