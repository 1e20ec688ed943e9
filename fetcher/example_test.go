package fetcher_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/pace"
	"github.com/rfc9309/polite/policy"
)

// pages is a web for the examples: an http.RoundTripper that answers each URL
// with a text, or with 503 where there is none. All else is 404.
type pages map[string]string

func (p pages) RoundTrip(req *http.Request) (*http.Response, error) {
	text, ok := p[req.URL.String()]
	status := http.StatusOK
	switch {
	case !ok:
		status = http.StatusNotFound
	case text == "":
		status = http.StatusServiceUnavailable
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: req,
	}, nil
}

func parse(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		log.Fatal(err)
	}
	return u
}

// A crawler that drops what is disallowed and keeps what is deferred.
func Example() {
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{
		Base: pages{ // leave this out to visit the real web
			"https://example.com/robots.txt":  "User-agent: *\nDisallow: /private\n",
			"https://example.com/news":        "All is well.",
			"https://busy.example/robots.txt": "",
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: t, Timeout: 2 * time.Minute}
	for _, page := range []string{"https://example.com/news", "https://example.com/private", "https://busy.example/"} {
		resp, err := client.Get(page)
		var denied *fetcher.DeniedError
		switch {
		case errors.Is(err, fetcher.ErrDisallowed) && errors.As(err, &denied):
			fmt.Println("never:", denied.Decision.Rule())
		case errors.As(err, &denied):
			fmt.Println("later:", denied.Decision.Cause, denied.Decision.RetryAt.After(time.Now()))
		case err != nil:
			log.Fatal(err)
		default:
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			fmt.Printf("fetched: %s\n", text)
		}
	}
	// Output:
	// fetched: All is well.
	// never: line 2 "Disallow: /private" in group "*"
	// later: status 503 Service Unavailable true
}

// An agent that does not begin with a product token needs one of its own.
func ExampleNew() {
	const agent = "Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.com/bot)"
	_, err := fetcher.New(agent, nil)
	fmt.Println(err)
	_, err = fetcher.New(agent, &fetcher.Options{Token: "ExampleBot"})
	fmt.Println(err)
	// Output:
	// fetcher: the agent "Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.com/bot)" begins with "Mozilla", which names no crawler; set Options.Token
	// <nil>
}

// Check decides without making the request, for a frontier that wants to know
// before it queues a URL.
func ExampleTransport_Check() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "User-agent: *\nDisallow: /*/print$\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, page := range []string{"https://example.com/a/print", "https://example.com/a/prints"} {
		d, err := t.Check(ctx, parse(page))
		if err != nil {
			log.Fatal(err) // ctx ended, or the URL is not an http or https URL
		}
		fmt.Printf("%v %s %s\n", d.Verdict, d.Clause, cmp.Or(d.Rule(), "no rule matches"))
	}
	_, err = t.Check(ctx, parse("mailto:someone@example.com"))
	fmt.Println(errors.Is(err, fetcher.ErrURL))
	// Output:
	// disallow 2.2.2 line 2 "Disallow: /*/print$" in group "*"
	// allow 2.2.2 no rule matches
	// true
}

// Admit decides and waits for the turn of a request that a browser makes.
func ExampleTransport_Admit() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Pace: &pace.Limits{Parallel: 1},
		Base: pages{"https://example.com/robots.txt": "User-agent: *\nDisallow: /private\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	browse := func(*url.URL) (*http.Response, error) { // a browser
		return &http.Response{StatusCode: http.StatusOK}, nil
	}
	for _, page := range []string{"https://example.com/news", "https://example.com/private"} {
		a, d, err := t.Admit(context.Background(), parse(page))
		switch {
		case err != nil:
			log.Fatal(err) // ctx ended, or the URL is not an http or https URL
		case a == nil:
			fmt.Println("not now:", d.Verdict)
			continue
		}
		resp, err := browse(parse(page))
		if err != nil {
			a.Fail(err)
			continue
		}
		a.Answer(resp.StatusCode, resp.Header)
		a.Done()
		fmt.Println("visited", page)
	}
	// Output:
	// visited https://example.com/news
	// not now: disallow
}

// Peek decides from memory alone. It neither waits nor fetches.
func ExampleTransport_Peek() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "User-agent: *\nDisallow: /private\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	page := parse("https://example.com/private")
	_, known := t.Peek(page)
	fmt.Println("known:", known)
	t.Check(context.Background(), page)
	d, known := t.Peek(page)
	fmt.Println("known:", known, d.Verdict)
	// Output:
	// known: false
	// known: true disallow
}

