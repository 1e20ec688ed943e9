package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rfc9309/polite/cache"
	"github.com/rfc9309/polite/cache/cachetest"
)

// TestMain makes this binary a worker if the example started it.
func TestMain(m *testing.M) {
	if os.Getenv("ROUTING_ROUTER") == "" {
		os.Exit(m.Run())
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestRun checks that no host notices that its owner has changed.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out); err != nil {
		t.Fatalf("output:\n%s\n%v", out.String(), err)
	}
	for _, want := range []string{
		"d joins: 6 of 30 hosts move\n",
		"b is killed: 8 of 30 hosts move\n",
		"pages fetched: 120 of 120, disallowed: 30\n",
		"redirects followed: 30 of 30\n",
		"sites whose robots.txt was fetched twice: 0\n",
		", during a pause: 0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output:\n%s\nwant\n%s", out.String(), want)
		}
	}
	// A busy machine may keep a request on its way until the next one.
	var near int
	_, last, _ := strings.Cut(out.String(), "requests after less than the gap: ")
	if _, err := fmt.Sscanf(last, "%d,", &near); err != nil || near > 5 {
		t.Errorf("output:\n%s\nwant requests after less than the gap: 0", out.String())
	}
}

// TestOwner checks that a worker that joins takes hosts from all others alike, and that
// its hosts go to all others alike when it leaves. No other host moves.
func TestOwner(t *testing.T) {
	const hosts = 10_000
	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("host-%d.example", i)
	}
	r := &router{workers: map[string]*worker{"a": nil, "b": nil, "c": nil}}
	before := r.owners(names)
	r.workers["d"] = nil
	took := map[string]int{}
	for i, owner := range r.owners(names) {
		if owner != before[i] {
			took[before[i]+owner]++
		}
	}
	for _, pair := range []string{"ad", "bd", "cd"} {
		if got, want := took[pair], hosts/12; got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d hosts moved, want about %d", pair, got, want)
		}
	}
	if len(took) != 3 {
		t.Errorf("hosts moved: %v; want only to d", took)
	}
}

// TestStore checks that the store for the workers keeps the promises of a cache.Store.
func TestStore(t *testing.T) {
	cachetest.Run(t, func(t *testing.T) cache.Store {
		server := httptest.NewServer(storeHandler(cache.NewMemory(1 << 24)))
		t.Cleanup(server.Close)
		return &remote{url: server.URL}
	})
}
