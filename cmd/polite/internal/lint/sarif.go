package lint

import (
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rfc9309/polite/cmd/polite/internal/sarif"
)

// WriteSARIF writes remarks about a file. what is its path or URL.
func WriteSARIF(w io.Writer, version, what string, remarks []Remark) error {
	var rules []sarif.Rule
	for _, c := range checks {
		rules = append(rules, sarif.Rule{ID: c.name, About: c.about, Level: string(c.level)})
	}
	var results []sarif.Result
	for _, m := range remarks {
		results = append(results, sarif.Result{Rule: m.Check, Level: string(m.Level), Message: m.String(), URI: reference(what), Line: m.Line, Snippet: m.Text})
	}
	return sarif.Write(w, version, rules, results)
}

// reference returns a path or URL as a URI.
func reference(what string) string {
	if strings.Contains(what, "://") {
		return what
	}
	if what == "-" {
		what = "robots.txt"
	}
	return (&url.URL{Path: filepath.ToSlash(what)}).String()
}