// Without an http.Client the error is the *DeniedError itself.
func ExampleTransport_RoundTrip() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "User-agent: ExampleBot\nDisallow: /\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, "https://example.com/", nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = t.RoundTrip(req)
	fmt.Println(err)
	// Output:
	// disallowed: robots.txt has line 2 "Disallow: /" in group "ExampleBot"
}

// A feed has a proxy of its own. Its requests share the cache and the pace with all others.
func ExampleTransport_Over() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{}, Pace: pace.Unlimited()})
	if err != nil {
		log.Fatal(err)
	}
	var proxy http.RoundTripper = pages{"https://example.com/feed": "<feed/>"} // such as an *http.Transport with a Proxy
	for _, crawler := range []*fetcher.Transport{t, t.Over(proxy)} {
		resp, err := (&http.Client{Transport: crawler}).Get("https://example.com/feed")
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(resp.StatusCode, crawler.Stats().Retrievals)
	}
	// Output:
	// 404 1
	// 200 1
}

// A program with an HTTP stack of its own follows a redirect.
func ExampleAdmission_Redirect() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Pace: pace.Unlimited(), Base: pages{
		"https://example.com/robots.txt": "User-agent: *\nDisallow: /login\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	a, _, err := t.Admit(context.Background(), parse("https://example.com/"))
	if err != nil {
		log.Fatal(err)
	}
	a.Answer(http.StatusFound, http.Header{"Location": {"/login"}})
	a, d, err := a.Redirect(context.Background(), parse("https://example.com/login"))
	if err != nil {
		log.Fatal(err)
	}
	defer a.Done() // a nil Admission needs none, and takes it
	fmt.Println(d.Verdict, d.Rule())
	// Output:
	// disallow line 2 "Disallow: /login" in group "*"
}

// Two crawlers of one operator share a cache.
func ExampleTransport_As() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "User-agent: ExampleBot-Images\nDisallow: /\n\nUser-agent: ExampleBot\nDisallow: /private\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	images, err := t.As("ExampleBot-Images")
	if err != nil {
		log.Fatal(err)
	}
	page := parse("https://example.com/cat.png")
	for _, crawler := range []*fetcher.Transport{t, images} {
		d, err := crawler.Check(context.Background(), page)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Verdict)
	}
	fmt.Println(t.Stats().Retrievals, "retrieval")
	// Output:
	// allow
	// disallow
	// 1 retrieval
}

// A program whose users choose the User-Agent obeys the groups of the crawler that it names. The
// agent of a browser names no crawler, so that the token of the program counts.
func ExampleTransport_As_users() {
	t, err := fetcher.New("Crawlkit/1.0 (+https://crawlkit.example/)", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "User-agent: ShopBot\nDisallow: /\n\nUser-agent: *\nDisallow:\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, agent := range []string{
		"ShopBot/2.1 (+https://shop.example/bot)",
		"Mozilla/5.0 (compatible; ShopBot/2.1; +https://shop.example/bot)",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
	} {
		name := agent
		if _, after, ok := strings.Cut(agent, "compatible; "); ok {
			name = after
		}
		name, _, _ = strings.Cut(name, "/")
		crawler := t
		if name != "Mozilla" {
			if crawler, err = t.As(name); err != nil {
				log.Fatal(err) // name is no product token: ask the user for one
			}
		}
		d, err := crawler.Check(context.Background(), parse("https://example.com/"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(crawler.Token(), d.Verdict) // and send agent as the User-Agent of the pages
	}
	// Output:
	// ShopBot disallow
	// ShopBot disallow
	// Crawlkit allow
}

// The record of a site has the lines of its robots.txt that are not rules.
func ExampleTransport_Record() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "Sitemap: https://example.com/sitemap.xml\nUser-agent: *\nCrawl-delay: 2.5\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	rec, err := t.Record(context.Background(), parse("https://example.com/"))
	if err != nil {
		log.Fatal(err)
	}
	if f := rec.File(); f != nil { // nil: the site has no robots.txt that can be had
		delay, _ := f.CrawlDelay("ExampleBot")
		fmt.Println(f.Sitemaps(), delay)
	}
	// Output:
	// [https://example.com/sitemap.xml] 2.5s
}

// A webmaster says that the file has changed.
func ExampleTransport_Refresh() {
	site := pages{"https://example.com/robots.txt": "User-agent: *\nDisallow: /\n"}
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: site})
	if err != nil {
		log.Fatal(err)
	}
	home := parse("https://example.com/")
	d, _ := t.Check(context.Background(), home)
	fmt.Println(d.Verdict)

	site["https://example.com/robots.txt"] = "User-agent: *\nDisallow:\n"
	d, _ = t.Check(context.Background(), home) // the copy is good for a day
	fmt.Println(d.Verdict)
	d, _ = t.Refresh(context.Background(), home)
	fmt.Println(d.Verdict)
	// Output:
	// disallow
	// disallow
	// allow
}

