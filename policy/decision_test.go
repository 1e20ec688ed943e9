package policy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/policy"
)

// TestString checks the line that people read, for each kind of decision.
func TestString(t *testing.T) {
	for _, tt := range []struct {
		name, profile string
		events        []string // one a day, "" for a day without a fetch
		want          string
	}{
		{"2.3/nothing_known", "rfc9309", nil,
			`DEFER https://example.com/private: robots.txt must be fetched first [RFC 9309, section 2.3]; not before 2026-05-01T00:00:00Z`},
		{"2.2.2/a_rule", "rfc9309", []string{"200 rules"},
			`DISALLOW https://example.com/private: line 2 "Disallow: /private" in group "*" of https://example.com/robots.txt [RFC 9309, section 2.2.2; profile rfc9309]; fetched 2026-05-01T00:00:00Z; next fetch 2026-05-02T00:00:00Z`},
		{"2.2.2/no_rule_matches", "strict", []string{"200 others"},
			`ALLOW https://example.com/private: no rule of group "*" matches in https://example.com/robots.txt [RFC 9309, section 2.2.2; profile strict]; fetched 2026-05-01T00:00:00Z; next fetch 2026-05-02T00:00:00Z`},
		{"2.2.1/no_group", "rfc9309", []string{"200 empty from https://cdn.example/r"},
			`ALLOW https://example.com/private: no group applies in https://example.com/robots.txt (served by https://cdn.example/r) [RFC 9309, section 2.2.1; profile rfc9309]; fetched 2026-05-01T00:00:00Z; next fetch 2026-05-02T00:00:00Z`},
		{"2.3.1.3/404", "rfc9309", []string{"404"},
			`ALLOW https://example.com/private: there is no robots.txt (status 404) [RFC 9309, section 2.3.1.3; profile rfc9309]; next fetch 2026-05-02T00:00:00Z`},
		{"2.3.1.3/410_elsewhere", "rfc9309", []string{"410 from https://cdn.example/r"},
			`ALLOW https://example.com/private: there is no robots.txt (status 410 from https://cdn.example/r) [RFC 9309, section 2.3.1.3; profile rfc9309]; next fetch 2026-05-02T00:00:00Z`},
		{"2.3.1.3/403", "rfc9309", []string{"403"},
			`ALLOW https://example.com/private: https://example.com/robots.txt counts as missing (status 403 Forbidden) [RFC 9309, section 2.3.1.3; profile rfc9309]; next fetch 2026-05-01T01:00:00Z`},
		{"house/5xx_in_place_of_a_404", "google", []string{"500 probe 200 500"},
			`ALLOW https://example.com/private: https://example.com/robots.txt counts as missing (status 500 Internal Server Error, as for a path that cannot exist; / answers 200) [house rule; profile google]; next fetch 2026-05-01T01:00:00Z`},
		{"2.3.1.2/redirects", "rfc9309", []string{"301 after 5 + Location: /x"},
			`ALLOW https://example.com/private: https://example.com/robots.txt (served by https://example.com/hop5) counts as missing (more than 5 redirects) [RFC 9309, section 2.3.1.2; profile rfc9309]; next fetch 2026-05-01T01:00:00Z`},
		{"2.3.1.4/503", "rfc9309", []string{"503"},
			`DEFER https://example.com/private: https://example.com/robots.txt is unreachable (status 503 Service Unavailable) [RFC 9309, section 2.3.1.4; profile rfc9309]; unreachable since 2026-05-01T00:00:00Z; not before 2026-05-01T00:01:00Z`},
		{"2.3.1.4/dns", "rfc9309", []string{"dns"},
			`DEFER https://example.com/private: https://example.com/robots.txt is unreachable (retrieval: dns: it broke) [RFC 9309, section 2.3.1.4; profile rfc9309]; unreachable since 2026-05-01T00:00:00Z; not before 2026-05-01T00:01:00Z`},
		{"2.4/an_expired_copy", "rfc9309", []string{"200 rules", ""},
			`DEFER https://example.com/private: https://example.com/robots.txt must be fetched first [RFC 9309, section 2.4; profile rfc9309]; not before 2026-05-02T00:00:00Z`},
		{"2.4/an_expired_404", "rfc9309", []string{"404", ""},
			`DEFER https://example.com/private: https://example.com/robots.txt must be fetched first [RFC 9309, section 2.4; profile rfc9309]; not before 2026-05-02T00:00:00Z`},
		{"2.4/a_stale_copy", "rfc9309", []string{"200 rules", "999 + Retry-After: 3600"},
			`DISALLOW https://example.com/private: line 2 "Disallow: /private" in group "*" of an expired cached copy of https://example.com/robots.txt [RFC 9309, section 2.4; profile rfc9309]; fetched 2026-05-01T00:00:00Z; unreachable since 2026-05-02T00:00:00Z; next fetch 2026-05-02T01:00:00Z`},
		{"house/401", "koster1996", []string{"401"},
			`DISALLOW https://example.com/private: https://example.com/robots.txt is restricted (status 401 Unauthorized) [house rule; profile koster1996]; next fetch 2026-05-02T00:00:00Z`},
		{"house/429", "rfc9309", []string{"429"},
			`DEFER https://example.com/private: https://example.com/robots.txt is unreachable (status 429 Too Many Requests) [house rule; profile rfc9309]; unreachable since 2026-05-01T00:00:00Z; not before 2026-05-01T00:01:00Z`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := profile(t, tt.profile)
			var rec *policy.Record
			now := start
			for i, e := range tt.events {
				now = start.AddDate(0, 0, i)
				if e != "" {
					rec = learn(t, p, rec, attempt(t, e, now))
				}
			}
			if got := decide(t, rec, private, now).String(); got != tt.want {
				t.Errorf("after %q:\ngot  %s\nwant %s", tt.events, got, tt.want)
			}
		})
	}
}

