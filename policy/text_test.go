package policy_test

import (
	"bytes"
	"compress/flate"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rfc9309/polite/internal/realfiles"
	"github.com/rfc9309/polite/policy"
)

// TestStoredSize checks that stored records of real files take at most a third of the
// bytes of the files.
func TestStoredSize(t *testing.T) {
	p := policy.RFC9309()
	text, data := 0, 0
	for _, body := range realfiles.Bodies(t) {
		a := attempt(t, "200", start)
		a.Body = body
		rec := p.Learn(nil, a)
		text += len(rec.File().Text())
		data += len(stored(t, rec))
	}
	if data > text/3 {
		t.Errorf("%d bytes are stored of %d bytes of text\nwant at most a third", data, text)
	}
}

// TestText checks that the text of a record is the body as received, also after it was
// stored and loaded.
func TestText(t *testing.T) {
	p := policy.RFC9309()
	long := strings.Repeat("x", p.Limit)
	for name, body := range map[string]string{
		"9/rules": bodies["rules"], "9/empty": "", "9/utf_16": bodies["utf16"], "9/png": bodies["png"],
		"9/at_the_limit": long, "9/zeros_at_the_limit": strings.Repeat("\x00", p.Limit),
	} {
		t.Run(name, func(t *testing.T) {
			a := attempt(t, "200", start)
			a.Body = []byte(body)
			rec := learn(t, p, nil, a)
			for _, r := range []*policy.Record{rec, reload(t, p, rec)} {
				if got := r.File().Text(); got != body {
					t.Errorf("got  %.50q\nwant %.50q", got, body)
				}
				if got, want := r.Text().Digest(), digestOf(body); got != want {
					t.Errorf("got  digest %s\nwant %s", got, want)
				}
			}
		})
	}
	if got := (*policy.Record)(nil).Text().Digest(); got != "" {
		t.Errorf("a nil record has the digest %s", got)
	}
}

// deflated returns a deflated text, as a hostile store may return it.
func deflated(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text)
	w.Close()
	return b.Bytes()
}

// TestLoadOfHostileText checks that Load inflates a text only up to the limit, and
// refuses data that follow the text.
func TestLoadOfHostileText(t *testing.T) {
	p := policy.RFC9309()
	data := stored(t, learn(t, p, nil, attempt(t, "200 empty", start)))
	head := data[:len(data)-16-len(deflated(t, nil))]
	forge := func(text []byte) []byte {
		return reseal(append(append([]byte(string(head)), text...), make([]byte, 16)...))
	}
	rules := []byte(bodies["rules"])
	if rec, err := p.Load(forge(deflated(t, rules))); err != nil || outcome(t, rec, start) != "rules 2.2.2" {
		t.Errorf("a text that another writer deflated: %v", err)
	}
	for _, tt := range []struct {
		name string
		text []byte
	}{
		{"4.2/over_the_limit", deflated(t, make([]byte, p.Limit+1))},
		{"4.2/ten_times_the_limit", deflated(t, make([]byte, 10*p.Limit))},
		{"4.2/cut", deflated(t, rules)[:8]},
		{"4.2/followed_by_more", append(deflated(t, rules), 0)},
		{"4.2/no_text", nil},
		{"4.2/not_deflated", rules},
	} {
		t.Run(tt.name, func(t *testing.T) { refuse(t, p, forge(tt.text), tt.name) })
	}
}

// TestGroup checks that a group is compiled once, and that the number of tokens is
// bounded.
func TestGroup(t *testing.T) {
	p := policy.RFC9309()
	a := attempt(t, "200", start)
	a.Body = []byte("User-agent: a\nCrawl-delay: 2\nDisallow: /private\nUser-agent: *\nDisallow: /public\n")
	rec := learn(t, p, nil, a)
	first := rec.File().Group("a")
	if delay, ok := first.CrawlDelay(); !ok || delay != 2*time.Second || first.Agent() != "a" {
		t.Errorf("got  group %q, Crawl-delay %v, %v\nwant a, 2s", first.Agent(), delay, ok)
	}
	if rec.File().Group("b") != rec.File().Group("c") {
		t.Errorf("two tokens of the default group have two groups")
	}
	if rec.File().Group("a") != first {
		t.Errorf("the group was compiled twice")
	}
	size := rec.Text().Size()
	for i := range 1000 {
		rec.File().Group(fmt.Sprint("bot", i))
	}
	if got := rec.Text().Size(); got > size+2000 {
		t.Errorf("after 1000 tokens the text takes %d bytes, before %d", got, size)
	}
	if d := rec.Decide("a", private, start); d.Allowed() || d.Match.Agent != "a" {
		t.Errorf("after 1000 tokens: %v", d)
	}
	for _, r := range []*policy.Record{nil, {}, learn(t, p, nil, attempt(t, "404", start))} {
		if g := r.File().Group("a"); g == nil || g.Agent() != "" || !g.Match("/private").Allowed {
			t.Errorf("a record without a copy has the group %v", g)
		}
	}
}

