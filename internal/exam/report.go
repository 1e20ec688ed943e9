package exam

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rfc9309/polite/internal/clean"
	"github.com/rfc9309/polite/internal/conformance"
	"github.com/rfc9309/polite/internal/httptest"
)

// A Report is the outcome of an exam.
type Report struct {
	Agent    string        `json:"user_agent"` // of the first request
	Token    string        `json:"token"`      // product token that the crawler was examined for
	Start    time.Time     `json:"start"`
	Took     time.Duration `json:"-"`
	Requests int           `json:"requests"`
	Ended    string        `json:"ended"` // how the run ended
	Results  []Result      `json:"results"`
}

// Report judges what arrived so far. cut says that the crawler was ended before it was done.
func (e *Exam) Report(ended string, cut bool) *Report {
	all, dials := e.web.Requests(), e.web.Dials()
	if e.proxy != nil { // requests to the proxy arrive at a site, too
		all = slices.DeleteFunc(all, func(r httptest.Request) bool { return r.Origin == e.proxy.Origin() })
	}
	r := &Report{Start: e.Start.UTC(), Took: time.Since(e.Start), Requests: len(all), Ended: ended, Token: e.token}
	if len(all) > 0 {
		r.Took = all[len(all)-1].Time.Sub(e.Start)
		r.Agent = newRequest(all[0]).Agent
		r.Token = cmp.Or(r.Token, clean.Text(Token(all[0].Header.Get("User-Agent")), longAgent))
	}
	views := make([]*view, len(e.stages))
	asked, entered := 0, 0
	for i, s := range e.stages {
		v := &view{c: s.c, cut: cut}
		for _, at := range s.sites {
			v.sites = append(v.sites, visitsTo(at, all, dials))
		}
		if main := v.sites[0]; s.c.robots != "" && main.asked >= 0 {
			asked++
			entered += min(len(main.pages()), 1)
		}
		views[i] = v
	}
	failed := map[string]bool{}
	for _, v := range views {
		v.visitsOthers = entered > 0 && 2*entered >= asked
		c := *v.c
		c.Site = names(cmp.Or(r.Token, "unnamed")).Replace(c.Site)
		mark := v.mark()
		failed[c.Name] = mark.Verdict == Failed
		r.Results = append(r.Results, Result{&c, mark})
	}
	for i, res := range r.Results {
		for _, name := range res.after {
			if failed[name] {
				r.Results[i].Mark = notExercised("it builds on " + name + ", which failed")
			}
		}
	}
	return r
}

func (v *view) mark() Mark {
	if v.c.judge != nil {
		return v.c.judge(v)
	}
	return judgeRules(v)
}

// A Section is a row of the table: the cases of a clause.
type Section struct {
	Clause, Title                string
	Passed, Failed, NotExercised int
}

// Sections returns the table. The house rules come last.
func (r *Report) Sections() []Section {
	var all []Section
	index := map[string]int{}
	for _, res := range r.Results {
		clause := res.Clause()
		i, known := index[clause]
		if !known {
			i, index[clause] = len(all), len(all)
			all = append(all, Section{Clause: clause, Title: cmp.Or(conformance.Title(clause), "Manners, which RFC 9309 does not ask for")})
		}
		switch res.Verdict {
		case Passed:
			all[i].Passed++
		case Failed:
			all[i].Failed++
		default:
			all[i].NotExercised++
		}
	}
	return all
}

// Failed reports whether a case failed.
func (r *Report) Failed() bool {
	for _, s := range r.Sections() {
		if s.Failed > 0 {
			return true
		}
	}
	return false
}

// Head says who sat the exam.
func (r *Report) Head() string {
	name := "a crawler without a product token"
	if r.Token != "" {
		name = r.Token
	}
	return fmt.Sprintf("%s, User-Agent %s, on %s: %d requests in %v, then it %s.", name, clean.Quote(r.Agent, longAgent),
		r.Start.Format("2006-01-02"), r.Requests, r.Took.Round(100*time.Millisecond), r.Ended)
}