func TestStringOfOverride(t *testing.T) {
	d := policy.Decision{Verdict: policy.Allow, URL: "https://example.com/", Clause: "house", Override: "we asked\nthem"}
	const want = `ALLOW https://example.com/: by order of the operator: we asked?them [house rule]`
	if got := d.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestStringOfState checks that the state of a site shows no verdict: it has none.
func TestStringOfState(t *testing.T) {
	p := policy.RFC9309()
	for _, tt := range []struct {
		name string
		rec  *policy.Record
		want string
	}{
		{"2.4/nothing_known", nil, "robots.txt has not been fetched"},
		{"2.3.1.3/404", p.Learn(nil, attempt(t, "404", start)),
			"there is no robots.txt (status 404); next fetch 2026-05-02T00:00:00Z"},
		{"2.3.1.1/copy", p.Learn(nil, attempt(t, "200 rules", start)),
			"https://example.com/robots.txt is successful (status 200); fetched 2026-05-01T00:00:00Z; next fetch 2026-05-02T00:00:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.rec.State(start)
			if got := d.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			text, err := json.Marshal(d)
			if attrs := d.LogValue().String(); err != nil || strings.Contains(attrs+string(text), "verdict") {
				t.Errorf("got  %s\n%s, %v\nwant no verdict in them", attrs, text, err)
			}
		})
	}
}

// TestStringOfPacing checks that an allowed URL shows its turn, and a deferred URL
// why it gets no turn.
func TestStringOfPacing(t *testing.T) {
	d := decide(t, policy.RFC9309().Learn(nil, attempt(t, "200 rules", start)), public, start)
	before := d.String()
	d.Turn, d.Pacing = start.Add(time.Hour), "waits for the Crawl-delay, Crawl-delay 24h0m0s obeyed as 1h0m0s\n"
	if got, want := d.String(), before+"; its turn 2026-05-01T01:00:00Z; pacing: waits for the Crawl-delay, Crawl-delay 24h0m0s obeyed as 1h0m0s?"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	d = policy.Decision{Verdict: policy.Defer, URL: "https://example.com/", Clause: "house", RetryAt: start, Pacing: "no turn:\npause"}
	if got, want := d.String(), "DEFER https://example.com/: no turn:?pause [house rule]; not before 2026-05-01T00:00:00Z"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	attrs := fmt.Sprint(d.LogValue().Group())
	if !strings.Contains(attrs, "pacing=no turn:?pause") {
		t.Errorf("LogValue = %s, want the pacing in it", attrs)
	}
}

