package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"

	"github.com/rfc9309/polite/fetcher"
	"github.com/rfc9309/polite/inspect"
	"github.com/rfc9309/polite/policy"
)

// startSite starts a web site.
func startSite() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
	}))
}

// getJSON reads a page as JSON.
func getJSON(at string, query url.Values, into any) {
	query.Set("format", "json")
	res, err := http.Get(at + "?" + query.Encode())
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil {
		log.Fatal(err)
	}
}

// The page is mounted on a listener for operators, next to pprof. The example reads
// it as JSON. A browser gets HTML.
func Example() {
	page := inspect.New(nil)
	t, err := fetcher.New("ExampleBot/0.1 (+https://example.com/bot)", &fetcher.Options{Trace: page.Trace(nil)})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/polite/", page.Handler(t))
	operators := httptest.NewServer(mux)
	defer operators.Close()

	web := startSite()
	defer web.Close()
	client := &http.Client{Transport: t}
	for _, path := range []string{"/", "/private/plan"} {
		if res, err := client.Get(web.URL + path); err == nil {
			res.Body.Close()
		}
	}

	var recent struct {
		Decisions []struct {
			Decision struct{ Verdict, Clause string }
		}
	}
	getJSON(operators.URL+"/debug/polite/", url.Values{"view": {"recent"}}, &recent)
	for _, r := range recent.Decisions {
		fmt.Println(r.Decision.Verdict, "by section", r.Decision.Clause)
	}
	// Output:
	// disallow by section 2.2.2
	// allow by section 2.2.2
}

// With Actions an operator can fetch a robots.txt again and forget it. Everybody who
// can open the page can press the buttons, so here it requires a password.
func ExampleNew() {
	page := inspect.New(&inspect.Options{Actions: true, Recent: 1000})
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Trace: page.Trace(nil)})
	if err != nil {
		log.Fatal(err)
	}
	shown := page.Handler(t)
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); !ok || user != "operator" || password != os.Getenv("PAGE_PASSWORD") {
			w.Header().Set("WWW-Authenticate", `Basic realm="polite"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		shown.ServeHTTP(w, r)
	})
	operators := httptest.NewServer(guarded)
	defer operators.Close()

	res, err := http.Get(operators.URL)
	if err != nil {
		log.Fatal(err)
	}
	res.Body.Close()
	fmt.Println(res.Status)
	// Output: 401 Unauthorized
}

// The hooks of the page call your own hooks.
func ExamplePage_Trace() {
	page := inspect.New(nil)
	hooks := page.Trace(&fetcher.Trace{
		Decided: func(_ context.Context, d policy.Decision) {
			if !d.Allowed() {
				fmt.Println("not fetched:", d.Match.Rule.Pattern)
			}
		},
	})
	t, err := fetcher.New("ExampleBot/0.1", &fetcher.Options{Trace: hooks})
	if err != nil {
		log.Fatal(err)
	}
	web := startSite()
	defer web.Close()
	target, err := url.Parse(web.URL + "/private/plan")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := t.Check(context.Background(), target); err != nil {
		log.Fatal(err)
	}
	// Output: not fetched: /private/
}

// The page answers "may I fetch this URL?" from memory. A script reads the answer as
// JSON.
func ExamplePage_Handler() {
	web := startSite()
	defer web.Close()
	page := inspect.New(nil)
	t, err := fetcher.New("ExampleBot/0.1", nil) // without hooks: no decisions and no rates
	if err != nil {
		log.Fatal(err)
	}
	operators := httptest.NewServer(page.Handler(t))
	defer operators.Close()

	target, err := url.Parse(web.URL + "/private/plan")
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		var asked struct {
			Known    bool
			Decision struct{ Verdict string }
			Lines    []struct {
				Line    int
				Text    string
				Decides bool
			}
		}
		getJSON(operators.URL, url.Values{"url": {target.String()}}, &asked)
		fmt.Printf("known: %t, verdict: %q\n", asked.Known, asked.Decision.Verdict)
		for _, l := range asked.Lines {
			if l.Decides {
				fmt.Printf("line %d: %s\n", l.Line, l.Text)
			}
		}
		res, err := (&http.Client{Transport: t}).Get(web.URL) // fetches the site's robots.txt
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	// Output:
	// known: false, verdict: ""
	// known: true, verdict: "disallow"
	// line 2: Disallow: /private/
}