// TestGroupAtOnce checks that several goroutines may ask first at the same time.
func TestGroupAtOnce(t *testing.T) {
	rec := policy.RFC9309().Learn(nil, attempt(t, "200 rules", start))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if rec.Allows(fmt.Sprint("bot", i%3), private, start) {
				t.Errorf("bot%d may read /private", i%3)
			}
			if got := rec.File().Text(); got != bodies["rules"] {
				t.Errorf("the text is %q, want %q", got, bodies["rules"])
			}
			stored(t, rec)
		})
	}
	all.Wait()
}

// TestPack checks by the allocated bytes that a new text is not inflated again for its first
// crawler, and that a text which is known already is not inflated at all.
func TestPack(t *testing.T) {
	p := policy.RFC9309()
	a := attempt(t, "200 rules", start)
	a.Body = append(bytes.Repeat([]byte("# nothing\n"), 40_000), a.Body...)
	old := p.Learn(nil, a)
	old.Text().Size("ExampleBot")
	for _, tt := range []struct {
		name  string
		old   *policy.Record
		times uint64 // the length of the body, at most
	}{{"3.1/new", nil, 4}, {"3.1/known", old, 2}} {
		const runs = 10
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			p.Learn(tt.old, a).Text().Size("ExampleBot")
		}
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > tt.times*uint64(len(a.Body)) {
			t.Errorf("%s: %d bytes allocated for a body of %d; want at most %d times as many", tt.name, got, len(a.Body), tt.times)
		}
	}
}

// TestSameText checks that a fetch of the same text keeps the compiled groups.
func TestSameText(t *testing.T) {
	p := policy.Google() // its requests are not conditional
	old := learn(t, p, nil, attempt(t, "200 rules", start))
	same := learn(t, p, old, attempt(t, "200 rules", start.Add(time.Hour)))
	other := learn(t, p, same, attempt(t, "200 others", start.Add(2*time.Hour)))
	if same == old || same.Text() != old.Text() || other.Text() == old.Text() {
		t.Errorf("got  the same text %v, another %v\nwant true, false", same.Text() == old.Text(), other.Text() == old.Text())
	}
}

// TestWarm checks that Decide with a compiled group allocates only the strings of the
// URL and the digest, and Allows nothing.
func TestWarm(t *testing.T) {
	rec := policy.RFC9309().Learn(nil, attempt(t, "200 rules", start))
	for _, tt := range []struct {
		name string
		most float64
		ask  func()
	}{
		{"9/allows", 0, func() { rec.Allows("ExampleBot", private, start) }},
		{"9/crawl_delay", 0, func() { rec.File().Group("ExampleBot").CrawlDelay() }},
		{"9/decide", 1, func() { rec.Decide("ExampleBot", private, start) }},
	} {
		url := testing.AllocsPerRun(100, func() { _ = private.Redacted() })
		if tt.most > 0 {
			tt.most += url
		}
		if got := testing.AllocsPerRun(100, tt.ask); got > tt.most {
			t.Errorf("%s: %v allocations; want %v", tt.name, got, tt.most)
		}
	}
}

// TestGroupsOfTwoTokens checks that two crawlers do not share a group without a name. In
// Google's dialect an empty user-agent value names the empty token.
func TestGroupsOfTwoTokens(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := policy.Google().Learn(nil, policy.Attempt{
		Robots: "https://example.com/robots.txt", Status: 200, Body: []byte("User-agent:\nDisallow: /\n"), Received: now,
	})
	target := &url.URL{Scheme: "https", Host: "example.com", Path: "/x"}
	if r.Allows("", target, now) {
		t.Error("2.2.1: the empty token may fetch, want it to obey its group")
	}
	if !r.Allows("ExampleBot", target, now) {
		t.Error("2.2.1: ExampleBot may not fetch, want no group to apply to it")
	}
}