// Invalidate forgets a site. The next check fetches its robots.txt again.
func ExampleTransport_Invalidate() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{}})
	if err != nil {
		log.Fatal(err)
	}
	home := parse("https://example.com/")
	t.Check(context.Background(), home)
	fmt.Println(t.Stats().Authorities)
	if err := t.Invalidate(context.Background(), home); err != nil {
		log.Fatal(err) // the store may still have it
	}
	fmt.Println(t.Stats().Authorities)
	// Output:
	// 1
	// 0
}

// The memory can be filled before the workers start, here with four fetches at a time.
func ExampleTransport_Record_fillMemory() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{}})
	if err != nil {
		log.Fatal(err)
	}
	seeds := []*url.URL{parse("https://a.example/"), parse("https://b.example/1"), parse("https://b.example/2")}
	var fetches errgroup.Group
	fetches.SetLimit(4)
	for _, seed := range seeds {
		fetches.Go(func() error {
			_, err := t.Record(context.Background(), seed)
			return err
		})
	}
	fmt.Println(fetches.Wait())
	_, known := t.Peek(seeds[2])
	fmt.Println(t.Stats().Retrievals, known)
	// Output:
	// <nil>
	// 2 true
}

// Records lists the records in memory, here to show an operator which sites are down.
func ExampleTransport_Records() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{"https://busy.example/robots.txt": ""}})
	if err != nil {
		log.Fatal(err)
	}
	for _, home := range []string{"https://example.com/", "https://busy.example/"} {
		t.Check(context.Background(), parse(home))
	}
	known := maps.Collect(t.Records())
	for _, authority := range slices.Sorted(maps.Keys(known)) {
		// What is known of the site as a whole: any URL and token will do.
		d := known[authority].Decide("", &url.URL{}, time.Now())
		fmt.Println(authority, d.Access, "down:", !d.DownSince.IsZero())
	}
	// Output:
	// https://busy.example unreachable down: true
	// https://example.com unavailable down: false
}

func ExampleTransport_Stats() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{
		"https://example.com/robots.txt": "User-agent: *\nDisallow: /private\n",
	}})
	if err != nil {
		log.Fatal(err)
	}
	for _, page := range []string{"/", "/news", "/private"} {
		t.Check(context.Background(), parse("https://example.com"+page))
	}
	s := t.Stats()
	fmt.Println(s.Allowed, "allowed,", s.Disallowed, "disallowed,", s.Requests, "request for robots.txt")
	// Output:
	// 2 allowed, 1 disallowed, 1 request for robots.txt
}

// The error of a refused request says why, and when to retry.
func ExampleDeniedError() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Base: pages{"https://busy.example/robots.txt": ""}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = (&http.Client{Transport: t}).Get("https://busy.example/")
	var denied *fetcher.DeniedError
	if errors.As(err, &denied) {
		d := denied.Decision
		fmt.Println(errors.Is(err, fetcher.ErrDeferred), d.Access, d.Cause)
		fmt.Println("in about", time.Until(d.RetryAt).Round(time.Hour))
	}
	// Output:
	// true unreachable status 503 Service Unavailable
	// in about 0s
}

// A profile is data: change what you need to before its first use.
func ExampleOptions_profile() {
	p := policy.Strict()
	p.Name = "strict, in a hurry"
	p.Retry.Min = 10 * time.Second
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Profile: p,
		Base:    pages{"https://busy.example/robots.txt": ""},
	})
	if err != nil {
		log.Fatal(err)
	}
	d, _ := t.Check(context.Background(), parse("https://busy.example/"))
	fmt.Println(d.Verdict, d.Profile)
	// Output:
	// defer strict, in a hurry
}

