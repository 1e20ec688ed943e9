package pace_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/rfc9309/polite/pace"
)

// A crawler with an HTTP stack of its own asks for a turn before each request,
// tells of the answer, and puts off what cannot be had in time.
func Example() {
	p, err := pace.New(pace.Limits{Gap: time.Second, Parallel: 1, MaxWait: time.Minute}, nil)
	if err != nil {
		panic(err)
	}
	visit := func(status int, header http.Header) {
		turn, err := p.Wait(context.Background(), "https://example.com", 0)
		if refused := (*pace.RefusedError)(nil); errors.As(err, &refused) {
			wait := time.Until(refused.RetryAt).Round(time.Minute)
			fmt.Printf("not now (%s), come back in %v\n", refused.Reason, wait)
			return
		}
		defer turn.Done()
		// The request goes out here.
		turn.Answer(status, header)
		fmt.Println("answered", status)
	}
	visit(429, http.Header{"Retry-After": {"600"}})
	visit(200, nil)
	// Output:
	// answered 429
	// not now (pause), come back in 10m0s
}

// A configuration that cannot be meant is refused in words.
func ExampleNew() {
	_, err := pace.New(pace.Limits{Gap: -time.Second}, nil)
	fmt.Println(err)
	// Output:
	// pace: Limits.Gap is -1s; want a positive duration, or 0 for none
}
