package compare

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rfc9309/polite/matcher"
)

func parse(text string) *matcher.File { return matcher.Parse([]byte(text), matcher.Dialect{}) }

// TestFiles compares two files for each crawler.
func TestFiles(t *testing.T) {
	long := "/" + strings.Repeat("a", 2*longText)
	for _, test := range []struct {
		name, old, now string
		targets        []string
		want           []Change
	}{
		{"another_order", "User-agent: a\nUser-agent: b\nDisallow: /x\nAllow: /y\n", "User-agent: B\nAllow: /y\nDisallow: /x\n\nUser-agent: A\nDisallow: /x\nAllow: /y\n", nil, nil},
		{"a_rule_that_changes_no_verdict", "User-agent: *\nDisallow: /\n", "User-agent: *\nDisallow: /\nDisallow: /x\n", nil,
			[]Change{{Token: "*", Added: []Rule{{3, "Disallow: /x"}}}}},
		{"an_own_group_for_a_crawler", "User-agent: *\nDisallow: /x\n", "User-agent: *\nDisallow: /x\n\nUser-agent: Bot\nDisallow:\n", []string{"/x", "/y"},
			[]Change{{Token: "Bot", Own: OwnNew, Removed: []Rule{{2, "Disallow: /x"}}, Turned: []Turn{{Target: "/x", Allowed: true}}}}},
		{"an_own_group_that_closes_the_site", "", "User-agent: Bot\nDisallow: /\n", []string{"/"},
			[]Change{{Token: "Bot", Own: OwnNew, Site: "closed", Added: []Rule{{2, "Disallow: /"}}, Turned: []Turn{{"/", false, &Rule{2, "Disallow: /"}}}}}},
		{"an_own_group_that_is_gone", "User-agent: Bot\nDisallow: /\n", "", []string{"/x"},
			[]Change{{Token: "Bot", Own: OwnGone, Site: "open", Removed: []Rule{{2, "Disallow: /"}}, Turned: []Turn{{Target: "/x", Allowed: true}}}}},
		{"long_rules_that_differ_at_their_end", "User-agent: *\nAllow: " + long + "b\n", "User-agent: *\nAllow: " + long + "c\n", []string{"/"},
			[]Change{{Token: "*", Removed: []Rule{{2, text(matcher.Rule{Allow: true, Pattern: long})}}, Added: []Rule{{2, text(matcher.Rule{Allow: true, Pattern: long})}}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, skipped := Files(parse(test.old), parse(test.now), "", test.targets); !reflect.DeepEqual(got, test.want) || skipped != 0 {
				t.Errorf("got  %+v, %d skipped\nwant %+v", got, skipped, test.want)
			}
		})
	}
}

// TestManyCrawlers compares a file in which each of many rules counts for each of many
// crawlers. All that is compared and listed has a bound, and what is skipped is counted.
func TestManyCrawlers(t *testing.T) {
	var b strings.Builder
	for i := range 2 * maxCrawlers {
		fmt.Fprintf(&b, "User-agent: bot%d\n", i)
	}
	for i := range 2 * maxRules {
		fmt.Fprintf(&b, "Disallow: /%d*a*b\n", i)
	}
	all, skipped := Files(parse(b.String()), parse(""), "", []string{"/1ab", "/2ab", "/3"})
	if len(all) != maxCrawlers || skipped != maxCrawlers {
		t.Errorf("%d crawlers differ and %d are skipped; want %d and %d", len(all), skipped, maxCrawlers, maxCrawlers)
	}
	for _, c := range all {
		if len(c.Removed) != maxRules || c.More != maxRules || len(c.Turned) != 2 {
			t.Fatalf("%s: %d rules, %d more, %d verdicts", c.Token, len(c.Removed), c.More, len(c.Turned))
		}
	}
}

// FuzzFiles checks that a file does not differ from itself, and that two files differ in
// both directions alike.
func FuzzFiles(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /x\n", "User-agent: b/1\nAllow: /*y$\n")
	f.Fuzz(func(t *testing.T, one, two string) {
		a, b := parse(one), parse(two)
		if got, _ := Files(a, a, "", nil); len(got) > 0 {
			t.Errorf("%q differs from itself: %+v", one, got)
		}
		there, skipped := Files(a, b, "", nil)
		if back, _ := Files(b, a, "", nil); skipped == 0 && len(there) != len(back) {
			t.Errorf("%q and %q\nthere %+v\nback  %+v", one, two, there, back)
		}
	})
}