// hostile returns a Decision in which all text of a server is hostile.
func hostile() policy.Decision {
	const evil = "\x00\x1b[31m\r\n\u202E\u2066\u200B\uFEFF\xFF\xC0\x80\u00A0\"\\ ALLOW"
	long := strings.Repeat(evil, 8<<10/len(evil))
	return policy.Decision{
		Verdict: policy.Disallow, URL: "https://example.com/?" + long, Clause: "2.2.2", Access: policy.Successful,
		Match:   matcher.Match{Agent: long, Rule: matcher.Rule{Line: 7, Pattern: long}},
		Profile: "rfc9309", Robots: robots, Served: "https://example.com/" + long, Status: 200,
		Fetched: start, Cause: long, Pacing: long, Override: "",
	}
}

// safe returns why text must not be shown, or "" if it is safe.
func safe(s string) string {
	if !utf8.ValidString(s) {
		return "invalid UTF-8"
	}
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return "the character " + string(c)
		}
	}
	return ""
}

func TestHostileText(t *testing.T) {
	d := hostile()
	for _, with := range []struct {
		name   string
		change func(*policy.Decision)
	}{
		{"rule", func(*policy.Decision) {}},
		{"cause", func(d *policy.Decision) { d.Match = matcher.Match{} }},
		{"agent", func(d *policy.Decision) { d.Match.Rule = matcher.Rule{} }},
		{"override", func(d *policy.Decision) { d.Override = d.Cause }},
	} {
		t.Run("house/"+with.name, func(t *testing.T) {
			d := d
			with.change(&d)
			if s := d.String(); safe(s) != "" || len(s) > 2000 {
				t.Errorf("String has %d bytes and %s: %.300q", len(s), safe(s), s)
			}
			if url := strings.Fields(d.String())[1]; !strings.HasSuffix(url, "…:") || strings.Contains(url, `"`) {
				t.Errorf("String: got %s\nwant no spaces in the URL", d)
			}
			var log bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("decision", "decision", d)
			if s := strings.TrimSuffix(log.String(), "\n"); safe(s) != "" || len(s) > 4000 {
				t.Errorf("LogValue has %d bytes and %s: %.300q", len(s), safe(s), s)
			}
			data, err := json.Marshal(d)
			if err != nil || safe(string(data)) != "" || len(data) > 40<<10 {
				t.Errorf("JSON has %d bytes and %s, %v: %.300q", len(data), safe(string(data)), err, data)
			}
		})
	}
	const rule = `line 7 "Disallow: `
	if s := d.Rule(); !strings.HasPrefix(s, rule) || len(s) > 600 {
		t.Errorf("Rule has %d bytes: %.300q", len(s), s)
	}
}

