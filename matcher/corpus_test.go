package matcher

import (
	"testing"

	"github.com/rfc9309/polite/internal/realfiles"
)

// site is one real robots.txt file of the corpus with URLs that probe it.
type site struct {
	id   string
	body []byte
	urls []string
}

// corpus reads the real files in the folder POLITE_CORPUS, or skips the test.
func corpus(t testing.TB) []site {
	t.Helper()
	var sites []site
	at := map[string]int{}
	realfiles.EachLine(t, "robots-real.jsonl.gz", func(l struct {
		ID  string `json:"id"`
		B64 []byte `json:"b64"`
	}) {
		at[l.ID] = len(sites)
		sites = append(sites, site{id: l.ID, body: l.B64})
	})
	realfiles.EachLine(t, "urls.jsonl.gz", func(l struct {
		ID   string   `json:"id"`
		URLs []string `json:"urls"`
	}) {
		sites[at[l.ID]].urls = l.URLs
	})
	return sites
}

// TestCorpusGoogle compares the Google dialect with the verdicts of
// google/robotstxt on real files.
func TestCorpusGoogle(t *testing.T) {
	files := map[string]*File{}
	urls := map[string][]string{}
	for _, s := range corpus(t) {
		files[s.id] = Parse(s.body, Google())
		urls[s.id] = s.urls
	}
	asked, wrong := 0, 0
	realfiles.EachLine(t, "google-verdicts.jsonl.gz", func(l struct{ ID, Agent, Bits string }) {
		agent := l.Agent
		if agent == "*" {
			agent = "NobodyNamesThisOne"
		}
		g := files[l.ID].Group(agent)
		for i, u := range urls[l.ID] {
			asked++
			if m := g.Match(u); m.Allowed != (l.Bits[i] == '1') {
				if wrong++; wrong <= 20 {
					t.Errorf("file %s agent %s url %s\ngot %+v\nwant allowed %v", l.ID, agent, u, m, l.Bits[i] == '1')
				}
			}
		}
	})
	if t.Logf("%d verdicts, %d differ", asked, wrong); asked == 0 {
		t.Error("the corpus has no verdicts")
	}
}
