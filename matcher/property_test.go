package matcher

import (
	"net/url"
	"strings"
	"testing"
)

// TestCorpusProperties checks every fifth real file, in every dialect, for the
// properties that the fuzz targets check on random files.
func TestCorpusProperties(t *testing.T) {
	sites := corpus(t)
	stride := 5
	if testing.Short() {
		stride = 50
	}
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			for i := 0; i < len(sites); i += stride {
				sites[i].checkProperties(t, d.dialect)
			}
		})
	}
}

// checkProperties checks every property on one file.
func (s *site) checkProperties(t *testing.T, d Dialect) {
	t.Helper()
	f := Parse(s.body, d)
	checkSpaces(t, f, s.body)
	s.checkLines(t, f)
	changed := map[string]*File{"X-Unknown: record\n in each line": Parse(s.withUnknown(), d)}
	if wellMarked(string(s.body)) {
		changed["a rule before any group"] = Parse(append([]byte("disallow: /\n"), s.body...), d)
	}
	for _, token := range append(s.tokens(f), "NobodyNamesThisOne") {
		for _, target := range s.urls {
			want := f.Match(token, target)
			for what, c := range changed {
				if got := c.Match(token, target); got.Allowed != want.Allowed || got.Rule.Pattern != want.Rule.Pattern {
					t.Errorf("file %s token %s target %s: with %s\ngot  %+v\nwant %+v", s.id, token, target, what, got, want)
				}
			}
			if got := f.Match(otherCase(token), target); got != want {
				t.Errorf("file %s token %s target %s: in the other case\ngot  %+v\nwant %+v", s.id, token, target, got, want)
			}
			s.checkURL(t, f, token, target)
		}
	}
	s.sorted(t, f)
}

// tokens returns a few tokens that the file names.
func (s *site) tokens(f *File) (list []string) {
	for _, value := range f.Agents() {
		if token := f.dialect.token(value); len(list) < 3 && token != "*" && token != "" {
			list = append(list, token)
		}
	}
	return list
}

// withUnknown returns the file with an unknown record after every line.
func (s *site) withUnknown() []byte {
	if !wellMarked(string(s.body)) {
		return s.body
	}
	return []byte(strings.ReplaceAll(string(s.body), "\n", "\nX-Unknown: record\n"))
}

// checkLines checks that each rule of the default group stands in its line.
func (s *site) checkLines(t *testing.T, f *File) {
	t.Helper()
	if !wellMarked(string(s.body)) {
		return
	}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(s.body)), "\n")
	for r := range f.Group("*").Rules() {
		if r.Line < 1 || r.Line > len(lines) || !strings.Contains(lines[r.Line-1], r.Pattern) {
			t.Errorf("file %s: rule %+v does not stand in its line", s.id, r)
		}
	}
}

// checkURL checks that a parsed URL and its request target get the same Match.
func (s *site) checkURL(t *testing.T, f *File, token, target string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		return
	}
	if got, want := f.MatchURL(token, u), f.Match(token, u.RequestURI()); got != want {
		t.Errorf("file %s token %s url %s\ngot  %+v\nwant %+v", s.id, token, target, got, want)
	}
}

// sorted checks that sorted rules give the same answers as rules tried one after
// another.
func (s *site) sorted(t *testing.T, f *File) {
	t.Helper()
	unsorted, sorted := f.choose("*"), indexedGroup(f, "*")
	for _, target := range s.urls {
		unsorted.asked.Store(false) // the rules are not sorted for the first question
		want := unsorted.Match(target)
		if got := sorted.Match(target); got != want {
			t.Errorf("file %s target %s\nsorted   %+v\nunsorted %+v", s.id, target, got, want)
		}
	}
}

// TestCorpusReference compares with the reference on the smaller real files.
func TestCorpusReference(t *testing.T) {
	most, stride := 2000, 4
	if testing.Short() {
		stride = 40
	}
	sites := corpus(t)
	for i := 0; i < len(sites); i += stride {
		s := sites[i]
		if len(s.body) > most || !wellMarked(string(s.body)) {
			continue
		}
		for _, d := range dialects {
			for _, target := range s.urls[:3] {
				_, path, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(target, "https://"), "http://"), "/")
				compare(t, d, string(s.body), "NobodyNamesThisOne", "/"+path)
			}
		}
	}
}