// TestQuoting checks that a rule with quotes is quoted without ambiguity.
func TestQuoting(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{`/a"b`, `line 1 "Disallow: /a\"b" in group "*"`},
		{`/a\`, `line 1 "Disallow: /a\\" in group "*"`},
		{"/ü", `line 1 "Disallow: /ü" in group "*"`},
		{"/\u202E", `line 1 "Disallow: /?" in group "*"`},
		{strings.Repeat("x", 8<<10), `line 1 "Disallow: ` + strings.Repeat("x", 107) + `…" in group "*"`},
	} {
		d := policy.Decision{Match: matcher.Match{Agent: "*", Rule: matcher.Rule{Line: 1, Pattern: tt.pattern}}}
		if got := d.Rule(); got != tt.want {
			t.Errorf("%.40q:\ngot  %s\nwant %s", tt.pattern, got, tt.want)
		}
	}
}

// TestJSON checks the names, values and order of the fields that programs read.
func TestJSON(t *testing.T) {
	p := policy.RFC9309()
	rec := learn(t, p, nil, attempt(t, "200 rules from https://cdn.example/r", start))
	day := start.AddDate(0, 0, 1)
	digest := digestOf(bodies["rules"])
	for _, tt := range []struct {
		name string
		d    policy.Decision
		want string
	}{
		{"2.2.2/rule", decide(t, rec, private, start),
			`{"verdict":"disallow","url":"https://example.com/private","at":"2026-05-01T00:00:00Z","clause":"2.2.2","access":"successful",` +
				`"match":{"allowed":false,"agent":"*","rule":{"line":2,"allow":false,"pattern":"/private"}},"profile":"rfc9309",` +
				`"robots":"https://example.com/robots.txt","served":"https://cdn.example/r","status":200,` +
				`"fetched":"2026-05-01T00:00:00Z","expires":"2026-05-02T00:00:00Z","stale":false,"digest":"` + digest + `"}`},
		{"2.4/stale", decide(t, learn(t, p, rec, attempt(t, "503 + Retry-After: 3600", day)), public, day),
			`{"verdict":"allow","url":"https://example.com/public","at":"2026-05-02T00:00:00Z","clause":"2.4","access":"unreachable",` +
				`"match":{"allowed":true,"agent":"*","rule":{"line":0,"allow":false,"pattern":""}},"profile":"rfc9309",` +
				`"robots":"https://example.com/robots.txt","served":"https://example.com/robots.txt","status":503,` +
				`"fetched":"2026-05-01T00:00:00Z","expires":"2026-05-02T01:00:00Z","stale":true,"down_since":"2026-05-02T00:00:00Z",` +
				`"cause":"status 503 Service Unavailable","digest":"` + digest + `"}`},
		{"2.3.1.4/defer", decide(t, learn(t, p, nil, attempt(t, "503 + Retry-After: 3600", start)), private, start),
			`{"verdict":"defer","url":"https://example.com/private","at":"2026-05-01T00:00:00Z","clause":"2.3.1.4","access":"unreachable",` +
				`"match":{"allowed":false,"agent":"","rule":{"line":0,"allow":false,"pattern":""}},"profile":"rfc9309",` +
				`"robots":"https://example.com/robots.txt","served":"https://example.com/robots.txt","status":503,` +
				`"expires":"2026-05-01T01:00:00Z","stale":false,"down_since":"2026-05-01T00:00:00Z","retry_at":"2026-05-01T01:00:00Z",` +
				`"cause":"status 503 Service Unavailable"}`},
		{"house/turn", policy.Decision{Verdict: policy.Allow, URL: "https://example.com/", Turn: day, Pacing: "waits for the gap between requests"},
			`{"verdict":"allow","url":"https://example.com/","clause":"","access":"unreachable",` +
				`"match":{"allowed":false,"agent":"","rule":{"line":0,"allow":false,"pattern":""}},"profile":"",` +
				`"robots":"","served":"","status":0,"stale":false,"turn":"2026-05-02T00:00:00Z","pacing":"waits for the gap between requests"}`},
		{"house/override", policy.Decision{Verdict: policy.Allow, URL: "https://example.com/", Override: "ours"},
			`{"verdict":"allow","url":"https://example.com/","clause":"","access":"unreachable",` +
				`"match":{"allowed":false,"agent":"","rule":{"line":0,"allow":false,"pattern":""}},"profile":"",` +
				`"robots":"","served":"","status":0,"stale":false,"override":"ours"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.d)
			if err != nil || string(got) != tt.want {
				t.Errorf("%+v, %v:\ngot  %s\nwant %s", tt.d, err, got, tt.want)
			}
		})
	}
}

// TestJSONOfLongText checks where text is cut.
func TestJSONOfLongText(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	d := policy.Decision{URL: long, Robots: long, Served: long, Cause: long, Pacing: long, Override: long, Digest: long}
	d.Match.Agent, d.Match.Rule.Pattern = long, long
	data, err := json.Marshal(d)
	var got struct {
		URL, Robots, Served, Cause, Pacing, Override, Digest string
		Match                                                struct {
			Agent string
			Rule  struct{ Pattern string }
		}
	}
	if err := errors.Join(err, json.Unmarshal(data, &got)); err != nil {
		t.Fatal(err)
	}
	for i, url := range []string{got.URL, got.Robots, got.Served} {
		if len(url) != 8<<10 {
			t.Errorf("house/URL %d has %d bytes, want 8 KiB", i, len(url))
		}
	}
	for i, text := range []string{got.Match.Agent, got.Match.Rule.Pattern, got.Cause, got.Pacing, got.Override, got.Digest} {
		if len(text) != 1<<10 {
			t.Errorf("house/text %d has %d bytes, want 1 KiB", i, len(text))
		}
	}
}