// Summary returns one line about all cases.
func (r *Report) Summary() string {
	var parts []string
	for _, house := range []bool{false, true} {
		var sum Section
		for _, s := range r.Sections() {
			if (s.Clause == House) == house {
				sum.Passed, sum.Failed, sum.NotExercised = sum.Passed+s.Passed, sum.Failed+s.Failed, sum.NotExercised+s.NotExercised
			}
		}
		name := "RFC 9309"
		if house {
			name = "manners"
		}
		if all := sum.Passed + sum.Failed + sum.NotExercised; all > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d of %d cases sat, %d passed, %d failed", name, sum.Passed+sum.Failed, all, sum.Passed, sum.Failed))
		}
	}
	return strings.Join(parts, "; ")
}

// Mail returns three lines about a failure for the author of the crawler: the case, what is
// asked, and the request that shows the failure.
func (r *Report) Mail(res Result) [3]string {
	asked := "House rule: " + res.Text
	if res.From != "" {
		asked = fmt.Sprintf("RFC 9309, section %s: “%s”", res.From, res.Text)
	}
	return [3]string{
		fmt.Sprintf("%s (%s): %s.", res.Name, res.Level, res.Site),
		asked,
		fmt.Sprintf("%v: %s %s.", res.Request, cmp.Or(r.Token, "the crawler"), res.Seen),
	}
}

// WriteText writes the report for a terminal. paint colours the word of a verdict.
func (r *Report) WriteText(w io.Writer, paint func(Verdict, string) string) {
	fmt.Fprintf(w, "The exam was sat by %s\n\n", r.Head())
	fmt.Fprintf(w, "%4s  %4s  %13s  section\n", Passed, "fail", NotExercised)
	for _, s := range r.Sections() {
		count := func(v Verdict, n, width int) string {
			text := fmt.Sprintf("%*d", width, n)
			if n == 0 {
				return text
			}
			return paint(v, text)
		}
		fmt.Fprintf(w, "%s  %s  %s  %s\n", count(Passed, s.Passed, 4), count(Failed, s.Failed, 4), count(NotExercised, s.NotExercised, 13), s.name())
	}
	for _, res := range r.Results {
		if res.Verdict == Failed {
			lines := r.Mail(res)
			fmt.Fprintf(w, "\n%s %s\n     %s\n     %s\n", paint(Failed, string(Failed)), lines[0], lines[1], lines[2])
		}
	}
	title := "\nNot exercised:\n"
	for _, res := range r.Results {
		if res.Verdict == NotExercised {
			fmt.Fprintf(w, "%s  %s: %s\n", title, res.Name, res.Seen)
			title = ""
		}
	}
	fmt.Fprintf(w, "\n%s\n", r.Summary())
}

func (s Section) name() string {
	if s.Clause == House {
		return s.Title
	}
	return s.Clause + " " + s.Title
}

// WriteMarkdown writes the report as a page.
func (r *Report) WriteMarkdown(w io.Writer) {
	fmt.Fprintf(w, "# The exam of RFC 9309\n\n%s\n\n%s.\n\n", markdown(r.Head()), r.Summary())
	fmt.Fprint(w, "| section | passed | failed | not exercised |\n|---|---|---|---|\n")
	for _, s := range r.Sections() {
		fmt.Fprintf(w, "| %s | %d | %d | %d |\n", s.name(), s.Passed, s.Failed, s.NotExercised)
	}
	title := "\n## Failures\n"
	for _, res := range r.Results {
		if res.Verdict == Failed {
			lines := r.Mail(res)
			fmt.Fprintf(w, "%s\n- %s\n  %s\n  %s\n", title, markdown(lines[0]), markdown(lines[1]), markdown(lines[2]))
			title = ""
		}
	}
	title = "\n## All cases\n\n| case | level | verdict | the site | the crawler |\n|---|---|---|---|---|\n"
	for _, res := range r.Results {
		fmt.Fprintf(w, "%s| %s | %s | %s | %s | %s |\n", title, markdown(res.Name), res.Level, res.Verdict, markdown(res.Site), markdown(res.Seen))
		title = ""
	}
}

// markdown escapes the characters that have a meaning in Markdown.
var markdown = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, `|`, `\|`, `<`, `\<`, `[`, `\[`, `]`, `\]`, "`", "\\`").Replace
