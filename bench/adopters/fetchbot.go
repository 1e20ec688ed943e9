package main

// fetchbot is Fetchbot, which obeys robots.txt by default and has a goroutine for each host. The
// patch removes its own fetching of robots.txt and its waiting: its client does both.
var fetchbot = adopter{
	module: "github.com/PuerkitoBio/fetchbot", version: "v1.2.0",
	edits: []edit{
		{"fetch.go", "	// q holds the Queue", "	// q holds the Queue", `	// polite makes the requests: HttpClient, over Polite unless DisablePoliteness is set.
	polite Doer

`},
		{"fetch.go", "	f.q = &Queue{", "	f.q = &Queue{", `	f.polite = f.HttpClient
	if !f.DisablePoliteness {
		f.polite = f.newPolite()
	}

`},
		{"fetch.go", "// Debug returns the channel", "// Debug returns the channel", `// newPolite returns a client that obeys the robots.txt of each host, with its Crawl-delay or
// else f.CrawlDelay between two requests. It panics if UserAgent does not begin with a product token.
func (f *Fetcher) newPolite() Doer {
	client := http.Client{Transport: doerTransport{f.HttpClient}}
	if c, ok := f.HttpClient.(*http.Client); ok {
		client = *c
	}
	t, err := fetcher.New(f.UserAgent, &fetcher.Options{Base: client.Transport, Pace: &pace.Limits{Gap: f.CrawlDelay}})
	if err != nil {
		panic(err)
	}
	client.Transport = t
	return &client
}

// doerTransport is a Doer as an http.RoundTripper.
type doerTransport struct{ Doer }

func (d doerTransport) RoundTrip(req *http.Request) (*http.Response, error) { return d.Do(req) }

`},
		{"fetch.go", "			var rob *url.URL", "			// Create the infinite queue", ""},
		{"fetch.go", "			if !f.DisablePoliteness {\n				// Enqueue", "		} else {", ""},
		{"fetch.go", "		agent *robotstxt.Group", "		wait ", ""},
		{"fetch.go", "		delay = f.CrawlDelay", "	)", ""},
		{"fetch.go", "			switch r, ok := v.(robotCommand)", "			// Every time a command is received", `			res, err := f.doRequest(v)
			if errors.Is(err, fetcher.ErrDisallowed) {
				err = ErrDisallowed
			}
			f.visit(v, res, err)
			wait = nil // no delay on error, and the client waits by itself
			if f.DisablePoliteness && err == nil {
				wait = time.After(f.CrawlDelay)
			}
`},
		{"fetch.go", "// Get the robots.txt User-Agent-specific", "// Call the Handler", ""},
		{"fetch.go", "f.HttpClient.Do(req)", "\n", "f.polite.Do(req)"},
		{"fetch.go", "// Parse the robots.txt relative path", "const (", ""},
		{"fetch.go", "	\"fmt\"\n", "	\"io\"", ""},
		{"fetch.go", "	\"os\"\n", "	\"strings\"", ""},
		{"fetch.go", `	"github.com/temoto/robotstxt"`, "\n", "\t\"github.com/rfc9309/polite/fetcher\"\n\t\"github.com/rfc9309/polite/pace\""},
		{"cmd.go", "// robotCommand is a \"sentinel", "", ""},
	},
	program: `package main

import (
	"net/http"
	"os"

	"github.com/PuerkitoBio/fetchbot"
)

func crawl(base http.RoundTripper, pages []string) {
	f := fetchbot.New(fetchbot.HandlerFunc(func(ctx *fetchbot.Context, resp *http.Response, err error) {
		if err != nil {
			os.Stderr.WriteString(ctx.Cmd.URL().String() + ": " + err.Error() + "\n")
		}
	}))
	f.UserAgent, f.HttpClient, f.CrawlDelay = "ExampleBot/0.1 (+https://example.com/bot)", &http.Client{Transport: base}, 0
	queue := f.Start()
	queue.SendStringGet(pages...)
	queue.Close()
}
`,
}