// TestStringOfLongText checks where text is cut in a line.
func TestStringOfLongText(t *testing.T) {
	long := strings.Repeat("Z", 1<<20)
	for _, tt := range []struct {
		name, line string
		most       int // bytes, with the mark of the cut
	}{
		{"house/url", policy.Decision{URL: long}.String(), 300},
		{"house/cause", policy.Decision{Cause: long}.String(), 200},
		{"house/agent", policy.Decision{Match: matcher.Match{Agent: long}}.String(), 120},
		{"house/attribute", policy.Decision{Cause: long}.LogValue().String(), 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Count(tt.line, "Z") + len("…"); got != tt.most {
				t.Errorf("%s\ngot  %d bytes\nwant %d", tt.line, got, tt.most)
			}
		})
	}
}

// TestLogValue checks the attributes of a log line. Zero attributes are left out.
func TestLogValue(t *testing.T) {
	p := policy.RFC9309()
	for _, tt := range []struct {
		name, event string
		want        map[string]string
	}{
		{"2.2.2/rule", "200 rules", map[string]string{
			"verdict": "disallow", "url": "https://example.com/private", "clause": "2.2.2", "access": "successful", "profile": "rfc9309",
			"rule": `line 2 "Disallow: /private" in group "*"`, "robots": robots, "status": "200", "digest": digestOf(bodies["rules"]),
			"fetched": "2026-05-01 00:00:00 +0000 UTC", "expires": "2026-05-02 00:00:00 +0000 UTC",
		}},
		{"2.4/stale", "200 rules + Cache-Control: max-age=0, then 503 + Retry-After: 3600", map[string]string{
			"verdict": "disallow", "url": "https://example.com/private", "clause": "2.4", "access": "unreachable", "profile": "rfc9309",
			"rule": `line 2 "Disallow: /private" in group "*"`, "robots": robots, "status": "503", "stale": "true", "digest": digestOf(bodies["rules"]),
			"fetched": "2026-04-30 23:00:00 +0000 UTC", "expires": "2026-05-01 01:00:00 +0000 UTC",
			"down_since": "2026-05-01 00:00:00 +0000 UTC", "cause": "status 503 Service Unavailable",
		}},
		{"2.3.1.4/dns", "dns + Retry-After: 3600", map[string]string{
			"verdict": "defer", "url": "https://example.com/private", "clause": "2.3.1.4", "access": "unreachable", "profile": "rfc9309",
			"robots": robots, "expires": "2026-05-01 01:00:00 +0000 UTC", "down_since": "2026-05-01 00:00:00 +0000 UTC",
			"retry_at": "2026-05-01 01:00:00 +0000 UTC", "cause": "retrieval: dns: it broke",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := map[string]string{}
			var rec *policy.Record
			events := strings.Split(tt.event, ", then ")
			for i, e := range events { // one each hour, the last one at start
				rec = learn(t, p, rec, attempt(t, e, start.Add(time.Duration(i+1-len(events))*time.Hour)))
			}
			for _, a := range decide(t, rec, private, start).LogValue().Group() {
				got[a.Key] = a.Value.String()
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("after %s:\ngot  %v\nwant %v", tt.event, got, tt.want)
			}
		})
	}
}

// digestOf returns Decision.Digest for a text.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestCrawlDelay checks that a Decision has the Crawl-delay of the group that the crawler obeys,
// in the object and in the attributes of the log, too.
func TestCrawlDelay(t *testing.T) {
	p := policy.RFC9309()
	file := "User-agent: SlowBot\nCrawl-delay: 90\nDisallow: /private\n\nUser-agent: QuickBot\nDisallow: /private\n\nUser-agent: *\nCrawl-delay: 2.5\n"
	rec := p.Learn(nil, policy.Attempt{Robots: robots, Status: 200, Body: []byte(file), Received: start})
	stale := learn(t, p, rec, attempt(t, "503", start.AddDate(0, 0, 1)))
	for _, tt := range []struct {
		name, token string
		target      *url.URL
		rec         *policy.Record
		want        time.Duration
		text        string // in the object
	}{
		{"2.2.4/of_the_default_group", "ExampleBot", public, rec, 2500 * time.Millisecond, "2.5s"},
		{"2.2.4/of_the_own_group", "SlowBot", private, rec, 90 * time.Second, "1m30s"},
		{"2.2.4/of_a_stale_copy", "SlowBot", public, stale, 90 * time.Second, "1m30s"},
		{"2.2.4/not_of_another_group", "QuickBot", public, rec, 0, ""},
		{"2.2.4/not_for_robots_txt", "SlowBot", itself, rec, 0, ""},
		{"2.2.4/none_without_a_record", "SlowBot", public, nil, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := start
			if tt.rec == stale {
				now = start.AddDate(0, 0, 1)
			}
			d := tt.rec.Decide(tt.token, tt.target, now)
			var object struct {
				Delay string `json:"crawl_delay"`
			}
			text, err := json.Marshal(d)
			if err := errors.Join(err, json.Unmarshal(text, &object)); err != nil {
				t.Fatal(err)
			}
			logged := strings.Contains(fmt.Sprint(d.LogValue().Group()), "crawl_delay="+tt.text)
			if d.CrawlDelay != tt.want || object.Delay != tt.text || logged != (tt.want > 0) {
				t.Errorf("%s for %s:\ngot  %v, %q in the object, logged %v\nwant %v, %q", tt.target, tt.token, d.CrawlDelay, object.Delay, logged, tt.want, tt.text)
			}
		})
	}
}

