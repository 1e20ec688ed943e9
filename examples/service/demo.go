package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rfc9309/polite/examples/internal/web"
)

// demo runs the service twice over a small web. The first process is told to end after
// three pages, one of which redirects. The second continues, and reads no robots.txt.
func demo(out io.Writer) error {
	local := web.Start(map[string]web.Site{
		"shop.example": {Robots: web.Text("User-agent: *\nDisallow: /cart\nCrawl-delay: 0.05\n"), Moved: "/old"},
	})
	defer local.Close()
	dir, err := os.MkdirTemp("", "service")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var seeds []string
	for _, path := range []string{"/1", "/old", "/cart", "/4", "/5"} {
		seeds = append(seeds, "http://shop.example"+path)
	}
	for life := range 2 {
		ctx, end := context.WithCancel(context.Background())
		visits := 0
		visited := func(string) {
			if visits++; visits == 3 && life == 0 {
				end() // as a SIGTERM does
			}
		}
		fmt.Fprintln(out, "process", life+1)
		err := run(ctx, service{dir: dir, addr: "127.0.0.1:0", seeds: seeds, base: local.Transport(), out: out, visited: visited})
		end()
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(out, len(local.Requests("", "/robots.txt")), "request for robots.txt by both")
	return nil
}