// With MaxWait, a worker whose turn is far away is refused at once.
func ExampleOptions_pace() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Pace: &pace.Limits{Gap: time.Hour, MaxWait: time.Second},
		Base: pages{"https://example.com/robots.txt": "User-agent: *\nDisallow:\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = (&http.Client{Transport: t}).Get("https://example.com/") // robots.txt had its turn just now
	var denied *fetcher.DeniedError
	if errors.As(err, &denied) {
		fmt.Println(denied.Decision.Verdict, denied.Decision.Pacing)
	}
	// Output:
	// defer no turn within MaxWait: the next one is in 1h0m0s, because of the gap between requests
}

// A robots.txt and a delay of the crawler's own replace those of a site.
func ExampleOptions_ownRules() {
	own := matcher.Parse([]byte("User-agent: *\nDisallow: /search\n"), matcher.Dialect{})
	ours := parse("https://intranet.example/")
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Base: pages{},
		Override: func(u *url.URL) (policy.Verdict, string, bool) {
			if u.Host != ours.Host {
				return 0, "", false // its robots.txt decides
			}
			if own.Group("ExampleBot").MatchURL(u).Allowed {
				return policy.Allow, "our rules for the intranet", true
			}
			return policy.Disallow, "our rules for the intranet", true
		},
		Scopes: func(u *url.URL) []pace.Scope {
			if u.Host != ours.Host {
				return nil // Options.Pace and its Crawl-delay count
			}
			key, _ := fetcher.Authority(u)
			return []pace.Scope{{Key: key, Limits: pace.Limits{Gap: 10 * time.Millisecond}}}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, page := range []string{"https://intranet.example/search?q=1", "https://intranet.example/news"} {
		d, err := t.Check(context.Background(), parse(page))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Verdict, d.Override)
	}
	// Output:
	// disallow our rules for the intranet
	// allow our rules for the intranet
}

// An operator's verdict decides, and its reason is in every decision.
func ExampleOptions_override() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Base: pages{"https://example.com/robots.txt": "User-agent: *\nDisallow: /\n"},
		Override: func(u *url.URL) (policy.Verdict, string, bool) {
			if u.Host == "example.com" {
				return policy.Allow, "our own site", true
			}
			return 0, "", false
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	d, _ := t.Check(context.Background(), parse("https://example.com/"))
	fmt.Println(d)
	// Output:
	// ALLOW https://example.com/: by order of the operator: our own site [house rule; profile rfc9309]
}

// Audit refuses nothing and reports what would have been refused, for a trial.
func ExampleOptions_audit() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Audit: true,
		Trace: &fetcher.Trace{Decided: func(_ context.Context, d policy.Decision) { fmt.Println("would", d.Verdict) }},
		Base: pages{
			"https://example.com/robots.txt": "User-agent: *\nDisallow: /\n",
			"https://example.com/":           "Hello.",
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: t}).Get("https://example.com/")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println("fetched:", resp.StatusCode)
	// Output:
	// would disallow
	// fetched: 200
}

// For a client that retries on any error, a refusal can be a response.
func ExampleOptions_asResponse() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		AsResponse: true,
		Base:       pages{"https://example.com/robots.txt": "User-agent: *\nDisallow: /\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: t}).Get("https://example.com/")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, strings.HasPrefix(string(text), "DISALLOW https://example.com/"))
	// Output:
	// 403 true
}

// The Logger gets every fetch. Attributes that differ from run to run are left out
// here.
func ExampleOptions_logger() {
	h := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "took" || a.Key == "next" {
				return slog.Attr{}
			}
			return a
		},
	})
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Logger: slog.New(h),
		Base:   pages{"https://example.com/robots.txt": "User-agent: *\nDisallow: /\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	t.Check(context.Background(), parse("https://example.com/"))
	// Output:
	// level=DEBUG msg="robots.txt fetched" robots=https://example.com/robots.txt served=https://example.com/robots.txt status=200 hops=0
}

// The hooks have the values that metrics and traces need.
func ExampleTrace() {
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{
		Base: pages{"https://busy.example/robots.txt": ""},
		Trace: &fetcher.Trace{
			Try:     func(h fetcher.Try) { fmt.Println("requested", h.URL, h.Status) },
			Fetched: func(a policy.Attempt, r *policy.Record) { fmt.Println("fetched", a.Robots, a.Status) },
			Decided: func(_ context.Context, d policy.Decision) { fmt.Println("decided", d.Verdict, d.Clause) },
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	t.Check(context.Background(), parse("https://busy.example/"))
	// Output:
	// requested https://busy.example/robots.txt 503
	// fetched https://busy.example/robots.txt 503
	// decided defer 2.3.1.4
}