// TestDigest checks that a Decision has the digest of the text as it was received, up
// to the limit, and only if the rules of that text decided.
func TestDigest(t *testing.T) {
	p := policy.RFC9309()
	long := "User-agent: *\nDisallow: /private\n#" + strings.Repeat("x", p.Limit)
	for _, tt := range []struct {
		name, event, body, want string
	}{
		{"9/a_file", "200", bodies["rules"], digestOf(bodies["rules"])},
		{"9/a_file_of_utf_16", "200", bodies["utf16"], digestOf(bodies["utf16"])},
		{"9/an_empty_file", "200", "", digestOf("")},
		{"9/no_content", "204", bodies["rules"], digestOf("")},
		{"9/a_file_over_the_limit", "200", long, digestOf(long[:strings.IndexByte(long, '#')])},
		{"9/no_file", "404", bodies["rules"], ""},
		{"9/an_outage", "503", bodies["rules"], ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := attempt(t, tt.event, start)
			a.Body = []byte(tt.body)
			rec := reload(t, p, learn(t, p, nil, a))
			if got := decide(t, rec, private, start).Digest; got != tt.want {
				t.Errorf("%s with %.50q:\ngot  %s\nwant %s", tt.event, tt.body, got, tt.want)
			}
		})
	}
	rec := learn(t, p, nil, attempt(t, "200 rules", start))
	for when, want := range map[string]string{"23h": digestOf(bodies["rules"]), "24h": ""} {
		if got := decide(t, rec, private, start.Add(span(t, when))).Digest; got != want {
			t.Errorf("of a copy after %s:\ngot  %q\nwant %q", when, got, want)
		}
	}
	if got := decide(t, rec, itself, start).Digest; got != "" {
		t.Errorf("for /robots.txt, which no rule decides:\ngot  %q\nwant none", got)
	}
}

// TestDecideSharesNothing checks that two Decisions of one moment are equal, also after
// the caller has overwritten the body of the attempt.
func TestDecideSharesNothing(t *testing.T) {
	p := policy.RFC9309()
	a := attempt(t, `200 rules + ETag: "a"`, start)
	r := p.Learn(nil, a)
	want := r.Decide("ExampleBot", private, start)
	clear(a.Body)
	a.Header["Etag"][0] = "gone"
	if got := r.Decide("ExampleBot", private, start); got != want || r.Validators().Get("If-None-Match") != `"a"` {
		t.Errorf("after the body was overwritten:\ngot  %v\nwant %v", got, want)
	}
	want.At = start.Add(time.Hour)
	if later := r.Decide("ExampleBot", private, want.At); later != want {
		t.Errorf("an hour later:\ngot  %v\nwant %v", later, want)
	}
}

// TestAtWithoutARecord checks that a decision that no record made has no time.
func TestAtWithoutARecord(t *testing.T) {
	var none *policy.Record
	for _, path := range []string{"/robots.txt", "/page"} {
		d := none.Decide("ExampleBot", &url.URL{Scheme: "https", Host: "example.com", Path: path}, start)
		if !d.At.IsZero() {
			t.Errorf("2.2.2: %s is decided at %v, want the zero time", path, d.At)
		}
	}
}
