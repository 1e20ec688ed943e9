package usage_test

import (
	"fmt"
	"net/http"

	"github.com/rfc9309/polite/matcher"
	"github.com/rfc9309/polite/usage"
)

// The robots.txt of a site and the header of an answer say something about the same page.
func Example() {
	robots := matcher.Parse([]byte(`User-agent: *
Content-Usage: train-ai=n, search=y
Content-Usage: /press/ train-ai=y
Content-Signal: ai-train=no
`), matcher.Dialect{})
	header := http.Header{
		"Content-Usage": {"train-ai=n"},
		"X-Robots-Tag":  {"otherbot: noindex", "noarchive"},
	}
	said := usage.Combine(
		usage.OfFile(robots, "ExampleBot", "/press/release"),
		usage.OfHeader(header, "ExampleBot"),
	)
	value, _ := said.Get("train-ai")
	fmt.Println("train-ai is", value)
	fmt.Println(said)
	// Output:
	// train-ai is denied
	// "train-ai": allowed, line 3 "Content-Usage: /press/ train-ai=y"
	// "ai-train": denied, line 4 "Content-Signal: ai-train=no"
	// "train-ai": denied, header "Content-Usage: train-ai=n"
	// "noarchive": denied, header "X-Robots-Tag: noarchive"
	// "train-ai": contradiction, denied counts
}

// A crawler decides with a group that it keeps. The longest path decides, here as for
// Allow and Disallow.
func ExampleOfGroup() {
	group := matcher.Parse([]byte(`User-agent: *
Disallow: /private/
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y
`), matcher.Dialect{}).Group("ExampleBot")
	for _, target := range []string{"/", "/open/data", "/private/x"} {
		value, why := usage.OfGroup(group, target).Get("train-ai")
		fmt.Println(target, value, why)
	}
	// Output:
	// / denied ["train-ai": denied, line 3 "Content-Usage: train-ai=n"]
	// /open/data allowed ["train-ai": allowed, line 4 "Content-Usage: /open/ train-ai=y"]
	// /private/x unknown []
}

// A field that does not parse says nothing, and is listed.
func ExampleSet_Skipped() {
	said := usage.OfHeader(http.Header{"Content-Usage": {"Train-AI=n"}, "Tdm-Reservation": {"1"}}, "ExampleBot")
	for p := range said.All() {
		fmt.Println(p)
	}
	for _, k := range said.Skipped() {
		fmt.Println(k)
	}
	// Output:
	// "tdm-reservation": denied, header "tdm-reservation: 1"
	// header "Content-Usage: Train-AI=n": skipped, not a dictionary (RFC 9651): invalid key format: character 0
}
